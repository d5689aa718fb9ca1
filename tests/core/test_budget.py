"""What an op may cost, counted and not timed: calls of Python functions, objects, bytes."""

import gc
import os
import subprocess
import sys
import tracemalloc
from functools import partial

import numpy as np
import pytest

import agnograd as ag
from agnograd._graph.nodes import OP
from agnograd.extend import hookimpl
from calls import calls

pytestmark = [pytest.mark.accelerated, pytest.mark.usual_switches]

xp = ag.namespace("numpy")

ARRAY = np.linspace(0.1, 0.9, 10)
MATRIX = 0.9 * np.eye(10)
N = 200


def chain(step, n, start=ARRAY):
    x = y = ag.Variable(start)
    for _ in range(n):
        y = step(x, y)
    return x, y


def calls_per_step(prepared):
    """Return the calls that each step adds to what ``prepared(n)`` gives, a function to be run."""
    prepared(N)()  # what is done but once is done
    return (calls(prepared(2 * N)) - calls(prepared(N))) / N


# A step of a chain, the Python functions that it calls, and those of its backward pass: the op's
# own function; the backward function, a rule if there is something to compute in it, and one more
# if what arrives has to be added up.
STEPS = {
    "y * y": (lambda x, y: y * y, 1, 1),
    "y * 0.9": (lambda x, y: y * 0.9, 1, 1),
    "y + y": (lambda x, y: y + y, 1, 2),
    "y + 1.0": (lambda x, y: y + 1.0, 1, 1),
    "-y": (lambda x, y: -y, 1, 1),
    "exp": (lambda x, y: xp.exp(-y), 2, 2),
    "sin": (lambda x, y: xp.sin(y), 1, 1),
    "y / 2.0": (lambda x, y: y / 2.0, 1, 3),
}


@pytest.mark.parametrize(("step", "forward", "backward"), STEPS.values(), ids=STEPS.keys())
def test_python_calls_of_an_op_forward_and_backward(step, forward, backward):
    # The step itself is a call, too.
    assert calls_per_step(lambda n: lambda: chain(step, n)) == forward + 1
    seed = np.ones(10)
    assert calls_per_step(lambda n: partial(chain(step, n)[1].backward, seed)) == backward


@pytest.mark.parametrize(
    ("step", "most"),
    [
        (lambda x, y: y * 0.9, 20),
        (lambda x, y: y + y, 21),
        (lambda x, y: xp.sin(y), 20),
        (lambda x, y: xp.matmul(MATRIX, y), 24),
    ],
    ids=["y * 0.9", "y + y", "sin", "matmul"],
)
def test_python_calls_of_an_op_in_forward_mode(step, most):
    def repeated(n, x):
        y = x
        for _ in range(n):
            y = step(x, y)
        return y

    def pushed(n):
        return lambda: ag.jvp(partial(repeated, n), ARRAY, ARRAY)

    assert calls_per_step(pushed) <= most


def test_python_calls_of_an_op_before_a_mask():
    def masked(name):
        step = STEPS[name][0]
        return lambda n: partial(
            xp.where(ARRAY > 0.4, chain(step, n)[1], 0.0).backward, np.ones(10)
        )

    # A look at the node, two at its edges, one at the size of the cotangent, and the step.
    assert calls_per_step(masked("y + 1.0")) == 5
    # What may not be finite is also looked through for zeros and NaN, in NumPy's context.
    assert calls_per_step(masked("sin")) <= 17


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_python_calls_of_a_product_of_matrices(dtype):
    matrix = np.eye(3, dtype=dtype)

    def products(n):
        return chain(lambda x, y: y @ matrix, n, matrix)[1]

    # The step itself and the op's function; backward the step. The backend's functions, for two
    # matrices and for the derivative, are written out in them.
    assert calls_per_step(lambda n: partial(products, n)) == 2
    assert calls_per_step(lambda n: partial(products(n).backward, matrix)) == 1


def test_python_calls_of_a_pass_and_of_a_leaf():
    def total(n):
        leaves = [ag.Variable(ARRAY) for _ in range(n)]
        out = sum(leaves[1:], leaves[0] * 2.0)
        return partial(out.backward, np.ones(10))

    total(1)()
    assert calls(total(1)) <= 17
    # The sum that it is a term of, its arrival, and an array of its own.
    assert calls_per_step(total) == 4


