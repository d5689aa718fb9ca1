"""A walk through all that a function can read from outside.

What is found is of four kinds. *Arrays* are inputs of programs, by reference. *Values*, such as
numbers and texts, are part of the key. *Fixed* things, such as functions, classes and modules, have
to be the very same. And of *containers* and objects only the structure matters, with all that is in
them: a list may be another list of the same length.
"""

from __future__ import annotations

import builtins
import sys
from collections import deque
from collections.abc import Collection
from contextvars import ContextVar
from functools import cached_property, partial, partialmethod
from importlib.util import resolve_name
from operator import is_
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ReferenceType

from agnograd.errors import CompileError
from agnograd.extend import switch
from agnograd_compile._surroundings.inventory import Found, Inventory, Name
from agnograd_compile._surroundings.keys import Same, value_key
from agnograd_compile._surroundings.objects import (
    attributes_of,
    dict_of,
    handed_on,
    inner_functions,
    is_array,
    is_by_content,
    is_closed,
    is_handed_on,
    is_open,
    is_value,
    members_of,
    missing_slots,
)
from agnograd_compile._surroundings.process import parts
from agnograd_compile._surroundings.reading import is_users, named_in

_CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType)
_BUFFERS = frozenset({"bytearray", "memoryview", "array"})
_DESCRIPTORS = (classmethod, staticmethod, property, cached_property, partialmethod)
# Where there are more parts, every call would take long only to look at them: this is refused.
PARTS = switch("PARTS", 20_000, least=10_000, most=10**6, module=__name__)
# Of how many objects of installed packages the attributes are looked at.
FOREIGN_OBJECTS = switch("FOREIGN_OBJECTS", 2_000, least=1_000, most=10**6, module=__name__)
# How many plain values in a container are looked at one by one, and not all by one call.
VALUES = switch("VALUES", 16, least=0, most=2**62, module=__name__)


