"""Write what pages have as tables of what the code says.

These are clients.md, command.md, conventions.md, ops.md, special.md, the capabilities in
backends.md, the functions in numpy.md, and the distributions in scipy.md.

Run ``python docs/generate.py`` after a change; a test compares the pages with what it would write.
"""

import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

import agnograd as ag
from agnograd._cli.main import main as main_command
from agnograd._plugins.backends import backend_named
from agnograd.extend import Capabilities
from agnograd.testing import CONVENTIONS, Convention
from agnograd_numpy_functions.functions import TABLES
from agnograd_scipy.continuous import DISTRIBUTIONS as CONTINUOUS
from agnograd_scipy.discrete import DISTRIBUTIONS as DISCRETE
from agnograd_scipy.samples.conventions import ROWS as STATS_ROWS
from agnograd_special import ops as special_ops
from agnograd_special._names import JAX, TORCH
from agnograd_special._set import FORMULAS, NEEDED
from agnograd_special.samples.conventions import ROWS

FOLDER = Path(__file__).parent

CONVENTIONS_INTRODUCTION = """\
# Conventions

This page lists the gradient that agnograd gives at points without a derivative, and the one that it
chooses where several would be possible. Each row is a program that
`tests/rules/test_conventions.py` runs on every backend; `tests/plugins/test_stats.py` runs those of
`xp.stats`. The column *gradient* has the gradient of the sum of the program's result. The column
*second*, where the convention covers it, has the gradient of the sum of that gradient.
`agnograd.testing.CONVENTIONS` has these rows as data, except those of `xp.stats`.
`python docs/generate.py` writes this page.
"""

STATS_RULE = "Supports of distributions: 0 outside, at a finite end that from inside"

CONVENTIONS_NOTES = """
## Branches that are not taken

`where` leaves elements out, and so does reading or writing at a key, be it an integer, a slice, a
mask or an index array. So do `take`, `tril`, `triu`, `linalg.diagonal` and `linalg.trace`, and
`unstack` and `split` if you do not use all of their parts. The gradient of an element that is left
out is exactly 0. The pass does not multiply that 0 by an infinite or undefined derivative of the op
that computed the element, in any order of derivatives. This holds for element-wise functions and
for norms. It also holds, for first derivatives, for functions of one stack of matrices such as
`svd`, `eigh` and `inv`, where no result for a matrix is used. Elements that you do use keep their
derivatives: the gradient of `sqrt(x)` at 0 is infinite. Programs without such ops pay nothing for
this. In others, the pass looks for zeros among the cotangents, and where there are none it goes on
as usual.

In forward mode, elements whose tangent you give as 0 are left out in the same way: their tangents
stay 0, even where a derivative is infinite. `ag.jvp` looks for them as it goes. `ag.linearize` and
Jacobians look for them only if a result has NaN, or under `jax.jit` and in lazy libraries, where
agnograd cannot know.

It does not hold for ops that sum products: `matmul`, `tensordot`, `vecdot`, `outer`, `einsum`,
convolutions, Fourier transforms, and linear algebra of two arrays such as `solve`. Such an op
multiplies a cotangent of 0 by the other factor, and 0 times infinity is NaN. Checking for that
would take several times as long as most products themselves. Take
`xp.where(mask[:, None], x @ w, 0.0)`, and let `x` have an infinite element in a row that the mask
leaves out. The gradient with respect to `w` is then NaN; the one with respect to `x` is 0 in that
row if `w` is finite. Mask what goes into the product instead, which is right everywhere:
`xp.where(mask[:, None], x, 0.0) @ w`.

## Powers, sums and segments where something is infinite

The derivatives of `pow` at a base of 0 are limits from the right. This holds for every order,
whichever argument you differentiate by first: the mixed second derivative at `pow(0, 1)` is minus
infinity. The exception is `pow(0, 0)`: all its derivatives are 0, as if it were the constant 1.

A sum of exponentials whose exponents are all minus infinity is a tie. `special.logsumexp` gives
each exponent an equal share, just as `logaddexp` gives each of its two one half. PyTorch and JAX
give NaN here. Exponents with a weight of 0 get no share.

In `np.interp`, a segment with an infinite ordinate has an infinite slope. The gradient with respect
to `x` is that slope, and the gradients with respect to both knots are infinite with the opposite
sign (NaN if both ordinates are infinite). The gradients with respect to the ordinates are the
weights, which are finite. A knot next to such a segment takes the slope of its other segment.

The derivative of `np.quantile` and `np.percentile` with respect to the place is the slope of the
line between the two neighbours. At a data point, which has only itself for neighbours, it is 0, as
in PyTorch and JAX; the gradient with respect to the array goes only to that element.

A complex function has no derivative at a pole or a branch point, such as `sqrt(z)`, `z**0.5` and
`log(z)` at `0j`: their gradient is not finite there, and has NaN in it.

The gradient of a real function is not the complex derivative of a holomorphic one: if L is the real
part of a holomorphic f, then dL/da + i dL/db is the conjugate of f'(z). `ag.holomorphic_grad(f)`
computes f'(z) itself.

## Decompositions

Singular vectors and eigenvectors are determined only up to a sign or phase, and those of a repeated
value only as a space. A function that depends on the sign or phase gets NaN, and so does a function
of vectors of a repeated value, even if every basis of their space gives the same result: the
gradient of `v @ f(w) @ v.T` contains the slope of `f`, about which the gradients of `v` and `w` say
nothing. Vectors of other values have gradients there. A function of the vectors that merely
complete a basis (`full_matrices=True`, `mode="complete"`) gets NaN too.

Functions that use only singular values or eigenvalues have exact gradients, even where values
repeat. Their second derivatives are exact if the function does not depend on the repeated values,
and NaN if it does. Use `det`, `slogdet`, `trace`, `inv` or `matrix_norm` there, which are smooth.

The gradients of functions of Hermitian matrices (`cholesky`, `eigh`, `eigvalsh`) are Hermitian.

The eigenvalues of a defective matrix (one whose eigenvectors do not span the space) have no
derivative, and neither does the QR decomposition of a matrix with dependent columns. Both get NaN,
even where rounding hides the defect. The other matrices of a batch keep their gradients.

In forward mode, a complex vector has the tangent that does not turn its phase.

## Integers

An integer or boolean input has no gradient. An array whose byte order is not the machine's, such as
one of NumPy's dtype `>f8` on most machines, has none either: convert it first.

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

Every op that agnograd itself registers, by chapter of the standard. The ops in *italics* have no
gradient by nature. All others have a derivative rule, which can itself be differentiated.
(`asarray` is composed of other ops, so Variables stay connected through it.) The ops marked with a
dagger are not in the standard, nor are those of `numpy_names`, which [NumPy](numpy.md) describes.
[Special functions](special.md), the operations of [neural networks](nn.md),
[random numbers](random.md) and functions of [SciPy](scipy.md) have their own pages.
`agnograd ops` lists all ops that are installed on your machine, from any distribution.
`python docs/generate.py` writes this page.
"""

