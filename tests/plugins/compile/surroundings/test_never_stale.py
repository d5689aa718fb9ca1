"""What a function decides by outside of itself: a program is not run where it is another thing."""

import os
import sys
import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileWarning

xp = ag.namespace("numpy")

# What there is, what the function returns or does, and what changes then.
ABSENT = {
    "attribute": ("o = Open()", "x * (2.0 if hasattr(o, 'k') else 1.0)", "o.k = 1"),
    "attribute for another": (
        "o = Open(); o.other = 1",
        "x * (2.0 if hasattr(o, 'k') else 1.0)",
        "o.k = 1; del o.other",
    ),
    "default": ("o = Open()", "x * getattr(o, 'k', 1.0)", "o.k = 3.0"),
    "computed name": (
        "o = Open(); o.v0 = 1.0",
        "x * getattr(o, f'v{len(sizes)}', 1.0); sizes = (1,)",
        "o.v1 = 3.0; del o.v0",
    ),
    "caught": ("o = Open()", "try: return x * o.k\n except AttributeError: return x", "o.k = 2.0"),
    "caught, for another": (
        "o = Open(); o.other = 1",
        "try: return x * o.k\n except AttributeError: return x",
        "o.k = 2.0; del o.other",
    ),
    "slot": ("o = Slots()", "x * (2.0 if hasattr(o, 'k') else 1.0)", "o.k = 1"),
    "default of a slot": ("o = Slots()", "x * getattr(o, 'k', 1.0)", "o.k = 3.0"),
    "of a class": ("o = Open()", "x * (2.0 if hasattr(o, 'k') else 1.0)", "Open.k = 2.0"),
    "of a class, for another": (
        "o = Open(); Open.other = 1",
        "x * (2.0 if hasattr(o, 'k') else 1.0)",
        "Open.k = 2.0; del Open.other",
    ),
    "of a function": (
        "def g(): pass",
        "x * (2.0 if hasattr(g, 'k') else 1.0)",
        "g.k = 1",
    ),
    "of a module": (
        "m = types.ModuleType('m_of_users')",
        "x * (2.0 if hasattr(m, 'k') else 1.0)",
        "m.k = 1",
    ),
    "of a module, caught": (
        "m = types.ModuleType('m_of_users')",
        "try: return x * m.k\n except AttributeError: return x",
        "m.k = 2.0",
    ),
    "key": ("d = {}", "x * d.get('k', 1.0)", "d['k'] = 2.0"),
    "in a set": ("s = set()", "x * (2.0 if 'k' in s else 1.0)", "s.add('k')"),
    "global variable": ("", "try: return x * later\n except NameError: return x", "later = 2.0"),
    "global variable by its name": ("", "x * globals().get('later', 1.0)", "later = 2.0"),
}
PROCESS = {
    "environment": (
        "",
        "x * float(os.environ.get('AGNOGRAD_A', '1'))",
        "os.environ['AGNOGRAD_A'] = '2'",
    ),
    "getenv": ("", "x * float(os.getenv('AGNOGRAD_A', '1'))", "os.environ['AGNOGRAD_A'] = '2'"),
    "environ by its name": (
        "from os import environ",
        "x * (2.0 if 'AGNOGRAD_A' in environ else 1.0)",
        "os.environ['AGNOGRAD_A'] = '2'",
    ),
    "imported inside": (
        "",
        "import os as own; return x * (2.0 if 'AGNOGRAD_A' in own.environ else 1.0)",
        "os.environ['AGNOGRAD_A'] = '2'",
    ),
    "getenv by its name": (
        "from os import getenv",
        "x * float(getenv('AGNOGRAD_A', '1'))",
        "os.environ['AGNOGRAD_A'] = '2'",
    ),
    "arguments": ("", "x * len(sys.argv)", "sys.argv = [*sys.argv, 'more']"),
    "folder": ("", "x * len(os.getcwd())", "os.chdir('/')"),
    "treatment of errors": (
        "",
        "x * (2.0 if np.geterr()['divide'] == 'ignore' else 1.0)",
        "np.seterr(divide='ignore')",
    ),
    "precision of decimals": (
        "import decimal",
        "x * decimal.getcontext().prec",
        "decimal.getcontext().prec = 5",
    ),
}
LOOKS = {  # at an array that ops use, too
    "a helper": ("def h(a): return 2.0 if a[0] > 0 else 1.0", "x * h(w)"),
    "a helper of a helper": (
        "def i(c): return float(c[0])\ndef h(a, *, b): return i(b) if a else 1.0",
        "x * h(True, b=w)",
    ),
    "several arguments": ("def h(*a): return a[1][0] > 0", "x * 2.0 if h(x, w) else x"),
    "a method": (
        "class M:\n def h(self, a): return a[0] > 0\nm = M()",
        "x * 2.0 if m.h(w) else x",
    ),
    "a property": (
        "class M:\n @property\n def h(self): return self.w[0] > 0\nm = M(); m.w = w",
        "x * 2.0 if m.h else x",
    ),
    "what a function returns": ("def h(): return w", "x * 2.0 if h()[0] > 0 else x"),
    "a function that is given": (
        "def h(f, a): return f(a)",
        "x * 2.0 if h(lambda a: a[0] > 0, w) else x",
    ),
    "an object that is called": (
        "class M:\n def __call__(self, a): return a[0] > 0\nm = M()",
        "x * 2.0 if m(w) else x",
    ),
    "a product of two": ("v = np.ones(3)", "x * 2.0 if (w * v)[0] > 0 else x * v"),
    "a list": ("", "for a in [w]:\n  x = x * 2.0 if a[0] > 0 else x\n return x"),
    "an inner variable": ("", "v = w; g = lambda: v[0] > 0; return x * 2.0 if g() else x"),
    "bytes": ("", "x * 2.0 if bytes(w)[:8] == one else x; one = np.float64(1.0).tobytes()"),
    "the key of a dict": ("d = {1.0: 2.0, -1.0: 5.0}", "x * d[w[0]]"),
    "a text": ("", "x * len(f'{w[0]:.1f}')"),
    "a library": ("", "x * 2.0 if np.array_equal(w, np.ones(3)) else x"),
    "a library that makes a number": ("import statistics", "x * statistics.fmean(w)"),
}


