"""A pytest plugin that makes HIPS autograd differentiate with agnograd.

autograd's programs, its checks of gradients and its transformations stay as they are. What they
all stand on is replaced: ``make_vjp`` and ``make_jvp``, which trace with agnograd's Variables, and
``primitive``, which sends a function of Variables to agnograd.
"""

import importlib
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import optree
import pytest

import agnograd as ag
from agnograd.errors import NoGradientError
from agnograd.testing.gaps import read_gaps

TESTS = 631  # as many as autograd 1.9.1 has
VARIABLE = type(ag.Variable(1.0))
ARRAYS = (VARIABLE, np.ndarray, np.generic)
xp = ag.namespace("numpy")
# The places of autograd.numpy that autograd fills itself, since NumPy's functions do not take its
# boxes. They take Variables.
NUMPYS = (
    *("array_split", "column_stack", "concatenate", "diff", "hstack", "row_stack"),
    *("select", "vstack"),
)


def is_tracked(value):
    return isinstance(value, VARIABLE) and value.requires_grad


def conjugate(tree):
    """Return cotangents in the other convention for complex numbers: autograd's are conjugates."""
    return optree.tree_map(lambda g: np.conj(g) if np.iscomplexobj(g) else g, tree)


def make_vjp(fun, x):
    """Return a pullback and the value of a function, as ``autograd.core.make_vjp`` does."""
    try:
        value, pullback = ag.vjp(fun, x)
    except NoGradientError:  # of integers and booleans, where autograd has zeros
        return lambda g: sys.modules["autograd.core"].vspace(x).zeros(), fun(x)
    return lambda g: conjugate(pullback(conjugate(g))[0]), value


def make_jvp(fun, x):
    """Return a pushforward, which also gives the value, as ``autograd.core.make_jvp`` does."""
    return lambda v: ag.jvp(fun, (x,), (v,))


def primitive(f):
    """Return a function whose derivative is agnograd's, or a rule of autograd's if it has none."""
    home = (getattr(f, "__module__", None) or "").split(".")
    if isinstance(f, np.ufunc) or home[0] == "numpy":
        target = f
    elif home[0] == "scipy" and (pack := getattr(xp, home[1], None)) is not None:
        target = getattr(pack, getattr(f, "__name__", ""), None)
    else:
        target = None

    def function(*args, **kwargs):
        if not any(isinstance(leaf, VARIABLE) for leaf in optree.tree_leaves((args, kwargs))):
            return f(*args, **kwargs)
        if target is not None:
            return target(*args, **kwargs)
        return by_rule(f, function, args, kwargs)

    for name in ("__name__", "__doc__"):
        if hasattr(f, name):
            setattr(function, name, getattr(f, name))
    function.fun = f
    function._is_autograd_primitive = True
    return function


def by_rule(f, function, args, kwargs):
    """Call a function as an op with the rule that it was given by ``defvjp``."""
    rules = sys.modules["autograd.core"].primitive_vjps
    asked = tuple(i for i, arg in enumerate(args) if any(map(is_tracked, optree.tree_leaves(arg))))

    def vjp(g, out, *raw, **kwargs):
        if function not in rules:
            raise NotImplementedError(f"VJP of {f.__name__} wrt argnums {asked} not defined")
        found = dict(
            zip(asked, rules[function](asked, out, raw, kwargs)(conjugate(g)), strict=True)
        )
        return tuple(
            conjugate(found[i]) if i in found else None
            for i, arg in enumerate(raw)
            if any(isinstance(leaf, ARRAYS) for leaf in optree.tree_leaves(arg))
        )

    return ag.wrap(f, vjp=vjp)(*args, **kwargs)


def array(A, *args, **kwargs):  # noqa: N803 - autograd's name
    """Return an array of nested lists of Variables, which NumPy's ``array`` cannot take."""
    if not any(isinstance(leaf, VARIABLE) for leaf in optree.tree_leaves(A)):
        return np.array(A, *args, **kwargs)
    made = np.stack([array(each) for each in A]) if isinstance(A, list | tuple) else np.copy(A)
    return np.array(made, *args, like=made, **kwargs) if args or kwargs else made


def opened(x):
    """Return a Variable's elements as an array of objects, which ``r_`` and ``c_`` can join."""
    if not isinstance(x, VARIABLE):
        return x
    elements = np.empty(x.shape, dtype=object)
    for index in np.ndindex(x.shape):
        elements[index] = x[index]
    return elements


def joining(join):
    """Return autograd's ``r_`` or ``c_`` for Variables among what is joined."""

    class Join(type(join)):
        def __getitem__(self, args):
            if not isinstance(args, tuple):
                return super().__getitem__(opened(args))
            return super().__getitem__(tuple(map(opened, args)))

    return Join()


def install():
    """Replace what everything of autograd's stands on, before any of it is imported."""
    package = types.ModuleType("autograd")
    package.__path__ = find_spec("autograd").submodule_search_locations
    sys.modules["autograd"] = package
    tracer = importlib.import_module("autograd.tracer")
    tracer.primitive = primitive
    tracer.isbox = lambda x: isinstance(x, VARIABLE)
    tracer.getval = lambda x: x.detach().data if isinstance(x, VARIABLE) else x
    core = importlib.import_module("autograd.core")
    core.make_vjp, core.make_jvp = make_vjp, make_jvp
    del sys.modules["autograd"]
    wrapper = importlib.import_module("autograd.numpy.numpy_wrapper")
    anp = importlib.import_module("autograd.numpy")
    for name in NUMPYS:
        if hasattr(np, name):
            for module in (wrapper, anp):
                setattr(module, name, getattr(np, name))
    for module in (wrapper, anp):
        module.array = array
        module.r_, module.c_ = joining(wrapper.r_), joining(wrapper.c_)
    spaces = importlib.import_module("autograd.numpy.numpy_vspaces")
    core.VSpace.mappings[VARIABLE] = lambda v: (
        spaces.ComplexArrayVSpace if np.iscomplexobj(v.data) else spaces.ArrayVSpace
    )(v.data)


install()


def pytest_collection_modifyitems(items):
    """Expect the listed differences; one that is gone, or names no test, is a failure."""
    listed = read_gaps(Path(__file__).with_name("differences.txt"), lambda line: True)
    for gap in listed:
        found = [item for item in items if gap.is_of(item.nodeid)]
        if not found and len(items) >= TESTS:
            raise pytest.UsageError(f"differences.txt names no test: {gap.pattern}")
        for item in found:
            item.add_marker(pytest.mark.xfail(raises=gap.error, reason=gap.reason, strict=True))
