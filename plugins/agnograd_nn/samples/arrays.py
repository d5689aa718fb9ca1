"""Samples of einsum."""

from typing import Any

from agnograd.extend import Sample, array

_complex: dict[str, Any] = {"dtype": "complex128"}

samples = [
    Sample("einsum", "ij,jk->ik", array(2, 3), array(3, 2)),
    Sample("einsum", "ij,jk", array(2, 3, layout="strided"), array(3, 2, layout="transposed")),
    Sample("einsum", "ij->ji", array(2, 3)),
    Sample("einsum", "ij->", array(2, 3)),
    Sample("einsum", "ii", array(3, 3)),
    Sample("einsum", "iij->ji", array(2, 2, 3)),
    Sample("einsum", "iji,i->j", array(2, 3, 2), array(2)),
    Sample("einsum", "iii->i", array(2, 2, 2)),
    Sample("einsum", "i,j->ij", array(2), array(3)),
    Sample("einsum", "ij,k->i", array(2, 3), array(2)),
    Sample("einsum", "bij,bjk->bik", array(2, 2, 3), array(2, 3, 2)),
    Sample("einsum", "bhqd,bhkd->bhqk", array(1, 2, 2, 3), array(1, 2, 3, 3)),
    Sample("einsum", "ij,jk,kl->il", array(2, 3), array(3, 2), array(2, 2)),
    Sample("einsum", "i,i,i->", array(3), array(3), array(3)),
    Sample("einsum", "...ij,...jk->...ik", array(2, 2, 3), array(3, 2)),
    Sample("einsum", "...ij,...jk", array(2, 1, 2, 2), array(3, 2, 2)),
    Sample("einsum", ",->", array(), array()),
    Sample("einsum", "ij,jk->ik", array(0, 3), array(3, 2)),
    Sample("einsum", "ij,jk->ik", array(2, 3, **_complex), array(3, 2, **_complex)),
    Sample("einsum", "ii,i->i", array(2, 2, **_complex), array(2)),
]
