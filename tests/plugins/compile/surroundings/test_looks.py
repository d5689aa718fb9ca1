"""Code that looks at values: their names, so that arrays with these are compared in each call."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._surroundings.flows import Closure
from agnograd_compile._surroundings.inventory import Name

xp = ag.namespace("numpy")

LOOKS = {
    "return x if w[0] > 0 else x * w": {"w"},
    "return x * 2 if w else x": {"w"},
    "if m.any(): return x": {"m"},
    "if not m.any() and w.sum(0) > 1: return x": {"m", "w"},
    "if np.any(m): return x": {"m"},
    "for _ in range(n): x = x * n": {"n"},
    "if table['k'] > limit: return x": {"k"},
    "if rows[0][1] > limit: return x": {"rows"},
    "return x * float(self.scale)": {"scale"},
    "return x[int(n)]": {"n"},
    "y = w.T[0]; z = y * 2\n  if z > 0: return x": {"w"},
    "if (y := w.item()) > 0: return x * y": {"w"},
    "for a in w:\n    if a > 0: x = x * a": {"w"},
    "while 0 < w < 1: x = x * 2": {"w"},
    "assert w[0] > 1": {"w"},
    "return x if 2.0 in w else w": {"w"},
    "return x * w[1].item()": {"w"},
    "y = w.tolist(); return x * y[0]": {"w"},
    "return x * (2.0 in w)": {"w"},
    "return x * math.sin(w[0])": {"w"},
    "return x[a] if b else w[c] if d else x": {"b", "c", "d", "w"},
    "y = {'a': w, **m}; z = f'{a}'; return g(*b, **c) if d else [x, *n]": {*"abcd"},
}
PASSED = {  # to functions, by all ways that there are
    "return x * 2 if first(w) else x": {"w"},
    "return x * 2 if first(a=w) else x": {"w"},
    "return x * 2 if first(*[w]) else x": {"w"},
    "return x * 2 if first(**{'a': w}) else x": {"w"},
    "return x * 2 if pick(0, w) else x * b": {"w"},
    "return x * 2 if kept(x, 1, w, b) else x": {"w", "b"},
    "return x * 2 if named(x, u=w) else x": {"w"},
    "return x * 2 if second(w) else x": {"w"},
    "return x * 2 if self.first(w) else x": {"w"},
    "return x * 2 if itself(w)[0] > 0 else x": {"w"},
    "return x * 2 if outer()[0] > 0 else x": {"k"},
    "return x * call(first, w)": {"w"},
    "return x * call(lambda a: a[0] > 0, w)": {"w"},
    "g = lambda: w[0] > 0\n  return x if g() else -x": {"w"},
    "v = w\n  g = lambda: v[0] > 0\n  return x if g() else -x": {"w"},
    "for a in [w, m]:\n    if a[0] > 0: x = x * 2": {"w", "m"},
    "d = {}; d['n'] = w\n  if d['n'][0] > 0: return x": {"n", "w"},
    "d = {}; d[0] = w\n  if d[0] > 0: return x": {"w"},
    "o = []; o.append(w)\n  if o[0] > 0: return x": {"w"},
    "self.c = w\n  if self.c[0] > 0: return x": {"c", "w"},
    "if (w * m).sum() > 0: return x": {"w", "m"},
    "if any(a > 0 for a in w): return x": {"w"},
    "if [a for a in w][0] > 0: return x": {"w"},
    "return x * {1.0: 2.0}[w[0]]": {"w"},
    "return x * len(f'{w[0]:.1f}')": {"w"},
    "return x * library.norm(w)": {"w"},
    "return x * (2.0 if ag.checkpoint(first)(w) else 1.0)": {"w"},
    "return ag.grad(lambda a: a * (2.0 if a[0] > 0 else 1.0))(w)": {"w"},
    "return x * np.array_equal(w, m)": {"w", "m"},
    "return x * 2 if make()(w) else x": {"w"},
}
NONE = (
    "return x * w",
    "return xp.where(w > 0, x, 0)",
    "if xp.sum(x * w) > 0: return x",
    "y = straight(x, w)\n  if y > 0: return x",
    "y = second.straight(x, w) + xp.sum(x * w)\n  return x if y > 0 else -x",
    "y = [x * w, itself(w)]\n  return y[0] @ y[1]",
    "return xp.where(first(x), x, w) if second(x) else kept(x, x, x, x)",
    "y = np.dot(x, w)\n  if y.sum() > 0: return x",
    "if w.shape[0] > 2 or w.ndim == 2 or len(w) > 3: return w",
    "if w is not None: return x @ w",
    "print(w); return x @ w",
)
NAMES = frozenset("abcdkmnw") | {"rows", "scale"}
HELPERS = """
def first(a): return a[0] > 0
def pick(n, *rest): return rest[n][0] > 0
def kept(a, b, *rest): return a if rest[0] > 0 else b
def named(a, **rest): return a if rest["u"] > 0 else -a
def second(b): return first(b)
def itself(a): return a
def same(a): return a
def outer(): return same(k)
def make(): return first
def call(f, a): return f(a)
def straight(a, b): return a @ b
"""


def names_in(text):
    scope = {"ag": ag, "xp": xp, "np": np}
    exec(HELPERS + f"def f(x, limit):\n  {text}", scope)
    codes = [each.__code__ for each in scope.values() if hasattr(each, "__code__")]
    called = [(Name("", name, ""), each) for name, each in scope.items()]
    return Closure(codes, called, NAMES, {"self", "library"}, set()).looked() & NAMES


@pytest.mark.parametrize("text", LOOKS)
def test_what_code_looks_at(text):
    assert names_in(text) == LOOKS[text]


@pytest.mark.parametrize("text", PASSED)
def test_what_the_code_of_several_functions_looks_at(text):
    assert names_in(text) == PASSED[text]


@pytest.mark.parametrize("text", NONE)
def test_what_code_only_computes_with(text):
    assert not names_in(text)
