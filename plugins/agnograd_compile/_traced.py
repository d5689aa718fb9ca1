"""The interpretation that writes a program: its arrays have a value, and a place in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NoReturn

from agnograd import Variable
from agnograd.extend import Interpretation, Interpreted, Op, is_mask, is_python_scalar
from agnograd.extend.transforms import Domain, derived, map_parts, root_of
from agnograd_compile._programs.program import Ref, declared
from agnograd_compile._pullbacks import OwnDerivative
from agnograd_compile._recording import Recording, refused, running

_INSTEAD = "which a program cannot follow: use xp.where, or do it outside of the function"
_PARTED = (tuple, list, slice)
_SINGLE = ("__getitem__", "__setitem__", "scatter_add", "scatter_add_axis")


class TracedArray(Interpreted):
    """An array of a function that is traced: what it is now, and its place in the program.

    Without a run it is a constant. Python may look at a single value of it: the program then
    compares the value of each run with this one.
    """

    __slots__ = ("ref",)
    run: Recording | None

    def __init__(self, payload: Any, run: Any = None, ref: Ref | None = None) -> None:
        self.payload, self.run, self.ref = payload, run, ref

    def _seen(self, kind: str, convert: Callable[[Any], Any]) -> Any:
        value = convert(self.payload)
        if self.run is not None:
            self.run.meet().guard(kind, self.ref, value)  # type: ignore[arg-type]
        return value

    def __bool__(self) -> bool:
        return self._seen("bool", bool)  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self._seen("int", int)  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self._seen("int", lambda value: value.__index__())  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self._seen("float", float)  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._seen("complex", complex)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Return what the library writes: what Python does with the text depends on the values."""
        run: Recording | None = self.run
        if run is not None:
            if run.ended:
                return super().__repr__()
            run.guard("text", self.ref, self.payload)  # type: ignore[arg-type]
        return repr(root_of(self._backend.below).backend.array(self.payload))


