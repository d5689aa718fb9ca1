"""Op sets: how ops and their rules are registered, and what is checked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from agnograd._ops.op import SEQUENCES, Itself, Kind, Op, Rule, Status
from agnograd._util.signatures import (
    EXTENSIONS,
    NO_OPS,
    check_name,
    check_parameters,
    parameters_of,
    positional_only,
    prototype,
)
from agnograd.errors import MissingRuleError, RuleError

FACTS = ("shape", "dtype", "device")
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
    ``strides``, ``outputs``, ``stacks``, ``masks``, ``negation``, ``reads`` and ``casts`` (see
    ``Op``). Positional-only parameters and
    those with a rule take arrays. ``options`` names positional-only ones that do not, ``constants``
    those that take arrays without gradient. A ``key`` is what stands in square brackets.

    Parameters
    ----------
    chapter : str
        The chapter of the standard that the ops belong to, or a name of your own.
    samples : str, optional
        The module whose ``samples`` list has sample inputs for these ops. Tests import it.
    kernels : mapping of str to str, optional
        Modules with functions that compute ops of this set, by the name of the backend whose raw
        arrays they take and return. A function has the name of its op after the last dot. Each
        module is imported when one of the ops is first called on its backend. If the module has no
        function for an op, or the function returns NotImplemented, ``forward`` computes the op. A
        function that the backend itself provides for the op in ``Backend.kernels()`` is preferred.
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
        cotangent and sums over broadcast axes. The constants 1, -1 and 0, and what a rule
        names ``itself``, need no function. A rule
        must also be right for a part of the elements: large arrays come in flat blocks. The result
        has the dtype that its inputs are promoted to: register an op that makes complex numbers of
        real ones with ``vjp``.
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
        self._add(signature, "vjp", given, status="rule", takes_no_rules=True)

    def constant(self, *signatures: str, **options: Any) -> None:
        """Register ops that have no gradient by nature (comparisons, indices, dtypes)."""
        for signature in signatures:
            self._add(signature, "vjp", {"outputs": "any"} | options, takes_no_rules=True)

    def missing(self, *signatures: str, **options: Any) -> None:
        """Register ops without a derivative so far: you can call them, but a backward pass through
        them raises an error that says how to register a rule.
        """  # noqa: D205
        for signature in signatures:
            self._add(signature, "vjp", dict(options), status="missing")

    def _add(
        self,
        text: str,
        kind: Kind,
        rules: dict[str, Any],
        status: Status | None = None,
        takes_no_rules: bool = False,
    ) -> None:
        features = {key: rules.pop(key) for key in FEATURES if key in rules}
        beside = {key: rules.pop(key) for key in BESIDE if key in rules}
        name = text.partition("(")[0]
        self._check_name(name)
        function = prototype(text)
        parameters = parameters_of(function)
        check_parameters(name, parameters, () if takes_no_rules else _RESERVED)
        unknown = [key for key in rules if key not in parameters]
        if unknown:
            raise RuleError(_unknown(f"{name}: a rule for", unknown[0], parameters))
        constants, options = beside.get("constants", ()), beside.get("options", ())
        if features.get("composed"):  # any of them may
            arrays = parameters
        else:
            taken = {*rules, *constants, *SEQUENCES}
            taken |= {each for each in positional_only(function) if each not in (*options, "key")}
            arrays = tuple(each for each in parameters if each in taken)
        made = {
            key: _refusal(name, key, kind, rule)
            if isinstance(rule, str)
            else Rule(kind, rule, _names(name, key, kind, rule, parameters, arrays))
            for key, rule in rules.items()
        }
        op = Op(
            name=name,
            chapter=self.chapter,
            text=text,
            parameters=parameters,
            arrays=arrays,
            rules=made,
            status=status or ("rule" if made else "no gradient"),
            kernels=self.kernels,
            **features,
        )
        _check_stacks(name, op.stacks, made)
        if op.negation or op.reads:
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


def _check_stacks(op: str, stacks: Mapping[str, int], rules: Mapping[str, Rule]) -> None:
    """Raise if what is declared of shared inputs cannot be computed from what nodes save."""
    for name in stacks:
        others = [other for other in rules if other != name]
        if name not in rules or len(others) != 1 or others[0] not in rules[name].names:
            raise RuleError(
                f"{op}: `stacks` is for an input of an op of two arrays with rules, whose own rule "
                f"names the other array; {name!r} is none"
            )


def _check_declared(op: Op) -> None:
    """Raise if what is declared of an op does not fit its signature and rules."""
    rule = next(iter(op.rules.values()), None)
    one = len(op.arrays) == 1 and rule is not None
    if op.negation and not (one and rule.kind == "elementwise" and rule.function == -1):  # type: ignore[union-attr]
        raise RuleError(
            f"{op.name}: `negation` is for an element-wise op of one array whose rule is -1"
        )
    if op.reads:
        facts = tuple(f"{op.arrays[0]}_{what}" for what in ("shape", "dtype")) if one else ()
        named = [name for name in rule.names if name not in ("g", "xp")] if one else []  # type: ignore[union-attr]
        if not one or op.accumulate is None or named != ["key", *facts][: len(named)] or not named:
            raise RuleError(
                f"{op.name}: `reads` is for an op of one array, x, and a `key`, with `accumulate` "
                "and a rule that names key, and after it only x_shape and x_dtype"
            )


def _refusal(op: str, key: str, kind: Kind, reason: str) -> Rule:
    """Return a rule that says why there is none."""

    def refuse() -> NoReturn:
        raise MissingRuleError(
            f"{op} has no derivative with respect to {key!r}: {reason}. If no gradient shall flow "
            f"through {key!r}, give ag.stop_gradient({key})."
        )

    return Rule(kind, refuse, (), reason)


def _names(
    op: str,
    key: str,
    kind: Kind,
    function: Any,
    parameters: Sequence[str],
    arrays: Sequence[str],
) -> tuple[str, ...]:
    """Return what a rule asks for, checked against what the op has."""
    if not callable(function):
        if kind == "elementwise" and function in (1, -1, 0):
            return ()
        raise RuleError(f"{op}: the rule for {key!r} must be a function, not {function!r}")
    names = (function.name,) if isinstance(function, Itself) else parameters_of(function)
    known = (*parameters, "out", "xp")
    if kind != "elementwise":
        known = (*known, "g")
        if "g" not in names:
            raise RuleError(f"{op}: the rule for {key!r} must take the cotangent, g")
    for name in names:
        if name not in known and name not in _facts(arrays):
            raise RuleError(
                _unknown(f"{op}: the rule for {key!r} names", name, {*known, *_facts(arrays)})
            )
    return names


def _facts(arrays: Iterable[str]) -> set[str]:
    """Return the names of what is known of arrays without keeping them."""
    return {f"{array}_{what}" for array in (*arrays, "out") for what in FACTS}


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    import difflib  # only errors need it

    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{what} {name!r}, which is none of {', '.join(sorted(known))}{hint}"
