"""The page docs/clients.md, made of the calls and of what is expected of them."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator

from . import more
from .matrix import (
    AREAS,
    BACKENDS,
    PROMISED,
    RIGHT,
    ROOT,
    Call,
    calls,
    expectations,
    warnings,
)

STATUSES = ("right", "no gradient", "warned", "refused", "unsupported")

HEAD = """\
# Other libraries' code

Code that nobody here wrote becomes differentiable unchanged: SciPy, scikit-learn and
array-api-extra, which compute in the namespace of the arrays that they are given, and libraries
that take NumPy's protocols or the array API. `tests/clients` calls them, as they are, with
Variables, and compares every gradient with central differences of the same call on plain NumPy.
What comes of each call is written down in `tests/clients/expected/`, and a test fails whenever it
is something else, better or worse. This page is made of that by `python docs/generate.py`.

**{promised} calls of {names} have right gradients,
and {others} of other libraries. None has a wrong one, and none loses one silently.**
The versions: {versions}.

```sh
pip install -e '.[test]' && python -m pytest tests/clients
python -m tests.clients 'stats.skew'   # what comes of the calls with that text
```

SciPy dispatches on arrays where `SCIPY_ARRAY_API=1` was in the environment when it was imported,
and scikit-learn after `sklearn.set_config(array_api_dispatch=True)` besides; both are set here.
`scipy.fft` asks for its other functions what was registered: `registered` stands for it where
[agnograd_fft](fft.md) is. Everything else is as it comes:

<!-- with: array_api_extra -->
```python
import agnograd as ag
import array_api_extra as xpx

x = ag.Variable([[0.5, 1.5, 1.0], [2.0, 0.5, 3.5]])
covariance = xpx.cov(x)
covariance[0, 1].backward()
print(x.grad.data)  # of the one row, how far the other one is from its mean, halved
assert x.grad.data.tolist() == [[0.0, -0.75, 0.75], [-0.25, 0.25, 0.0]]
```

## On every backend

The gradients on the other backends are compared with those on NumPy's Variables. A call is
*unsupported* where the library does not take raw arrays of the backend there either: it raises, or
returns NumPy's arrays. JAX compiles every op for every shape: of the calls on it the tests make a
part, for about every fourth of the functions that are right on numpy;
`python -m tests.clients --backend jax` makes all of them, in ten minutes.

| backend | libraries | calls | {statuses} |
| --- | --- | --- | {rule} |
"""

MEANING = """
- *right*: the gradient is that of central differences.
- *no gradient*: the result is piecewise constant, and so the gradient is zero or there is none.
- *warned*: the library makes a Python number of the result, or of a part of it, which ends the
  gradient. A `LostGradientWarning` says where; with warnings as errors it is an error.
- *refused*: an error says what is not possible. No gradient is lost, and what to do instead is
  in the message: most often `x.detach()`, or a function of the array's namespace.
"""


def page() -> str:
    """Return the page."""
    found, known = calls(), expectations("numpy")
    right = [call for call in found if call.id not in known]
    promised = sum(call.module.LIBRARY in PROMISED for call in right)
    parts = [
        HEAD.format(
            promised=promised,
            others=len(right) - promised,
            names=", ".join(PROMISED[:-1]) + f" and {PROMISED[-1]}",
            versions=", ".join(f"`{each}`" for each in _versions()),
            statuses=" | ".join(STATUSES),
            rule=" | ".join("---" for _ in STATUSES),
        ),
        *_totals(),
        MEANING,
        *_warnings(),
    ]
    for area in AREAS:
        parts += _area([call for call in found if call.area == area])
    parts += _more()
    return "".join(parts)


MORE = """
## Ten more libraries

These libraries take arrays by the array API as well. `tests/clients/more` has their calls and their
known gaps, which `agnograd certify` measured ([Certify a library](certify.md)), with every check.
The columns say how many calls have right gradients, of those whose library takes plain arrays of
the backend. Most of the others use names that the standard does not have, such as `xp.concatenate`,
or ask which library their arrays are of: they are refused, and the certificate names the line. No
gradient is wrong or lost. Install them with `pip install 'agnograd[certified]'`: {versions}.

"""


def _more() -> Iterator[str]:
    yield MORE.format(versions=", ".join(f"`{each}`" for each in more.versions()))
    yield more.table()


def _versions() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions: list[str] = project["optional-dependencies"]["clients"]
    return versions


def _totals() -> Iterator[str]:
    for backend in BACKENDS:
        known = expectations(backend)
        for promised in (True, False):
            chosen = [c for c in calls() if (c.module.LIBRARY in PROMISED) is promised]
            counted = Counter(known.get(call.id, RIGHT).status for call in chosen)
            counts = " | ".join(str(counted[status]) for status in STATUSES)
            name = "the three" if promised else "others"
            yield f"| `{backend}` | {name} | {len(chosen)} | {counts} |\n"


def _warnings() -> Iterator[str]:
    yield "\n## Warnings\n\nWith warnings as errors, these right calls fail where plain NumPy does "
    yield "not; all others give no warning.\n\n| why | calls |\n| --- | --- |\n"
    reasons: dict[str, list[str]] = {}
    for call, expected in warnings("numpy").items():
        reasons.setdefault(expected.why, []).append(f"`{call.partition(': ')[2]}`")
    for why, listed in sorted(reasons.items()):
        yield f"| {why} | {', '.join(listed)} |\n"


def _area(found: list[Call]) -> Iterator[str]:
    module, known = found[0].module, expectations("numpy")
    right = [call for call in found if call.id not in known]
    title, _, more = module.__doc__.replace("``", "`").partition(": ")
    yield f"\n## {title}\n\n{more[:1].upper()}{more[1:]} "
    yield f"Right: {len(right)} of {len(found)} calls.\n"
    yield f"\n{', '.join(_counted(right))}\n" if right else ""
    others: dict[tuple[str, str], list[Call]] = {}
    for call in found:
        if call.id in known:
            others.setdefault((known[call.id].status, known[call.id].why), []).append(call)
    if others:
        yield "\n| status | why | calls |\n| --- | --- | --- |\n"
    for (status, why), listed in sorted(others.items()):
        texts = ", ".join(f"`{call.text}`".replace("|", "\\|") for call in listed)
        yield f"| {status} | {why} | {texts} |\n"


def _counted(found: Iterable[Call]) -> Iterator[str]:
    for name, count in Counter(call.function for call in found).items():
        yield f"`{name}`" + (f" ({count})" if count > 1 else "")