class Walk:
    """One walk, from a function on.

    Attributes
    ----------
    inventory : Inventory
        What was found.
    attributes : set of str
        The attributes that are read of objects: all that the functions which were found name.
    everything : bool
        Whether one of them may read others as well.
    absences : bool
        Whether one of them may go on where there is no such attribute.
    changing : list of str
        What they may call that gives something else in each call.
    codes : list of code
        Their code.
    called : list of (Name, object)
        What may be called, and modules.
    """

    def __init__(self, attributes: set[str], everything: bool, absences: bool) -> None:
        self.inventory = Inventory()
        self.attributes, self.everything, self.absences = attributes, everything, absences
        self.changing: list[str] = []
        self.codes: list[CodeType] = []
        self.called: list[tuple[Name, Any]] = []
        self._seen: dict[int, tuple[str, Name]] = {}
        self._kept: list[Any] = []  # what was seen, so that no other object gets its identity
        self._variables: set[tuple[int, str]] = set()
        self._classes: set[tuple[type, bool]] = set()
        self._foreign = 0
        self._parts = parts()  # of the process

    def visit(self, value: Any, text: str | None, name: Name) -> None:
        """Look at a value, which the text of an expression gives; None if it never changes."""
        inventory = self.inventory
        if is_value(value):
            if text is None:
                inventory.note(name, value_key(value))
            else:
                inventory.note(name, "value")
                inventory.values.append(Found(inventory.let(text), value, name))
            self._class(type(value), constructed=False)  # of an enumeration, say
            return
        if callable(value) or isinstance(value, ModuleType):
            self.called.append((name, value))
        variable = inventory.constant(value) if text is None else inventory.let(text)
        if not isinstance(value, tuple | frozenset):  # which nobody tells apart if they are equal
            known = self._seen.get(id(value))
            if known is not None:
                if known[0] != variable:
                    inventory.differs_if(f"{variable} is not {known[0]}")
                inventory.note(name, ("as", known[1]))
                return
            self._seen[id(value)] = variable, name
        self._kept.append(value)
        if len(self._kept) > PARTS:
            raise CompileError(
                f"ag.compile: the function can read more than {PARTS} things from outside, one of "
                f"which is {name}: give it what it needs as arguments"
            )
        self._look_at(value, variable, name)

    def _look_at(self, value: Any, variable: str, name: Name) -> None:
        inventory, kind = self.inventory, type(value)
        if is_array(value):
            inventory.array(variable, value, name)
        elif isinstance(value, _CONTAINERS):
            self._container(value, variable, name)
            self._attributes(value, variable, name)
            self._class(kind, constructed=False)
        elif kind.__name__ in _BUFFERS and kind.__module__ in ("builtins", "array"):
            content = _content(value)
            read = f"{inventory.constant(_content)}({variable})"
            inventory.differs_if(f"{read} != {inventory.constant(content)}")
            inventory.note(name, content)
        elif is_by_content(kind):
            inventory.differs_if(f"type({variable}) is not {inventory.constant(kind)}")
            inventory.note(name, Same(kind))
            self._object(value, variable, name)
        else:  # it has to be the very same
            if not variable.startswith("k"):
                inventory.differs_if(f"{variable} is not {inventory.constant(value)}")
            inventory.note(name, Same(value))
            self._fixed(value, variable, name)

    def _fixed(self, value: Any, variable: str, name: Name) -> None:
        """Look into something that has to be the very same."""
        if id(value) in self._parts:
            self._process(value)
        if isinstance(value, FunctionType):
            self._function(value, name)
        elif isinstance(value, ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value, constructed=True)
            self._class(type(value), constructed=False)
        elif isinstance(value, MethodType):
            self.visit(value.__func__, None, name)
            self.visit(value.__self__, None, name if name.before else Name("", "self", ""))
        elif isinstance(value, partial):
            parts = enumerate((value.func, *value.args))
            for each, text in (*((x, f"[{i}]") for i, x in parts), (value.keywords, "")):
                self.visit(each, None, name.part(text))
        elif isinstance(value, _DESCRIPTORS):
            for each in inner_functions(value):
                self.visit(each, None, name)
        elif isinstance(value, ContextVar):
            self.visit(value.get(None), f"{variable}.get(None)", name)
        elif isinstance(value, ReferenceType):
            self.visit(value(), f"{variable}()", name)
        elif isinstance(value, BuiltinMethodType):
            if not isinstance(value.__self__, ModuleType | type(None)):
                self.visit(value.__self__, None, name)
        else:
            self._object(value, variable, name)

    # -- functions, and what they name ------------------------------------------------------------

    def _function(self, f: FunctionType, name: Name) -> None:
        """Look at a function's variables; of one that is not the user's, at what it wraps."""
        code, label, inventory = f.__code__, f.__name__, self.inventory
        own = is_users(f.__globals__.get("__name__")) and not code.co_filename.startswith("<agno")
        for each, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            inner = Name("closure variable '", each, f"' of {label}")
            known = inventory.constant(cell)
            if is_empty(cell):
                inventory.differs_if(f"not {inventory.constant(is_empty)}({known})")
                inventory.note(inner, "empty")
            elif own:
                self.visit(cell.cell_contents, f"{known}.cell_contents", inner)
            elif is_handed_on(cell.cell_contents):
                self.visit(cell.cell_contents, None, inner)
        for each in handed_on(f):
            # What a function of agnograd wraps is in its closure as well; only one that is made
            # when it is first called has no closure, and loses what it wraps.
            if own or code.co_freevars or not isinstance(each, FunctionType):
                self.visit(each, None, name)
        self._defaults(f, own)
        if not own:
            return
        this = inventory.constant(f)
        inventory.differs_if(f"{this}.__code__ is not {inventory.constant(code)}")
        inventory.note(name.part(".__code__"), Same(code))
        for each in ("__defaults__", "__kwdefaults__"):
            inventory.differs_if(f"{this}.{each} is not {inventory.constant(getattr(f, each))}")
        named = named_in(code)
        self.attributes.update(named.attributes)
        self.attributes.update(part for each in named.modules for part in each.split("."))
        self.codes.append(code)
        self.everything |= named.dynamic
        self.absences |= named.dynamic or named.catches
        for each in named.variables:
            self._variable(f.__globals__, each, Name("global variable '", each, "'"))
        if self.absences:
            self._absent(f"{this}.__dict__", vars(f))
        for each in tuple(vars(f)):
            if each in self.attributes and each != "__wrapped__":
                text = f"{this}.__dict__[{each!r}]"
                self.visit(vars(f)[each], text, Name("", f"{label}.{each}", ""))
        for each in named.modules:
            self._imported(each, f.__globals__)

    def _defaults(self, f: FunctionType, own: bool) -> None:
        code, defaults = f.__code__, f.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        for each, value in zip(names, defaults, strict=True):
            if own or is_handed_on(value):
                self.visit(value, None, Name("default of '", each, f"' of {f.__name__}"))
        for each, value in (f.__kwdefaults__ or {}).items():
            if own or is_handed_on(value):
                text = f"{self.inventory.constant(f.__kwdefaults__)}[{each!r}]" if own else None
                self.visit(value, text, Name("default of '", each, f"' of {f.__name__}"))

    def _variable(self, scope: dict[str, Any], each: str, name: Name) -> None:
        """Look at a variable of a module."""
        if (id(scope), each) in self._variables:
            return
        self._variables.add((id(scope), each))
        known = self.inventory.constant(scope)
        if each in scope:
            self.visit(scope[each], f"{known}[{each!r}]", name)
            return
        self.inventory.differs_if(f"{each!r} in {known}")
        if hasattr(builtins, each):
            if id(getattr(builtins, each)) in self._parts:
                self._process(getattr(builtins, each))
        else:
            self.inventory.note(name, "missing")

    def _imported(self, each: str, scope: dict[str, Any]) -> None:
        """Look at a module that a function imports while it runs."""
        package = scope.get("__package__") or ""
        try:
            full = resolve_name(each, package)
        except ImportError:  # as the function itself will say
            return
        module = sys.modules.get(full)
        if module is not None:
            if is_users(full):
                known = self.inventory.constant(sys.modules)
                self.visit(module, f"{known}[{full!r}]", Name("module '", full, "'"))
            elif id(module) in self._parts:
                self._process(module)
        else:
            self.inventory.differs_if(f"{full!r} in {self.inventory.constant(sys.modules)}")

    def _module(self, module: ModuleType) -> None:
        if not is_users(module.__name__):
            return
        if self.absences:
            self._absent(self.inventory.constant(vars(module)), vars(module))
        for each in sorted(self.attributes & vars(module).keys()):
            self._variable(vars(module), each, Name("", f"{module.__name__}.{each}", ""))

    def _process(self, value: Any) -> None:
        """Look at what is read of the process with something: it is compared, or changes."""
        for attributes, path, read in self._parts[id(value)]:
            name = Name("", path, "")
            if not self.attributes.issuperset(attributes):
                continue
            if read is None:
                self.changing.append(path)
            elif (0, path) not in self._variables:
                self._variables.add((0, path))
                known = read()
                again = f"{self.inventory.constant(read)}()"
                self.inventory.differs_if(f"{again} != {self.inventory.constant(known)}")
                self.inventory.note(name, repr(known))

    def _absent(self, known: str, own: Collection[str]) -> None:
        """Let the structure be another one once there is an attribute that is read and missing."""
        missing = frozenset(self.attributes.difference(own))
        lacks = f"{known}.keys().isdisjoint({self.inventory.constant(missing)})"
        self.inventory.differs_if(f"not {lacks}")

    # -- containers, objects and classes ----------------------------------------------------------

    def _container(self, value: Any, variable: str, name: Name) -> None:
        inventory, kind = self.inventory, type(value)
        inventory.differs_if(f"type({variable}) is not {inventory.constant(kind)}")
        if isinstance(value, set | frozenset):
            found = _frozen(value)
            inventory.differs_if(
                f"{inventory.constant(_frozen)}({variable}) != {inventory.constant(found)}"
            )
            inventory.note(name, (Same(kind), found))
            for each in tuple(value):  # another thread may add to it
                if not is_value(each):
                    self.visit(each, None, name)
            return
        if isinstance(value, dict | MappingProxyType):
            items = variable if kind is dict else inventory.let(f"{{**{variable}}}")
            content = value.copy() if kind is dict else {**value}  # what others do to it meanwhile
            keys, values = [*content], [*content.values()]
            if all(type(each) is str for each in keys):
                inventory.differs_if(f"[*{items}] != {inventory.constant(keys)}")
            else:  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
                again = f"{inventory.constant(_keys_of)}({items})"
                inventory.differs_if(f"{again} != {inventory.constant(_keys_of(keys))}")
            inventory.note(name, (Same(kind), _keys_of(keys)))
            texts = [repr(each) if type(each) is str else inventory.constant(each) for each in keys]
            names = [f"[{each!r}]" for each in keys]
            all_of_them = f"{items}.values()"
        else:
            plain = kind is list or isinstance(value, tuple)
            items = all_of_them = variable if plain else inventory.let(f"[*{variable}]")
            values = [*value]
            inventory.differs_if(f"len({items}) != {len(values)}")
            inventory.note(name, (Same(kind), len(values)))
            texts = [str(number) for number in range(len(values))]
            names = [f"[{each}]" for each in texts]
        if len(values) > VALUES and all(map(is_value, values)):
            same = (
                f"all(map({inventory.constant(is_)}, {all_of_them}, {inventory.constant(values)}))"
            )
            inventory.differs_if(f"not {same}")
            inventory.note(name, tuple(map(value_key, values)))
            return
        for each, text, inner in zip(values, texts, names, strict=True):
            self.visit(each, f"{items}[{text}]", name.part(inner))

    def _object(self, value: Any, variable: str, name: Name) -> None:
        self.inventory.objects.append(Found(variable, value, name))
        self._attributes(value, variable, name)
        self._class(type(value), constructed=False)
        for each in handed_on(value):
            self.visit(each, None, name)

    def _attributes(self, value: Any, variable: str, name: Name) -> None:
        """Look at the attributes of an object that functions name, or at all of them."""
        kind, inventory = type(value), self.inventory
        if is_closed(kind):
            return
        if not is_users(kind.__module__):
            self._foreign += 1
            if self._foreign > FOREIGN_OBJECTS:
                return
        own, known = dict_of(value), ""
        if own is not None:
            known = inventory.let(f"{variable}.__dict__")
            inventory.differs_if(f"len({known}) != {len(own)}")  # where one was added
            if self.everything:
                inventory.differs_if(f"[*{known}] != {inventory.constant([*own])}")
        if self.absences:
            if own is not None:
                self._absent(known, own)
            for each in missing_slots(value):
                inventory.differs_if(f"hasattr({variable}, {each!r})")
        names = None if self.everything or is_open(kind) else self.attributes
        for each, found, inside in attributes_of(value, names):
            text = f"{known}[{each!r}]" if inside else f"{variable}.{each}"
            self.visit(found, text, name.part(f".{each}"))

    def _class(self, kind: type, constructed: bool) -> None:
        """Look at the methods of a class, and at its values that functions name."""
        for base in kind.__mro__:
            known = {(base, True), (base, constructed)}
            if not is_users(base.__module__) or not known.isdisjoint(self._classes):
                continue
            self._classes.add((base, constructed))
            members = vars(base)
            scope = self.inventory.constant(members)
            self.inventory.differs_if(f"len({scope}) != {len(members)}")
            if self.absences:
                self._absent(scope, members)
            for each, value in members_of(base, self.attributes, constructed):
                self.visit(value, f"{scope}[{each!r}]", Name("", f"{base.__name__}.{each}", ""))


def is_empty(cell: CellType) -> bool:
    """Return whether a closure variable has no value yet."""
    try:
        cell.cell_contents  # noqa: B018 - it raises
    except ValueError:
        return True
    return False


def _frozen(values: Any) -> frozenset[Any]:
    return frozenset(map(value_key, values))


def _keys_of(values: Any) -> tuple[Any, ...]:
    return tuple(map(value_key, values))


def _content(buffer: Any) -> tuple[Any, ...]:
    """Return what a buffer is: its type, what its bytes stand for, and these."""
    view = memoryview(buffer)
    return Same(type(buffer)), view.format, view.shape, view.tobytes()