MADE_BEGIN = "<!-- made by docs/generate.py -->"
MADE_END = "<!-- end -->"

# Ops that rules need and the standard lacks.
BEYOND = (
    *("linalg.adjugate", "linalg.with_eigenvalues", "linalg.with_singular_values"),
    *("linalg.eigh_upper", "linalg.solve_adjoint", "linalg.solve_triangle"),
    *("partial_products", "pow_slope", "scatter_add", "scatter_add_axis"),
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
of the library nor a formula, and the arrays lie on a device other than the host, the call raises
an error: no array is silently copied to the host. Results have the dtype of the arrays, where SciPy
gives double precision because an argument is a Python number.

## Functions

Each with the inputs that it has a derivative for. Derivatives have derivatives themselves, to any
order. Asking for one that does not exist raises an error in the backward pass, which says why. The
two columns at the end say where the library has the function itself; *formula* where it is computed
by the standard's functions.

| function | derivative | without one | PyTorch | JAX |
| --- | --- | --- | --- | --- |
"""

SPECIAL_NEEDED = """
## Ops that rules need

SciPy has no function for these. Rules call them as ops of their own, so that each order of
derivatives has its own exact formula. They are there for you, too; each is a formula.

| op | what it does |
| --- | --- |
"""

SPECIAL_NOTES = """
Functions take the complex arguments that SciPy's take, and the rules of analytic ones hold there.
`psi` and `ive` have no complex derivative, and say so; of `gamma`, `loggamma` and `rgamma` there is
the first one. The derivatives of `erfcx`, `dawsn`, `wofz` and `log_ndtr` keep their digits far from
0, and those of `j1`, `i1`, `sinc`, `exprel` and the power transforms where formulas are 0/0.
`ive` and `kve` of any order lose digits as their argument grows, about as many as it has;
`i0e`, `i1e`, `k0e` and `k1e` do not. `logsumexp` is of real arrays.

## Accuracy

Tests hold the first and second derivatives of functions of one array, and of 20 functions of two,
against mpmath from 1e-300 to 1e300, as far as their domains go, and list what is accepted.

The derivatives of `gammainc`, `betainc`, what is left of them and their inverses with respect to
shapes, and those of `chdtr`, `gdtr`, `fdtr` and `stdtr`, are integrals over what is on the smaller
side of the argument, by the trapezoidal rule with 124 points; of `gammainc` up to 1 they are its
power series. They cancel nothing, and take as long as 100 calls of `exp`. Tests compare them with
mpmath for shapes from 1e-6 to 1e4: relative errors are below 1e-12 in double precision, those of
the second derivatives below 2e-10. In single precision, for shapes from 0.2 to 45, both are below
2e-4. Far in a tail, where the value is tiny, and for large shapes, the value's own sensitivity to
its arguments is the limit. The derivative of `stdtr` by its degrees of freedom loses as many digits
as these have, twice: at 30 it keeps 13 of them, at 1e4 eight; those of `fdtr` by its own keep 12
digits at 1000. Of third order there are none by a shape. The derivative of `zeta` by its first
argument is Euler and Maclaurin's formula (of Riemann's function left of -1 that of its reflection),
and is held to the same bounds.

