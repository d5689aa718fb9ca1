"""Ops and their derivative rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Signature
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from agnograd._util.signatures import signature_of

Kind = Literal["elementwise", "linear", "multilinear", "vjp"]
Status = Literal["rule", "no gradient", "missing"]
# How an op is called: as a function of the namespace, or as an operator of arrays, where an
# operand that is not an array gets its chance to answer (Python's NotImplemented), also reflected;
# or as a NumPy ufunc, where either operand may be such a one.
Form = Literal["function", "operator", "reflected", "ufunc"]

SEQUENCES = ("arrays", "arrays_and_dtypes")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Itself(NamedTuple):
    """A rule that returns one of its parameters: there is nothing to call."""

    name: str

    def __call__(self, value: Any, /) -> Any:
        """Return the parameter."""
        return value


def itself(name: str) -> Itself:
    """Return the rule that returns one of its parameters unchanged.

    ``itself("x2")`` means the same as ``lambda x2: x2``, but the op's backward function has the
    value in place of a call. An element-wise op of two arrays whose rules are each other's input is
    treated as a product, such as ``multiply``.

    Parameters
    ----------
    name : str
        What a rule may name: an input, ``out``, or the cotangent ``g``.

    Returns
    -------
    callable
        The rule.

    Examples
    --------
    >>> from agnograd.extend import OpSet, itself
    >>> ops = OpSet("mine")
    >>> ops.elementwise("grow(x, /)", x=itself("out"), forward=lambda xp, x: xp.exp(x))
    """
    return Itself(name)


class Rule(NamedTuple):
    """The derivative of an op with respect to one input.

    Attributes
    ----------
    kind : {"elementwise", "linear", "multilinear", "vjp"}
        A partial derivative, a transpose, or a vector-Jacobian product.
    function : callable or int
        The rule; elementwise rules may be the constants 1, -1 and 0. See also ``itself``.
    names : tuple of str
        The names of what the rule needs, in the order of its own parameters.
    reason : str
        Why there is no derivative with respect to this input: the error that the rule then raises
        says it.
    """

    kind: Kind
    function: Callable[..., Any] | int
    names: tuple[str, ...]
    reason: str = ""

    @property
    def multiplies(self) -> bool:
        """Whether a cotangent is multiplied with a derivative."""
        return self.kind == "elementwise" and callable(self.function)


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
        Rules by the name of the input; none if the op is composed.
    status : {"rule", "no gradient", "missing"}
        Whether a derivative is known, cannot exist by nature, or is missing.
    forward : callable or None
        Computes an op beyond the standard on raw arrays (a library's function of the same name
        may do something else). It may name ``xp`` and ``backend`` before the op's own parameters.
    kernels : mapping
        Modules with faster functions by the name of a backend, as for ``OpSet``.
    composed : bool
        Whether ``forward`` is a program that calls other ops, whose rules apply, with Variables as
        with raw arrays.
    accumulate : callable or None
        ``accumulate(into, g, …)`` adds the gradient of the only differentiable input into an
        existing buffer and returns it. It may name ``backend`` and what rules may name.
    overwrite : callable or None
        ``overwrite(g, …)`` changes the cotangent in place into the gradient of the first
        differentiable input, and returns it; it is called only if the engine owns the cotangent. It
        may name what ``accumulate`` may name.
    view : callable or None
        ``view(base, value, …)`` returns the base with the op's result, which is then a view,
        replaced by ``value``. It may name ``xp``, options, ``index`` (which one of several results
        it is), and ``write``: what returns an array with a value at a key, given all three.
    strides : callable or None
        ``strides(x_strides, …)`` returns how many elements apart neighbours along each axis of a
        view are, or None for a copy (by an option ``copy``). By default the order is row-major. It
        may name ``x_shape``, ``x_dtype``, ``out_shape``, ``xp`` and options.
    outputs : {"one", "several", "optional", "any"}
        Whether the op returns one array or several. Rules then get a list of cotangents; those of
        outputs that nothing depends on are zeros with "several", and None with "optional". Ops
        without a gradient may return anything, unless they say "one".
    stacks : mapping of str to int
        For an op of two arrays that is linear in each: inputs that many calls may share. Their
        gradient is that of one call, whose other input and cotangent join all calls' along an axis.
    masks : bool or callable
        Whether the op leaves elements of its inputs out, as ``where`` does: their gradient of 0 is
        not multiplied by an infinite or undefined derivative. A function, of what rules may name,
        decides it for a single call.
    negation : bool
        Whether the op of one array returns its negative: nodes then save only one of the two.
    reads : bool
        Whether the op returns ``x[key]``, and ``accumulate`` also takes keys of index arrays: then
        gradients of single elements are added in one call.
    casts : bool
        Whether the result may have a different dtype from the one that the inputs are promoted to,
        such as an integer dtype, which has no gradient. An op with an option ``dtype`` always may.
    batch : {"elementwise", "axis", "last"} or callable, optional
        How ``vmap`` computes the op for many members at once, as for ``OpSet``.
    pattern : {"moves", "selects", "adds", "axis", "values"} or callable, optional
        Which elements of its inputs an element of the result depends on, as for ``OpSet``.
    exact : bool
        Whether the op is element-wise, and each element of its result, for real arrays, is exact or
        rounded once: it has the same bits in any array, and by itself. Compiled functions then
        compute one element where all are the same.
    commutative : bool
        Whether the op gives the same bits for two real arrays the other way round, but for the
        payload of NaN: compiled functions then compute one of two such calls.
    effects : bool
        Whether a call does more than compute its result, as one that sends a message: compiled
        functions make all of them, also where nothing needs the result or two are equal.
    contracts : bool
        Whether the op sums products, as ``matmul`` does, and so takes long for the size of its
        result: ``checkpoint(f, policy="products")`` keeps that.
    of_numbers : bool
        Whether this is the form of an element-wise op that takes two numbers, which some libraries
        return for an element of a float64 array: nothing is broadcast, cast or conjugated.
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
    outputs: Literal["one", "several", "optional", "any"] = "one"
    stacks: Mapping[str, int] = _NOTHING
    masks: bool | Callable[..., bool] = False
    negation: bool = False
    reads: bool = False
    casts: bool = False
    batch: Literal["elementwise", "axis", "last"] | Callable[..., Any] | None = None
    pattern: Literal["moves", "selects", "adds", "axis", "values"] | Callable[..., Any] | None = (
        None
    )
    exact: bool = False
    commutative: bool = False
    effects: bool = False
    contracts: bool = False
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

    @property
    def broadcasts(self) -> bool:
        """Whether it is element-wise, and combines arrays whose shapes and dtypes may differ."""
        elementwise = any(rule.kind == "elementwise" for rule in self.rules.values())
        return elementwise and len(self.arrays) > 1 and not self.of_numbers

    @property
    def by_element(self) -> bool:
        """Whether its rules can be applied to a part of the elements as to all of them."""
        rules = self.rules.values()
        facts = {name.rpartition("_")[2] for rule in rules for name in rule.names}
        special = self.accumulate or self.overwrite or self.masks or self.sequence
        if special or self.outputs != "one" or facts & {"shape", "device"}:
            return False
        return {rule.kind for rule in rules} == {"elementwise"}

    @property
    def product(self) -> bool:
        """Whether the derivative by each of two arrays is the other one."""
        if len(self.arrays) != 2 or any(r.kind != "elementwise" for r in self.rules.values()):
            return False
        crossed = dict(zip(self.arrays, map(Itself, reversed(self.arrays)), strict=True))
        return {name: rule.function for name, rule in self.rules.items()} == crossed

    @property
    def may_cast(self) -> bool:
        """Whether a result may have a different dtype from what its inputs are promoted to."""
        return self.casts or "dtype" in self.parameters
