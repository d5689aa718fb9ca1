"""PyTorch's functions of shapes, places and parts, in the standard's and NumPy's functions."""

import itertools

import numpy as np


def same(xp, x, *others, **options):
    return x + 0


def shape_of(sizes):
    return (
        tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else tuple(sizes)
    )


def reshape(xp, x, *sizes):
    return xp.reshape(x, shape_of(sizes))


def expand(xp, x, *sizes):
    sizes = shape_of(sizes)
    old = (1,) * (len(sizes) - x.ndim) + tuple(x.shape)
    return xp.broadcast_to(x, tuple(o if s == -1 else s for o, s in zip(old, sizes, strict=True)))


def flatten(xp, x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return xp.reshape(x, (1,))
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return xp.reshape(x, (*x.shape[:start], -1, *x.shape[end + 1 :]))


def unflatten(xp, x, dim, sizes):
    dim %= x.ndim
    return xp.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def unsqueeze(xp, x, dim):
    return xp.expand_dims(x, axis=dim)


def squeeze(xp, x, dim=None):
    if dim is None:
        dim = tuple(range(x.ndim))
    dims = tuple(dim) if isinstance(dim, list | tuple) else (dim,)
    return xp.squeeze(x, axis=tuple(d for d in dims if x.ndim and x.shape[d] == 1))


def transpose(xp, x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1) if x.ndim else x + 0


def movedim(xp, x, source, destination):
    return xp.moveaxis(x, source, destination)


def permute(xp, x, *dims):
    return xp.permute_dims(x, shape_of(dims))


def narrow(xp, x, dim, start, length):
    start = int(start) + (x.shape[dim] if int(start) < 0 else 0)
    return x[sliced(x, dim, start, start + length, 1)]


def select(xp, x, dim, index):
    key = [slice(None)] * x.ndim
    key[dim] = index
    return x[tuple(key)]


def select_scatter(xp, x, src, dim, index):
    key = [slice(None)] * x.ndim
    key[dim] = index
    out = x + 0
    out[tuple(key)] = src
    return out


def sliced(x, dim, start, end, step):
    key = [slice(None)] * x.ndim
    key[dim] = slice(start, end, step)
    return tuple(key)


def slice_(xp, x, dim=0, start=None, end=None, step=1):
    return x[sliced(x, dim, start, end, step)]


def slice_scatter(xp, x, src, dim=0, start=None, end=None, step=1):
    out = x + 0
    out[sliced(x, dim, start, end, step)] = src
    return out


def diagonal_scatter(xp, x, src, offset=0, dim1=0, dim2=1):
    out = x + 0
    moved = xp.moveaxis(out, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    i = np.arange(max(min(rows + min(offset, 0), columns - max(offset, 0)), 0))
    key = (..., xp.asarray(i - min(offset, 0)), xp.asarray(i + max(offset, 0)))
    moved = moved + 0
    moved[key] = src
    return xp.moveaxis(moved, (-2, -1), (dim1, dim2))


def chunk(xp, x, chunks, dim=0):
    size = -(-x.shape[dim] // chunks)
    return split(xp, x, size, dim)


def split(xp, x, size, dim=0):
    length = x.shape[dim]
    if isinstance(size, list | tuple):
        ends = np.cumsum(size)[:-1].tolist()
    else:
        ends = list(range(size, length, size))
    return np.split(x, ends, axis=dim)


def tensor_split(xp, x, parts, dim=0):
    if hasattr(parts, "tolist"):
        parts = parts.tolist()
    parts = list(parts) if isinstance(parts, tuple) else parts
    return np.array_split(x, parts, axis=dim)


def unfold(xp, x, dimension, size, step):
    if x.ndim == 0:
        return xp.reshape(x, (1,))[:size]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    key = [slice(None)] * windows.ndim
    key[dimension % x.ndim] = slice(None, None, step)
    return windows[tuple(key)]


def index_of(x, dim, index):
    """Return a key of the slices along an axis at an index array."""
    key = [slice(None)] * x.ndim
    key[dim] = index
    return tuple(key)


def lined(xp, x):
    return xp.reshape(x, (1,)) if x.ndim == 0 else x


def index_select(xp, x, dim, index):
    found = xp.take(lined(xp, x), xp.reshape(index, (-1,)), axis=dim)
    return xp.reshape(found, ()) if x.ndim == 0 else found


def written(accumulate):
    """Return what writes slices along an axis: index_copy, index_fill or index_add."""

    def function(xp, x, dim, index, source, *, alpha=1):
        out = lined(xp, x) + 0
        index = xp.reshape(index, (-1,))
        if accumulate:
            source = alpha * (lined(xp, source) if source.ndim == 0 else source)
            np.add.at(out, index_of(out, dim, index), source)
        else:
            out[index_of(out, dim, index)] = source
        return xp.reshape(out, x.shape)

    return function


def gather(xp, x, dim, index):
    if not index.size:  # which PyTorch takes in any number of axes
        return xp.zeros(index.shape, dtype=x.dtype) + 0 * xp.sum(x)
    if x.ndim == 0:
        return xp.reshape(xp.take(lined(xp, x), xp.reshape(index, (-1,)), axis=0), index.shape)
    return np.take_along_axis(cut(x, index, dim), index, axis=dim)


def cut(x, index, dim):
    """Return as much of an array as an index array speaks of along the other axes."""
    return x[
        tuple(
            slice(None) if axis == dim % x.ndim else slice(0, length)
            for axis, length in enumerate(index.shape)
        )
    ]


def places(index, dim):
    """Return a key of the single elements that an index array names along an axis."""
    grid = np.indices(tuple(index.shape))
    return [*grid[: dim % index.ndim], index, *grid[dim % index.ndim + 1 :]]


def scatter(accumulate):
    def function(xp, x, dim, index, src, reduce=None):
        out = lined(xp, x) + 0
        index = lined(xp, index)
        if hasattr(src, "ndim"):
            src = lined(xp, src)
            src = src[tuple(slice(0, length) for length in index.shape)]
        key = tuple(xp.asarray(each) for each in places(index, dim))
        if accumulate or reduce == "add":
            np.add.at(out, key, src)
        elif reduce == "multiply":
            raise NotImplementedError
        else:
            out[key] = src
        return xp.reshape(out, x.shape)

    return function


def put(xp, x, index, source, accumulate=False):
    flat = xp.reshape(x, (-1,)) + 0
    index, source = xp.reshape(index, (-1,)), xp.reshape(source, (-1,))
    if accumulate:
        np.add.at(flat, index, source)
    else:
        flat[index] = source
    return xp.reshape(flat, x.shape)


def index_put(xp, x, indices, values, accumulate=False):
    out = x + 0
    if accumulate:
        np.add.at(out, tuple(indices), values)
    else:
        out[tuple(indices)] = values
    return out


def take(xp, x, index):
    return xp.reshape(xp.take(xp.reshape(x, (-1,)), xp.reshape(index, (-1,)), axis=0), index.shape)


def take_along_dim(xp, x, indices, dim=None):
    if dim is None:
        return xp.take(xp.reshape(x, (-1,)), xp.reshape(indices, (-1,)), axis=0)
    return np.take_along_axis(x, indices, axis=dim)


def flip(xp, x, dims):
    return xp.flip(x, axis=tuple(dims))


def cat(xp, arrays, dim=0):
    """Join arrays; PyTorch lets an array of shape (0,) stand beside any other."""
    kept = [each for each in arrays if tuple(each.shape) != (0,)]
    return xp.concat(kept or arrays[:1], axis=dim)


def roll(xp, x, shifts, dims=None):
    return xp.roll(x, shifts, axis=tuple(dims) if isinstance(dims, list) else dims)


def repeat(xp, x, *sizes):
    sizes = shape_of(sizes)
    return xp.tile(xp.reshape(x, (1,) * (len(sizes) - x.ndim) + tuple(x.shape)), sizes)


def tile(xp, x, *sizes):
    return xp.tile(x, shape_of(sizes))


def repeat_interleave(xp, x, *, repeats, dim=None, output_size=None):
    return np.repeat(x, repeats, axis=dim)


def diag_embed(xp, x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = xp.zeros((*x.shape[:-1], n, n), dtype=x.dtype)
    i = np.arange(x.shape[-1])
    out[..., xp.asarray(i - min(offset, 0)), xp.asarray(i + max(offset, 0))] = x
    return xp.moveaxis(out, (-2, -1), (dim1, dim2))


def several(function):
    """Return a function of one array or of a list of them."""
    return lambda xp, *x: function(*(x[0] if len(x) == 1 and isinstance(x[0], list | tuple) else x))


def combinations(xp, x, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(pick(range(x.shape[0]), r))
    return x[xp.asarray(np.reshape(chosen, (-1, r)).astype(int))]


def cartesian_prod(xp, *arrays):
    grids = xp.meshgrid(*arrays, indexing="ij")
    if len(arrays) == 1:
        return grids[0]
    return xp.stack([xp.reshape(grid, (-1,)) for grid in grids], axis=-1)


def block_diag(xp, *arrays):
    arrays = [np.atleast_2d(each) for each in arrays]
    height, width = sum(a.shape[0] for a in arrays), sum(a.shape[1] for a in arrays)
    out = xp.zeros((height, width), dtype=xp.result_type(*(a.dtype for a in arrays)))
    row = column = 0
    for each in arrays:
        out[row : row + each.shape[0], column : column + each.shape[1]] = each
        row, column = row + each.shape[0], column + each.shape[1]
    return out


def cast(name):
    return lambda xp, x, *args, **options: xp.astype(x, getattr(xp, name))


def sum_to_size(xp, x, *sizes):
    sizes = shape_of(sizes)
    extra = x.ndim - len(sizes)
    x = xp.sum(x, axis=tuple(range(extra)))
    axes = tuple(i for i, s in enumerate(sizes) if s == 1 and x.shape[i] != 1)
    return xp.sum(x, axis=axes, keepdims=True)


FUNCTIONS = {
    "T": lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "H": lambda xp, x: xp.conj(xp.permute_dims(x, tuple(range(x.ndim))[::-1])),
    "__getitem__": lambda xp, x, key: x[key],
    "alias_copy": same,
    "argwhere": lambda xp, x: np.argwhere(x),
    "atleast_1d": several(np.atleast_1d),
    "atleast_2d": several(np.atleast_2d),
    "atleast_3d": several(np.atleast_3d),
    "block_diag": block_diag,
    "broadcast_tensors": lambda xp, *x: xp.broadcast_arrays(*x),
    "broadcast_to": lambda xp, x, shape: xp.broadcast_to(x, tuple(shape)),
    "cartesian_prod": cartesian_prod,
    "cat": cat,
    "cdouble": cast("complex128"),
    "cfloat": cast("complex64"),
    "chunk": chunk,
    "clone": same,
    "column_stack": several(lambda *x: np.column_stack(x)),
    "combinations": combinations,
    "contiguous": same,
    "diag": lambda xp, x, diagonal=0: np.diag(x, diagonal),
    "diag_embed": diag_embed,
    "diagflat": lambda xp, x, offset=0: np.diagflat(x, offset),
    "diagonal": lambda xp, x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "diagonal_copy": lambda xp, x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "diagonal_scatter": diagonal_scatter,
    "double": cast("float64"),
    "dsplit": lambda xp, x, parts: np.dsplit(x, parts),
    "dstack": several(lambda *x: np.dstack(x)),
    "expand": expand,
    "expand_as": lambda xp, x, other: xp.broadcast_to(x, other.shape),
    "expand_copy": expand,
    "flatten": flatten,
    "flip": flip,
    "fliplr": lambda xp, x: np.fliplr(x),
    "flipud": lambda xp, x: np.flipud(x),
    "float": cast("float32"),
    "gather": gather,
    "hsplit": lambda xp, x, parts: np.hsplit(x, parts),
    "hstack": several(lambda *x: np.hstack(x)),
    "index_add": written(accumulate=True),
    "index_copy": written(accumulate=False),
    "index_fill": written(accumulate=False),
    "index_put": index_put,
    "index_select": index_select,
    "mH": lambda xp, x: xp.conj(x.mT),
    "mT": lambda xp, x: x.mT,
    "masked_select": lambda xp, x, mask: (lambda a, m: xp.reshape(a, (-1,))[xp.reshape(m, (-1,))])(
        *xp.broadcast_arrays(x, mask)
    ),
    "meshgrid.list_of_tensors": lambda xp, x, *, indexing="ij": xp.meshgrid(*x, indexing=indexing),
    "meshgrid.variadic_tensors": lambda xp, *x, indexing="ij": xp.meshgrid(*x, indexing=indexing),
    "movedim": movedim,
    "narrow": narrow,
    "narrow_copy": narrow,
    "permute": permute,
    "permute_copy": permute,
    "put": put,
    "ravel": lambda xp, x: np.ravel(x),
    "repeat": repeat,
    "repeat_interleave": repeat_interleave,
    "reshape": reshape,
    "reshape_as": lambda xp, x, other: xp.reshape(x, other.shape),
    "roll": roll,
    "rot90": lambda xp, x, k=1, dims=(0, 1): np.rot90(x, k, tuple(dims)),
    "scatter": scatter(accumulate=False),
    "scatter_add": scatter(accumulate=True),
    "select": select,
    "select_scatter": select_scatter,
    "slice": slice_,
    "slice_scatter": slice_scatter,
    "split": split,
    "split.list_args": split,
    "split_with_sizes": split,
    "split_with_sizes_copy": split,
    "squeeze": squeeze,
    "squeeze.multiple": squeeze,
    "squeeze_copy": squeeze,
    "stack": lambda xp, arrays, dim=0: xp.stack(arrays, axis=dim),
    "sum_to_size": sum_to_size,
    "t": lambda xp, x: x.T if x.ndim == 2 else x + 0,
    "t_copy": lambda xp, x: x.T if x.ndim == 2 else x + 0,
    "take": take,
    "take_along_dim": take_along_dim,
    "tensor_split": tensor_split,
    "tile": tile,
    "transpose": transpose,
    "transpose_copy": transpose,
    "tril": lambda xp, x, diagonal=0: xp.tril(x, k=diagonal),
    "triu": lambda xp, x, diagonal=0: xp.triu(x, k=diagonal),
    "unbind": lambda xp, x, dim=0: xp.unstack(x, axis=dim),
    "unbind_copy": lambda xp, x, dim=0: xp.unstack(x, axis=dim),
    "unflatten": unflatten,
    "unfold": unfold,
    "unfold_copy": unfold,
    "unsafe_chunk": chunk,
    "unsafe_split": split,
    "unsqueeze": unsqueeze,
    "unsqueeze_copy": unsqueeze,
    "view": reshape,
    "view_as": lambda xp, x, other: xp.reshape(x, other.shape),
    "view_copy": reshape,
    "vsplit": lambda xp, x, parts: np.vsplit(x, parts),
    "vstack": several(lambda *x: np.vstack(x)),
}
