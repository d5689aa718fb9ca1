"""Where code lets values go: into branches and numbers, to other names, to functions.

Python may look at the elements of an array from outside a function, and go another way then. No op
of a program shows that, but the code of the function does. ``Flows`` says it of one function by
the names that values have there; what the names of several functions come to, ``flows.py`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dis import Instruction, get_instructions, stack_effect
from functools import cache, lru_cache
from itertools import chain
from types import CodeType
from typing import Any, NamedTuple

_NAMED = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_STORED = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR")
_BRANCHES = ("IF_TRUE", "IF_FALSE", "TO_BOOL", "UNARY_NOT")  # in the names of instructions
_SHOWN = ("FORMAT_", "CONVERT_VALUE")  # the text of a value
_BUILT = ("BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_MAP", "BUILD_CONST_KEY_MAP")
_MADE = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
_ADDED = ("LIST_", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_")  # to what is further below
# They leave what is at the top of the stack, or below what they take, as it is.
_LEAVE = ("POP_", "STORE_", "JUMP", "NOP", "RESUME", "CACHE", "EXTENDED_ARG")
# Builtins that look at what they are given.
_CONVERT = frozenset(
    {
        *("bool", "int", "float", "complex", "range", "list", "tuple", "str", "round"),
        *("any", "all", "sum", "min", "max", "sorted", "divmod"),
    }
)
_VALUES = frozenset({"item", "tolist", "tobytes"})  # methods that make Python's own values
_MATH = frozenset({"math", "cmath"})  # modules whose functions do
# Attributes that say nothing of elements.
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "strides", "device", "itemsize", "nbytes"})
# Builtins that say nothing of elements, and those that hand on what they are given.
_BLIND = frozenset(
    {"print", "len", "isinstance", "issubclass", "type", "id", "callable", "hasattr"}
)
_HANDING = frozenset(
    {
        *("enumerate", "zip", "reversed", "iter", "next", "super", "getattr", "setattr", "dict"),
        *("slice", "frozenset", "set"),
    }
)
# The name of what code itself makes: a list, tuple, set or dict.
MADE = "{}"

Names = frozenset[str]


class Passed(NamedTuple):
    """What a call passes to a function, by the names of both.

    Attributes
    ----------
    callee : frozenset of str
        Where the function comes from.
    given : tuple
        Pairs of a place and names: an argument's position or name, or None if either is unknown.
    """

    callee: Names
    given: tuple[tuple[int | str | None, Names], ...]


def parameter(code: CodeType, name: str) -> str:
    """Return the name that a parameter of a function has in its flows."""
    return f"{code.co_name}({name})"


def result(name: str) -> str:
    """Return the name that results of what has a name have."""
    return f"{name}()"


class Constant(set[str]):
    """A constant on the stack, which comes from nothing that has a name."""

    def __init__(self, value: Any) -> None:
        self.value = value


@lru_cache(4096)
def flows_of(code: CodeType) -> Flows:
    """Return where the code of a function lets values go. There may be too many names."""
    return Flows(code)


class Flows:
    """Where the code of a function lets values go, by their names.

    A parameter has the name ``f(x)``, and what a call of ``f`` gives has the name ``f()``.

    It follows what is on the stack while instructions are read in a row: the names that it comes
    from. Behind a jump the stack may be deeper than it is in a run. Its top is right all the same.

    Attributes
    ----------
    looked : set of str
        The names of values that decide about branches, or become numbers or texts.
    moved : set of (str, str)
        What the first name has may be what the second one has.
    passed : dict of Passed to None
        All calls, in their order.
    mixed : dict of tuple of frozenset of str to str
        The names of values that are made of several, by the names of each of these. Such a value is
        an array's own only if all of them are: what is computed with an argument is computed by
        ops, and nobody looks at a raw array then.
    """

    def __init__(self, code: CodeType) -> None:
        self.looked: set[str] = set()
        self.moved: set[tuple[str, str]] = set()
        self.passed: dict[Passed, None] = {}
        self.mixed: dict[tuple[Names, ...], str] = {}
        self._code = code
        self._stack: list[set[str]] = []
        # 0x0C are the flags of *args and **kwargs.
        count = code.co_argcount + code.co_kwonlyargcount + (code.co_flags & 0x0C).bit_count()
        self._locals = {each: {parameter(code, each)} for each in code.co_varnames[:count]}
        for each in set(code.co_cellvars) & self._locals.keys():
            self.moved.add((each, parameter(code, each)))
        self._keywords: tuple[str, ...] = ()
        instructions = tuple(get_instructions(code))
        for instruction in chain(instructions, instructions):  # again, for what loops bring back
            self._read(instruction)

    def _read(self, instruction: Instruction) -> None:
        """Follow one instruction."""
        op, argument = instruction.opname, instruction.argval
        effect = _effect(instruction.opcode, instruction.arg)
        if _is_branch(op):
            self.looked |= self._at(1)
            self._by(effect)
        elif op.startswith(_SHOWN):
            self.looked |= self._taken(1 - effect)
            self._push(set())
        elif op in _NAMED or op.startswith("LOAD_FROM_DICT_OR"):
            self._by(-1 if "FROM" in op else 0)
            self._push({argument}, 1 if "FROM" in op else effect)
        elif "_FAST" in op:
            self._local(op, argument)
        elif op in ("LOAD_CONST", "LOAD_SMALL_INT"):
            is_code = isinstance(argument, CodeType)
            self._push({argument.co_name} if is_code else Constant(argument))
        elif op in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            depth = 3 if op == "LOAD_SUPER_ATTR" else 1
            owner = self._taken(depth)
            if argument in _VALUES:
                self.looked |= owner
            self._push(set() if argument in _FACTS else owner | {argument}, effect + depth)
        elif op in ("PRECALL", "CALL", "CALL_KW", "KW_NAMES", "CALL_FUNCTION_EX"):
            self._call(op, instruction.arg or 0, effect)
        elif op == "COPY" and instruction.arg:
            self._push(self._at(instruction.arg))
        elif op == "END_FOR":  # what it takes besides was never there when read in a row
            self._by(effect + 1)
        elif op == "SWAP" and instruction.arg:
            self._swap(instruction.arg)
        else:
            self._move(op, argument, instruction.argrepr, effect)

    def _local(self, op: str, argument: Any) -> None:
        """Follow an instruction that loads or stores local variables, one or two."""
        names = argument if isinstance(argument, tuple) else (argument,)
        for verb, name in zip(op.split("_FAST"), names, strict=False):
            if verb.endswith("STORE"):
                entry = self._at(1)
                self._locals[name] = set() if isinstance(entry, Constant) else entry
                self._by(-1)
            elif verb.endswith("LOAD"):
                self._push(self._locals.get(name, set()))
            elif verb.endswith("DELETE"):
                self._locals.pop(name, None)

    def _move(self, op: str, argument: Any, text: str, effect: int) -> None:
        """Follow an instruction that takes values to other places."""
        if op in _STORED:
            names = self._at(2 if op == "STORE_ATTR" else 1)
            self._to({argument}, names)
            self._by(effect)
        elif op.startswith(_BUILT):
            names = self._taken(1 - effect)
            self._push(names | {MADE})
        elif op.startswith(_ADDED) and self._stack:
            taken = self._taken(-effect)
            self._at(int(argument or 1)).update(taken)
        elif op == "STORE_SUBSCR":
            value, into, key = (self._at(place) for place in (3, 2, 1))
            into |= value
            self._to(_text(key), value)
            self._by(effect)
        elif op in _MADE:  # of the code that is at the top
            top = self._at(1)
            self._by(effect - 1)
            self._push(top)
        elif op.startswith("UNPACK_"):
            names = self._taken(1)
            for _ in range(effect + 1):
                self._push({*names})
        elif op in ("RETURN_VALUE", "YIELD_VALUE"):
            self._to({result(self._code.co_name)}, self._at(1))
            self._by(effect)
        else:
            self._compute(op, text, effect)

    def _compute(self, op: str, text: str, effect: int) -> None:
        """Follow an instruction that computes something, or is of no matter."""
        one, other = self._at(2), self._at(1)
        if op == "BINARY_SUBSCR" or (op == "BINARY_OP" and text == "[]"):
            found = _text(other) or {*one}
            if other and found:  # an element may be the key of a dict
                self.looked.add(self._mix(found, other))
        elif op == "BINARY_OP":
            found = self._computed(one, other)
        elif op in ("COMPARE_OP", "CONTAINS_OP"):
            found = {*one, *other}
            if op == "CONTAINS_OP":  # which gives a boolean of Python's
                self.looked |= found
        elif op.startswith(("UNARY_", "GET_ITER")):
            found = {*other}
        elif op == "FOR_ITER":
            self._push({*other})
            return
        else:
            self._by(effect)
            if effect <= 0 and self._stack and not op.startswith(_LEAVE):
                self._stack[-1] = set()
            return
        self._by(effect - 1)
        self._push(found)

    def _computed(self, *values: set[str]) -> set[str]:
        """Return the names of what is computed of values; none if one of them has no names."""
        parts = [each for each in values if not isinstance(each, Constant)]
        if not all(parts):
            return set()
        if all(each == parts[0] for each in parts):
            return {*chain(*parts)}
        return {self._mix(*parts)}

    def _mix(self, *parts: set[str]) -> str:
        known = tuple(map(frozenset, parts))
        return self.mixed.setdefault(known, f"{self._code.co_name}#{len(self.mixed)}")

    def _call(self, op: str, count: int, effect: int) -> None:
        """Follow a call: of a method of a value, a builtin that looks, or something else."""
        if op == "KW_NAMES":
            self._keywords = self._code.co_consts[count]
            return
        if op == "CALL" and sys.version_info < (3, 12):
            self._by(-1)  # the rest is done by PRECALL
            return
        places: list[int | str | None] = [*range(count)]
        if op == "CALL_KW":
            top = self._at(1)
            self._keywords = top.value if isinstance(top, Constant) else ()
            self._by(-1)
        elif op == "CALL_FUNCTION_EX":
            count = 1 - effect - 2
            places = [None] * count
        if self._keywords:
            places[-len(self._keywords) :] = self._keywords
            self._keywords = ()
        given = [self._at(place) for place in range(count, 0, -1)]
        self._by(-count)
        callee = frozenset(self._taken(2))
        named = tuple(zip(places, map(frozenset, given), strict=True))
        is_builtin = bool(callee) and callee <= _CONVERT | _BLIND | _HANDING
        if callee & _MATH or (is_builtin and not callee.isdisjoint(_CONVERT)):
            self.looked.update(*given)
        elif not is_builtin and (any(each for _, each in named) or _is_inner(callee)):
            self.passed[Passed(callee, named)] = None
        found = {result(each) for each in callee}
        if not (is_builtin and callee <= _BLIND):
            found |= self._computed(*given)
        self._push(found, 2 if op == "PRECALL" else 1)

    def _to(self, names: Iterable[str], sources: Iterable[str]) -> None:
        self.moved.update((name, each) for name in names for each in sources)

    # -- the stack ---------------------------------------------------------------------------------

    def _at(self, place: int) -> set[str]:
        return self._stack[-place] if place <= len(self._stack) else set()

    def _taken(self, count: int) -> set[str]:
        names = set[str]().union(*(self._at(place) for place in range(1, count + 1)))
        self._by(-count)
        return names

    def _push(self, entry: set[str], count: int = 1) -> None:
        self._stack += [entry] * count

    def _by(self, effect: int) -> None:
        if effect < 0:
            del self._stack[effect:]
        else:
            self._stack += [set() for _ in range(effect)]

    def _swap(self, place: int) -> None:
        if place <= len(self._stack):
            top, self._stack[-1] = self._stack[-1], self._stack[-place]
            self._stack[-place] = top


def _is_inner(callee: Names) -> bool:
    """Return whether what is called is a comprehension, whose argument is in its place."""
    return any(each.endswith(("comp>", "genexpr>")) for each in callee)


@cache
def _effect(opcode: int, argument: int | None) -> int:
    """Return by how much an instruction makes the stack higher where it does not jump."""
    return stack_effect(opcode, argument, jump=False)


@cache
def _is_branch(op: str) -> bool:
    return any(part in op for part in _BRANCHES)


def _text(entry: set[str]) -> set[str]:
    """Return the text that a constant on the stack is: it may be a key."""
    value = getattr(entry, "value", None)
    return {value} if isinstance(value, str) else set()
