"""A compiled function for arguments of one kind, and as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agnograd import Variable, is_grad_enabled
from agnograd.errors import UnsupportedArrayError
from agnograd.extend import is_python_scalar
from agnograd.extend.arguments import map_leaves
from agnograd.extend.transforms import Domain, domain_of, is_inside, owner_of, rank_of
from agnograd_compile._graph import GraphUnit
from agnograd_compile._surroundings.fitting import Looking
from agnograd_compile._surroundings.keys import raw_of
from agnograd_compile._trace import ARRAY, Callee, Signature, arguments, copy_of
from agnograd_compile._unit import Runs, Unit

if TYPE_CHECKING:
    from agnograd_compile._compiled import CompiledFunction


class Entry:
    """A compiled function for arguments of one kind.

    Parameters
    ----------
    owner : CompiledFunction
        The compiled function.
    f : callable
        What is compiled.
    leaves, tree
        The leaves of the arguments, and their structure, as ``Signature`` has them.
    outside : sequence of array or Variable
        What the function finds elsewhere.

    Attributes
    ----------
    foreign : list of bool
        Which of these are not inputs: those of other libraries than the arguments, and those that
        the library does not compute with as they are, such as arrays with a mask.
    inputs : list of int
        The places of the program's inputs, among all leaves and then what is outside.
    looking : Looking or None
        What knows another call of the kind in little time, once there was one.
    is_abstract : bool
        Whether arrays have no values, since the library itself traces: then there is no program.
    settings : callable or None
        What reads the settings of the library, if programs depend on any.
    """

    def __init__(
        self,
        owner: CompiledFunction,
        f: Callable[..., Any],
        leaves: Sequence[Any],
        tree: Any,
        outside: Sequence[Any],
    ) -> None:
        arrays = [(place, leaf) for place, leaf in enumerate(leaves) if _is_array(leaf)]
        self._places = [place for place, _ in arrays]
        inner = [leaf for _, leaf in arrays]
        self._domain = _home(owner, inner, outside)
        self.settings = self._domain.backend.settings()
        self._converted = [
            at for at, leaf in enumerate(inner) if not _is_as_it_is(leaf, self._domain)
        ]
        self.foreign = [not _is_as_it_is(each, self._domain) for each in outside]
        self._native = [place for place, other in enumerate(self.foreign) if not other]
        given = inner + [outside[place] for place in self._native]
        self.inputs = self._places + [len(leaves) + place for place in self._native]
        self.looking: Looking | None = None
        self.is_abstract = any(map(self._domain.backend.is_abstract, map(raw_of, given)))
        others = [ARRAY if i in self._places else leaf for i, leaf in enumerate(leaves)]
        beside = [each for each, foreign in zip(outside, self.foreign, strict=True) if foreign]
        callee = Callee(f, Signature(tuple(others), tree), beside)
        self._variables = [place for place, x in enumerate(given) if isinstance(x, Variable)]
        tracked = [place for place in self._variables if given[place].requires_grad]
        self._as_variables = is_inside() or any(isinstance(x, Variable) for x in inner)
        self._unit = (
            GraphUnit(owner, callee, self._domain, tracked)
            if tracked and is_grad_enabled()
            else Unit(owner, callee, self._domain)
        )

    def arrays(self, leaves: Sequence[Any], outside: Sequence[Any]) -> list[Any]:
        """Return the arrays, and Variables, that are inputs of the program."""
        places, native = self._places, self._native
        given = list(leaves) if len(places) == len(leaves) else [leaves[i] for i in places]
        if native:
            given += outside if len(native) == len(outside) else [outside[i] for i in native]
        return self._as_the_library_has_them(given)

    def _as_the_library_has_them(self, given: list[Any]) -> list[Any]:
        for place in self._converted:
            given[place] = self._domain.backend.array(given[place])
        return given

    @property
    def is_recorded(self) -> bool:
        """Whether results are in a graph: inputs of the program are Variables, too."""
        return isinstance(self._unit, GraphUnit)

    def __call__(self, leaves: Sequence[Any], outside: Sequence[Any]) -> Any:
        """Run the program for the arrays among leaves, and those that the function finds."""
        given = self.arrays(leaves, outside)
        if not self.is_recorded:
            for place in self._variables:
                given[place] = given[place]._raw
        return self.run(given)

    def run(self, given: list[Any]) -> Any:
        """Run the program for its inputs: raw arrays, unless it is recorded."""
        unit = self._unit
        if self._converted:
            given = self._as_the_library_has_them(given)
        if isinstance(unit, GraphUnit):
            first = len(self._places)
            own = {place: raw_of(x) for place, x in enumerate(given[first:], first)}
            ranks = {place: rank for place in own if (rank := rank_of(given[place])) is not None}
            way, outputs = unit.recorded(given, own, ranks)
            return way.filled(outputs)
        way, found = unit(given)
        if self._as_variables:
            make = self._domain.Variable._make
            found = [make(each, None) for each in found]
        return way.filled(found)

    @cached_property
    def direct(self) -> Callable[[list[Any]], Any]:
        """What does the same as ``run`` after the first run, in the fewest calls."""
        unit = self._unit
        if self._converted or self._as_variables or isinstance(unit, GraphUnit):
            return self.run
        way = unit.only
        if way is None or not isinstance(way.run, Runs) or (direct := way.run.direct()) is None:
            return self.run
        located, filled = way.run.located, way.filled

        def run(given: list[Any]) -> Any:
            try:
                found = direct(given)
            except Exception as error:
                located(error, given)
                raise
            return filled(found)

        return run


def _is_array(leaf: Any) -> bool:
    return not is_python_scalar(leaf) and owner_of(leaf) is not None


def _is_as_it_is(array: Any, domain: Domain) -> bool:
    """Return whether an array is of a domain, whose backend does not convert or refuse it."""
    if domain_of(array) is not domain:
        return False
    if isinstance(array, Variable) or type(array) in domain.plain_types:
        return True
    try:
        return domain.backend.array(array) is array
    except UnsupportedArrayError:
        return False


def _home(owner: CompiledFunction, arrays: Sequence[Any], outside: Sequence[Any]) -> Domain:
    """Return the domain of arguments; without any array among them, that of what is outside."""
    domains = dict.fromkeys(map(domain_of, arrays or outside[:1]))
    first, *others = domains or (domain_of(0.0),)
    if others:
        raise first.mixed(f"{owner.name}: an argument is an array", others[0].backend)
    return first


def settings_without(leaves: Sequence[Any], outside: Sequence[Any]) -> tuple[Any, ...]:
    """Return the settings of the default library, if a call has no array whose key has them."""
    if outside or any(map(_is_array, leaves)):
        return ()
    settings = domain_of(0.0).backend.settings()
    return (settings(),) if settings else ()


def constants_in(leaves: Sequence[Any]) -> dict[int, Any]:
    """Return the raw arrays that are constants to the library of all others, by their places."""
    owners = {place: domain_of(leaf) for place, leaf in enumerate(leaves) if _is_array(leaf)}
    domains = dict.fromkeys(owners.values())
    for home in domains if len(domains) > 1 else ():
        found = {place: leaves[place] for place, owner in owners.items() if owner is not home}
        if all(not isinstance(x, Variable) and home.backend.accepts(x) for x in found.values()):
            return found
    return {}


def called_plainly(
    f: Callable[..., Any], leaves: Sequence[Any], tree: Any, outside: Sequence[Any]
) -> Any:
    """Call a function as it is, of what a program would get, with what a program would return.

    Results that may share memory with arguments, arrays outside, or each other, are copied.
    """
    raw = not (is_inside() or any(isinstance(leaf, Variable) for leaf in leaves))
    constants = constants_in(leaves)
    given = list(leaves)
    for place, x in enumerate(leaves):
        if _is_array(x):
            given[place] = copy_of(x) if place in constants else _variable(x)
    args, kwargs = arguments(given, tree)
    found = f(*args, **kwargs)
    home = next((x._domain for x in given if isinstance(x, Variable)), None)
    taken = [raw_of(x) for x in (*given, *outside) if _is_array(x)]

    def own(leaf: Any) -> Any:
        if not _is_array(leaf) or (home is not None and domain_of(leaf) is not home):
            return copy_of(leaf)
        x = _variable(leaf)
        backend, others = x._domain.backend, (y for y in taken if domain_of(y) is x._domain)
        if not backend.capabilities.immutable and any(backend.may_share(x._raw, y) for y in others):
            x = x._domain.namespace.asarray(x, copy=True)
        taken.append(x._raw)
        return x.data if raw and x._node is None else x

    return map_leaves(own, found)


def _variable(array: Any) -> Variable:
    if isinstance(array, Variable):
        return array
    domain = domain_of(array)
    return domain.Variable._make(domain.to_raw(array), None)