def test_python_calls_of_a_gradient_of_a_function():
    other = ag.Variable(ARRAY)  # with another leaf alive, the graph is searched: four calls more
    gradient = ag.grad(lambda x: xp.sum(x * x))
    gradient(ARRAY)
    assert calls(partial(gradient, ARRAY)) <= 25

    several = ag.grad(lambda *arrays: xp.sum(sum(arrays)), argnums=(0, 1, 2, 3, 4))
    pairs = ag.grad(lambda pair: xp.sum(pair["w"] * pair["b"]))
    for each, arguments, most in [
        (several, [ARRAY] * 5, 49),  # two for each argument, and its op's
        (pairs, [{"w": ARRAY, "b": ARRAY}], 43),
        (ag.value_and_grad(lambda x, y: xp.sum(x * y)), [ARRAY, ARRAY], 34),
    ]:
        each(*arguments)
        assert calls(partial(each, *arguments)) <= most
    assert other.requires_grad

    def steps(n):
        def total(y):
            for _ in range(n):
                y = y * 0.9
            return xp.sum(y)

        return partial(ag.grad(total), ARRAY)

    assert calls_per_step(steps) == 2  # the op, and its step back


def test_python_calls_of_a_push():
    def pushed(n):
        def chained(y):
            for _ in range(n):
                y = xp.sin(y * 0.9)
            return y

        return partial(ag.linearize(chained, ARRAY)[1], ARRAY)

    assert calls_per_step(pushed) == 2  # a step for each product
    pushed(1)()
    assert calls(pushed(1)) <= 62
    for mode in ("forward", "reverse"):
        jacobian = ag.jacobian(lambda x: xp.sin(x), mode=mode)
        assert calls_per_step(lambda n, f=jacobian: partial(f, np.linspace(0.1, 0.9, n))) <= 50


# A step, what it calls in vmap, and what its step back calls there: the op's own function, that of
# many members, and the array of many that is made; then what binds arguments, and a batching rule.
BATCHED = {
    "y + y": (lambda x, y: y + y, 4, 7),
    "y * 0.9": (lambda x, y: y * 0.9, 4, 4),
    "y * same": (lambda x, y: y * ARRAY, 13, 6),
    "sin": (lambda x, y: xp.sin(y), 7, 7),
    "matmul": (lambda x, y: y @ MATRIX, 25, 17),
    "flip": (lambda x, y: xp.flip(y), 33, 16),
}


@pytest.mark.parametrize(("step", "forward", "backward"), BATCHED.values(), ids=BATCHED.keys())
def test_python_calls_of_an_op_on_many_members(step, forward, backward):
    members = np.ones((4, 10))

    def repeated(n, x):
        y = x
        for _ in range(n):
            y = step(x, y)
        return y

    def total(n, x):
        return xp.sum(repeated(n, x))

    there = calls_per_step(lambda n: partial(ag.vmap(partial(repeated, n)), members))
    both = calls_per_step(lambda n: partial(ag.vmap(ag.grad(partial(total, n))), members))
    assert there <= forward
    assert both - there <= backward


def test_python_calls_of_a_gradient_for_each_member():
    gradients = ag.vmap(ag.grad(lambda x: xp.sum(x * x)))
    members = np.ones((4, 10))
    gradients(members)
    parameter = ag.Variable(ARRAY)  # while a leaf is alive that is not asked for, a pass searches
    assert calls(partial(gradients, members)) <= 207 + 4
    del parameter


def test_python_calls_of_an_op_of_an_argument_that_is_one_number():
    def steps(n):
        def product(y, k):
            for _ in range(n):
                y = y * k
            return y

        return partial(ag.grad(product, argnums=(0, 1)), np.asarray(0.9), np.asarray(1.01))

    assert calls_per_step(steps) == 3  # the op, its step back, and the sum of gradients of k


def test_numbers_of_python_are_numbers_beside_others():
    x = ag.Variable(0.5)
    y = x * 1.0
    op = (y * y)._node[OP]
    assert (y * 2.0)._node[OP] is op
    assert (2 * y)._node[OP].name == op.name
    assert (2 * y)._node[OP].plan == op.plan
    assert (ag.Variable(ARRAY) * 2.0)._node[OP].plan != op.plan


def test_python_calls_of_making_a_leaf_and_of_reading_an_array():
    leaf = ag.Variable(ARRAY)
    leaf.grad = ARRAY
    assert calls(lambda: ag.Variable(ARRAY)) == 2  # the lambda, and the Variable with its leaf
    assert calls(lambda: leaf.data) == 2
    assert calls(lambda: leaf.grad) == 2


def test_python_calls_of_an_element_that_is_read():
    def read(n):
        x = ag.Variable(np.linspace(0.0, 1.0, n))
        total = 0.0
        for i in range(n):
            total = total + x[i]
        return total

    assert calls_per_step(lambda n: lambda: read(n)) == 2
    # That of the sum alone: elements wait for one another.
    assert calls_per_step(lambda n: read(n).backward) == 1
    with ag.enable_grad():  # a state of its own
        assert calls_per_step(lambda n: read(n).backward) == 1

    def read_in_turn(n):
        x, y = ag.Variable(np.linspace(0.0, 1.0, n)), ag.Variable(np.linspace(1.0, 2.0, n))
        total = 0.0
        for i in range(n):
            total = total + x[i] * y[i]
        return total

    assert calls_per_step(lambda n: read_in_turn(n).backward) == 2  # of the sum and the product


