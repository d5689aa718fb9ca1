"""The reference pass and ops without generated code: the usual way agrees with them."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HELPERS = Path(__file__).parents[1] / "helpers"
PROGRAMS = 100


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return what a usual process and one in reference mode compute, side by side."""
    folder, running = tmp_path_factory.mktemp("both"), []
    for mode in ("0", "1"):
        command = [sys.executable, HELPERS / "both_ways.py", folder / mode, str(PROGRAMS)]
        environment = os.environ | {"AGNOGRAD_REFERENCE": mode, "PYTHONPATH": str(HELPERS)}
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE))
    errors = [each.communicate()[1].decode() for each in running]
    assert [each.returncode for each in running] == [0, 0], "\n".join(errors)
    usual, reference = (pickle.loads((folder / mode).read_bytes()) for mode in ("0", "1"))
    assert (usual["reference"], reference["reference"]) == (False, True)
    return usual, reference


def agree(usual, reference, name):
    """Compare nested lists of arrays: within rounding, where parts may be summed in one go."""
    if isinstance(usual, list):
        assert len(usual) == len(reference), name
        for one, other in zip(usual, reference, strict=True):
            agree(one, other, name)
    elif isinstance(usual, np.ndarray | np.generic):
        assert usual.dtype == reference.dtype, name
        rounding = 2e-14 if usual.dtype in ("float64", "complex128") else 2e-5
        scale = np.max(np.abs(usual), initial=0.0, where=np.isfinite(usual))
        np.testing.assert_allclose(
            usual, reference, rtol=0, atol=rounding * (1 + scale), err_msg=name
        )
    else:
        assert usual == reference, name


@pytest.mark.slow
def test_every_sample_agrees(both):
    usual, reference = (each["samples"] for each in both)
    assert usual.keys() == reference.keys()
    assert len(usual) > 1000
    for name, found in usual.items():
        agree(found, reference[name], name)


@pytest.mark.slow
def test_random_programs_agree(both):
    usual, reference = (each["programs"] for each in both)
    assert len(usual) == len(reference) == PROGRAMS
    for (source, found), (again, other) in zip(usual, reference, strict=True):
        assert source == again
        agree(found, other, source)


PROGRAM = """
import agnograd as ag
from agnograd.extend import hookimpl

assert ag.hooks("timer")
xp = ag.namespace("numpy")
events = []

class Seen:
    @hookimpl
    def forward_postprocess(self, op, outputs):
        events.append(("forward", op.name, len(outputs), op.location))
    @hookimpl
    def backward_postprocess(self, op, grad_inputs):
        events.append(("backward", op.name, len(grad_inputs)))
    @hookimpl
    def gradient_ready(self, variable, grad):
        events.append(("leaf", variable.shape))

x = ag.Variable(xp.asarray([1.0, 2.0]).data)
y = ag.Variable(xp.asarray([3.0, 4.0]).data)
with ag.hooks(Seen()):
    z = x * y
    z.register_hook(lambda g: g * 2)
    z.retain_grad()
    first, second = xp.unstack(z)
    total = first * 2.0 + second
    total.backward()
events.append(x.grad.data.tolist())
events.append(z.grad.data.tolist())
try:
    total.backward()
except ag.errors.FreedGraphError as error:
    events.append(str(error))
w = ag.Variable(xp.asarray([1.0, 2.0]).data)
with ag.hooks(Seen()):
    xp.sum(ag.checkpoint(lambda v: v * v * v)(w)).backward()
events.append(w.grad.data.tolist())

layers = [ag.Variable(xp.asarray([v, v]).data) for v in (1.0, 2.0, 3.0)]
h = xp.asarray([0.5, 1.5])
for layer in layers:
    h = xp.tanh(h * layer + layers[0])
ready = ag.when_ready(layers[1:], lambda grads: events.append(("ready", len(grads))))
with ag.hooks(Seen(), ready):
    xp.sum(h).backward()

class Square(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return x * x
    def backward(self, xp, g):
        (x,) = self.saved
        events.append((type(x).__name__, type(g).__name__))
        return 2 * x * g

events.append(ag.grad(lambda x: xp.sum(Square()(x)))(x.data).tolist())
path = xp.zeros((1, 2))
path[0, ...] = xp.ones(3)[1:]
events.append(path.data.tolist())
print(events)
"""


LEVELS = """
import numpy as np
import agnograd as ag
from arrays import Square

xp = ag.namespace("numpy")

def f(x):
    return xp.concat([x[1:] * Square()(x[:-1]), xp.where(x > 1, xp.sin(x), 0.0)])

x = np.arange(4.0)
print(ag.sparse_jacobian(f)(x).toarray().tolist())
print(ag.hessian(lambda x: xp.sum(f(x) ** 2))(x).tolist())
print(ag.vmap(ag.grad(lambda x: xp.sum(f(x) ** 2)))(x.reshape(2, 2)).tolist())
"""


def printed(program):
    """Return what a program prints with the usual pass, and with the reference pass."""
    return [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env=os.environ | {"AGNOGRAD_REFERENCE": mode, "PYTHONPATH": str(HELPERS)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for mode in ("", "1")
    ]


def test_hooks_see_the_same():
    usual, reference = printed(PROGRAM)
    assert "backward" in usual
    assert usual == reference


def test_many_cotangents_at_once_are_pulled_to_the_same():
    usual, reference = printed(LEVELS)
    assert usual == reference


@pytest.mark.slow
def test_passes_that_are_watched_keep_their_promises():
    """Leaves are final as early, and as little is kept, without generated code."""
    tests = Path(__file__).parents[1]
    files = [
        tests / each
        for each in (
            "core/test_ready.py",
            "core/test_hook_leaves.py",
            "plugins/loops/test_budget.py",
        )
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"AGNOGRAD_REFERENCE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
