"""Interpretations: backends that stand on another one, and compute something else of a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import Variable, domain_named
from agnograd._arrays.levels import derived, highest, root_of, stands_on, untracked
from agnograd._arrays.namespace import filling
from agnograd._arrays.operators import BINARY, COMPARISONS, UNARY
from agnograd._arrays.variable import built, owners
from agnograd._graph.calls import Backward, Call, Pairs
from agnograd._graph.nodes import FIRST, OP, Node, Parts, raw_gradient
from agnograd._hooks.entering import entered
from agnograd._hooks.state import current_mode
from agnograd._levels.border import Border
from agnograd._levels.interpreted import (
    Functions,
    Interpreted,
    Run,
    at_home,
    deciding,
    map_parts,
)
from agnograd._levels.invariants import verified
from agnograd._ops.op import Op
from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import add_backend
from agnograd._plugins.capabilities import Capabilities
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import GradientError, InterpretationError, LostGradientError

_SAME_STATE = entered()


class Interpretation(Backend):
    """A backend that stands on another one, and computes something else of a program.

    Each of its arrays holds a payload, an array from below. A subclass says in ``compute`` what an
    op does with payloads, or in ``rule`` what it does with arrays. ``interpret`` runs a function.
    Interpretations can stand on each other: each class has one object for whatever is below.

    Attributes
    ----------
    title : str
        What messages call it, by default the name of the class.
    array_class : type
        The class of its arrays, derived from ``Interpreted``.
    whole : bool
        Whether it takes over ops of which all arrays are from outside, too.
    bare_rules : bool
        Whether what ``rule`` returns is called as it is, which spares each op two microseconds: in
        the state of this level, and with arrays of levels above, for which it asks ``elsewhere``.
    below : domain
        What it stands on: ``below.raw`` has the ops on raw arrays, and ``below.namespace`` those
        on Variables, which are recorded.
    running : object
        A context variable: ``running.get()`` is the run of the innermost function that this thread
        interprets here, to which ops belong that depend on no argument; None outside of all.

    Examples
    --------
    >>> import agnograd as ag
    >>> from agnograd.extend import Interpretation, Run
    >>> class Names(Run):
    ...     def __init__(self):
    ...         self.found = set()
    >>> class Naming(Interpretation):
    ...     def compute(self, op, xp, run, args, kwargs):
    ...         self.running.get().found.add(op.name)
    ...         return super().compute(op, xp, run, args, kwargs)
    >>> xp = ag.namespace("numpy")
    >>> names = Names()
    >>> Naming.interpret(ag.grad(lambda x: xp.sum(xp.exp(x))), xp.ones(2).data, run=names).tolist()
    [2.718281828459045, 2.718281828459045]
    >>> sorted(names.found)
    ['broadcast_to', 'exp', 'multiply', 'ones', 'sum']
    """

    title: str = ""
    array_class: type[Interpreted] = Interpreted
    modules = ()
    bare_rules: bool = False
    _domains: ClassVar[dict[tuple[type, Domain], Domain]] = {}

    def __init__(self, below: Domain) -> None:
        self.below = below
        self.level = below.level + 1
        self.title = self.title or type(self).__name__
        self.name = f"{self.title}({below.backend.name})"
        while self.name in built:  # by another class of this title
            self.name += "'"
        self.capabilities: Capabilities = below.backend.capabilities._replace(immutable=True)
        # Whether an array is its payload, and no more.
        self._is_plain = self.array_class is Interpreted
        body = {"__slots__": (), "_backend": self, "__module__": "agnograd"}
        self.array_class = type(self.array_class.__name__, (self.array_class,), body)
        # Whether ops check what has to hold where levels meet: ``agnograd._levels.invariants``.
        self.verifies = os.environ.get("AGNOGRAD_VERIFY", "0") not in ("", "0")
        self._kinds = (Variable, *below.array_types)
        self.running: ContextVar[Run | None] = ContextVar(self.name, default=None)
        self._entered_below = entered(level=below if below.level else None)
        self._module = Functions(self, "")

    @classmethod
    def domain(cls, below: Domain) -> Domain:
        """Return the domain of this interpretation over another one, built on first use."""
        if (known := cls._domains.get((cls, below))) is not None:
            return known
        with filling:
            if (cls, below) not in cls._domains:
                backend = cls(below)
                add_backend(backend)
                domain = domain_named(backend.name)
                backend._add_operators(domain)
                owners[backend.array_class] = domain
                for kind in (backend.array_class, domain.Variable, domain.View):
                    derived[kind] = domain
                backend.taking_over = domain if cls.whole else below.backend.taking_over
                cls._domains[cls, below] = domain
        return cls._domains[cls, below]

    @classmethod
    def interpret(cls, f: Callable[..., Any], /, *args: Any, run: Run, **kwargs: Any) -> Any:
        """Call a function in this interpretation.

        Its arguments become Variables whose arrays belong to ``run``. What it closes over is the
        same in every run, and keeps its gradient.

        Parameters
        ----------
        f : callable
            A function of arrays, or of pytrees of them.
        *args, **kwargs
            What it is called with.
        run : Run
            A new one for each call.

        Returns
        -------
        pytree
            What ``f`` returns, as arrays from below: raw arrays if all arguments are raw, and
            Variables that are connected if one of them is a Variable, or if what ``f`` closes over
            is tracked.

        Raises
        ------
        MixedBackendsError, UnsupportedArrayError
            If arguments are arrays of two libraries.
        """
        leaves, tree = flatten((args, kwargs))
        border = Border(cls, leaves)
        args, kwargs = unflatten(tree, [border.into(leaf, run) for leaf in leaves])
        found, tree = flatten(border.call(run, f, args, kwargs))
        return unflatten(tree, border.out(found, run))

    # -- what a subclass says ----------------------------------------------------------------------

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Return what computes an op on arrays, or None: then its program does, of other ops.

        It is called once for each op, and what it returns for each call: with arrays of this
        interpretation, arrays from below and Python scalars, for which it returns arrays of this
        interpretation. It runs below, and so does ``compute``: arrays that it makes, and what
        ``ag.vmap`` gives in it, belong there. By default it leaves payloads to ``compute``.

        Raises
        ------
        InterpretationError
            In a call, if it returns an array whose payload is not from below.
        """

        def function(*args: Any, **kwargs: Any) -> Any:
            payloads: list[Any] = []
            run: Run | None = None

            def payload(value: Any) -> Any:
                nonlocal run
                if type(value) is self.array_class:
                    run = run if value.run is None else value.run.meet(run)
                    value = value.payload
                payloads.append(value)
                return value

            args = map_parts(payload, args)
            kwargs = {name: map_parts(payload, value) for name, value in kwargs.items()}
            return self.wrapped(self.compute(op, self.functions(*payloads), run, args, kwargs), run)

        return function

    def compute(
        self, op: Op, xp: Any, run: Run | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Return what an op gives for payloads, by default what the same op gives below.

        Parameters
        ----------
        op : Op
            The op; ``op.name``, ``op.chapter`` and the kinds of ``op.rules`` say what it does.
        xp : namespace
            The ops below: on raw arrays, or on Variables if a payload is one.
        run : Run or None
            The run that the arguments belong to; None if all of them are the same in every run.
        args, kwargs
            The arguments of the op, with payloads in place of arrays.
        """
        return attrgetter(op.name)(xp)(*args, **kwargs)

    def concrete(self, array: Any) -> Any:
        """Return a raw array of the library, whose values Python may look at.

        ``bool(x)`` and ``int(x)`` call it for what decides something, and ``leaving`` for what
        flows on; ``deciding()`` says which. It may raise an error that says what to use in their
        place.
        """
        if array.run is not None:
            array.run.meet()
        payload = array.payload
        raw = payload.data if isinstance(payload, Variable) else payload
        below = derived.get(type(raw))
        return raw if below is None else below.backend.concrete(raw)

    @staticmethod
    def deciding() -> str | None:
        """Return what Python makes of the values of an array: "bool", "int", or else None."""
        return deciding.get()

    def leaving(self, array: Any) -> Any:
        """Return a raw array whose values flow on to code that does not see the array.

        ``float(x)``, ``complex(x)``, ``np.asarray(x)`` and DLPack call it. By default it is
        ``concrete(array)``.

        Raises
        ------
        LostGradientError
            If the array, or one of a level below that it stands for, ``varies``.
        """
        inner = array
        while type(inner) in derived and not inner.varies:
            payload = inner.payload
            inner = payload.data if isinstance(payload, Variable) else payload
        if type(inner) in derived:
            raise LostGradientError(
                f"a value leaves {self.title}, and what is known of it beside the value would be "
                "lost: use functions of xp, or pass ag.stop_gradient(x)"
            )
        return self.concrete(array)

    def detached(self, array: Any) -> Any:
        """Return an array that is cut off from what is recorded below.

        ``x.detach()`` and ``ag.stop_gradient(x)`` call it. Override it if arrays hold more than a
        payload.
        """
        return self.array_class(untracked(array.payload), array.run)

    def gathered(self, gradient: Any, run: Run | None, of_all: Run | None) -> Any:
        """Return the payload of a gradient that a user's function gave for an argument.

        The function runs at this level, and the gradient is recorded below. An interpretation
        that can say what that means has this method.

        Parameters
        ----------
        gradient : array
            The gradient, an array of this interpretation.
        run : Run or None
            The run of the argument.
        of_all : Run or None
            The run of the call: that of an argument or result, None if no one has any.

        Raises
        ------
        InterpretationError
            By default.
        """
        raise InterpretationError(
            f"a function with its own derivative is called on arrays of {self.title}, which are "
            "tracked outside of it, and the interpretation does not say how such gradients are "
            "gathered: give it a method gathered, or call the function outside"
        )

    # -- payloads ----------------------------------------------------------------------------------

    def lift(self, value: Any) -> Any:
        """Return an array, or a Variable, from below as an array of this backend."""
        if type(value) is self.array_class:
            return value
        if type(value) in self.below.ready_types:  # most often
            return self.array_class(value)
        if self.below.level:  # what is from further down is raised to each level on the way
            value = self.below.raised(value, isinstance(value, Variable))
        if isinstance(value, Variable):
            if not stands_on(self.below, value._domain):
                return NotImplemented
            raw, node = value._raw, value._node
            if node is None:
                return self.array_class(raw)
            # As it is now: the one that is given may be written to.
            return self.array_class(value._domain.Variable._make(raw, node))
        domain, root = owners.get(type(value)), root_of(self.below)
        if isinstance(value, root.array_types):  # two backends may serve one library
            return self.array_class(value if domain else root.backend.array(value))
        found = domain is not None and stands_on(self.below, domain)
        return self.array_class(value) if found else NotImplemented

    def accepts(self, value: object) -> bool:
        return root_of(self.below).backend.accepts(value)

    def constant(self, value: Any, beside: Any = None) -> Any:
        return self.array_class(root_of(self.below).backend.constant(value, beside))

    def payload(self, value: Any) -> Any:
        """Return the payload of an array, and anything else from below as it is."""
        return value.payload if type(value) is self.array_class else value

    def run_of(self, value: Any) -> Any:
        """Return the run that an array belongs to, None also if it is not of this level."""
        return value.run if type(value) is self.array_class else None

    def wrapped(self, out: Any, run: Run | None) -> Any:
        """Return payloads, also those in lists and tuples, as arrays of a run."""
        kinds = self._kinds
        if isinstance(out, kinds):  # most often
            return self.array_class(out, run)

        def array(value: Any) -> Any:
            return self.array_class(value, run) if isinstance(value, kinds) else value

        return map_parts(array, out)

    def functions(self, *payloads: Any) -> Any:
        """Return the namespace below that computes with payloads: one of Variables if any is."""
        for each in payloads:
            if isinstance(each, Variable):
                return self.below.namespace
        return self.below.raw

    def elsewhere(self, name: str, *values: Any) -> Callable[..., Any] | None:
        """Return the function that computes an op of values which are not for this level's own.

        That is a raw function of a level above, if an array of that is among them; or a function of
        Variables, if one of this level or above is. Otherwise it is None.
        """
        found = highest(self.below, values)
        variables = found.level >= self.level and _has_variable(values, self.level)
        if found.level <= self.level and not variables:
            return None
        return attrgetter(name)(found.namespace if variables else found.raw)  # type: ignore[no-any-return]

    def is_elsewhere(self, value: Any) -> bool:
        """Return whether ``elsewhere`` has a function for a value."""
        domain = derived.get(type(value))
        if domain is None or domain.level < self.level:
            return False
        return domain.level > self.level or isinstance(value, Variable)

    def moved(self, array: Any, payload: Any, there: Domain) -> Any:
        """Return an array of ``there``, this interpretation of another library, by its payload."""
        return there.backend.array_class(payload, array.run)  # type: ignore[attr-defined]

    def function(self, name: str) -> Callable[..., Any]:
        """Return what computes an op, by its name, on arrays of this backend."""
        found: Callable[..., Any] = attrgetter(name)(built[self.name].raw)
        return found

    def kernel(self, op: Op) -> Callable[..., Any] | None:
        """Return what computes an op on arrays: its rule, which is checked if that is asked for."""
        rule = self.rule(op)
        if rule is not None and not self.bare_rules:
            rule = self._at_level(op, rule)
        return verified(rule, self.level, op.name) if rule is not None and self.verifies else rule

    def _at_level(self, op: Op, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Return a rule that gets what is for this level, and runs below it."""

        def function(*args: Any, **kwargs: Any) -> Any:
            if (at := self.elsewhere(op.name, args, *kwargs.values())) is not None:
                return at(*args, **kwargs)
            with self._entered_below:
                out = rule(*args, **kwargs)
            for each in out if isinstance(out, tuple | list) else (out,):
                payload = each.payload if type(each) is self.array_class else None
                inner = payload._domain if isinstance(payload, Variable) else None
                inner = inner or derived.get(type(payload))
                if inner is not None and inner.level >= self.level:
                    raise InterpretationError(
                        f"{self.title}: the rule of {op.name} returned an array whose payload is "
                        f"of {inner.backend.name}, which is not below: compute with payloads, by "
                        "the functions of self.functions(payload)"
                    )
            return out

        return function

    # -- as a backend ------------------------------------------------------------------------------

    def namespace(self) -> ModuleType:
        return self._module

    def array_types(self) -> tuple[type, ...]:
        return (self.array_class,)

    def from_dlpack(self, x: Any, **options: Any) -> Any:
        if derived.get(type(x)) is built[self.name]:
            return self.namespace().asarray(x, **options)
        return self.lift(self.below.backend.from_dlpack(x, **options))

    def dtype(self, name: str) -> Any:
        return self.below.dtype_or_none(name)

    def device(self, array: Any) -> Any:
        return array.device

    def own(self, array: Any) -> Any:
        return array

    def observed(
        self,
        forward: Callable[..., tuple[Call, Any]],
        op: Call,
        kernel: Callable[..., Any],
        arguments: tuple[Any, ...],
        inputs: tuple[Any, ...],
        parameters: dict[str, Any],
    ) -> tuple[Call, Any]:
        """Compute an op between the hooks of plugins, which see what its arrays stand for.

        Where that is recorded below, they see it there.
        """
        if any(isinstance(getattr(each, "payload", None), Variable) for each in inputs):
            with _SAME_STATE:
                current_mode().batch_size = self.call(op, inputs).batch_size  # type: ignore[union-attr]
                return op, kernel(*arguments)
        out: list[Any] = []

        def compute() -> Any:
            out.append(kernel(*arguments))
            several = isinstance(out[0], tuple | list)
            return tuple(map(raw_gradient, out[0])) if several else raw_gradient(out[0])

        raw = (*map(raw_gradient, inputs),)
        op, _ = forward(self.call(op, inputs), compute, (), raw, parameters)
        return op, out[0]

    def of_function(self, backward: Backward, g: Any, node: Node, xp: Any) -> Pairs:
        """Return the gradients of a call that was recorded below, by a user's function.

        ``g`` is the cotangent, a list if the call has several results. ``xp`` is the namespace of
        Variables if what is computed is to be recorded, and otherwise None.
        """
        given, edges = g if isinstance(g, list) else [g], list[Any]()
        if any(isinstance(each, Variable) for each in given):
            raise GradientError(
                f"{node[OP].name} is a user's function that ran outside of {self.name}: its "
                "gradient cannot be differentiated with respect to a cotangent from inside; call "
                "the function inside, too"
            )

        def pulled(*payloads: Any) -> list[Any]:
            recorded = xp is not None or any(isinstance(each, Variable) for each in payloads)
            below, first, known = node[OP].domain, node[OP].first, node
            values = [below.wrap(each) if recorded else each for each in payloads]
            cotangents = values if isinstance(g, list) else values[0]
            if recorded and xp is None:  # else what it saved is connected
                known = [*node[:FIRST], *below.connected(node, node[FIRST:first]), *node[first:]]
            found = backward(cotangents, known, below.namespace if recorded else None)
            parts = (g.values() if type(g) is Parts else [(edge, g)] for edge, g in found)
            pairs = [pair for several in parts for pair in several]
            edges[:] = [edge for edge, _ in pairs]
            return [part for _, part in pairs]

        return list(zip(edges, self.each_member(pulled, given), strict=True))

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Call a function of arrays from below that cannot be interpreted; None stays None.

        It is one of ``ag.wrap``, of another library, or a solver of ``ag.implicit``. With an
        ``array_class`` of its own, an interpretation says what it is for its arrays; it may call
        this method for the payloads.

        Raises
        ------
        InterpretationError
            If it has such a class, and not this method.
        """
        if not self._is_plain and type(self).each_member is Interpretation.each_member:
            raise InterpretationError(
                f"{self.title} has an array_class of its own, and does not say what a function "
                "that runs on arrays from below gives for such arrays (one of ag.wrap, of another "
                "library, or a solver): give it a method each_member"
            )
        run: Run | None = None
        for each in arrays:
            if type(each) is self.array_class and each.run is not None:
                run = each.run.meet(run)
        with self._entered_below:
            found = f(*map(self.payload, arrays))
        return tuple([at_home(self, each).wrapped(each, run) for each in found])

    def visiting(self) -> Callable[[int], None] | None:
        """Return what a reverse pass that begins tells the rank of each node that it visits.

        It is asked of an interpretation that is ``whole``. Newer nodes rank lower.
        """
        return None

    def call(self, op: Call, inputs: tuple[Any, ...]) -> Call:
        """Return how hooks see an op on these inputs."""
        return op

    def mark(self) -> Any:
        return self.below.mark()

    def synchronize(self, array: Any = None) -> None:
        self.below.backend.synchronize(raw_gradient(array))

    def quiet(self) -> Any:
        return self.below.backend.quiet()

    def copied(self, array: Any) -> Any:
        """Return a copy of an array. The default is the array: nothing writes into it."""
        return array

    def set(self, x: Any, key: Any, value: Any) -> Any:
        return self.function("__setitem__")(x, key, value)

    def put(self, x: Any, key: Any, value: Any) -> Any:
        return self.set(x, key, value)

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        return into + self.function("scatter_add")(values, key, shape=into.shape)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        add = self.function("scatter_add_axis")
        return into + add(values, indices, axis=axis, shape=into.shape)

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        return root_of(self.below).backend.to_host(self.concrete(array), dtype=dtype, copy=copy)

    def item(self, array: Any) -> Any:
        return root_of(self.below).item(self.concrete(array))

    def _add_operators(self, domain: Domain) -> None:
        """Give the class of arrays Python's operators, each of which is an op."""

        def method(function: Callable[..., Any]) -> Callable[..., Any]:
            # A function that is an attribute of a class is a method; other objects are not.
            return function if isinstance(function, FunctionType) else lambda *args: function(*args)

        def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda x2, x1: function(x1, x2)

        for short, name in (UNARY | COMPARISONS | BINARY | {"getitem": "__getitem__"}).items():
            function = getattr(domain.raw, name, None)
            if function is None:  # nor has what is below
                continue
            setattr(self.array_class, f"__{short}__", method(function))
            if short in BINARY:
                setattr(self.array_class, f"__r{short}__", reflected(function))


def _has_variable(value: Any, level: int) -> bool:
    """Return whether a Variable of a level, or of one above, is among values."""
    if isinstance(value, tuple | list):
        return any(_has_variable(each, level) for each in value)
    if isinstance(value, slice):
        return _has_variable((value.start, value.stop, value.step), level)
    return isinstance(value, Variable) and value._domain.level >= level
