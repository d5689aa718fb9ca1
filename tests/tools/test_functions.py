"""What a wheel has written for ops is what a checkout writes, and is taken only where it is."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agnograd._codegen.texts import module_of
from agnograd._plugins.op_sets import op_sets

pytestmark = [pytest.mark.accelerated, pytest.mark.usual_switches]

# It prints the gradient, its op's text, the line of an error and where an op was called, and how
# often text was compiled, and by what.
PROGRAM = """
import builtins, inspect, sys, traceback
import numpy as np
import agnograd as ag

xp, x = ag.namespace("numpy"), np.linspace(0.1, 0.9, 10)
texts = []
def counted(source, *args, real=builtins.compile, **kwargs):
    beside = "typing", "annotationlib", "importlib._bootstrap"
    if sys._getframe(1).f_globals["__name__"] not in beside:
        texts.append(source)
    return real(source, *args, **kwargs)
builtins.compile = counted
gradient = ag.grad(lambda x: xp.sum(xp.exp(-x * x) * xp.tanh(x) / (1.0 + x)))(x)
builtins.compile = counted.__kwdefaults__["real"]
print(gradient.tolist(), inspect.signature(xp.tanh), xp.tanh.__qualname__)
print("\\n".join(map(str.strip, inspect.getsource(xp.tanh).splitlines())))
try:
    ag.Variable(np.ones((2, 3))) @ np.ones((2, 3))
except ValueError as error:
    print(traceback.extract_tb(error.__traceback__)[-1].line)
class Places:
    @ag.extend.hookimpl
    def forward_postprocess(self, op):
        print(op.location)
with ag.hooks(Places()):
    xp.tanh(ag.Variable(x))
print("COMPILED", len(texts), *(f"agnograd._codegen.{name}" in sys.modules for name in
      ("backward", "forward", "inline")))
"""


def run(folder=None, program=PROGRAM, cwd=None, **environment):
    """Run a program, with the package in a folder; return what it prints."""
    paths = {} if folder is None else {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", program],
        env={**os.environ, **paths, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen, _, counts = done.stdout.partition("COMPILED ")
    return seen, counts.split()


@pytest.fixture(scope="module")
def written():
    """Return what a checkout prints, which writes all functions."""
    seen, (count, *writers) = run()
    assert int(count) > 20
    assert writers == ["True"] * 3
    assert "def tanh(x, /):" in seen
    assert "x1.dot(x2)" in seen  # the line of an error
    assert "<string>:27 in <module>" in seen  # where an op was called
    return seen


@pytest.fixture
def own(built, tmp_path):
    """Return a copy of the package that a test may change."""
    return shutil.copytree(built, tmp_path / "own")


def test_nothing_is_written_again(built, written):
    assert run(built) == (written, ["0", "False", "False", "False"])
    assert run(built, PYTHONDONTWRITEBYTECODE="1")[0] == written


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("agnograd/rules/elementwise.py", "# elementwise", "#  elementwise"),
        ("agnograd/_built/op_tanh.py", "FUNCTIONS = {", "FUNCTIONS = {} and {"),
    ],
)
def test_what_has_changed_is_written_now(own, written, path, before, after):
    file = own / path
    text = file.read_text()
    file.write_text(text.replace(before, after) if before in text else f"{text}\n{after}\n")
    seen, (count, *writers) = run(own)
    assert seen == written
    assert int(count) > 0
    assert writers == ["True"] * 3


def test_a_switch_has_texts_of_its_own(built, written):
    if "AGNOGRAD_SWITCHES" in os.environ:
        pytest.skip("the switches are set for this run")
    _, (count, *writers) = run(built, AGNOGRAD_SWITCHES="least")
    assert int(count) > 0
    assert writers == ["True"] * 3


def test_every_op_of_the_standard_has_its_functions(built):
    found = 0
    for entry, op_set in op_sets():
        for name, op in op_set.ops.items() if entry.module.startswith("agnograd.rules.") else ():
            path = built / "agnograd" / "_built" / f"{module_of(name)}.py"
            assert path.exists() != op.composed, name
            for each in filter(Path.exists, (path, path.with_stem(f"{path.stem}_other"))):
                spec = importlib.util.spec_from_file_location("of_an_op", each)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                found += len(module.FUNCTIONS)
    assert found > 700


@pytest.mark.slow
def test_ops_are_right_as_they_are_built(built, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    program = f"""
import sys, pytest
status = pytest.main(["-q", "-c", {str(tmp_path / "pytest.ini")!r}, "-p", "no:cacheprovider",
    "--pyargs", "agnograd.testing.conformance", "--agnograd-quick",
    "--agnograd-checks=forward", "--agnograd-checks=*_derivative"])
print(status, "agnograd._built.op_tanh" in sys.modules)
"""
    seen, _ = run(built, program, tmp_path)
    assert seen.endswith("0 True\n")
