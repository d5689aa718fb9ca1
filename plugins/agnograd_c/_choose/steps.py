"""Which steps C computes, and which of them not bit for bit as NumPy does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd_c._choose.derivatives import fits_derivative, is_exact, is_known
from agnograd_c._choose.types import FLOATS, code_of, is_complex, type_of
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram

# What the C library and libmvec have for floats, by their own names, which are the standard's: of
# one argument, and of two.
_CIRCULAR = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_EXPONENTIAL = ("exp", "expm1", "log", "log1p", "log2", "log10")
FUNCTIONS = frozenset((*_CIRCULAR, *(f"a{name}" for name in _CIRCULAR), *_EXPONENTIAL))
FUNCTIONS2 = frozenset(("pow", "atan2", "hypot"))
SUMS = frozenset(("sum", "mean"))
# Its results differ from NumPy's by some units in the last place.
INEXACT = FUNCTIONS | FUNCTIONS2 | SUMS

# Ops whose arguments are converted to the type of the result.
NAMES = {
    **{f"{kind}_{name}": name for kind in ("logical", "bitwise") for name in ("and", "or", "xor")},
    "logical_not": "invert",
    "bitwise_invert": "invert",
}
SAME = frozenset(("astype", "broadcast_to", "positive"))
COMPARISONS = {
    "less": ("less", False),
    "less_equal": ("less_equal", False),
    "greater": ("less", True),
    "greater_equal": ("less_equal", True),
    "equal": ("equal", False),
    "not_equal": ("not_equal", False),
}
UNIFORM = {"zeros_like": 0, "ones_like": 1}
TESTS = frozenset(("isnan", "isinf", "isfinite", "signbit"))

_EXACT_FLOATS = frozenset(
    ("divide", "reciprocal", "sqrt", "floor", "ceil", "trunc", "round", "sign", "copysign")
)
_NUMBERS = frozenset(("add", "subtract", "multiply", "negative", "square", "maximum", "minimum"))
_COMPLEX = frozenset(("add", "subtract", "multiply", "negative", "conj", "where", *SAME))
_CASTS = frozenset(("f64", "f32", "i64", "i32"))


class Fitting:
    """Says which steps of a program C computes; it remembers the kinds of steps that it saw."""

    def __init__(self, facts: Mapping[Ref, Fact]) -> None:
        self.facts = facts
        self._known: dict[Any, bool] = {}

    def fits(self, step: Step) -> bool:
        """Return whether C computes a step of one element-wise op."""
        if step.kwargs or len(step.args) > 2:
            return fits(self.facts, step)
        given = (*step.args, *step.outs)
        key = (step.op, *[self._kind(each) for each in given])
        if None in key:  # whether it fits depends on more
            return fits(self.facts, step)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = fits(self.facts, step)
        return known

    def _kind(self, given: Any) -> Any:
        if type(given) is Ref:
            fact = self.facts[given]
            return fact.dtype, fact.kind, fact.shape == ()
        return float if type(given) is float else None


def is_inexact(step: Step) -> bool:
    """Return whether results may differ from NumPy's by some units in the last place."""
    return step.op in INEXACT or (is_known(step) and not is_exact(step))


