"""Write what pages have as tables of what the code says.

These are clients.md, command.md, conventions.md, ops.md, special.md, the capabilities in
backends.md, and the functions in numpy.md.

Run ``python docs/generate.py`` after a change; a test compares the pages with what it would write.
"""

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

import agnograd as ag
from agnograd._array_functions import TABLES
from agnograd._backends import backend_named
from agnograd._cli import main as main_command
from agnograd.extend import Capabilities
from agnograd.testing import CONVENTIONS, Convention
from agnograd_special import ops as special_ops
from agnograd_special._names import JAX, TORCH
from agnograd_special._set import FORMULAS
from agnograd_special.samples.conventions import ROWS

FOLDER = Path(__file__).parent

CONVENTIONS_INTRODUCTION = """\
# Conventions

What a gradient is where there is no derivative, and which of several it is. Each row is a program
that `tests/rules/test_conventions.py` runs on every backend: the gradient is that of the sum of its
result, and the second one, where it is part of the convention, that of the sum of the gradient.
`agnograd.testing.CONVENTIONS` has them as data. This page is made by `python docs/generate.py`.
"""

CONVENTIONS_NOTES = """
## Branches that are not taken

`where`, and reading or writing with a mask or with index arrays, leave elements out. Their gradient
is exactly 0, and what made them is not asked for more: the pass does not multiply that 0 with a
derivative that is infinite or undefined, in any order. This holds for element-wise functions and
for norms. What *is* asked for stays what it is: the gradient of `sqrt(x)` at 0 is infinite.
Programs without such ops pay nothing.

## Decompositions

Singular vectors and eigenvectors are determined up to a sign or phase, and those of a repeated
value only as a space. A function that does not depend on the choice has a gradient. One that does
gets NaN, and so does one of the vectors that only complete a basis (`full_matrices=True`,
`mode="complete"`). Functions of singular values and eigenvalues alone have exact gradients,
repeated ones included. Their second derivatives are exact where the function does not depend on the
repeated ones, and NaN where it does: use `det`, `slogdet`, `trace`, `inv` or `matrix_norm`, which
are smooth there. Gradients of functions of Hermitian matrices (`cholesky`, `eigh`, `eigvalsh`) are
Hermitian. In forward mode a complex vector has the tangent that does not turn its phase.

## Integers

An integer or boolean input has no gradient. Nor has an array of another byte order than the
machine's, as NumPy's `>f8` is on most: convert it first.

```python
import agnograd as ag

xp = ag.namespace("numpy")
scale = ag.Variable([1.5, 2.5])
index = xp.asarray([1, 2])
xp.sum(scale * xp.astype(index, xp.float64)).backward()
assert scale.grad.data.tolist() == [1.0, 2.0]
assert not index.requires_grad
assert index.grad is None
```
"""

OPS_INTRODUCTION = """\
# Ops

Every op that agnograd itself registers, by chapter of the standard. Those in *italics* have no
gradient by nature; all others have a derivative rule, which can be differentiated itself.
(`asarray` is made of other ops: Variables stay connected through it.) Functions marked with a
dagger are beyond the standard; [special functions](special.md), the operations of
[neural networks](nn.md) and functions of [SciPy](scipy.md) have pages of their own.
`agnograd ops` lists what is installed on your machine, the ops of other distributions included.
This page is made by `python docs/generate.py`.
"""

MADE_BEGIN = "<!-- made by docs/generate.py -->"
MADE_END = "<!-- end -->"

# Ops that rules need and the standard lacks.
BEYOND = (
    *("linalg.adjugate", "linalg.with_eigenvalues", "linalg.with_singular_values"),
    *("linalg.solve_adjoint", "linalg.solve_triangular"),
    *("scatter_add", "scatter_add_axis"),
)


