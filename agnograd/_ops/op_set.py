"""Op sets: how ops and their rules are registered, and what is checked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import dropwhile
from typing import Any, NoReturn

from agnograd._ops.op import SEQUENCES, Itself, Kind, Op, Rule, Status
from agnograd._util.signatures import (
    EXTENSIONS,
    FACTS,
    NO_OPS,
    check_name,
    check_parameters,
    parameters_of,
    positional_only,
    prototype,
)
from agnograd.errors import MissingRuleError, RuleError

# What every method of an op set takes beside rules.
FEATURES = Op._field_defaults.keys() - {"kernels", "of_numbers"}
BESIDE = ("constants", "options")
_RESERVED = frozenset({*FEATURES, *BESIDE})


class OpSet:
    """A named set of ops; register it with an entry point in ``agnograd.ops``.

    Every method takes the op's signature as text, exactly as in the standard. Rules are keyword
    arguments named after inputs. A rule's own parameters say what it needs, and the graph saves
    exactly that: inputs by name, ``out`` (the output), options by name, ``xp`` (the namespace),
    and ``x_shape``, ``x_dtype`` and ``x_device`` of an input ``x`` (or of ``out``), which keep no
    array. A text instead of a rule gives the reason why there is no derivative with respect to that
    input: asking for it raises an error with this reason.

    Besides rules, every method takes ``forward``, ``accumulate``, ``overwrite``, ``view``,
    ``strides``, ``outputs``, ``stacks``, ``masks``, ``negation``, ``reads``, ``casts``,
    ``contracts``, ``effects``, ``exact``, ``commutative`` and ``pattern`` (see ``Op``).
    Positional-only parameters and those with a rule take arrays. ``options`` names positional-only
    ones that do not, ``constants`` those that take arrays without gradient. A ``key`` is what
    stands in square brackets.

    ``batch`` says how ``vmap`` computes the op for many members at once: ``"elementwise"``, where
    arrays are broadcast (the default for element-wise rules); ``"axis"``, where the op works along
    an ``axis`` or ``axes``, and None means all of them; ``"last"``, where it takes stacks of
    matrices, and broadcasts them; or a function. That may name ``xp``, ``size`` (the number of
    members) and ``mapped`` (the names of the inputs that differ between members) before the op's
    own parameters. The arrays that are mapped have one more axis, the first one, for the members;
    so must all that it returns. Without ``batch``, a ``forward`` that is a program in the standard
    runs on all members at once, and any other op is computed for one member after the other.

    ``pattern`` says which elements of its inputs an element of the result depends on, for
    ``ag.sparsity``: ``"moves"``, where it is one of them or a constant, so that the op can be run
    on their numbers; ``"selects"``, where it is always one of them; ``"adds"``, where the op is the
    transpose of such an op, which its rule is; ``"axis"``, where it depends on all along the
    ``axis``, or ``axes``; ``"values"``, where values decide the shape of the result; or a function
    with the op's parameters, after ``xp`` if it names that: a program of ops that depends on the
    same elements. Otherwise element-wise rules and a
    kind of ``batch`` tell it, or a ``forward`` that is a program in the standard. Failing all this,
    each element depends on all of them.

    Parameters
    ----------
    chapter : str
        The chapter of the standard that the ops belong to, or a name of your own.
    samples : str, optional
        The module whose ``samples`` list has sample inputs for these ops. Tests import it.
    kernels : mapping of str to str, optional
        Modules with functions that compute ops of this set, by the name of the backend whose raw
        arrays they take and return. A function has the name of its op after the last dot. A module
        is imported when one of the ops is first called on its backend. Without such a function, or
        if it returns NotImplemented, ``forward`` computes the op. ``Backend.kernels()`` go first.
    extension : str, optional
        The extension of the namespace that has all of these ops: ``special`` for ``xp.special``,
        or a nested one such as ``a.b``. Nothing of the set is imported before it is used.
    modules : sequence of str, optional
        The modules that register the ops. They are imported when the ops are first needed.

    Examples
    --------
    >>> from agnograd.extend import OpSet
    >>> ops = OpSet("activations")
    >>> ops.elementwise(
    ...     "softplus(x, /)",
    ...     x=lambda x, xp: 1 / (1 + xp.exp(-x)),
    ...     forward=lambda xp, x: xp.log1p(xp.exp(x)),
    ... )
    """

    def __init__(
        self,
        chapter: str,
        samples: str | None = None,
        *,
        kernels: Mapping[str, str] | None = None,
        extension: str = "",
        modules: Sequence[str] = (),
    ) -> None:
        if extension:
            check_name(chapter, extension)
            if extension in NO_OPS and extension not in EXTENSIONS:
                raise RuleError(f"{chapter}: {extension!r} is a constant or a dtype; rename it")
        self.chapter = chapter
        self.samples = samples
        self.kernels = kernels or {}
        self.extension = extension
        self.modules = tuple(modules)
        self._ops: dict[str, Op] = {}

    def __repr__(self) -> str:
        return f"<op set {self.chapter!r}>"

    @property
    def ops(self) -> dict[str, Op]:
        """The ops by name."""
        for module in self.modules:
            import_module(module)
        return self._ops

    def elementwise(self, signature: str, /, **rules: Any) -> None:
        """Register an element-wise op by its partial derivatives.

        The engine multiplies the partial derivative (conjugated, for complex arrays) by the
        cotangent and sums over broadcast axes. The constants 1, -1 and 0, and what ``itself``
        returns, need no function. A rule must also be right for a part of the elements: large
        arrays come in flat blocks. The result has the dtype that its inputs are promoted to:
        register an op that makes complex numbers of real ones with ``vjp``.
        """
        self._add(signature, "elementwise", rules)

    def linear(self, signature: str, /, **rules: Any) -> None:
        """Register an op that is linear in all its differentiable inputs by its transposes."""
        self._add(signature, "linear", rules)

    def multilinear(self, signature: str, /, **rules: Any) -> None:
        """Register an op that is linear in each differentiable input by itself."""
        self._add(signature, "multilinear", rules)

    def vjp(self, signature: str, /, **rules: Any) -> None:
        """Register an op by its vector-Jacobian products, one per differentiable input."""
        self._add(signature, "vjp", rules)

    def composed(self, signature: str, /, function: Callable[..., Any]) -> None:
        """Register an op that is composed of others, whose rules give its derivative.

        ``function`` may name ``xp`` before the op's own parameters. It is called with the raw
        namespace and raw arrays, or with the differentiable namespace and whatever the user passes.
        It must compute only with ``xp``, and may return anything.
        """
        given = {"forward": function, "composed": True}
        self._add(signature, "vjp", given, "rule", takes_no_rules=True)

    def constant(self, *signatures: str, **options: Any) -> None:
        """Register ops that have no gradient by nature (comparisons, indices, dtypes)."""
        for signature in signatures:
            self._add(signature, "vjp", {"outputs": "any"} | options, takes_no_rules=True)

    def missing(self, *signatures: str, **options: Any) -> None:
        """Register ops whose rule is missing: a backward pass through them raises an error."""
        for signature in signatures:
            self._add(signature, "vjp", options, "missing")

    def _add(
        self,
        text: str,
        kind: Kind,
        given: dict[str, Any],
        status: Status | None = None,
        takes_no_rules: bool = False,
    ) -> None:
        name = text.partition("(")[0]
        self._check_name(name)
        function = prototype(text)
        parameters = parameters_of(function)
        check_parameters(name, parameters, () if takes_no_rules else _RESERVED)
        rules = {key: rule for key, rule in given.items() if key not in _RESERVED}
        for key in rules:
            if key not in parameters:
                raise _unknown(f"{name}: a rule for", key, parameters)
        if given.get("composed"):  # any of them may
            arrays = parameters
        else:
            taken = {*positional_only(function)} - {*given.get("options", ()), "key"}
            taken |= {*rules, *given.get("constants", ()), *SEQUENCES}
            arrays = tuple(each for each in parameters if each in taken)
        op = Op(
            name=name,
            chapter=self.chapter,
            text=text,
            parameters=parameters,
            arrays=arrays,
            rules={
                key: _checked_rule(name, key, kind, rule, parameters, arrays)
                for key, rule in rules.items()
            },
            status=status or ("rule" if rules else "no gradient"),
            kernels=self.kernels,
            **{key: given[key] for key in FEATURES if key in given},
        )
        _check_declared(op)
        self._ops[name] = op

    def _check_name(self, name: str) -> None:
        check_name(self.chapter, name)
        if name in self._ops:
            raise RuleError(f"{self.chapter}: {name} is registered twice")
        if self.extension and not name.startswith(f"{self.extension}."):
            raise RuleError(
                f"{self.chapter}: {name} is not in the extension {self.extension!r}; name it "
                f"{self.extension}.{name}, or register it in an OpSet without `extension`"
            )


def _check_declared(op: Op) -> None:
    """Raise if what is declared of an op does not fit its signature and rules."""
    for name in op.stacks:
        others = [other for other in op.rules if other != name]
        if name not in op.rules or len(others) != 1 or others[0] not in op.rules[name].names:
            raise RuleError(
                f"{op.name}: `stacks` is for an input of an op of two arrays with rules, whose own "
                f"rule names the other array; {name!r} is none"
            )
    rule = next(iter(op.rules.values()), None) if len(op.arrays) == 1 else None
    if op.negation and (rule is None or rule.kind != "elementwise" or rule.function != -1):
        raise RuleError(
            f"{op.name}: `negation` is for an element-wise op of one array whose rule is -1"
        )
    if op.commutative and len(op.arrays) != 2:
        raise RuleError(f"{op.name}: `commutative` is for an op of two arrays")
    _check_way(op, "batch", ("elementwise", "axis", "last"), "xp", "size", "mapped")
    _check_way(op, "pattern", ("moves", "selects", "adds", "axis", "values"), "xp")
    if op.pattern == "adds" and len(op.rules) != 1:
        raise RuleError(f"{op.name}: `pattern='adds'` is for an op with one rule")
    if op.reads:
        names = [] if rule is None else [name for name in rule.names if name not in ("g", "xp")]
        may = ["key", *(f"{array}_{what}" for array in op.arrays for what in ("shape", "dtype"))]
        if op.accumulate is None or not names or names != may[: len(names)]:
            raise RuleError(
                f"{op.name}: `reads` is for an op of one array, x, and a `key`, with `accumulate` "
                "and a rule that names key, and after it only x_shape and x_dtype"
            )


def _check_way(op: Op, what: str, kinds: Sequence[str], *leading: str) -> None:
    """Raise if ``batch``, or ``pattern``, is none of its kinds, nor a function like the op."""
    given, parameters = getattr(op, what), ", ".join(op.parameters)
    if callable(given):
        names = parameters_of(given)
        if (*dropwhile(leading.__contains__, names),) != op.parameters:
            before = " and ".join(filter(None, [", ".join(leading[:-1]), leading[-1]]))
            raise RuleError(
                f"{op.name}: the function for `{what}` must have the op's parameters, "
                f"{parameters}, after any of {before}; it has {', '.join(names)}"
            )
    elif given is not None and given not in kinds:
        raise RuleError(
            f"{op.name}: `{what}` must be {', '.join(map(repr, kinds))} or a function, "
            f"not {given!r}"
        )
    elif given == "axis" and not {"axis", "axes"} & {*op.parameters}:
        raise RuleError(f"{op.name}: `{what}='axis'` is for an op with an option `axis` or `axes`")


def _checked_rule(
    op: str,
    key: str,
    kind: Kind,
    function: Any,
    parameters: Sequence[str],
    arrays: Sequence[str],
) -> Rule:
    """Return the rule for one input, checked against what the op has."""
    if isinstance(function, str):
        return Rule(kind, _refusal(op, key, function), (), function)
    what = f"{op}: the rule for {key!r}"
    if not callable(function):
        if kind == "elementwise" and function in (1, -1, 0):
            return Rule(kind, function, ())
        raise RuleError(f"{what} must be a function, not {function!r}")
    names = (function.name,) if isinstance(function, Itself) else parameters_of(function)
    known = {*parameters, "out", "xp"}
    if kind != "elementwise":
        known.add("g")
        if "g" not in names:
            raise RuleError(f"{what} must take the cotangent, g")
    if not known.issuperset(names):
        known |= {f"{array}_{fact}" for array in (*arrays, "out") for fact in FACTS}
    for name in names:
        if name not in known:
            raise _unknown(f"{what} names", name, known)
    return Rule(kind, function, names)


def _refusal(op: str, key: str, reason: str) -> Callable[[], NoReturn]:
    """Return a rule that says why there is none."""

    def refuse() -> NoReturn:
        raise MissingRuleError(
            f"{op} has no derivative with respect to {key!r}: {reason}. If no gradient shall flow "
            f"through {key!r}, give ag.stop_gradient({key})."
        )

    return refuse


def _unknown(what: str, name: str, known: Iterable[str]) -> RuleError:
    from agnograd._util.checks import did_you_mean

    hint = did_you_mean(name, known)
    return RuleError(f"{what} {name!r}, which is none of {', '.join(sorted(known))}{hint}")