def fits(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether C computes an element-wise step."""
    if len(step.outs) != 1 or step.several:
        return False
    out, given = facts[step.outs[0]], [facts[x] for x in step.args if _is_ref(x)]
    if not all(map(_is_array, (out, *given))):
        return False
    if is_known(step):
        return fits_derivative(facts, step)
    type, own = code_of(out), [code_of(fact) for fact in given]
    if type is None or not given or None in own or not _is_plain(step):
        return False
    if is_complex(out):
        return step.op in _COMPLEX and not (step.op == "where" and type_of(step.args[0]))
    if any(map(is_complex, given)):
        return step.op in ("real", "imag")
    if step.op in UNIFORM:
        return own == [type] and len(step.args) == 1
    return _fits_real(facts, step, type, own)  # type: ignore[arg-type]


def _fits_real(facts: Mapping[Ref, Fact], step: Step, type: str, own: list[str]) -> bool:
    op = step.op
    if op in COMPARISONS:
        return compared_as(facts, step) is not None
    if op in TESTS:
        return own[0] in FLOATS
    if op == "where" and len(step.args) == 3:
        return _is_ref(step.args[0]) and own[0] == "b1" and _converts(step.args[1:], own[1:], type)
    if op in NAMES:
        logical = op.startswith("logical")
        return (type == "b1" if logical else type not in FLOATS) and all(
            each == type for each in own
        )
    if op in SAME:
        return all(_casts(each, type) for each in own)
    if op == "clip":
        return type in FLOATS and own == [type] and _converts(limits_of(step), [], type)
    if not _converts(step.args, own, type):
        return False
    if op in _NUMBERS:
        return type != "b1"
    if op == "pow" and not _is_known_power(facts, step):
        return False
    if op == "abs":
        return type != "b1" and own == [type]
    return type in FLOATS and (op in _EXACT_FLOATS or op in FUNCTIONS or op in FUNCTIONS2)


def _converts(args: Any, own: list[str], type: str) -> bool:
    """Return whether arguments can be converted to the type of the result."""
    for x in args:
        kind = type_of(x)
        if kind is complex or (kind is float and type not in FLOATS):
            return False
        if kind is int and (type == "b1" or abs(x) >= (2**31 if type == "i32" else 2**53)):
            return False
        if kind is None and x is not None and not _is_ref(x):
            return False
    return all(_casts(each, type) for each in own)


def _is_known_power(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a power is one that NumPy computes as the C library does.

    For some exponents, if there is only one, it computes a square, or a root.
    """
    x, exponent = step.args
    if not _is_ref(x):
        return False
    return exponent != 0 if type_of(exponent) else facts[exponent].shape != ()


def _casts(own: str, type: str) -> bool:
    """Return whether C converts a type to another one as NumPy does."""
    if own == type or own == "b1":
        return True
    return type in _CASTS and not (own in FLOATS and type not in FLOATS)


def _is_plain(step: Step) -> bool:
    """Return whether the step has only arguments that C knows."""
    kwargs = {name for name, value in step.kwargs.items() if value is not None}
    if step.op == "clip":
        return kwargs <= {"min", "max"} and len(step.args) <= 3
    if step.op == "astype":
        return len(step.args) == 2 and kwargs <= {"copy"}
    if step.op == "broadcast_to":
        return len(step.args) == 2 and not kwargs
    return not kwargs and all(_is_ref(x) or type_of(x) is not None for x in step.args)


def _is_array(fact: Fact) -> bool:
    """Return whether a value is an ordinary NumPy array, or a NumPy scalar."""
    return fact.kind.__module__ == "numpy" and fact.strides is not None


def _is_ref(given: Any) -> bool:
    return type(given) is Ref


def looked_at(program: TracedProgram) -> frozenset[Ref]:
    """Return the values that guards look at, and all that those are computed from."""
    makers = {ref: step for step in program.steps for ref in step.outs}
    left = [ref for guard in program.guards() for ref in guard.uses()]
    found: set[Ref] = set()
    while left:
        ref = left.pop()
        if ref not in found:
            found.add(ref)
            left += makers[ref].uses() if ref in makers else ()
    return frozenset(found)


def limits_of(step: Step) -> tuple[Any, Any]:
    """Return the limits of a ``clip``."""
    given = [*step.args[1:], None, None]
    return step.kwargs.get("min", given[0]), step.kwargs.get("max", given[1])


def compared_as(facts: Mapping[Ref, Fact], step: Step) -> str | None:
    """Return the type that a comparison converts both sides to, None if it is not a simple one."""
    types = {code_of(facts[x]) for x in step.args if type(x) is Ref}
    if None in types or any(type(x) is Ref and is_complex(facts[x]) for x in step.args):
        return None
    (widest, *others) = sorted(types, key=("f64", "f32", "i64", "i32", "b1").index)
    if widest == "f32" and not {*others} <= {"b1"}:
        return None
    if widest == "b1" and step.op not in ("equal", "not_equal"):
        return None
    for x in step.args:
        kind = type_of(x)
        if kind is complex or (kind is float and widest not in FLOATS):
            return None
        if kind is int and (widest == "b1" or abs(x) >= 2**31):
            return None
    return widest