SPECIAL = """\
# Special functions

The op pack `agnograd_special` puts `scipy.special` into every namespace, as `xp.special`, with
derivatives: its functions, their names and their arguments, element by element, and `logsumexp`,
`softmax` and `log_softmax`. It needs SciPy: `pip install 'agnograd[special]'`. This page is made by
`python docs/generate.py`.

```python
import agnograd as ag

xp = ag.namespace("numpy")
x = xp.asarray([0.5, 1.5]).data
print(ag.grad(lambda x: xp.sum(xp.special.gammaln(x)))(x))  # digamma: [-1.96351003  0.03648998]
ag.check_grad(lambda x: xp.special.log_ndtr(x), x)  # to second order
```

With `SCIPY_ARRAY_API=1` in the environment, SciPy's own `scipy.special.gammaln(x)` calls
`xp.special.gammaln` when `x` is a Variable. That holds for every function that SciPy dispatches,
and so for what SciPy computes with them.

## Where they are computed

| backend | by |
| --- | --- |
| `numpy` | `scipy.special`, imported when the first special function is called |
| `cupy` | `cupyx.scipy.special`, else a formula |
| `torch` | `torch.special`, else a formula; else SciPy, for tensors on the CPU |
| `jax` | `jax.scipy.special`, else a formula; else SciPy, which programs of `jax.jit` call back |
| `dask` | a formula, else SciPy in each chunk: nothing is computed before it is asked for |
| others | a formula; else SciPy, for arrays on the host |

A formula is a program of the standard's functions, on any device. Where there is neither a function
of the library nor a formula, and the arrays lie on another device than the host, the call is an
error that says so: no array is copied to the host without a word. Results have the dtype of the
arrays, where SciPy gives double precision because an argument is a Python number.

## Functions

Each with the inputs that it has a derivative for. Derivatives have derivatives themselves, to any
order. To ask for one that there is not is an error, raised in the backward pass, that says why. The
two columns at the end say where the library has the function itself; *formula* where it is computed
by the standard's functions.

| function | derivative | without one | PyTorch | JAX |
| --- | --- | --- | --- | --- |
"""

SPECIAL_NOTES = """
Functions take the complex arguments that SciPy's take, and the rules of analytic ones hold there.
`psi` and `ive` have no complex derivative, and say so; of `gamma`, `loggamma` and `rgamma` there is
the first one. The derivatives of `erfcx`, `dawsn`, `wofz` and `log_ndtr` keep their digits far from
0, and those of `j1`, `i1`, `sinc`, `exprel` and the power transforms where formulas are 0/0.
`ive` and `kve` of any order lose digits as their argument grows, about as many as it has;
`i0e`, `i1e`, `k0e` and `k1e` do not. `logsumexp` is of real arrays.

## Conventions

What a gradient is where there is no derivative, or only a limit from one side:

| program | at | gradient |
| --- | --- | --- |
"""


def special() -> str:
    """Return the page of special functions."""
    parts = [SPECIAL]
    for name, op in sorted(special_ops.ops.items()):
        short = name.removeprefix("special.")
        having = [key for key, rule in op.rules.items() if not rule.reason]
        lacking = {key: rule.reason for key, rule in op.rules.items() if rule.reason}
        derivative = ", ".join(f"`{key}`" for key in having or (op.arrays if op.composed else ()))
        without = "; ".join(f"`{key}`: {reason}" for key, reason in lacking.items())
        other = "*formula*" if short in FORMULAS or op.composed else ""
        columns = (
            f"`{op.text.removeprefix('special.')}`",
            *(derivative, without),
            *("yes" if short in own else other for own in (TORCH, JAX)),
        )
        parts.append(f"| {' | '.join(columns)} |\n")
    parts.append(SPECIAL_NOTES)
    for row in ROWS:
        parts.append(f"| {' | '.join(_cells(Convention('', *row))[:3])} |\n")
    return "".join(parts)


def conventions() -> str:
    """Return the page of conventions."""
    parts = [CONVENTIONS_INTRODUCTION]
    for rule, rows in groupby(CONVENTIONS, key=lambda row: row.rule):
        parts.append(f"\n## {rule}\n\n")
        parts.append("".join(_table(_cells(row) for row in rows)))
    return "".join(parts) + CONVENTIONS_NOTES


