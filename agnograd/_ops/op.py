"""Ops and their derivative rules, as op sets register them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from agnograd._util.signatures import (
    EXTENSIONS,
    NO_OPS,
    check_name,
    check_parameters,
    parameters_of,
    positional_only,
    prototype,
    signature_of,
)
from agnograd.errors import MissingRuleError, RuleError

if TYPE_CHECKING:
    from inspect import Signature

__all__ = ["Op", "OpSet", "Rule", "Status"]

Kind = Literal["elementwise", "linear", "multilinear", "vjp"]
Status = Literal["rule", "no gradient", "missing"]

FACTS = ("shape", "dtype", "device")
SEQUENCES = ("arrays", "arrays_and_dtypes")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Rule(NamedTuple):
    """The derivative of an op with respect to one input.

    Attributes
    ----------
    kind : {"elementwise", "linear", "multilinear", "vjp"}
        A partial derivative, a transpose, or a vector-Jacobian product.
    function : callable or int
        The rule; elementwise rules may be the constants 1, -1 and 0.
    names : tuple of str
        The names of what the rule needs, in the order of its own parameters.
    reason : str
        Why there is no derivative with respect to this input, if there is none. The rule then
        raises an error with this reason.
    """

    kind: Kind
    function: Callable[..., Any] | int
    names: tuple[str, ...]
    reason: str = ""


class Op(NamedTuple):
    """One function of a namespace: its signature, and its derivative rules by input.

    Attributes
    ----------
    name : str
        The standard's name; ``linalg.det`` is in an extension, ``__getitem__`` on arrays.
    chapter : str
        The chapter of the standard (or the name of the op set).
    text : str
        The name and the signature, exactly as in the standard.
    parameters : tuple of str
        The parameters of the signature.
    arrays : tuple of str
        Parameters that take arrays.
    rules : mapping
        Rules by the name of the input. A composed op has none: the rules of the ops that it calls
        apply.
    status : {"rule", "no gradient", "missing"}
        Whether a derivative is known, cannot exist by nature, or is missing.
    forward : callable or None
        Computes the op on raw arrays, for ops beyond the standard (a library's function of the
        same name may do something else). It may name ``xp`` and ``backend`` before the op's own
        parameters. Without it, the op is the function of the backend's namespace.
    kernels : mapping
        Modules by the name of a backend. If a module has a function with the op's name (the part
        after the last dot), it is used instead of ``forward``. The module is imported when the op
        is first called on that backend.
    composed : bool
        Whether ``forward`` is a program that calls other ops, with Variables as with raw arrays.
    accumulate : callable or None
        ``accumulate(into, g, …)`` adds the gradient of the only differentiable input into an
        existing buffer and returns it. It may name ``backend`` and what rules may name.
    overwrite : callable or None
        ``overwrite(g, …)`` changes the cotangent in place into the gradient of the first
        differentiable input, and returns it. It is called only if the engine owns the cotangent.
        It may name the same things as ``accumulate``.
    view : callable or None
        ``view(base, value, …)`` returns the base with the op's result replaced by ``value``. It
        makes the op's result a view, so that writes to it reach the base. If the op has several
        results, ``index`` says which one. It may name ``xp``, the op's options, and ``write``: a
        function of an array, a key and a value that returns the array with the value at the key.
    strides : callable or None
        ``strides(x_strides, …)`` returns how many elements apart neighbours along each axis of a
        view are, or None for a copy (by an option ``copy``). By default the order is row-major. It
        may name ``x_shape``, ``x_dtype``, ``out_shape``, ``xp`` and options.
    outputs : {"one", "several", "optional"}
        Whether the op returns one array, or a tuple or list of arrays. With "several", a rule gets
        a list of cotangents, with zeros for outputs that nothing depends on. With "optional", it
        gets None for these.
    stacks : mapping of str to int
        For an op of two arrays that is linear in each: inputs that many calls may share, each with
        an axis. The gradient of a shared input is that of one call, whose other input and cotangent
        join those of all calls along that axis. Arrays with two axes are concatenated, arrays with
        one axis are stacked.
    masks : bool or callable
        Whether the op leaves elements of its inputs out, as ``where`` does, so that their gradient
        is 0 whatever made them: the pass then does not multiply that 0 by an infinite or undefined
        derivative. A function, which may name what rules may name, decides it for a single call.
    of_numbers : bool
        Whether this is the form of an element-wise op that takes two numbers. Some libraries return
        a number for an element of a float64 array: then there is nothing to broadcast, to cast or
        to conjugate.
    """

    name: str
    chapter: str
    text: str
    parameters: tuple[str, ...]
    arrays: tuple[str, ...]
    rules: Mapping[str, Rule]
    status: Status
    forward: Callable[..., Any] | None = None
    kernels: Mapping[str, str] = _NOTHING
    composed: bool = False
    accumulate: Callable[..., Any] | None = None
    overwrite: Callable[..., Any] | None = None
    view: Callable[..., Any] | None = None
    strides: Callable[..., Any] | None = None
    outputs: Literal["one", "several", "optional"] = "one"
    stacks: Mapping[str, int] = _NOTHING
    masks: bool | Callable[..., bool] = False
    of_numbers: bool = False

    def __repr__(self) -> str:
        return f"<op {self.text}: {self.status}>"

    @property
    def signature(self) -> Signature:
        """The signature whose text is ``text``."""
        return signature_of(self.text)

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The inputs that a graph node has edges for."""
        if self.status == "missing" or self.composed:
            return self.arrays
        return tuple(name for name in self.arrays if name in self.rules)

    @property
    def options(self) -> tuple[str, ...]:
        """The parameters that take no arrays."""
        return tuple(name for name in self.parameters if name not in self.arrays)

    @property
    def sequence(self) -> str | None:
        """The parameter that takes several arrays, if the op has one."""
        return next((name for name in self.arrays if name in SEQUENCES), None)


