"""Functions that are looked up, made from text, or written out when they are first called."""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import count
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, TypeVar
from weakref import WeakSet, finalize


@cache
def built(name: str = "") -> Mapping[str, Any]:
    """Return what was written when agnograd was built, for ops or signatures; often nothing.

    A wheel has a module for each op, in the package ``agnograd._built`` with all signatures.
    """
    try:
        return import_module(f"agnograd._built{name and '.' + name}").FUNCTIONS  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return {}


class Deferred:
    """A function that ``load`` returns when it is first called.

    A backend's namespace may have a ``Deferred`` in place of a function whose module takes long to
    import. Ops call the loaded function directly.

    Parameters
    ----------
    load : callable
        A callable without arguments that returns the function.
    """

    __slots__ = ("_function", "_load")

    def __init__(self, load: Callable[[], Callable[..., Any]]) -> None:
        self._load = load
        self._function: Callable[..., Any] | None = None

    def loaded(self) -> Callable[..., Any]:
        """Return the function itself."""
        if self._function is None:
            self._function = self._load()
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.loaded()(*args, **kwargs)


def now(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a deferred one stands for, and any other one as it is."""
    return function.loaded() if isinstance(function, Deferred) else function


@cache
def later(module: str, name: str) -> Any:
    """Return what is in a module that imports the one that asks, or takes long to import.

    In a function that is called often: an import statement costs each call half a microsecond.
    """
    return getattr(import_module(module), name)


def function_from(source: str, scope: Mapping[str, Any], *, keep: bool = True) -> FunctionType:
    """Return the function that a ``def`` statement defines, with what it names of a scope.

    All text that agnograd writes becomes code here. ``linecache`` gets the text, so that a
    traceback shows its lines, and ``inspect.getsource`` all of it. The function keeps nothing else
    of the scope: the garbage collector visits all of its globals, each time.

    What it is compiled to is kept for other functions with the same text. Without ``keep`` nothing
    is, once the function itself is gone.
    """
    import linecache  # only with functions to make

    head, _, rest = source.strip().partition("(")
    name = head.removeprefix("def ")
    compiled = _code if keep else _code.__wrapped__
    module, code, number = compiled(f"def {_ANY_NAME}({rest}\n")
    filename = f"<agnograd {name} {number}>"
    text = f"{head}({rest}\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    own = {name: scope[name] for name in ("__name__", *_names(code)) if name in scope}
    exec(module, own)
    function: FunctionType = own.pop(code.co_name)
    function.__code__ = code.replace(co_name=name, co_qualname=name, co_filename=filename)
    function.__name__ = function.__qualname__ = name
    if not keep:
        with suppress(IndexError):
            while True:
                linecache.cache.pop(_GONE.popleft(), None)
        finalize(function, _GONE.append, filename)
    return function


# The files of functions that are gone. They wait: the garbage collector may run while linecache
# goes through all of them.
_GONE: deque[str] = deque()


_ANY_NAME = "_any_name"


@cache
def _code(source: str) -> tuple[CodeType, CodeType, int]:
    """Compile a text; all functions whose text is the same but for their name share the code."""
    module = compile(source, "<agnograd>", "exec")
    return module, defined_code(module, _ANY_NAME), next(_numbers)


_numbers = count(1)


def function_in(define: FunctionType, scope: Mapping[str, Any]) -> FunctionType:
    """Return the function that another one defines and returns, with what it names of a scope.

    It is as ``function_from`` gives it, but for its file, which is that of ``define``.
    """
    code = define.__code__
    own = {name: scope[name] for name in ("__name__", *_names(code)) if name in scope}
    function: FunctionType = FunctionType(code, own)()
    function.__qualname__ = function.__name__
    return function


def defined_code(module: CodeType, name: str) -> CodeType:
    """Return the code of a function of a module, and not that of its defaults or annotations."""
    codes = (each for each in module.co_consts if isinstance(each, CodeType))
    return next(each for each in codes if each.co_name == name)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code, and the functions and comprehensions in it, look up."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def become(thing: Any, kind: type) -> None:
    """Let an object be of another type from now on; it keeps its attributes."""
    thing.__class__ = kind


def deferred_function(
    name: str, scope: dict[str, Any], make: Callable[[], FunctionType], prototype: FunctionType
) -> FunctionType:
    """Return a plain function that becomes the one that ``make`` returns when it is called first.

    That one, of any name and without free variables, adds its globals to ``scope``, this one's.
    Until then ``prototype`` tells its parameters.
    """
    left = [make]  # two threads may call it first: the one that comes late finds it made

    def become() -> Any:
        for each in left:
            made: Any = each()
            for key, value in made.__globals__.items():
                scope.setdefault(key, value)
            # The code comes last: another thread may call the function at any time.
            function.__defaults__ = made.__defaults__
            function.__kwdefaults__ = made.__kwdefaults__
            function.__code__ = made.__code__
            vars(function).pop("__wrapped__", None)  # type: ignore[attr-defined]
        left.clear()
        return function

    scope["_become"] = become
    function = FunctionType(_CODE.replace(co_name=name, co_qualname=name), scope, name)
    function.__wrapped__ = prototype  # type: ignore[attr-defined]
    return function


_CODE = (lambda *args, **kwargs: _become()(*args, **kwargs)).__code__  # type: ignore[name-defined] # noqa: F821


def inline(function: F, *, arrays: Callable[..., Any] | None = None) -> F:
    """Let agnograd write a backend's short function into the ops that call it.

    This decorator of kernels and pullbacks saves a Python call, for small arrays. Global names are
    looked up when an op is compiled, at its first call: their values must not change later.

    agnograd writes the function out if it is a plain function of a few lines whose source can be
    read, and if it consists of assignments, conditions, expressions and returns (no loops,
    ``with``, ``try``, inner functions, or assignments to parameters). Otherwise the function is
    called, as it would be without the decorator. ``NotImplemented`` means the same as in a call.

    Parameters
    ----------
    function : callable
        The function, which is returned as it is.
    arrays : callable, optional
        A function of the library that gives the same for arrays with axes. It is called in place of
        this one where nothing is written out, as for the members of ``vmap``.

    Examples
    --------
    >>> from agnograd.extend import inline
    >>> @inline
    ... def total(x, /, *, axis=None, dtype=None, keepdims=False):
    ...     return x.sum(axis, dtype, keepdims=keepdims)
    """
    marked.add(function)
    if arrays is not None:
        vars(function)["of_arrays"] = arrays
    return function


marked: WeakSet[Any] = WeakSet()
CONSTANTS = (bool, int, float, complex, str, type(None), type(...))
compiled_facts = attrgetter("co_code", "co_consts", "co_names", "co_varnames", "co_freevars")
_parameters = attrgetter("co_argcount", "co_posonlyargcount", "co_kwonlyargcount")


def is_plain(function: Any) -> bool:
    """Return whether a function may be written out; otherwise it is called.

    It may if it is marked, or a lambda that reads nothing but its arguments.
    """
    if type(function) is not FunctionType:
        return False
    code, modules = function.__code__, (function.__globals__, vars(builtins))
    if function not in marked and not (
        function.__name__ == "<lambda>"
        and not function.__defaults__
        and not any(name in each for name in code.co_names for each in modules)
    ):
        return False
    constants = [each for c in code.co_consts for each in (c if type(c) is tuple else (c,))]
    if code.co_freevars or "__signature__" in vars(function):
        return False
    # Otherwise it has functions in it, say.
    return all(type(each) in CONSTANTS for each in constants)


def facts_of(function: Any) -> tuple[Any, ...] | None:
    """Return all that decides how a function is written out; None if it is called.

    That is its place in a file with this content, its parameters and defaults, and which of its
    names its module knows. No two versions of Python compile it to the same bytecode.
    """
    if not is_plain(function):
        return None
    code, modules = function.__code__, (function.__globals__, vars(builtins))
    options = function.__kwdefaults__ or {}
    defaults = [*(function.__defaults__ or ()), *options.values()]
    shown = [repr(each) if isinstance(each, CONSTANTS) else ... for each in defaults]
    names = sorted(name for name in code.co_names if any(name in each for each in modules))
    count = code.co_argcount + code.co_kwonlyargcount
    place = _content(code.co_filename), code.co_firstlineno
    return *place, *_parameters(code), code.co_varnames[:count], shown, [*options], names


@cache
def _content(path: str) -> int | None:
    """Return a number that differs from those of all files that are nearly the same; or None.

    It is a remainder by a prime, for which nothing has to be imported.
    """
    try:
        with open(path, "rb") as file:
            return int.from_bytes(file.read()) % (2**61 - 1)
    except OSError:
        return None


F = TypeVar("F", bound=Callable[..., Any])