def made(setup, body):
    """Return a function of these texts, and the variables that it reads."""
    scope = {"__name__": "of_users", "np": np, "xp": xp, "os": os, "sys": sys, "w": np.ones(3)}
    classes = "import types\nclass Open: pass\nclass Slots: __slots__ = ('k',)\n"
    if "return" not in body:
        value, _, more = body.partition("; ")
        setup, body = f"{setup}\n{more}", f"return {value}"
    exec(f"{classes}{setup}\ndef f(x):\n {body}", scope)
    return scope["f"], scope


def results(compiled, f, scope, change):
    """Return what compiled and plain calls return after a change."""
    x = np.asarray([0.5, -1.0, 2.0])
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), f(x))
    before = f(x)
    exec(change, scope)
    plain = f(x)
    assert not np.array_equal(before, plain)
    return compiled(x), plain


@pytest.mark.parametrize("name", ABSENT)
def test_what_was_absent_is_seen(name):
    setup, body, change = ABSENT[name]
    f, scope = made(setup, body)
    np.testing.assert_array_equal(*results(ag.compile(f), f, scope, change))


@pytest.mark.parametrize("name", PROCESS)
def test_what_belongs_to_the_process_is_compared(name, monkeypatch):
    import decimal

    setup, body, change = PROCESS[name]
    monkeypatch.setenv("AGNOGRAD_A", "1")
    monkeypatch.delenv("AGNOGRAD_A")
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.chdir(os.getcwd())
    with np.errstate(), decimal.localcontext():
        f, scope = made(setup, body)
        np.testing.assert_array_equal(*results(ag.compile(f), f, scope, change))


@pytest.mark.parametrize("name", LOOKS)
def test_arrays_that_python_looks_at_are_compared(name):
    setup, body = LOOKS[name]
    g, scope = made(setup, body)
    scope["g"] = g
    exec("def f(x): return g(x) + 0.0 * (x * w)", scope)
    f = scope["f"]
    np.testing.assert_array_equal(*results(ag.compile(f), f, scope, "w[0] = -1.0"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import time\ndef f(x): return x * time.time()", "time.time"),
        ("from time import time\ndef f(x): return x * time()", "time.time"),
        ("import os\ndef f(x): return x * os.path.exists('/')", "os.path.exists"),
        ("def f(x):\n with open(__file__) as file: return x * len(file.read(1))", "builtins.open"),
        ("from datetime import datetime\ndef f(x): return x * datetime.now().year", "datetime.now"),
        ("import sys\ndef f(x): return x * ('later' in sys.modules)", "sys.modules"),
    ],
)
def test_what_differs_from_call_to_call_is_warned_of_once(text, named):
    scope = {"__file__": __file__}
    exec(text, scope)
    compiled = ag.compile(scope["f"])
    with pytest.warns(CompileWarning, match=f"f may use .*{named}, .* give it as an argument"):
        compiled(np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(np.ones(2))
        compiled(np.ones(3))


def test_large_arrays_that_only_ops_use_are_not_compared():
    """A network's weights are outside, and its layers are functions that get them."""
    scope = {"xp": xp, "w": np.ones((300, 300)), "b": np.zeros(300)}
    exec("def layer(w, b, x): return xp.tanh(x @ w + b) if x.ndim else x", scope)
    exec("def f(x):\n y = layer(w, b, x)\n return xp.sum(layer(w, b, y)) if len(w) else y", scope)
    compiled = ag.compile(scope["f"])
    compiled(np.ones(300))
    assert not compiled._elements
