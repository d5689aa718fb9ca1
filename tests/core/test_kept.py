"""What is kept from one process for the next: no process ever sees what it would not have made."""

import ast
import builtins
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agnograd._arrays.domains import domain_named
from agnograd._codegen import functions, texts
from agnograd._codegen.texts import SOURCES, WRITERS, told
from agnograd._ops.op import Itself
from agnograd._plugins.op_sets import registered
from agnograd._util import kept as module
from agnograd._util.deferred import facts_of, later, now
from agnograd._util.kept import kept
from agnograd.extend import inline

pytestmark = [pytest.mark.accelerated, pytest.mark.usual_switches]

BACKWARD = ("backward", "guarded", "of_ones", "step")
PACKAGE = Path(module.__file__).parent.parent

# It prints the gradient, its op's text, the line of an error, and how often text was compiled.
PROGRAM = """
import builtins, inspect, sys, traceback
import numpy as np
import agnograd as ag

xp, x = ag.namespace("numpy"), np.linspace(0.1, 0.9, 10)
texts = []
def counted(source, *args, real=builtins.compile, **kwargs):
    annotations = ("typing", "annotationlib")
    if sys._getframe(1).f_globals["__name__"] not in annotations:
        texts.append(source)
    return real(source, *args, **kwargs)
builtins.compile = counted
gradient = ag.grad(lambda x: xp.sum(xp.exp(-x * x) * xp.tanh(x) / (1.0 + x)))(x)
builtins.compile = counted.__kwdefaults__["real"]
print(gradient.tolist())
print(inspect.getsource(xp.tanh))
try:
    ag.Variable(np.ones((2, 3))) @ np.ones((2, 3))
except ValueError as error:
    print(traceback.extract_tb(error.__traceback__)[-1].line)
print("COMPILED", len(texts), *(f"agnograd._codegen.{name}" in sys.modules for name in
      ("backward", "forward", "inline")))
"""


def run(cache, *options, program=PROGRAM, **environment):
    """Run a program in a process whose bytecode is below a folder; return what it prints."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", *options, "-c", program],
        env={**known, "PYTHONPYCACHEPREFIX": str(cache), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen, _, counts = done.stdout.partition("COMPILED ")
    return seen, counts.split()


def files(cache):
    return [*Path(cache).rglob("*.functions")]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the folder of a first process, and what it printed."""
    cache = tmp_path_factory.mktemp("first")
    seen, (count, *writers) = run(cache)
    assert int(count) > 20
    assert writers == ["True"] * 3
    return cache, seen


@pytest.fixture
def own(first, tmp_path):
    """Return a folder with the same bytecode, and the file in it."""
    copied = shutil.copytree(first[0], tmp_path / "own", copy_function=os.link)
    (path,) = files(copied)
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    return copied, path


def test_a_second_process_compiles_nothing_and_sees_the_same(first):
    cache, seen = first
    (path,) = files(cache)
    before = path.read_bytes()
    assert run(cache) == (seen, ["0", "False", "False", "False"])
    assert path.read_bytes() == before
    assert "def tanh(x, /):" in seen
    assert "x1.dot(x2)" in seen  # the line of an error


def test_nothing_is_written_where_python_writes_no_bytecode(first, own):
    below, path = own
    assert run(below, "-B") == (first[1], ["0", "False", "False", "False"])  # but it is read
    path.write_bytes(b"broken" * 10)
    assert run(below, "-B")[0] == first[1]
    assert path.read_bytes() == b"broken" * 10
    path.unlink()
    assert run(below, PYTHONDONTWRITEBYTECODE="1")[0] == first[1]
    assert not files(below)


def test_it_is_done_without_where_the_folder_cannot_be_written(first, tmp_path):
    (tmp_path / "file").write_text("")
    seen, (count, *_) = run(tmp_path / "file" / "below")
    assert seen == first[1]
    assert int(count) > 20


def test_a_broken_file_is_not_used_and_made_again(first, own):
    below, path = own
    path.write_bytes(b"broken" * 10)
    seen, (count, *_) = run(below)
    assert seen == first[1]
    assert int(count) > 20
    assert run(below) == (seen, ["0", "False", "False", "False"])


