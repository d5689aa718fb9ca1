"""Einops, einx, opt_einsum, cotengra and autoray: rearranging and contracting."""

import numpy as np

LIBRARY = "einops, einx, opt_einsum, cotengra, autoray"
IMPORTS = ("autoray", "cotengra", "einops", "einx", "opt_einsum")
INPUTS = {
    "x": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9, 3.1]),
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "B": np.asarray([[0.5, 1.2], [0.3, 0.8], [1.4, 0.2]]),
    "C": np.asarray([[0.7, 1.1], [0.6, 0.9]]),
    "T": np.asarray([np.sin(1.0 + k * k) for k in range(24)]).reshape(2, 3, 4),
    "z": np.asarray([0.1, 0.4, 0.9, 1.3]),
    "S": np.asarray([[2.0, 0.3, 0.5], [0.3, 1.5, 0.2], [0.5, 0.2, 1.8]]),
    "s": np.asarray(0.7),
    "d": np.asarray([0.4, -0.2, 0.9]),
}


def scope():
    """Return what the calls name."""
    import autoray
    import cotengra
    import einops.array_api
    import einx
    import opt_einsum

    found = {"autoray": autoray, "cotengra": cotengra, "einx": einx, "opt_einsum": opt_einsum}
    return found | {"einops": einops.array_api}


CALLS = """
einops.rearrange(T, 'a b c -> c (a b)')
einops.rearrange(x, '(a b) -> b a', a=2)
einops.reduce(T, 'a b c -> b', 'sum')
einops.reduce(T, 'a b c -> a c', 'mean')
einops.reduce(T, 'a b c -> c', 'max')
einops.reduce(T, 'a b c -> c', 'min')
einops.reduce(T, 'a b c -> a', 'prod')
einops.repeat(A, 'a b -> a b n', n=2)
einops.repeat(x, 'a -> (a n)', n=3)
einops.pack([A, T], 'a b *')[0]
einops.unpack(T, [(3,), ()], 'a b *')
einx.id('a b c -> c (a b)', T)
einx.sum('a [b c]', T)
einx.mean('[a] b c', T)
einx.max('a b [c]', T)
einx.logsumexp('a [b]', A)
einx.softmax('a [b]', A)
einx.dot('a [b], [b] c -> a c', A, B)
einx.add('a b, b', A, d)
einx.multiply('a b, a -> b a', A, z[:2])
einx.where('a b, a b, b', A > 1.0, A, d)
opt_einsum.contract('ij,jk->ik', A, B)
opt_einsum.contract('ij,jk,kl->il', A, B, C)
opt_einsum.contract('ij,jk,kl,li->', A, B, C, C, optimize='optimal')
opt_einsum.contract('ij,jk,kl->il', A, B, C, optimize='greedy')
opt_einsum.contract('ijk,ij->k', T, A)
opt_einsum.contract('ii->i', S)
opt_einsum.contract('ii->', S)
opt_einsum.contract('i,j->ij', d, z)
opt_einsum.contract('...j,j->...', T, z)
opt_einsum.contract_expression('ij,jk->ik', (2, 3), (3, 2))(A, B)
cotengra.einsum('ij,jk->ik', A, B)
cotengra.einsum('ijk,ij->k', T, A)
autoray.do('sum', A, axis=0)
autoray.do('sum', A, axis=0, like='numpy')
autoray.do('sqrt', x, like='numpy')
autoray.do('tensordot', A, B, axes=1, like='numpy')
autoray.do('transpose', A, like='numpy')
autoray.do('reshape', x, (2, 3), like='numpy')
autoray.do('stack', [x, x * x], like='numpy')
autoray.do('concatenate', [x, x], like='numpy')
autoray.do('einsum', 'ij,jk->ik', A, B, like='numpy')
autoray.do('linalg.solve', S, d, like='numpy')
autoray.do('linalg.svd', S, like='numpy')[1]
autoray.do('linalg.norm', x, like='numpy')
autoray.do('where', x > 1, x, s, like='numpy')
autoray.do('take', x, xp.asarray([0, 2]), axis=0, like='numpy')
"""
