"""What the text of an op's function depends on."""

import builtins
import operator
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from agnograd._codegen.texts import told
from agnograd._ops.op import Itself
from agnograd._util.deferred import facts_of
from agnograd.extend import inline

BODIES = [
    "(x, y=1): return x + y",
    "(x, y=1.0): return x + y",
    "(x, y=True): return x + y",
    "(x, y=[]): return x + y",
    "(x, y): return x + y",
    "(x, /, y): return x + y",
    "(x, *, y): return x + y",
    "(x, *, y=1): return x + y",
    "(x, *y): return x + y",
    "(x, y): return y + x",
    "(x, y): return x - y",
    "(x, y): return x + z",
    "(x, y): return x + 1",
    "(x, y): return x + 1.0",
    "(x, y): return x + -0.0",
    "(x, y): return x.real",
    "(x, y): return x.imag",
]


@pytest.fixture
def compiled(tmp_path):
    """Return what makes a function of what follows its name, in a file of its own."""

    def make(body, **known):
        path = tmp_path / "module.py"
        path.write_text(f"def kernel{body}\n")
        spec = spec_from_file_location("module", path)
        module = module_from_spec(spec)
        vars(module).update(known)
        spec.loader.exec_module(module)
        found = facts_of(inline(module.kernel))
        facts_of.__globals__["_content"].cache_clear()
        return found

    return make


def test_what_decides_how_a_function_is_written_out(compiled):
    found = [repr(compiled(each)) for each in BODIES]
    found.append(repr(compiled(BODIES[11], z=1)))
    assert len({*found}) == len(found)
    assert found == [repr(compiled(each)) for each in BODIES] + found[-1:]
    assert compiled(BODIES[11], z=1) == compiled(BODIES[11], z=2)
    assert compiled("(x, y):  return x + z") != compiled(BODIES[11])  # another file
    for source in ("lambda: y", "[each for each in y]", "y in {1, 2}", "b'y'"):
        assert compiled(f"(x, y): return {source}") is None or (
            sys.version_info >= (3, 12) and "each" in source
        )


def test_what_is_not_written_out_has_no_facts():
    assert facts_of(builtins.max) is facts_of(lambda x: facts_of(x)) is None
    assert facts_of(lambda x: x) is not None  # it reads nothing but its argument

    @inline
    def signed(x):
        return x

    signed.__signature__ = None
    assert facts_of(signed) is None


def test_a_function_without_a_file_is_that_of_no_other_one():
    scope = {}
    exec("kernel = lambda x: x + 1", scope)
    content, *_ = facts_of(scope["kernel"])
    assert content is None  # which nothing that is built has


def test_what_is_told_of_values():
    assert told(Itself("x")) != told(("x",))
    assert told(True) is True
    assert told({"a": 1}) != told({"a": 2})
    assert told(max) is told(min) is ...
    assert told(operator.add) == "add"
    assert told(lambda: told) is told(object()) is told(1j) is ...
    functions = [
        lambda x: x + 1,
        lambda x: x + 2,
    ]
    assert told(functions[0]) != told(functions[1])
