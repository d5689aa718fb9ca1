"""Ops as primitives of HIPS autograd, with derivatives in both modes.

autograd's cotangents of complex arrays are the conjugates of agnograd's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
from autograd.builtins import tuple as boxed_tuple
from autograd.core import make_vjp
from autograd.extend import defjvp_argnums, defvjp_argnums, primitive, vspace
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import getval, isbox

from agnograd_engines import Calling, Engine, Primitive

__all__ = ["AutogradEngine", "engine"]


class AutogradEngine(Engine):
    """Ops become primitives on NumPy's arrays and autograd's boxes."""

    backend = "numpy"
    differentiates = False

    def types(self) -> tuple[type, ...]:
        """Return the type of boxes of arrays."""
        return (ArrayBox,)

    def device(self, x: Any) -> str:
        """Return NumPy's only device."""
        return "cpu"

    def function(self, primitive: Primitive) -> Calling:
        """Return what calls the primitive, with arrays in place of boxed numbers."""
        compute = _primitive(primitive)
        one = primitive.op.outputs == "one"

        def call(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
            if not any(map(isbox, arrays)):
                return primitive.rebuilt(primitive.compute(arrays, options))
            arrays = primitive.operands(tuple(_array(x) if isbox(x) else x for x in arrays))
            others: list[Any] = []
            found = compute((options, others), *arrays)
            return found if one else primitive.rebuilt(_joined(found, others))

        return call

    def constant_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function of what is in boxes."""

        def of_values(*args: Any, **kwargs: Any) -> Any:
            return function(*map(_unboxed, args), **{n: _unboxed(x) for n, x in kwargs.items()})

        return of_values

    def asarray(self, raw: Callable[..., Any]) -> Callable[..., Any]:
        """Return what leaves boxes as they are, or casts what is in them."""

        def asarray(x: Any, /, *, dtype: Any = None, copy: Any = None, device: Any = None) -> Any:
            if isbox(x):
                return x if dtype is None or x.dtype == dtype else x.astype(dtype)
            return raw(x, dtype=dtype, copy=copy, device=device)

        return asarray


def _array(x: Any) -> Any:
    """Return an array in place of a number, also of one in a box."""
    return x if hasattr(_unboxed(x), "dtype") else anp.array(x)


def _unboxed(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_unboxed, x)) if not hasattr(x, "_fields") else x
    while isbox(x):
        x = getval(x)
    return x


class _Derivatives:
    """An op as autograd computes it, and its derivatives in both modes.

    autograd has no boxes for integers: such results are returned beside the others, in a list.
    """

    def __init__(self, op: Primitive) -> None:
        self.op, self.one = op, op.op.outputs == "one"

    def compute(self, given: tuple[Any, list[Any]], *arrays: Any) -> Any:
        """Compute the op on arrays; ``given`` has its options, and the list."""
        options, others = given
        results = self.op.compute(arrays, options)
        if self.one:
            return results[0]
        others[:] = [None if _is_inexact(out) else out for out in results]
        return tuple(filter(_is_inexact, results))

    def pullback(
        self, argnums: Sequence[int], ans: Any, args: Any, _: Any
    ) -> Callable[[Any], tuple[Any, ...]]:
        """Return the function from a cotangent to the gradients of some arguments."""
        saved, others = self._saved(argnums, ans, args), args[0][1]
        wanted = [number in argnums for number in range(1, len(args))]

        def pull(g: Any) -> tuple[Any, ...]:
            zeros = [None if x is None else anp.zeros(x.shape) for x in others]
            given = [_array(g)] if self.one else _joined(g, zeros)
            found = [None, *_conjugates(self.op.pull(saved, _conjugates(given), wanted))]
            return tuple(
                anp.zeros_like(args[number]) if found[number] is None else found[number]
                for number in argnums
            )

        return pull

    def along(self, argnums: Sequence[int], tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        """Return the tangent of the result: by partial derivatives, or a pullback's transpose."""
        if self.op.pushes and (_is_complex(ans) or not any(map(_is_complex, tangents))):
            known: list[Any] = [None] * (len(args) - 1)
            for number, tangent in zip(argnums, tangents, strict=True):
                known[number - 1] = _array(tangent)
            return self.op.push(self._saved(argnums, ans, args), known, ans)
        pull = self.pullback(argnums, ans, args, kwargs)
        zeros = vspace(_unboxed(ans)).zeros()
        # autograd warns where nothing depends on g.
        transpose, _ = make_vjp(lambda g: boxed_tuple((*pull(g), g)), zeros)
        return transpose((*tangents, zeros))

    def _saved(self, argnums: Sequence[int], ans: Any, args: Any) -> tuple[Any, ...]:
        (options, others), *arrays = args
        # autograd differentiates by integers, and rules cast a gradient to the dtype of its array.
        for number in argnums:
            if not _is_inexact(args[number]):
                arrays[number - 1] = args[number] * 1.0
        return self.op.save(arrays, options, (ans,) if self.one else _joined(ans, others))


def _primitive(op: Primitive) -> Callable[..., Any]:
    """Return an op as autograd has its functions."""
    derivatives = _Derivatives(op)

    def compute(*args: Any) -> Any:
        return derivatives.compute(*args)

    compute.__name__ = op.op.name
    made: Callable[..., Any] = primitive(compute)
    defvjp_argnums(made, derivatives.pullback)
    defjvp_argnums(made, derivatives.along)
    return made


def _joined(inexact: Any, others: Sequence[Any]) -> list[Any]:
    """Return all results in their order; there is None in the place of each inexact one."""
    left = iter([*inexact])
    return [next(left) if x is None else x for x in others]


def _is_inexact(x: Any) -> bool:
    return bool(anp.issubdtype(x.dtype, anp.inexact))


def _is_complex(x: Any) -> bool:
    return bool(anp.iscomplexobj(_unboxed(x)))


def _conjugates(arrays: Sequence[Any]) -> list[Any]:
    return [x if x is None or not _is_complex(x) else anp.conj(x) for x in arrays]


engine = AutogradEngine()
