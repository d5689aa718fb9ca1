"""The command ``python -m benchmarks``."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
from typing import Any

import click
from rich.console import Console

from benchmarks import child, report
from benchmarks.children import ChildError
from benchmarks.costs_commands import COSTS
from benchmarks.measuring import BACKWARD, COMPILED, HAND, LOOP, OURS, Comparison, Plan, compare
from benchmarks.scale_command import scale
from benchmarks.workloads import BATCHES, CONVNETS, HELD_OUT, LAPLACIANS, WORKLOADS

__all__ = ["main"]

# Small sizes, one round, and the same processes for all workloads.
QUICK = {"sizes": "small", "rounds": 1, "budget": 0.0, "fresh": False}


def names(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the names that commas separate."""
    return tuple(name for name in value.split(",") if name)


def peers(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the implementations that commas separate, if there are modules of them."""
    found = names(context, parameter, value)
    for name in found:
        if "." not in name and importlib.util.find_spec(child.module_of(name)) is None:
            raise click.BadParameter(
                f"no implementation is named {name!r}: benchmarks/implementations has no "
                f"by_{name}.py; a name with a dot in it is a module of yours"
            )
    return found


def chosen(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the workloads that commas separate, if they exist; by default all."""
    found = names(context, parameter, value)
    tables = {"held-out": HELD_OUT, "vmap": BATCHES}
    tables |= {"convnets": CONVNETS, "laplacians": LAPLACIANS}
    table = tables.get(context.info_name or "", WORKLOADS)
    known = (
        WORKLOADS | HELD_OUT | LAPLACIANS if context.info_name in ("backends", "memory") else table
    )
    for name in found:
        if name not in known:
            raise click.BadParameter(f"no workload is named {name!r}; there are {', '.join(known)}")
    return found or tuple(table)


def interpreters(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    """Return the interpreters of ``NAME=PATH`` by name, if they exist."""
    found = {}
    for each in value:
        name, equals, path = each.partition("=")
        if not equals or shutil.which(path) is None:
            raise click.BadParameter(f"{each!r} is not NAME=PATH with the path of a Python")
        found[name] = path
    return found


def machinery(function: Any) -> Any:
    """Add the options of what runs children."""
    options = (
        click.option("--against", default="", callback=peers, help="Peers: torch,autograd,…"),
        click.option("--workloads", default="", callback=chosen, help="Some of the workloads."),
        click.option(
            "--python",
            "pythons",
            multiple=True,
            metavar="NAME=PATH",
            callback=interpreters,
            help="The interpreter of an implementation, if it has one of its own.",
        ),
        click.option("--patience", default=600.0, help="Seconds to wait for an answer."),
        click.option(
            "--keep-memory/--give-back",
            default=True,
            help="Whether processes keep the memory that they free, or as the C library sees fit.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Threads of the libraries; with more than one, times are by the clock.",
        ),
        click.option("--json", "json_path", metavar="FILE", help="Write what was measured."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def compared(
    options: dict[str, Any],
    quick: bool,
    json_path: str | None,
    *ours: str,
    chart: str | None = None,
) -> None:
    """Compare, also with agnograd's other ways, and report; exit with 1 if anything failed."""
    if quick:
        options |= QUICK
    options["against"] = (*ours, *options["against"])
    comparison: Comparison = watched(compare, Plan(**options))
    report.print_comparison(comparison)
    if json_path:
        report.write_json(report.to_dict(comparison), json_path)
    if chart:
        report.chart(comparison, chart)
    if comparison.failures:
        raise SystemExit(1)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@machinery
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--chart", metavar="FILE", help="Draw the ratios into a PNG file.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
@click.pass_context
def main(
    context: click.Context, /, json_path: str | None, chart: str | None, quick: bool, **options: Any
) -> None:
    """Time derivatives by agnograd, and by peers, against those by hand in NumPy.

    Or run one of the commands below; options before its name are not for it.
    """
    if context.invoked_subcommand is not None:
        return
    if chart and importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("--chart needs matplotlib: pip install 'agnograd[benchmarks]'")
    compared(options, quick, json_path, BACKWARD, COMPILED, chart=chart)


@main.command()
@machinery
@click.option("--quick", is_flag=True, help="Small sizes.")
def memory(json_path: str | None, quick: bool, **options: Any) -> None:
    """Measure the peak of memory, against what is written by hand."""
    from benchmarks.memory import TRACED, memory

    if unknown := [name for name in options["against"] if "." not in name and name not in TRACED]:
        raise click.UsageError(
            f"the arrays of {', '.join(unknown)} are not NumPy's, and are not traced; "
            f"possible: {', '.join(TRACED)}"
        )
    comparison, peaks = watched(memory, Plan(sizes="small" if quick else "full", **options))
    others = [name for name in comparison.implementations if name != HAND]
    rows = (
        [
            workload,
            f"{found[HAND] / 2**20:.3f}",
            *(f"{found[name] / found[HAND]:.2f}" if name in found else "-" for name in others),
        ]
        for workload, found in peaks.items()
    )
    report.print_table(["workload", "by hand, MiB", *others], rows)
    for line in (*comparison.left_out, *comparison.failures):
        click.echo(line)
    if json_path:
        report.write_json({"bytes": peaks, "machine": comparison.machine}, json_path)
    if comparison.failures:
        raise SystemExit(1)


@main.command()
@machinery
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
def backends(json_path: str | None, quick: bool, **options: Any) -> None:
    """Time agnograd on PyTorch's and JAX's arrays, against these libraries' own derivatives."""
    from benchmarks.backends import PAIRS, rows

    if options.pop("against"):
        raise click.UsageError("backends has its peers: " + ", ".join(PAIRS))
    if quick:
        options |= QUICK
    ours = itertools.chain.from_iterable(PAIRS.values())
    comparison: Comparison = watched(compare, Plan(against=(*PAIRS, *ours), **options))
    header = [
        column
        for name in PAIRS
        for column in (f"{name}, ms", f"agnograd on {name}", f"compiled on {name}")
    ]
    report.print_table(["workload", *header], rows(comparison))
    for line in (*comparison.left_out, *comparison.failures):
        click.echo(line)
    if json_path:
        report.write_json(report.to_dict(comparison), json_path)
    if comparison.failures:
        raise SystemExit(1)


@main.command()
@machinery
@click.option("--rounds", default=5, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small networks, one round: do all run, and agree?")
def convnets(json_path: str | None, quick: bool, **options: Any) -> None:
    """Time AlexNet, OverFeat, VGG-A and GoogLeNet by agnograd, and by peers."""
    compared(options | {"reference": OURS}, quick, json_path)


@main.command()
@machinery
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
def held_out(json_path: str | None, quick: bool, **options: Any) -> None:
    """Time programs that nothing was tuned for: as they are, compiled, and by peers."""
    compared(options, quick, json_path, COMPILED)


@main.command()
@machinery
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
def vmap(json_path: str | None, quick: bool, **options: Any) -> None:
    """Time per-example gradients, a Jacobian and a Hessian: at once, in a loop, and by peers."""
    compared(options, quick, json_path, LOOP)


@main.command()
@machinery
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
def laplacians(json_path: str | None, quick: bool, **options: Any) -> None:
    """Time the Laplacian of a network, and a gradient of it: as it is, compiled, and by peers."""
    compared(options, quick, json_path, COMPILED)


@main.command()
@click.option("--against", default="", callback=names, help="Peers: asdex,sparsejac.")
@click.option("--rounds", default=9, show_default=True, help="How often each is timed, in turn.")
@click.option("--quick", is_flag=True, help="Small sizes, one round: do all run, and agree?")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def sparse(against: tuple[str, ...], rounds: int, quick: bool, json_path: str | None) -> None:
    """Measure sparse Jacobians of up to 10⁵ unknowns, and a fit by a banded one."""
    from benchmarks.sparse import LIBRARIES, OWN, fits, jacobians

    if unknown := [name for name in against if name not in LIBRARIES]:
        raise click.UsageError(
            f"there are no sparse Jacobians of {', '.join(unknown)}; possible: "
            f"{', '.join(LIBRARIES)}"
        )
    sides, rounds = ((5, 9), 1) if quick else ((100, 200, 316), rounds)
    try:
        found, left_out = jacobians(dict.fromkeys([*OWN, *against]), sides, rounds)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    header = ["Bratu's problem", "unknowns", "preparation, s", "function, ms", "Jacobian, ms"]
    report.print_table(
        [*header, "times the function", "peak, MiB", "bytes an unknown"],
        (
            [
                name,
                f"{unknowns:,}",
                f"{each['preparation']:.2f}",
                f"{1e3 * each['function']:.3f}",
                f"{1e3 * each['jacobian']:.3f}",
                f"{each['ratio']:.1f}",
                f"{each['bytes'] / 2**20:.0f}",
                f"{each['bytes'] / unknowns:,.0f}",
            ]
            for name, sizes in found.items()
            for unknowns, each in sizes.items()
        ),
    )
    for line in left_out:
        click.echo(line)
    residuals, parameters = (40, 10) if quick else (2000, 500)
    fit = fits(residuals, parameters, 1 if quick else max(rounds // 3, 1))
    click.echo(
        f"least_squares with {residuals:,} residuals and {parameters} parameters, banded: "
        f"{1e3 * fit['sparse']:.1f} ms with a sparse Jacobian, {1e3 * fit['dense']:.1f} ms with a "
        f"dense one, {fit['ratio']:.1f} times as long"
    )
    if json_path:
        report.write_json({"jacobians": found, "fit": fit, "left_out": left_out}, json_path)


@main.command()
@click.option("--rounds", default=3, show_default=True, help="How often processes are started.")
@click.option("--batch", default=256, show_default=True, help="Examples of each process in a step.")
@click.option("--quick", is_flag=True, help="A small network, one round: do all run?")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def distributed(rounds: int, batch: int, quick: bool, json_path: str | None) -> None:
    """Measure a step of two processes, with and without the mean of 10⁷ gradients."""
    from benchmarks.distributed import LAUNCHERS, distributed

    width, layers, batch, rounds, turns = (
        (30, 3, 4, 1, 1) if quick else (1000, 10, batch, rounds, 3)
    )
    try:
        found, left_out = distributed([*LAUNCHERS], width, layers, batch, rounds, turns)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    report.print_table(
        ["two processes", "step without, ms", "with the mean, ms", "times without", "hidden"],
        (
            [
                name,
                f"{1e3 * each['without']:.1f}",
                f"{1e3 * each['with']:.1f}",
                f"{each['ratio']:.3f}",
                f"{each['hidden']:.0%}" if "hidden" in each else "-",
            ]
            for name, measured in found.items()
            for each in measured
        ),
    )
    for line in left_out:
        click.echo(line)
    if json_path:
        report.write_json({"seconds": found, "left_out": left_out}, json_path)


@main.command()
@click.option("--against", default="", callback=names, help="Peers: torch,autograd,jax.")
@click.option("--rounds", default=9, show_default=True, help="How many processes each.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def cold(against: tuple[str, ...], rounds: int, json_path: str | None) -> None:
    """Measure what a program that runs once waits for, in milliseconds."""
    from benchmarks.cold import PROGRAMS, cold

    if unknown := [name for name in against if name not in PROGRAMS]:
        raise click.UsageError(
            f"there is no cold start of {', '.join(unknown)}; possible: {', '.join(PROGRAMS)}"
        )
    found, left_out = cold([OURS, *against], rounds)
    rows = ([name, *(f"{took:.2f}" for took in each.values())] for name, each in found.items())
    report.print_table(["ms", *found[OURS]], rows)
    for line in left_out:
        click.echo(line)
    if json_path:
        report.write_json({"milliseconds": found}, json_path)


@main.command()
@click.option("--rounds", default=15, show_default=True, help="How many processes each.")
@click.option("--json", "json_path", metavar="FILE", help="Write what was measured.")
def imports(rounds: int, json_path: str | None) -> None:
    """Measure how long imports take, in milliseconds."""
    from benchmarks.imports import imports

    found = imports(rounds)
    rows = ([f"{name}", f"{took:.1f}"] for name, took in found.items())
    report.print_table(["import", "ms"], rows)
    if json_path:
        report.write_json({"milliseconds": found}, json_path)


for each in (*COSTS, scale):
    main.add_command(each)


def watched(function: Any, plan: Plan) -> Any:
    """Return what a function makes of a plan, while the terminal shows how far it is."""
    if unused := set(plan.pythons) - {plan.reference, OURS, *plan.against}:
        raise click.UsageError(f"--python names {', '.join(unused)}, which --against does not")
    with Console(stderr=True).status("starting") as status:
        try:
            return function(plan, status.update)
        except ChildError as error:
            needed = " and ".join(dict.fromkeys((plan.reference, OURS)))
            raise click.ClickException(
                f"{error}; without {needed} there is nothing to compare"
            ) from error
