"""``ag.compile``: a function that is traced once for arguments of a kind, and then replayed."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agnograd.errors import CompileWarning
from agnograd.extend import Lock, switch
from agnograd.extend.arguments import (
    callable_in,
    flatten,
    flatten_in_order,
    name_of,
    packed,
    positive_in,
    unpacked,
)
from agnograd.extend.members import OfMembers, computed, given_in
from agnograd.extend.transforms import (
    Domain,
    Mode,
    OtherLevelError,
    current_mode,
    domain_of,
    levels_up,
    owner_of,
)
from agnograd_compile._entry import (
    Entry,
    called_plainly,
    constants_in,
    settings_without,
)
from agnograd_compile._lowerings import Lowering, lowering_for, traced_for
from agnograd_compile._statics import Statics, WithConstants, WithStatics, without
from agnograd_compile._surroundings.differences import difference
from agnograd_compile._surroundings.effects import Before, check_unchanged
from agnograd_compile._surroundings.elements import WatchedArrays
from agnograd_compile._surroundings.fitting import Look, Looking
from agnograd_compile._surroundings.keys import Key, content_key, key_of, key_of_array, raw_of
from agnograd_compile._surroundings.surroundings import Surroundings
from agnograd_compile._trace import Traced
from agnograd_compile._unit import TooManyPrograms

if TYPE_CHECKING:
    from agnograd_compile._explain import Explanation

# How many programs a function may have: where each call needs another one, compiling takes longer
# than it saves.
PROGRAMS = switch("PROGRAMS", 8, least=1, most=64, module=__name__)
# Of how many objects the compiled methods are kept, which keep the objects.
OBJECTS = switch("OBJECTS", 32, least=1, most=4096, module=__name__)
# Ops are recorded, and no function runs that is being transformed.
_USUAL: tuple[Any, ...] = (True, False)
_LEAVES = frozenset({bool, int, float, complex, str, type(None)})


class CompiledFunction:
    """A function that runs as a program: what ``ag.compile`` returns.

    Attributes
    ----------
    function : callable
        The function that is compiled.
    name : str
        What messages call it.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        lowering: str,
        static: Any = (),
        values: Mapping[int | str, Any] = types.MappingProxyType({}),
        watch: bool = True,
        programs: int | None = None,
    ) -> None:
        functools.update_wrapper(self, f)
        self.name = str(getattr(f, "__qualname__", type(f).__name__))
        self.function, self._lowering, self._static = f, lowering, Statics(f, static)
        self._entries: dict[Key, Entry] = {}
        self._lowerings: dict[str, Lowering] = {}
        self._has_static = bool(self._static)
        self.lock = Lock()
        self._watch, self._most = watch, programs
        self._surroundings = Surroundings(f, values, watch)
        # By the kind, and by static arguments, arrays of other libraries, or which have members.
        self._variants: dict[Key, CompiledFunction] = {}
        self._programs = 0
        self._warned = False
        self._elements = WatchedArrays()
        self._bound: dict[int, CompiledFunction] = {}  # by the identity of the object
        self._quick: tuple[Look, Callable[[list[Any]], Any], Key] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; it is traced if it was not yet for arguments of this kind."""
        mode = current_mode()
        if mode is not None and mode.level is not None:
            return self._in_level(mode.level, args, kwargs)
        if self._has_static:
            return self._with_statics(args, kwargs)
        quick = self._quick
        if quick is not None and mode is None:
            look, run, key = quick
            given = look(args, kwargs)
            if given is not None:
                try:
                    return run(given)
                except TooManyPrograms:
                    why = None if self._warned else self._difference(key)
                return self._plainly(*self._apart(args, kwargs), why)
        return self._by_key(args, kwargs, mode)

    @staticmethod
    def _apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[Any], Any]:
        """Return the leaves of arguments, and their structure, None if they are the leaves."""
        if kwargs or not all(type(x) in _LEAVES or owner_of(x) is not None for x in args):
            return flatten_in_order((args, kwargs))
        return args, None

    def _by_key(self, args: tuple[Any, ...], kwargs: dict[str, Any], mode: Mode | None) -> Any:
        """Call the function by the entry that the key of the call has, or a new one."""
        if args and isinstance(args[0], type):  # by classmethod, from Python 3.13 on
            return self.__get__(args[0])(*args[1:], **kwargs)
        outside, facts = self._surroundings.read()
        reader = self._surroundings.reader
        leaves, tree = self._apart(args, kwargs)
        state = _USUAL if mode is None else (mode.recording, mode.inside)
        state += settings_without(leaves, outside)
        key: Key = (key_of(leaves, tree), facts, tuple(map(key_of_array, outside)), state)
        if self._elements:
            key = (*key, self._elements.key(outside, facts.arrays))
        entry = self._entries.get(key)
        try:
            if entry is None:
                constants = constants_in(leaves)
                if constants:
                    return self._with_constants(constants, leaves, tree)
                return self._first(key, leaves, tree, outside)
            if mode is None:  # as it is for the latest
                if entry.looking is None:
                    elements, raw = key[4] if self._elements else (), not entry.is_recorded
                    given = facts, leaves, tree, outside, self._elements, elements
                    entry.looking = Looking(*given, entry.inputs, raw, entry.settings)
                look = None if reader is None else entry.looking.look(reader)
                if look is not None:
                    self._quick = look, entry.direct, key
            return entry(leaves, outside)
        except TooManyPrograms:
            why = None if self._warned else self._difference(key)
        return self._plainly(leaves, tree, why)

    def _first(self, key: Key, leaves: Sequence[Any], tree: Any, outside: Sequence[Any]) -> Any:
        """Call the function for a key that is new."""
        with self.lock:  # what another thread makes meanwhile is made once
            entry = self._entries.get(key)
            if entry is not None:
                return entry(leaves, outside)
            entry = Entry(self, self.function, leaves, tree, outside)
            named = zip(key[1].arrays, entry.foreign, strict=True)
            self._elements.add((name for name, foreign in named if foreign), used=True)
            if entry.is_abstract:
                return self._plainly(leaves, tree)
            found = entry(leaves, outside)
            if self._elements:  # as the key of the next call has them
                key = (*key[:4], self._elements.key(outside, key[1].arrays))
            self._entries.setdefault(key, entry)
            return found

    def _with_statics(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function that is compiled for the static arguments among these."""
        rest, named, values = self._static.apart(args, kwargs)
        key = (WithStatics, content_key(values))
        variant = self._variants.get(key) or self._variant(key, values)
        if variant is None:
            return self._plainly(*flatten((args, kwargs)), "static arguments differ")
        return variant(*rest, **named)

    def _variant(self, key: Key, *given: Any) -> CompiledFunction | None:
        """Return what is compiled of the function of a kind, the first of a key; None for too many.

        The kind is made of the function and what is given.
        """
        with self.lock:
            if sum(each[0] is key[0] for each in self._variants) >= self.programs:
                return None
            f = key[0](self.function, *given)
            values = getattr(f, "values", {})
            found = CompiledFunction(f, self._lowering, (), values, self._watch, self._most)
            return self._variants.setdefault(key, found)

    def _with_constants(
        self, constants: Mapping[int, Any], leaves: Sequence[Any], tree: Any
    ) -> Any:
        """Call the function that is compiled for these arrays of another library, as they are."""
        key = (WithConstants, tree, content_key(dict(constants)))
        found = self._variants.get(key) or self._variant(key, constants, tree)
        if found is None:
            return self._plainly(leaves, tree, "arrays of another library differ")
        return found(*without(constants, leaves))

    def _in_level(self, level: Domain, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function that is compiled for all members of ``vmap``, or as it is elsewhere."""
        given = None if self._static else given_in(level, args, kwargs)
        if given is None or any(domain_of(x).level for x in self._surroundings.read()[0]):
            return self._of_caller(args, kwargs)
        key = (OfMembers, given.own, given.tree)
        found = self._variants.get(key) or self._variant(key, given.tree, given.own)
        if found is None:
            return self._of_caller(args, kwargs)
        try:
            return computed(level, given, found)
        except OtherLevelError:  # it uses a pullback that was made in vmap, outside of it
            return self._of_caller(args, kwargs)

    def _of_caller(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function as it is, with arrays of the caller's.

        What it closes over may be of the same run of ``vmap`` as these. A function of all members
        makes a run of its own, so this is left to the ``vmap`` inside.
        """
        if isinstance(self.function, OfMembers):
            raise OtherLevelError(f"{self.name} cannot be compiled for all members of two vmaps")
        return self.function(*args, **kwargs)

    def _plainly(self, leaves: Sequence[Any], tree: Any, why: str | None = None) -> Any:
        """Call the function as it is; warn, once, if ``why`` says why it was traced too often."""
        if why is not None and not self._warned:
            self._warned = True
            _warn(
                f"{self.name} was compiled {self.programs} times, and is called as it is from now "
                f"on where none of these programs fits: {why}"
            )
        return called_plainly(self.function, leaves, tree, self._surroundings.read()[0])

    def _difference(self, key: Key) -> str:
        """Return what is new in a key, in words."""
        others = [each for each in self._entries if each != key]
        if not others:
            return "values decide about branches: use xp.where in place of `if`"
        return f"in this call {difference(others[-1], key)}"

    @property
    def programs(self) -> int:
        """How many programs there may be."""
        return PROGRAMS if self._most is None else self._most

    # -- what units ask ----------------------------------------------------------------------------

    def lowering(self, domain: Domain) -> Lowering:
        """Return what makes programs of a backend's arrays run."""
        name = domain.backend.name
        if name not in self._lowerings:
            self._lowerings[name] = lowering_for(name, self._lowering)
        return self._lowerings[name]

    def traced(self, make: Callable[[], Traced], order: int) -> Traced:
        """Trace the function, or a derivative of it, unless it was traced too often.

        There is no function to call instead of a derivative: those are traced whenever they have
        to be.
        """
        with self.lock:
            if order == 0 and self._programs >= self.programs:
                raise TooManyPrograms
            before = Before(self._surroundings)
            token = traced_for.set(self._lowering)
            try:
                found = make()
            finally:
                traced_for.reset(token)
                before.caches.forget()
            check_unchanged(before, self.name)
            if self._programs == 0 and (changing := self._surroundings.changing):
                _warn(
                    f"{self.name} may use {changing[0]}, and a program keeps what the first call "
                    "got of it: give it as an argument"
                )
            self._programs += order == 0
            names = [
                each.name
                for each in before.inventory.arrays
                if any(raw_of(each.value) is x for x in found.by_elements)
            ]
            self._elements.add(names, used=found.is_mixed)
            self._elements.add(self._surroundings.looked_at(), used=True)
            return found

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an object: it is compiled for each object by itself.

        Programs of the latest objects are kept. These keep the object, so that not all can be.
        """
        if instance is None:
            return self
        found = self._bound.get(id(instance))
        if found is None:
            method = types.MethodType(self.function, instance)
            # By name: its positions begin after the object.
            names = tuple(self._static.names)
            found = CompiledFunction(method, self._lowering, names, {}, self._watch, self._most)
            with self.lock:
                found = self._bound.setdefault(id(instance), found)
                if len(self._bound) > OBJECTS:
                    del self._bound[next(iter(self._bound))]
        return found

    def __reduce__(self) -> Any:
        """Return what a pickle or a copy makes: by name if it has one, or of what it compiles."""
        name = name_of(self)
        if name is not None:
            return name
        given = self._lowering, self._static.given, self._watch, self._most
        return _remade, (packed(self.function), *given)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Compile the function once more, for these arguments, and return what came of it.

        Print it to see the steps of the program, the lines that they come from, what they take,
        and how they run; its method ``plot`` draws it.

        Raises
        ------
        CompileError
            If the function is called as it is for these arguments.
        """
        from agnograd_compile._explain import explanation

        given: Any = self._lowering, self._static.given, {}, self._watch, self._most
        return explanation(CompiledFunction(self.function, *given), args, kwargs)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


def compile(
    f: Callable[..., Any],
    *,
    lowering: str = "auto",
    static: Any = (),
    watch: bool = True,
    programs: int | None = None,
) -> CompiledFunction:
    """Return a function that computes the same as ``f``, without Python between its ops.

    The first call runs ``f``, and notes the ops that it calls on arrays as a program. Later calls
    run the program. It is made again for arguments of other shapes, dtypes, memory layouts or
    structures; for other values of arguments that are not arrays, and of what ``f`` reads from
    outside; and where Python looks at another value of an array, as in ``if x > 0``.

    Parameters
    ----------
    f : callable
        A function of arrays, pytrees of arrays, and values that never change; often the result of
        a transformation, such as ``ag.grad(loss)``. As a decorator, also a method.
    lowering : str
        How programs run, by the name of an installed lowering, such as "numpy", "torch" or
        "plain"; "auto" is the preferred one for the arrays that are given.
    static : int, str, sequence of int or sequence of str
        Positions and names of arguments that programs are made for as they are. They have to be
        hashable, or arrays, or lists, tuples, dicts or sets of such.
    watch : bool
        Whether each call looks at what ``f`` reads from outside, and at what ``f`` changes there
        while it is traced. Without it, programs keep what was outside when they were traced, arrays
        too, as those of ``jax.jit`` do; a tracked Variable there is refused. This saves calls of
        tiny programs a part of a microsecond, and calls of functions that read a lot much more.
    programs : int, optional
        How many programs there may be, eight by default: each of them costs a trace.

    Returns
    -------
    callable
        The function. Its method ``explain`` says what becomes of it for certain arguments. Results
        share memory with nothing, and arguments are not changed.

    Raises
    ------
    CompileError
        When the function is called, if it does what a program could not repeat: a result's shape
        depends on values, an array leaves for another library, something outside is changed, or
        a result is neither an array nor a value.
    ArgumentError
        If ``static`` names no argument, or an argument is neither an array nor a value.
    UnknownPluginError
        When the function is called, if there is no such lowering for its arrays.

    Warns
    -----
    CompileWarning
        If ``f`` would need more than ``programs``. Calls that none of them fits run ``f`` as it is
        from then on.

    Examples
    --------
    >>> import numpy as np
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> def loss(w, x):
    ...     return xp.mean((x @ w) ** 2)
    >>> gradient = ag.compile(ag.grad(loss))
    >>> gradient(np.ones(2), np.eye(2))
    array([1., 1.])
    >>> print(gradient.explain(np.ones(2), np.eye(2)))  # doctest: +ELLIPSIS
    compiled loss
      lowering   numpy...
    """
    callable_in("ag.compile", f, "ag.compile(f), or ag.compile(ag.grad(f))")
    if programs is not None:
        positive_in("ag.compile: programs", programs)
    return CompiledFunction(f, lowering, static, {}, watch, programs)


def _remade(
    function: Any, lowering: str, static: Any, watch: bool = True, programs: int | None = None
) -> CompiledFunction:
    """Return the compiled function that a pickle has."""
    return CompiledFunction(unpacked(function), lowering, static, {}, watch, programs)


def _warn(text: str) -> None:
    warnings.warn(f"AGNOGRAD: {text}", CompileWarning, stacklevel=levels_up())