class OpSet:
    """A named set of ops; register it with an entry point in ``agnograd.ops``.

    Every method takes the op's signature as text, exactly as in the standard. Rules are keyword
    arguments named after inputs. A rule's own parameters say what it needs, and the graph saves
    exactly that: inputs by name, ``out`` (the output), options by name, ``xp`` (the namespace),
    and ``x_shape``, ``x_dtype`` and ``x_device`` of an input ``x`` (or of ``out``), which keep no
    array. A text instead of a rule gives the reason why there is no derivative with respect to that
    input: asking for it raises an error with this reason.

    Besides rules, every method takes ``forward``, ``accumulate``, ``overwrite``, ``view``,
    ``strides``, ``outputs``, ``stacks`` and ``masks`` (see ``Op``). Positional-only parameters and
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
        cotangent and sums over broadcast axes. The constants 1, -1 and 0 need no function. A rule
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
        self._add(signature, "vjp", {"forward": function, "composed": True}, status="rule")

    def constant(self, *signatures: str, **options: Any) -> None:
        """Register ops that have no gradient by nature (comparisons, indices, dtypes)."""
        for signature in signatures:
            self._add(signature, "vjp", dict(options))

    def missing(self, *signatures: str, **options: Any) -> None:
        """Register ops without a derivative so far: you can call them, but a backward pass through
        them raises an error that says how to register a rule.
        """  # noqa: D205
        for signature in signatures:
            self._add(signature, "vjp", dict(options), status="missing")

    def _add(
        self, text: str, kind: Kind, rules: dict[str, Any], status: Status | None = None
    ) -> None:
        features = {key: rules.pop(key) for key in _FEATURES if key in rules}
        beside = {key: rules.pop(key) for key in ("constants", "options") if key in rules}
        name = text.partition("(")[0]
        self._check_name(name)
        function = prototype(text)
        parameters = parameters_of(function)
        check_parameters(name, parameters, {*features, *beside})
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
        _check_stacks(name, features.get("stacks", {}), made)
        self._ops[name] = Op(
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

    def _check_name(self, name: str) -> None:
        check_name(self.chapter, name)
        if name in self._ops:
            raise RuleError(f"{self.chapter}: {name} is registered twice")
        if self.extension and not name.startswith(f"{self.extension}."):
            raise RuleError(
                f"{self.chapter}: {name} is not in the extension {self.extension!r}; name it "
                f"{self.extension}.{name}, or register it in an OpSet without `extension`"
            )


# What every method of an op set takes beside rules.
_FEATURES = Op._field_defaults.keys() - {"kernels", "of_numbers"}


def _check_stacks(op: str, stacks: Mapping[str, int], rules: Mapping[str, Rule]) -> None:
    """Raise if what is declared of shared inputs cannot be computed from what nodes save."""
    for name in stacks:
        others = [other for other in rules if other != name]
        if name not in rules or len(others) != 1 or others[0] not in rules[name].names:
            raise RuleError(
                f"{op}: `stacks` is for an input of an op of two arrays with rules, whose own rule "
                f"names the other array; {name!r} is none"
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
    names = parameters_of(function)
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