At the ends of domains, and at integers where `binom` and `poch` are 0, derivatives are those from
inside, infinite ones included. Half precision stays half: functions are computed in single
precision and rounded.

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
        if short in NEEDED:
            continue
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
    parts.append(SPECIAL_NEEDED)
    for short in sorted(NEEDED):
        function = getattr(ag.namespace("numpy").special, short)
        what = " ".join(inspect.getdoc(function).partition("\n\n")[0].split())
        parts.append(f"| `{short}{inspect.signature(function)}` | {what} |\n")
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
    parts.append(f"\n## {STATS_RULE}\n\n")
    parts.append("".join(_table(_cells(Convention("", *row)) for row in STATS_ROWS)))
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
    parts.append(f"\n## Many members at once\n\n{_batching()}\n")
    parts.append("\n## Beyond the standard\n\n")
    for name in BEYOND:
        function = attrgetter(name)(ag.namespace("numpy"))
        call = f"{name}{inspect.signature(function)}"
        parts.append(f"- `{call}`: {inspect.getdoc(function).splitlines()[0]}\n")
    return "".join(parts)


def _batching() -> str:
    """Return how many ops ``vmap`` computes in which way, and the names of those in a loop."""
    own = [op for op in ag.ops().values() if op.distribution.startswith("agnograd ")]
    counts = Counter(op.batch for op in own if op.status == "rule")
    loops = ", ".join(f"`{op.name}`" for op in own if op.batch == "loop")
    return textwrap.fill(
        f"Of the {counts.total()} ops of all pages that have a derivative, `ag.vmap` computes "
        f"{counts['rule']} by a batching rule, {counts['program']} as programs of other ops, and "
        f"{counts['loop']} for one member after the other. The column batch that `agnograd ops` "
        f"prints says it of each. Among ops without a derivative it loops for these: {loops}.",
        100,
        break_on_hyphens=False,
    )


def _marked(op: Any) -> str:
    name = f"`{op.name}`" + ("†" if op.name in BEYOND else "")
    return f"*{name}*" if op.status == "no gradient" else name


COMMAND = """\
# The command `agnograd`

This page shows what `--help` prints. Five environment variables affect the command as they affect
every program: `AGNOGRAD_BACKEND` names the default backend, `AGNOGRAD_PLUGINS` names plugins for
the whole process, `AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD=1` makes agnograd load only built-in plugins,
`AGNOGRAD_REFERENCE=1` computes in the [simple way](concepts.md#the-pass-in-forty-lines), and
`AGNOGRAD_SWITCHES` sets the [switches](conformance.md#switches).
`python docs/generate.py` writes this page.
"""


def command() -> str:
    """Return the page of the command line."""
    parts = [COMMAND, _help(main_command, "agnograd")]
    context = click.Context(main_command)
    for name in main_command.list_commands(context):
        sub = main_command.get_command(context, name)
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
        cells = map(_capability, found._replace(complex128=found.has("complex128")))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"{before}{MADE_BEGIN}\n{table}\n{MADE_END}{after}"


def numpy() -> str:
    """Return the page of NumPy's functions, with the existing ones between two marks."""
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


def scipy() -> str:
    """Return the page of SciPy's functions, with its distributions between two marks."""
    text = (FOLDER / "scipy.md").read_text()
    before, rest = text.split(MADE_BEGIN)
    after = rest.split(MADE_END)[1]
    lines = ["| `xp.stats` | arguments before `loc` | functions |", "| --- | --- | --- |"]
    for first, table in (("x", CONTINUOUS), ("k", DISCRETE)):
        for name, of in sorted(table.items()):
            arguments = ", ".join(f"`{each}`" for each in (first, *of.shapes))
            methods = ", ".join(f"`{each}`" for each in of.methods)
            lines.append(f"| `{name}` | {arguments} | {methods} |")
    table = "\n".join(lines)
    return f"{before}{MADE_BEGIN}\n{table}\n{MADE_END}{after}"


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
    (FOLDER / "scipy.md").write_text(scipy())


if __name__ == "__main__":
    main()
