"""Which values code looks at, by their names: in a branch, or to make a number of them.

Python may look at the elements of an array from outside a function, and go another way then. No op
of a program shows that, but the code of the function does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dis import Instruction, stack_effect
from functools import cache
from typing import Any

_NAMED = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_BRANCHES = ("IF_TRUE", "IF_FALSE", "TO_BOOL", "UNARY_NOT")  # in the names of instructions
# They leave what is at the top of the stack, or below what they take, as it is.
_LEAVE = ("POP_", "STORE_", "JUMP", "NOP", "RESUME", "CACHE", "KW_NAMES", "EXTENDED_ARG")
# Builtins that look at what they are given.
_CONVERT = frozenset(
    {
        *("bool", "int", "float", "complex", "range", "list", "tuple", "str", "round"),
        *("any", "all", "sum", "min", "max", "sorted", "divmod"),
    }
)
_VALUES = frozenset({"item", "tolist", "tobytes"})  # methods that make Python's own values
_MATH = frozenset({"math", "cmath"})  # modules whose functions do
_NUMPY = frozenset({"np", "numpy"})  # whose functions make raw arrays of raw arrays
# Attributes that say nothing of elements.
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "strides", "device", "itemsize", "nbytes"})

Names = frozenset[str]
_NONE: Names = frozenset()


class Constant:
    """A constant on the stack."""

    def __init__(self, value: Any) -> None:
        self.value = value


def looked_at(instructions: Iterable[Instruction]) -> Names:
    """Return the names of variables and attributes whose values the code of a function looks at.

    Nothing is followed into the functions that values are passed to, or through what is computed
    with values of other kinds. There may be too many names: arrays with such a name are compared
    in vain.
    """
    reader = _Reader()
    for instruction in instructions:
        reader.read(instruction)
    return frozenset(reader.found)


class _Reader:
    """What is on the stack while instructions are read in a row: the names that it comes from.

    Behind a jump the stack may be deeper than it is in a run. Its top is right all the same.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._stack: list[Names | Constant] = []
        self._locals: dict[str, Names] = {}

    def read(self, instruction: Instruction) -> None:
        """Follow one instruction."""
        op, argument = instruction.opname, instruction.argval
        effect = _effect(instruction.opcode, instruction.arg)
        if _is_branch(op):
            self.found |= self._names(1)
            self._by(effect)
        elif op in _NAMED or op.startswith("LOAD_FROM_DICT_OR"):
            self._by(-1 if "FROM" in op else 0)
            self._push(frozenset({argument}), 1 if "FROM" in op else effect)
        elif op.startswith("LOAD_FAST") and isinstance(argument, str):
            self._push(self._locals.get(argument, _NONE))
        elif op == "STORE_FAST" and isinstance(argument, str):
            self._locals[argument] = self._names(1)
            self._by(-1)
        elif op in ("LOAD_CONST", "LOAD_SMALL_INT"):
            self._push(Constant(argument))
        elif op in ("LOAD_ATTR", "LOAD_METHOD"):
            owner = self._taken(1)
            if argument in _VALUES:
                self.found |= owner
            self._push(_NONE if argument in _FACTS else owner | {argument}, effect + 1)
        elif op in ("PRECALL", "CALL", "CALL_KW"):
            self._call(op, instruction.arg or 0)
        elif op == "COPY" and instruction.arg:
            self._push(self._at(instruction.arg))
        elif op == "SWAP" and instruction.arg:
            self._swap(instruction.arg)
        else:
            self._compute(op, instruction.argrepr, effect)

    def _compute(self, op: str, text: str, effect: int) -> None:
        """Follow an instruction that computes something, or is of no matter."""
        one, other = self._at(2), self._at(1)
        if op == "BINARY_SUBSCR" or (op == "BINARY_OP" and text == "[]"):
            is_key = isinstance(other, Constant) and isinstance(other.value, str)
            found = frozenset({other.value}) if is_key else _of(one)  # type: ignore[union-attr]
        elif op == "BINARY_OP":
            is_plain = isinstance(one, Constant) or isinstance(other, Constant)
            found = _of(one) | _of(other) if is_plain else _NONE
        elif op in ("COMPARE_OP", "CONTAINS_OP"):
            found = _of(one) | _of(other)
            if op == "CONTAINS_OP":  # which gives a boolean of Python's
                self.found |= found
        elif op.startswith(("UNARY_", "GET_ITER")):
            found = _of(other)
        elif op == "FOR_ITER":
            self._push(_of(other))
            return
        else:
            self._by(effect)
            if effect <= 0 and self._stack and not op.startswith(_LEAVE):
                self._stack[-1] = _NONE
            return
        self._by(effect - 1)
        self._push(found)

    def _call(self, op: str, count: int) -> None:
        """Follow a call: of a method of a value, a builtin that looks, or something else."""
        if op == "CALL" and sys.version_info < (3, 12):
            self._by(-1)  # the rest is done by PRECALL
            return
        if op == "CALL_KW":
            self._by(-1)
        given = [self._at(place) for place in range(1, count + 1)]
        self._by(-count)
        callee = self._taken(2)
        names = frozenset().union(*map(_of, given))
        if callee & (_CONVERT | _MATH):
            self.found |= names
        if callee & _NUMPY and all(isinstance(each, Constant) or each for each in given):
            callee |= names
        self._push(callee, 2 if op == "PRECALL" else 1)

    # -- the stack ---------------------------------------------------------------------------------

    def _at(self, place: int) -> Names | Constant:
        return self._stack[-place] if place <= len(self._stack) else _NONE

    def _names(self, count: int) -> Names:
        return frozenset().union(*(_of(self._at(place)) for place in range(1, count + 1)))

    def _taken(self, count: int) -> Names:
        names = self._names(count)
        self._by(-count)
        return names

    def _push(self, entry: Names | Constant, count: int = 1) -> None:
        self._stack += [entry] * count

    def _by(self, effect: int) -> None:
        if effect < 0:
            del self._stack[effect:]
        else:
            self._push(_NONE, effect)

    def _swap(self, place: int) -> None:
        if place <= len(self._stack):
            top, self._stack[-1] = self._stack[-1], self._stack[-place]
            self._stack[-place] = top


@cache
def _effect(opcode: int, argument: int | None) -> int:
    """Return by how much an instruction makes the stack higher where it does not jump."""
    return stack_effect(opcode, argument, jump=False)


@cache
def _is_branch(op: str) -> bool:
    return any(part in op for part in _BRANCHES)


def _of(entry: Names | Constant) -> Names:
    return _NONE if isinstance(entry, Constant) else entry