def _cells(row: Convention) -> tuple[str, ...]:
    program = "; ".join(line.removeprefix("return ") for line in row.program.splitlines())
    at = ", ".join(f"{name} = {_short(value)}" for name, value in row.at.items())
    second = "" if row.second is None else _short(row.second)
    return f"`{program}`", at, _short(row.gradient), second


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_short(each)}" for name, each in value.items())
    if isinstance(value, list):
        return f"[{', '.join(_short(each) for each in value)}]"
    if isinstance(value, complex):
        return str(value).strip("()")
    return f"{value:g}"


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| program | at | gradient | second |\n| --- | --- | --- | --- |\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"


def ops() -> str:
    """Return the page of ops."""
    own = [op for op in ag.ops().values() if op.distribution.startswith("agnograd ")]
    parts = [OPS_INTRODUCTION]
    own = [op for op in own if op.chapter != "special"]
    chapters = sorted(own, key=lambda op: (op.chapter, op.name))
    for chapter, found in groupby(chapters, key=lambda op: op.chapter):
        names = ", ".join(_marked(op) for op in found)
        parts.append(f"\n## {chapter}\n\n{names}\n")
    parts.append("\n## Beyond the standard\n\n")
    for name in BEYOND:
        function = attrgetter(name)(ag.namespace("numpy"))
        call = f"{name}{inspect.signature(function)}"
        parts.append(f"- `{call}`: {inspect.getdoc(function).splitlines()[0]}\n")
    return "".join(parts)


def _marked(op: Any) -> str:
    name = f"`{op.name}`" + ("†" if op.name in BEYOND else "")
    return f"*{name}*" if op.status == "no gradient" else name


COMMAND = """\
# The command `agnograd`

What `--help` says. The environment variables `AGNOGRAD_BACKEND`, the default backend,
`AGNOGRAD_PLUGINS`, plugins for the whole process, and `AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1`, which
lets built-in ones load alone, hold for the command as for every program. This page is made by
`python docs/generate.py`.
"""


def command() -> str:
    """Return the page of the command line."""
    parts = [COMMAND, _help(main_command, "agnograd")]
    for name, sub in sorted(main_command.commands.items()):
        parts.append(f"\n## `agnograd {name}`\n{_help(sub, f'agnograd {name}')}")
    return "".join(parts)


def _help(what: click.Command, name: str) -> str:
    settings = main_command.context_settings
    context = click.Context(what, info_name=name, terminal_width=100, **settings)
    return f"\n```text\n{what.get_help(context)}\n```\n"


def backends() -> str:
    """Return the page of backends, with what each library can do between two marks."""
    text = (FOLDER / "backends.md").read_text()
    before, rest = text.split(MADE_BEGIN)
    after = rest.split(MADE_END)[1]
    head = " | ".join(field.replace("_", " ") for field in Capabilities._fields)
    lines = [f"| backend | {head} |", "| --- " * (len(Capabilities._fields) + 1) + "|"]
    for name in ("numpy", "torch", "jax", "dask", "cupy", "strict"):
        found = backend_named(name).capabilities
        cells = map(_capability, found)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"{before}{MADE_BEGIN}\n{table}\n{MADE_END}{after}"


def numpy() -> str:
    """Return the page of NumPy's functions, with those that there are between two marks."""
    text = (FOLDER / "numpy.md").read_text()
    before, rest = text.split(MADE_BEGIN)
    after = rest.split(MADE_END)[1]
    lines = [
        f"- {inspect.getdoc(module).partition(':')[0].rstrip('.')}: "
        f"{', '.join(f'`{name}`' for name in sorted(module.table) if 'ndarray.' not in name)}"
        for module in TABLES
    ]
    listed = "\n".join(lines)
    return f"{before}{MADE_BEGIN}\n{listed}\n{MADE_END}{after}"


def _capability(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value)


def clients() -> str:
    """Return the page of other libraries' calls."""
    sys.path.insert(0, str(FOLDER.parent))
    from tests.clients.page import page

    return page()


def main() -> None:
    """Write all pages."""
    (FOLDER / "clients.md").write_text(clients())
    (FOLDER / "conventions.md").write_text(conventions())
    (FOLDER / "ops.md").write_text(ops())
    (FOLDER / "special.md").write_text(special())
    (FOLDER / "command.md").write_text(command())
    (FOLDER / "backends.md").write_text(backends())
    (FOLDER / "numpy.md").write_text(numpy())


if __name__ == "__main__":
    main()