class Tracing(Interpretation):
    """A backend over a library whose arrays note what is computed with them."""

    title = "compile"
    array_class = TracedArray
    whole = traces = bare_rules = True

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Return what notes an op, and computes it; None for one that is a program of others."""
        if op.chapter == "data_type" and op.name != "astype":
            return self._facts(op)
        if op.forward is not None and not self._is_single(op):
            return None
        function = attrgetter(op.name)(self.below.raw)
        shaped = SHAPED_BY_VALUES.get(op.name)

        own = self.array_class

        def traced(*args: Any, **kwargs: Any) -> Any:
            for each in (*args, *kwargs.values()) if kwargs else args:
                kind = type(each)
                if kind is not own and (kind in derived or kind in _PARTED):  # seldom
                    at = self.elsewhere(op.name, args, *kwargs.values())
                    if at is not None:
                        return at(*args, **kwargs)
            if shaped is not None and shaped(*args, **kwargs):
                raise refused(f"{op.name}: the shape of its result depends on values, {_INSTEAD}")
            return self.note(op.name, function, args, kwargs)

        return traced

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return the derivatives of the backend below, each of which is a step.

        Those of linear ops are left out: the rules make the same calls, which say more to passes.
        """
        found: dict[str, dict[str, Callable[..., Any]]] = {}
        for name, functions in self.below.backend.pullbacks().items():
            op = declared(name)
            for into, function in functions.items():
                rule = op.rules[into]
                if callable(rule.function) and rule.kind in ("elementwise", "vjp"):
                    derivative = OwnDerivative(op, into, function, self.below)
                    found.setdefault(name, {})[into] = derivative.noted_by(self)
        return found

    def _add_operators(self, domain: Domain) -> None:
        """Give arrays operators that round as those of the library's own arrays do."""
        super()._add_operators(domain)
        for short, program in root_of(self.below).backend.reflected().items():
            name = f"__r{short}__"
            own = _by_number(program, domain.raw, getattr(self.array_class, name))
            setattr(self.array_class, name, own)

    def _is_single(self, op: Op) -> bool:
        """Return whether an op that has a program is one step all the same.

        It is if the library computes it by a function of its own, or if its program needs the
        backend.
        """
        backend = self.below.backend
        if op.name in _SINGLE or op.name in backend.kernels() or backend.name in op.kernels:
            return True
        return "backend" in inspect.signature(op.forward).parameters  # type: ignore[arg-type]

    def note(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Compute a step of raw arrays, and note it if one of them differs between runs."""
        own, outside = self.array_class, self.below.array_types
        run: Recording | None = None
        arrays: list[TracedArray] = []  # in the order in which ``_everywhere`` meets them

        def payload(each: Any) -> Any:
            nonlocal run
            if type(each) is not own:
                if not isinstance(each, outside):
                    return each
                known = self.lift(each)
                each = known._raw if isinstance(known, Variable) else known
            if each.run is not None:
                run = each.run.meet(run)
            arrays.append(each)
            return each.payload

        given, options = _everywhere(payload, args, kwargs)
        out = function(*given, **options)
        if run is None and declared(name).effects:  # each run makes the call, of constants too
            run = running.get()
        if run is None:
            return self.wrapped(out, None)
        recording: Recording = run
        places = [recording.place_of(each) for each in arrays]
        left = iter(places)

        def place(each: Any) -> Any:
            return next(left) if type(each) is own or isinstance(each, outside) else each

        args, kwargs = _everywhere(place, args, kwargs)
        values = [each.payload for each in arrays]
        refs = recording.step(name, args, kwargs, out, [*zip(places, values, strict=True)])
        if len(refs) == 1 and not isinstance(out, tuple | list):
            return own(out, recording, refs[0])
        made = iter(refs)
        return map_parts(lambda each: own(each, recording, next(made)), out)

    def lift(self, value: Any) -> Any:
        """Return an array from outside: the input that it is, or a constant."""
        if type(value) is self.array_class:
            return value
        run = running.get()
        known = None if run is None else run.stand_in(value)
        if known is not None:
            return known
        lifted = super().lift(value)
        if lifted is NotImplemented:
            return lifted
        if isinstance(lifted.payload, Variable):
            raise refused(
                "the function uses a tracked Variable that is neither an argument nor in a "
                "variable of its own or of its module; give it as an argument"
            )
        if run is not None:
            run.unknown = True
        return lifted

    def constant(self, value: Any, beside: Any = None) -> Any:
        """Return another library's array as a constant, which the function may have made."""
        run = running.get()
        if run is not None and not any(each() is value for each in run.foreign):
            run.unknown = True
        return super().constant(value, beside)

    def visiting(self) -> Callable[[int], None] | None:
        """Return what a reverse pass tells where it is: its steps are of the lines of ops."""
        run = running.get()
        return None if run is None else run.visiting()

    def refuse_write(self) -> NoReturn:
        """Refuse a write to an array from outside: it would happen only while tracing."""
        raise refused(
            "the function writes to an array that was there before it was called; return the "
            "array's new value instead, or write to a copy"
        )

    def moved(self, array: Any, payload: Any, there: Domain) -> Any:
        """Return a constant of another library; a program is of one library."""
        if array.run is None:
            return super().moved(array, payload, there)
        array.run.meet()
        raise refused(
            "an array moves to another library, and a program is of one: compile the functions "
            "before and after the move"
        )

    def concrete(self, array: Any) -> Any:
        """Return the value of a constant, or what decides; no other value leaves the function."""
        run, kind = array.run, self.deciding()
        if run is None:
            return array.payload
        if run.meet() and kind is not None:  # for an array of a level above, which stands for it
            run.guard(
                kind, array.ref, bool(array.payload) if kind == "bool" else int(array.payload)
            )
            return array.payload
        raise refused(
            "an array becomes one of another library, or text, while the function is traced: its "
            "values would be those of the first call; use functions of the array's own namespace"
        )

    def item(self, array: Any) -> Any:
        """Return a 0-d array as a Python scalar, which later runs are compared with."""
        value = root_of(self.below).item(array.payload)
        if array.run is not None:
            array.run.meet().guard(type(value).__name__, array.ref, value)
        return value

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Call a function of raw arrays, which becomes a step; None stays None."""
        given_back: list[bool] = []

        def below(*given: Any, **_: Any) -> Sequence[Any]:
            with self._entered_below:  # what it makes of raw arrays is of the library
                found = [_constant(each) for each in f(*given)]
            given_back[:] = [each is not None for each in found]
            return [each for each in found if each is not None]

        found = iter(self.note("@call", below, tuple(arrays), {"function": below}))
        return tuple([next(found) if one else None for one in given_back])

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        return self._added("scatter_add", into, key, values)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        return self._added("scatter_add_axis", into, indices, values, axis)

    def _added(self, name: str, *args: Any) -> Any:
        add, copy = getattr(self.below.backend, name), self.below.copy
        return self.note(f"@{name}", lambda x, *given: add(copy(x), *given), args, {})

    def _facts(self, op: Op) -> Callable[..., Any]:
        """Return a function that looks only at dtypes."""

        def function(*args: Any, **kwargs: Any) -> Any:
            payloads = [self.payload(each) for each in args]
            return attrgetter(op.name)(self.below.raw)(*payloads, **kwargs)

        return function


def _everywhere(
    function: Callable[[Any], Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return arguments with what a function returns in place of each part of them."""
    found = [
        map_parts(function, each) if isinstance(each, _PARTED) else function(each) for each in args
    ]
    named = {name: map_parts(function, each) for name, each in kwargs.items()} if kwargs else {}
    return tuple(found), named


def _by_number(
    program: Callable[..., Any], xp: Any, usual: Callable[..., Any]
) -> Callable[..., Any]:
    """Return an operator whose first operand, which Python gives last, is often a number."""
    return lambda x2, x1: program(x1, x2, xp) if is_python_scalar(x1) else usual(x2, x1)


def _differs(value: Any) -> bool:
    """Return whether a value, or a part of it, is an array that differs between runs."""
    if isinstance(value, tuple | list):
        return any(map(_differs, value))
    return getattr(value, "run", None) is not None


def _is_mask(part: Any) -> bool:
    return _differs(part) and is_mask(part.payload, part._backend.below.library)


def _selects(x: Any, key: Any, /, *value: Any) -> bool:
    """Return whether a mask that differs between runs selects elements."""
    return any(map(_is_mask, key if isinstance(key, tuple) else (key,)))


def _selects_several(x: Any, key: Any, value: Any, /) -> bool:
    """Return whether each of the elements that such a mask selects gets a value of its own."""
    return bool(getattr(value, "shape", ())) and _selects(x, key)


# The ops whose results have as many elements as values say: whether a call is one of these.
SHAPED_BY_VALUES: dict[str, Callable[..., bool]] = {
    "__getitem__": _selects,
    "__setitem__": _selects_several,
    "nonzero": lambda x: _differs(x),
    "repeat": lambda x, repeats, /, *, axis=None: _differs(repeats),
    "unique_all": lambda x: _differs(x),
    "unique_counts": lambda x: _differs(x),
    "unique_inverse": lambda x: _differs(x),
    "unique_values": lambda x: _differs(x),
}


def _constant(result: Any) -> Any:
    """Return a result of a function that became a step as a raw array."""
    if not isinstance(result, Variable):
        return result
    if result.requires_grad:
        raise refused(
            "a function that is computed outside of the program has parameters that are trained: "
            "call it outside of the compiled function, or under ag.no_grad()"
        )
    return result.data
