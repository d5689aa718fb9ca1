"""Statements of random programs: for each op templates of calls, whose slots Slots fills."""

# The ops, and the statements that call them: OP is the op's name, numpy: marks what NumPy alone
# computes, and a slot {name} is filled by the method Slots.name or from CHOICES. What has a bounded
# domain is given tame values.
GRAMMAR = """
abs ceil conj cos cosh exp expm1 floor negative positive asinh atan: xp.OP({v})
real round sign sin sinh square tanh trunc: xp.OP({v})
acos asin atanh log1p tan: xp.OP({unit})
log log10 log2 reciprocal sqrt: xp.OP({large})
acosh: xp.acosh(0.5 + {large})
abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 log log10 log1p: xp.real(xp.OP({z}))
log2 negative positive reciprocal sign sin sinh sqrt square tan tanh: xp.real(xp.OP({z}))
imag: xp.imag(xp.exp({z}))
astype: xp.astype({v}, xp.float64) | xp.astype({v}, xp.float32) | numpy:xp.astype({v}, half(xp))
astype: xp.astype({v}, xp.complex128) | xp.astype({v}, xp.complex64)
astype: xp.astype(3.0 * {v}, xp.int64) | xp.astype({v} > 0.1, xp.float64)
astype: numpy:xp.astype({c}, xp.complex64) | xp.astype({v} > 0.2, xp.float32)
add subtract multiply: xp.OP({c}, {cw})
conj exp negative sin square tanh: xp.OP({c})
real imag abs: xp.OP({c} + (2.0 + 1.5j))
divide: {c} / {large} | {c} / ({cw} + (4.0 + 3.0j))
sum prod: xp.OP({c})
mean: xp.mean({cn})
cumulative_sum: xp.cumulative_sum(xp.reshape({c}, (-1,)))
where: xp.where({v} > 0.1, {same}, xp.astype({same}, xp.complex128) * 0.5j)
abs: abs({v})
negative: -{v}
add copysign logaddexp maximum minimum multiply nextafter subtract: xp.OP({v}, {w})
add: {v} + {w} | {scalar} + {v}
multiply: {v} * {w} | {scalar} * {v}
subtract: {v} - {w} | {scalar} - {v}
atan2 divide floor_divide hypot remainder: xp.OP({v}, {large})
divide: {v} / {large} | {scalar} / {large}
floor_divide: {v} // {large} | 2 // {large}
remainder: {v} % {large} | 2 % {large}
hypot: xp.hypot({large}, {w})
pow: {v} ** 2 | {v} ** 3 | 1.3 ** ({unit}) | {large} ** {w} | xp.pow({large}, {w})
pow_slope: xp.pow_slope({large}, {w}) | xp.pow_slope({large}, {w}, by_x1=0, by_x2=1)
clip: xp.clip({v}, -0.5, 0.6) | xp.clip({v}, max=0.3)
clip: xp.clip({v}, {a} - 2.5, {a} + 2.5) | xp.clip({v}, xp.minimum({a}, 0.0), 0.7)
where: xp.where({v} > {w}, {a}, {w}) | xp.where({v} > 0.2, {same}, {w})

max mean min prod sum: xp.OP({n}, axis={axes}, keepdims={flag})
std var: xp.OP({n}, axis={axes}, keepdims={flag}, correction={half})
cumulative_prod cumulative_sum: xp.OP({r}, axis={axis}, include_initial={flag})
partial_products: xp.partial_products({r})
diff: xp.diff({r}, axis={axis}, n={count}) | xp.diff({r}, axis={axis}, prepend={alike})
sort: xp.sort({r}, axis={axis}, descending={flag})
unique_all unique_counts unique_inverse: xp.sum(xp.square(xp.OP({n})[0]))
unique_values: xp.sum(xp.square(xp.unique_values({n})))

broadcast_arrays: 1.0 * xp.broadcast_arrays({v}, {a})[{bit}]
broadcast_to: 1.0 * xp.broadcast_to({low}, {wider})
concat: xp.concat([{r}, {alike}, {same}], axis={axis}) | xp.concat([{low}, {other}], axis=None)
expand_dims: xp.expand_dims({low}, axis={gap})
flip: xp.flip({v}, axis={axes})
moveaxis: xp.moveaxis({r}, {axis}, {axis2})
permute_dims: xp.permute_dims({r}, {order})
repeat: xp.repeat({r}, 2, axis={axis}) | xp.repeat({r}, {repeats}, axis={axis})
reshape: xp.reshape({v}, {newshape})
roll: xp.roll({v}, {count}) | xp.roll({r}, {count}, axis={axis})
squeeze: xp.squeeze({v}[None, ...], axis=0) | xp.squeeze({r}[..., None], axis=-1)
stack: xp.stack([{low}, {alike}], axis={gap})
tile: xp.tile({low}, (2,)) | xp.tile({low}, (2, 1))
to_device: xp.to_device({v}, {same}.device)
unstack: xp.unstack({r}, axis={axis})[{end}]

__getitem__: {v}[{key}] | {n}[{mask}] | {r}[{newkey}] | numpy:{r}[{rows}]
__getitem__: numpy:{r}[{fancy}] | numpy:{m}[{fancy}] | numpy:{r}[{rowmask}] | {c}[{key}]
__setitem__: {v}[{key}] = {fit} | {v}[{key}] = {fit} | {v}[{key}] += {fit} | {v}[{key}] *= {fit}
__setitem__: {n}[{mask}] = {scalar} | {n}[{mask}] *= 0.5 | {n}[{same} > 0.3] -= 0.4
__setitem__: {v} += {fit} | {v} -= {fit} | {v} *= {fit} | {v} /= 1.5 + 0.4 * xp.tanh({alike})
__setitem__: {v} **= 2 | {v}[...] = xp.sin({same}) | numpy:{r}[{rows}] = {fit}
__setitem__: numpy:{r}[{distinct}] = {fit} | numpy:{r}[{distinct}] += {fit}
__setitem__: numpy:{r}[{rowmask}] = {fit} | numpy:{r}[{distinct}] *= 0.7
__setitem__: {cv}[{key}] = {fit} | {cv}[{key}] *= 0.5 | numpy:{iv}[{key}] = {fit}
scatter_add: xp.scatter_add({v}[{key}], ({samekey},), shape={fullshape})
scatter_add: xp.scatter_add({r}, {places}, shape=(3,))
scatter_add_axis: xp.scatter_add_axis({r}, {spread}, axis={axis}, shape={spreadshape})
take: xp.take({r}, {indices}, axis={axis})
take_along_axis: xp.take_along_axis({r}, {along}, axis={axis})

arange: numpy:xp.arange(0.2 * xp.tanh({zero}), 2.5)
arange: numpy:xp.arange(0.2, 2.1, 0.7 + 0.05 * xp.tanh({zero}))
full: numpy:xp.full((2, 3), {zero})
full_like: numpy:xp.full_like({n}, {zero})
linspace: numpy:xp.linspace({zero}, {zero}, 3, endpoint={flag})
meshgrid: xp.meshgrid(xp.reshape({low}, (-1,)), xp.reshape({other}, (-1,)))[{bit}]
tril triu: xp.OP({m}, k={offset})

matmul linalg.matmul: xp.OP({r}, {right})
matmul: {r} @ {right}
matrix_transpose linalg.matrix_transpose: xp.OP({m})
matrix_transpose: {m}.mT
tensordot linalg.tensordot: xp.OP({low}, {other}, axes=0)
tensordot linalg.tensordot: xp.OP({r}, {alike}, axes=(({axis},), ({axis},)))
vecdot linalg.vecdot: xp.OP({r}, {alike}, axis=-1) | xp.OP({m}, {alike}, axis=-2)
einsum: xp.einsum("...i,...i->...", {r}, {alike})
einsum: xp.einsum("...i,...i,...i->i...", {r}, {alike}, {same})
einsum: xp.einsum("...ij->...ji", {m}) | xp.einsum("...ij,...ij->...i", {m}, {alike})

linalg.adjugate linalg.det linalg.inv: xp.OP({regular})
linalg.cholesky: xp.linalg.cholesky({positive}, upper={flag})
linalg.cross: xp.linalg.cross(xp.stack([{low}, xp.cos({same}), {alike}], axis=-1), {three})
linalg.diagonal: 1.0 * xp.linalg.diagonal({m}, offset={offset})
linalg.eig: xp.real(xp.linalg.eig({positive})[0]) | xp.abs(xp.linalg.eig({regular})[1]) ** 2
linalg.eigh: xp.linalg.eigh({positive})[0] | xp.square(xp.linalg.eigh({positive})[1])
linalg.eigvals: xp.real(xp.linalg.eigvals({regular}))
linalg.eigvalsh: xp.linalg.eigvalsh({positive})
linalg.matrix_norm: xp.linalg.matrix_norm({regular}, ord={kind}, keepdims={flag})
linalg.matrix_power: xp.linalg.matrix_power({regular}, {power})
linalg.outer: xp.linalg.outer(xp.reshape({low}, (-1,)), xp.reshape({other}, (-1,)))
linalg.pinv linalg.svdvals: xp.OP({wide})
linalg.qr: xp.linalg.qr({regular})[{bit}]
linalg.slogdet: xp.linalg.slogdet({regular})[1]
linalg.solve: xp.linalg.solve({regular}, {m})
linalg.solve_adjoint: xp.linalg.solve_adjoint({regular}, {m})
linalg.solve_triangle: xp.linalg.solve_triangle({regular}, {m}, lower={flag})
linalg.svd: xp.linalg.svd({wide}, full_matrices={flag})[1]
linalg.svd: xp.square(xp.linalg.svd({positive}, full_matrices=False)[{ends}])
linalg.trace: xp.linalg.trace({m}, offset={offset})
linalg.vector_norm: xp.linalg.vector_norm({n}, axis={axes}, keepdims={flag}, ord={ord})

random.scaled: xp.random.normal(7, None, {double}, {large}) | xp.random.uniform(7, None, {double})
random.scaled: xp.random.gumbel(7, None, {scalar}, xp.astype({large}, xp.float64))
multiply: xp.random.exponential(7, None, xp.astype({large}, xp.float64))
random.quotient: xp.random.truncated_normal(7, None, -2.0, 2.5, {double}, {large})
random.standard_truncated_normal: xp.random.truncated_normal(7, None, {double} - 2.0, 2.5)

fft.ihfft fft.rfft: xp.real(xp.OP({r}, axis={axis}, norm={norm}))
fft.fft fft.ifft: xp.imag(xp.OP({complex_values}, axis={axis}, norm={norm}))
fft.fft fft.ifft: xp.real(xp.OP({complex_values}, axis={axis}, norm={norm}))
fft.hfft fft.irfft: xp.OP({complex_values}, n={length}, axis={axis}, norm={norm})
fft.fftn fft.ifftn: xp.real(xp.OP({complex_values}))
fft.rfftn: xp.real(xp.OP({r}))
fft.irfftn: xp.fft.irfftn({complex_values}, s=({length},), axes=({axis},))
fft.dct fft.dst: xp.OP({r}, axis={axis}, norm={norm}, type=4) | xp.OP({r}, type=3)
fft.dct: xp.fft.idct({r}, axis={axis}, norm={norm}) | xp.fft.dctn({r}, axes=({axis},))
fft.dst: xp.fft.idst({r}, axis={axis}, norm={norm}) | xp.fft.idstn({r}, norm={norm})
fft.fftshift fft.ifftshift: xp.OP({r}) | xp.imag(xp.OP({complex_values}))
"""
CHOICES = {
    "bit": [0, 1],
    "count": [1, 2],
    "end": [0, -1],
    "ends": [0, 2],
    "flag": [False, True],
    "half": [0, 0.5],
    "kind": ["'fro'", "'nuc'", 1, 2, -2, "float('inf')"],
    "length": [4, 3, 5],
    "norm": ["'backward'", "'ortho'", "'forward'"],
    "offset": [0, 1, -1],
    "ord": [2, 1, 3, "float('inf')"],
    "power": [2, 3, 0, 1, -1],
    "scalar": [0.5, -1.25, 2, 0.0, -1],
}


def _templates():
    found = {}
    for line in filter(None, GRAMMAR.splitlines()):
        ops, _, texts = line.partition(": ")
        for op in ops.split():
            known = found.setdefault(op, [])
            known += [text.strip().replace("OP", op) for text in texts.split(" | ")]
    return found


TEMPLATES = _templates()