def test_objects_that_a_recorded_op_leaves_behind():
    gc.collect()
    gc.disable()
    try:
        x = y = ag.Variable(0.5)
        x * 1.01  # whatever is compiled, is
        before = len(gc.get_objects())
        for _ in range(N):
            y = y * 1.01
        grown = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert grown <= N + 5  # a list each, and no more that the collector has to visit
    y.backward()
    assert x.grad.item() == pytest.approx(1.01**N)


# A list of the node's values and the values that nothing else holds: a rank, a saved number.
@pytest.mark.parametrize(
    ("step", "most"),
    [
        (lambda x, y: y * 0.9, 250),  # the array that the next op would save is freed
        (lambda x, y: x[3], 150),  # the leaf knows its shape and dtype
        (lambda x, y: (y if y.ndim == 0 else y[0]) * x[3], 345),  # two nodes, and two numbers
    ],
    ids=["y * 0.9", "x[3]", "y * x[3]"],
)
def test_bytes_of_a_recorded_op(step, most):
    def recorded(n):
        kept = []
        tracemalloc.start()
        try:
            x = y = ag.Variable(ARRAY)
            for _ in range(n):
                y = step(x, y)
                kept.append(y._node)
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    recorded(1)  # what is done but once is done
    used = (recorded(2 * N) - recorded(N)) / N
    assert used < most


def test_an_op_that_is_not_recorded_leaves_nothing_behind():
    with ag.no_grad():
        _, y = chain(lambda x, y: y * 0.9, 1)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(N):
            y = y * 0.9
        assert len(gc.get_objects()) - before <= 5


def test_hooks_that_are_not_there_cost_no_call():
    class Leaves:
        @hookimpl
        def gradient_ready(self, variable):
            pass

    step = STEPS["sin"][0]
    chain(step, 1)  # what is done but once is done
    plain = calls(lambda: chain(step, N))
    with ag.hooks(Leaves()):
        assert calls(lambda: chain(step, N)) == plain


COLD = """
import builtins, sys
import numpy as np

def loaded():
    new = set(sys.modules) - known
    # Where each op has a module, there is one for each op that is called.
    return sum(not each.startswith("agnograd._built.op_") for each in new)

def counted(*args, real=builtins.compile, **kwargs):
    beside = "typing", "annotationlib", "importlib._bootstrap"
    if sys._getframe(1).f_globals["__name__"] not in beside:
        compiled.append(args[1] == "<agnograd>" and "return" in args[0])
    return real(*args, **kwargs)

known, compiled, counts = set(sys.modules), [], []
builtins.compile = counted
import agnograd as ag
xp, x = ag.namespace("numpy"), np.linspace(0.1, 0.9, 10)
counts += [loaded(), compiled.count(True), len(compiled)]
f = lambda x: xp.sum(xp.exp(-x * x) * xp.sin(3.0 * x) + xp.tanh(x) / (1.0 + x * x))
for name in ("grad", "grad", "hessian"):
    known, compiled = set(sys.modules), []
    getattr(ag, name)(f)(x)
    counts += [loaded(), len(compiled)]
others = ("optree", "scipy", "torch", "jax", "dask", "array_api_compat.numpy", "agnograd_torch")
print(*counts, *(name for name in others if name in sys.modules))
"""


def test_what_a_program_that_runs_once_imports_and_compiles(built):
    places = {"checkout": {}, "wheel": {"PYTHONPATH": str(built)}}
    counts = {}
    for place, path in places.items():
        command = [sys.executable, "-P", "-c", COLD]
        done = subprocess.run(command, env={**os.environ, **path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        counts[place] = [*map(int, done.stdout.split())]
    # No function is compiled before it is called.
    modules, functions, texts, gradient, compiled, again, none, hessian, more = counts["checkout"]
    assert functions == again == none == hessian == 0 < compiled
    # A wheel has what is compiled. The text is the stub of the package.
    modules, functions, texts, gradient, compiled, again, none, hessian, more = counts["wheel"]
    assert (modules, texts) <= (81, 1)
    assert gradient <= 34
    assert functions == compiled == again == none == hessian == more == 0


def test_python_calls_of_the_logarithm_of_a_sum_of_exponentials():
    gradient = ag.grad(lambda x: xp.special.logsumexp(x))
    gradient(ARRAY)
    assert calls(partial(gradient, ARRAY)) <= 110
