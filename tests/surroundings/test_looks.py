"""Code that looks at values: their names, so that arrays with these are compared in each call."""

from dis import get_instructions

import pytest

from agnograd._surroundings.looks import looked_at

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
    "return x[a] if b else w[c] if d else x": {"b", "d"},
    "y = {'a': w, **m}; z = f'{a}'; return g(*b, **c) if d else [x, *n]": {"d"},
}
NONE = (
    "return x * w",
    "return xp.where(w > 0, x, 0)",
    "if xp.sum(x * w) > 0: return x",
    "y = g(x, w)\n  if y > 0: return x",
    "y = np.dot(x, w)\n  if y.sum() > 0: return x",
    "if w.shape[0] > 2 or w.ndim == 2 or len(w) > 3: return w",
    "if w is not None: return x @ w",
    "print(w); return x @ w",
)
NAMES = frozenset("abcdkmnw") | {"rows", "scale"}


def names_in(text):
    scope = {}
    exec(f"def f(x, limit):\n  {text}", scope)
    return looked_at(get_instructions(scope["f"])) & NAMES


@pytest.mark.parametrize("text", LOOKS)
def test_what_code_looks_at(text):
    assert names_in(text) == LOOKS[text]


@pytest.mark.parametrize("text", NONE)
def test_what_code_only_computes_with(text):
    assert not names_in(text)
