"""The standard's functions in PyTorch, where its own differ, refuse, or have no derivative.

Whatever is written here is made of functions that PyTorch differentiates itself.
"""

import importlib
import math
from operator import attrgetter

import numpy as np
import torch

import nn_by_torch

library = importlib.import_module("array_api_compat.torch")


def function_of(op):
    """Return what computes an op in PyTorch, differentiably."""
    return FUNCTIONS.get(op) or attrgetter(op)(library)


def places(x, key):
    """Return the positions in the flattened array that NumPy's indexing reads."""
    return np.array(np.arange(x.numel()).reshape(x.shape)[host(key)])


def host(key):
    if isinstance(key, tuple):
        return tuple(host(each) for each in key)
    return key.numpy() if isinstance(key, torch.Tensor) else key


def getitem(x, key):
    return x.reshape(-1)[torch.tensor(places(x, key))]


def setitem(x, key, value):
    """Write in NumPy's order: of several writes to one place the last one stands."""
    read = places(x, key)
    value = torch.as_tensor(value, dtype=x.dtype)
    value = value.reshape(value.shape[max(value.ndim - read.ndim, 0) :]).broadcast_to(read.shape)
    source = np.full(x.numel(), -1)
    source[read] = np.arange(read.size).reshape(read.shape)
    source = torch.tensor(source.reshape(x.shape))
    if value.numel() == 0:
        return x.clone()
    return torch.where(source >= 0, value.reshape(-1)[source.clamp(min=0)], x)


def take(x, indices, axis=None):
    axis = 0 if axis is None else axis % x.ndim
    return x[(slice(None),) * axis + (indices.long(),)]


def arange(start, stop=None, step=1):
    start, stop = (0, start) if stop is None else (start, stop)
    count = max(math.ceil((float(stop) - float(start)) / float(step)), 0)
    return start + step * torch.arange(count, dtype=torch.float64)


def linspace(start, stop, num, endpoint=True, dtype=None):
    weight = torch.arange(num, dtype=torch.float64) / max(num - 1 if endpoint else num, 1)
    return cast(start * (1 - weight) + stop * weight, dtype)


def full(shape, fill_value, dtype=None):
    return cast(fill_value, dtype).broadcast_to(shape if isinstance(shape, tuple) else (shape,))


def cast(x, dtype):
    return x if dtype is None else x.to(dtype)


def casting(function):
    """Cast before a reduction: PyTorch refuses to give a real array a complex sum."""
    return lambda x, dtype=None, **options: function(cast(x, dtype), **options)


def roll(x, shift, axis=None):
    if not isinstance(axis, tuple):
        return library.roll(x, shift, axis=axis)
    for by, each in zip(
        shift if isinstance(shift, tuple) else (shift,) * len(axis), axis, strict=True
    ):
        x = torch.roll(x, by, each)
    return x


def tensordot(x1, x2, axes=2):
    if not isinstance(axes, int):
        axes = tuple((each,) if isinstance(each, int) else each for each in axes)
    return library.tensordot(x1, x2, axes=axes)


def deviation(x, axis=None, correction=0.0, keepdims=False):
    axes = tuple(range(x.ndim)) if axis is None else axis
    count = math.prod(x.shape[i] for i in ((axes,) if isinstance(axes, int) else axes))
    centred = x - torch.mean(x, dim=axes, keepdim=True)
    square = (centred * centred.conj()).real if x.is_complex() else centred**2
    return torch.sqrt(torch.sum(square, dim=axes, keepdim=keepdims) / (count - correction))


def unique_values(x):
    """Read the first of each value, in the order in which NumPy gives them."""
    flat = x.detach().numpy().reshape(-1)
    found = importlib.import_module("array_api_compat.numpy").unique_values(flat)
    return x.reshape(-1)[torch.tensor([int(np.argmax(flat == value)) for value in found]).long()]


def reduced_qr(x, mode="reduced"):
    """Leave out the columns that complete a basis: PyTorch differentiates no complete one."""
    return torch.linalg.qr(x)


def where(condition, x1, x2):
    dtype = torch.result_type(x1, x2)
    return torch.where(
        condition, torch.as_tensor(x1, dtype=dtype), torch.as_tensor(x2, dtype=dtype)
    )


FUNCTIONS = {
    **nn_by_torch.FUNCTIONS,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "arange": arange,
    "cumulative_prod": casting(library.cumulative_prod),
    "cumulative_sum": casting(library.cumulative_sum),
    "diff": lambda x, n=1, **options: library.diff(x, n=n, **options),
    "floor_divide": lambda x1, x2: torch.floor(x1 / x2),
    "full": full,
    "full_like": lambda x, fill_value, dtype=None: full(x.shape, fill_value, dtype or x.dtype),
    "imag": lambda x: torch.imag(x) if x.is_complex() else x * 0,
    "linalg.qr": reduced_qr,
    "linalg.tensordot": tensordot,
    "linspace": linspace,
    "prod": casting(library.prod),
    "remainder": lambda x1, x2: x1 - torch.floor(x1 / x2) * x2,
    "roll": roll,
    "std": deviation,
    "sum": casting(library.sum),
    "take": take,
    "take_along_axis": lambda x, indices, axis=-1: library.take_along_axis(
        x, indices.long(), axis=axis
    ),
    "tensordot": tensordot,
    "unique_all": unique_values,
    "unique_counts": unique_values,
    "unique_inverse": unique_values,
    "unique_values": unique_values,
    "where": where,
}
