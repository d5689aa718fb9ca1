"""Shapes that an element-wise op takes like others, and layouts that every op does."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from agnograd import Variable, autodiff
from agnograd.extend import ArraySpec
from agnograd.testing.host import assert_close, on_host
from agnograd_conformance._orders import compare, derivative
from agnograd_conformance._trial import NotApplicable, Recorded, Trial

__all__ = ["layouts", "shapes"]

LAYOUTS: Final = ("strided", "reversed", "transposed")


def shapes(trial: Trial) -> None:
    """Empty, 0-d and broadcast inputs of an element-wise op have its elements' gradients."""
    call = Recorded(trial)
    if {rule.kind for rule in call.case.op.rules.values()} != {"elementwise"}:
        raise NotApplicable("the op is not element-wise: its samples say which shapes it takes")
    xp = call.case.domain.raw
    shape = call.raw_outputs[0].shape
    whole = _gradients(call, lambda place, x: xp.broadcast_to(x, shape))
    found = _gradients(call, lambda place, x: xp.broadcast_to(x, (1, *shape))[:0, ...])
    for g in found.values():
        if g.shape != (0, *shape):
            raise AssertionError(f"the gradient of an empty input has shape {g.shape}")
    if 0 in shape:
        return
    if shape:
        first = (0,) * len(shape)
        found = _gradients(call, lambda place, x: xp.broadcast_to(x, shape)[first])
        for place, g in found.items():
            expected = on_host(whole[place])[first][...]
            _compare(trial, "0-d", g, expected, "as one element of an array")
    if len(_places(call)) > 1:
        for narrow in whole:
            found = _gradients(
                call,
                lambda place, x, narrow=narrow: xp.broadcast_to(
                    x, shape if place == narrow else (2, *shape)
                ),
            )
            expected = 2 * on_host(whole[narrow])
            _compare(trial, "broadcast", found[narrow], expected, "as the sum over the new axis")


def _compare(trial: Trial, kind: str, found: Variable, expected: Any, source: str) -> None:
    what = f"the gradient of a {kind} input"
    assert_close(what, on_host(found), expected, trial.tolerance, source)


def _places(call: Recorded) -> list[int]:
    """Return the positions of the array arguments."""
    types = call.case.domain.array_types
    return [place for place, x in enumerate(call.case.args) if isinstance(x, types)]


def _gradients(call: Recorded, change: Callable[..., Any]) -> dict[int, Variable]:
    """Return the gradients of the sum of the op's result by position, with other arrays."""
    case, args = call.case, list(call.case.args)
    leaves = {}
    for place in _places(call):
        args[place] = case.domain.backend.array(change(place, args[place]))
        if place in case.places:
            leaves[place] = args[place] = case.domain.Variable(args[place])
    out = attrgetter(case.op.name)(case.domain.namespace)(*args, **case.kwargs)
    ones = case.domain.namespace.ones_like(out)
    found = autodiff.grad(out, list(leaves.values()), ones)
    return dict(zip(leaves, found, strict=True))  # type: ignore[arg-type]


def layouts(trial: Trial) -> None:
    """Arrays that lie in memory in another way give the same results and gradients."""
    capabilities = trial.domain.backend.capabilities
    if capabilities.immutable or capabilities.lazy:
        raise NotApplicable("a library of immutable or lazy arrays lays them out as it likes")
    if trial.sample.kwargs.get("copy") is False:
        raise NotApplicable("the sample asks for what only one layout allows")
    if not any(_may_lie_otherwise(spec) for spec in trial.sample.specs()):
        raise NotApplicable("the sample has no contiguous floating-point arrays with axes")
    trial.problem()  # which raises if there is no gradient
    orders = 1 if derivative(trial, 0) else 0
    for layout in LAYOUTS:
        compare(_with_layout(trial, layout), trial, orders, f"{layout} arrays: ", "if contiguous")


def _may_lie_otherwise(spec: Any) -> bool:
    """Whether it is a contiguous array with axes, and no index, whose order may matter."""
    if not isinstance(spec, ArraySpec) or not spec.dtype.startswith(("float", "complex")):
        return False
    axes = spec.shape if spec.values is None else isinstance(spec.values, list)
    return bool(axes) and spec.layout == "contiguous"


def _with_layout(trial: Trial, layout: Any) -> Trial:
    def change(value: Any) -> Any:
        return value._replace(layout=layout) if _may_lie_otherwise(value) else value

    return Trial(trial.given.mapped(change), trial.dtype, trial.backend, trial.seed)