def test_processes_may_write_at_the_same_time(first, own):
    below, path = own
    path.unlink()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(below)}
    command = [sys.executable, "-c", PROGRAM]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)]
    for each in running:
        assert each.communicate()[0].decode().startswith(first[1])
        assert each.returncode == 0
    assert run(below) == (first[1], ["0", "False", "False", "False"])


def test_what_is_written_differently_is_written_again(own, tmp_path):
    below, _ = own
    shutil.copytree(PACKAGE, tmp_path / "agnograd", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "agnograd" / "_codegen" / "forward.py"
    for _ in range(2):
        seen, _ = run(below, PYTHONPATH=str(tmp_path))
        assert "    # The result becomes a Variable." in seen
    path.write_text(path.read_text().replace("# The result becomes", "# Then the result becomes"))
    for _ in range(2):
        seen, counts = run(below, PYTHONPATH=str(tmp_path))
        assert "    # Then the result becomes a Variable." in seen
    assert counts == ["0", "False", "False", "False"]


def test_nothing_is_kept_of_a_package_without_a_folder(monkeypatch):
    monkeypatch.setattr(module, "__spec__", None)
    module._known.cache_clear()
    assert [kept("text", lambda n=n: n) for n in range(2)] == [0, 1]
    module._known.cache_clear()


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return the path of a file of the test's own."""
    path = tmp_path / "below" / "kept"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(module, "_file", lambda: str(path))
    module._known.cache_clear()
    yield path
    module._known.cache_clear()


def test_a_text_is_found_by_all_of_it(file):
    made = []

    def make(value):
        made.append(value)
        return value

    for _ in range(2):
        assert kept("one", lambda: make("1")) == "1"
        assert kept("one ", lambda: make("2")) == "2"
        assert kept("\udcff", lambda: make(("3", ["4"]))) == ("3", ["4"])
        assert kept("unsure", lambda: make("5"), lambda: False) == "5"
        module._known.cache_clear()
    assert made == ["1", "2", ("3", ["4"]), "5", "5"]
    with pytest.raises(ZeroDivisionError):
        kept("wrong", lambda: 1 / 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data[:10],
        lambda data: data[: len(data) // 2] + data[len(data) // 2 + 1 :],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: b"\0" * 1000 + data,
        lambda data: data + b"\xff" * 100,
        lambda data: bytes([data[0] ^ 1]) + data[1:],  # the version of Python
    ],
)
def test_what_is_broken_is_not_used_and_made_again(file, change):
    def count():
        module._known.cache_clear()
        made = []
        for n in range(3):
            assert kept(f"text {n}", lambda n=n: made.append(n) or str(n) * 20) == str(n) * 20
        return len(made)

    assert [count(), count()] == [3, 0]
    file.write_bytes(change(file.read_bytes()))
    assert count() > 0
    count()  # what another process was writing then is broken only now
    assert count() == 0


def test_a_file_that_has_become_large_begins_again(file, monkeypatch):
    monkeypatch.setattr(module, "KEPT_BYTES", 2000)
    sizes = []
    for number in range(100):
        module._known.cache_clear()
        assert kept(f"text {number}", lambda n=number: "x" * n) == "x" * number
        sizes.append(file.stat().st_size if file.exists() else 0)
    assert max(sizes) <= 2000
    assert sizes.count(0) > 2


# -- texts -----------------------------------------------------------------------------------------


def test_the_sources_are_all_that_write():
    """What does not decide about texts, or is not used by what does, needs not be among them."""
    beside = {"agnograd.errors", "agnograd._util.kept"}
    known = {f"agnograd.{name.removesuffix('.py').replace('/', '.')}" for name in SOURCES}
    assert {*WRITERS.values()} <= known
    for name in SOURCES:
        for node in ast.parse((PACKAGE / name).read_text()).body:  # not those for types only
            if isinstance(node, ast.ImportFrom) and node.module.startswith("agnograd"):
                assert node.module in known | beside, name


def test_texts_that_differ_are_told_apart(monkeypatch):
    """All texts of all ops on NumPy: where the facts are equal, the texts are."""
    found, scopes = {}, []

    def text_of(writer, scope, *facts):
        names, key = [], f"{writer} {told(facts)}"
        text = later(WRITERS[writer], writer)(*facts, names)
        assert found.setdefault(key, (text, names)) == (text, names)
        assert " at 0x" not in key  # which differs between processes
        scopes.append(scope)
        return text

    monkeypatch.setattr(functions, "text_of", text_of)
    monkeypatch.setattr(functions, "function_from", lambda source, scope: lambda *_: None)
    domain = domain_named("numpy")
    for name, (op, _) in registered().items():
        kernel = now(domain.backend.kernels().get(name, op.forward))
        for form in ("function", "operator") if len(op.arrays) == 2 else ("function",):
            functions.generated(op, domain, kernel, form)
            for call in (scopes[-1]["_call"], scopes[-1].get("_of_numbers")):
                for attribute in BACKWARD if call is not None else ():
                    holder = call if attribute == "step" else call.compiled
                    written = getattr(holder, attribute, None)
                    if written is not None and written.__module__ == functions.__name__:
                        written(None, None)
    assert len(found) > 1000
    assert sum("_kernel__" in text for text, _ in found.values()) > 5
    assert sum("_pullback_" in text for text, _ in found.values()) > 5


def test_a_text_is_written_again_if_what_writes_it_has_changed(monkeypatch):
    read = texts._sources.__wrapped__
    assert read() == read() != None  # noqa: E711
    monkeypatch.setattr(texts, "BEGINNING", 0.0)  # all files are newer
    assert read() is None
    monkeypatch.undo()
    monkeypatch.setattr(texts, "SOURCES", (*SOURCES, "no such file"))
    assert read() is None
    monkeypatch.undo()
    texts._are_as_read.cache_clear()
    assert texts._are_as_read()
    texts._are_as_read.cache_clear()
    monkeypatch.setattr(texts, "SOURCES", SOURCES[1:])
    assert not texts._are_as_read()
    texts._are_as_read.cache_clear()


def compiled(source, **known):
    exec(source, known)
    return inline(known["kernel"])


def test_what_decides_how_a_function_is_written_out():
    sources = [
        "def kernel(x, y=1): return x + y",
        "def kernel(x, y=1.0): return x + y",
        "def kernel(x, y=True): return x + y",
        "def kernel(x, y=[]): return x + y",
        "def kernel(x, y): return x + y",
        "def kernel(x, /, y): return x + y",
        "def kernel(x, *, y): return x + y",
        "def kernel(x, *, y=1): return x + y",
        "def kernel(x, *y): return x + y",
        "def kernel(x, y): return y + x",
        "def kernel(x, y): return x - y",
        "def kernel(x, y): return x + z",
        "def kernel(x, y): return x + 1",
        "def kernel(x, y): return x + 1.0",
        "def kernel(x, y): return x + -0.0",
        "def kernel(x, y): return x + 0.0",
        "def kernel(x, y): return x.real",
        "def kernel(x, y): return x.imag",
    ]
    found = [repr(facts_of(compiled(each))) for each in sources]
    found.append(repr(facts_of(compiled(sources[11], z=1))))
    assert len({*found}) == len(found)
    assert found == [repr(facts_of(compiled(each))) for each in sources] + found[-1:]
    assert facts_of(compiled(sources[11], z=1)) == facts_of(compiled(sources[11], z=2))
    for source in ("lambda: y", "[each for each in y]", "y in {1, 2}", "b'y'"):
        assert facts_of(compiled(f"def kernel(x, y): return {source}")) is None or (
            sys.version_info >= (3, 12) and "each" in source
        )
    assert facts_of(builtins.max) is facts_of(lambda x: facts_of(x)) is None
    assert facts_of(lambda x: x) is not None  # it reads nothing but its argument
    signed = compiled(sources[0])
    signed.__signature__ = None
    assert facts_of(signed) is None


def test_what_is_told_of_values():
    assert told(Itself("x")) != told(("x",))
    assert told(True) is True
    assert told({"a": 1}) != told({"a": 2})
    assert told(max) != told(min)
    assert told(lambda: told) is told(object()) is told(1j) is ...
    assert told(lambda x: x + 1) != told(lambda x: x + 2)
