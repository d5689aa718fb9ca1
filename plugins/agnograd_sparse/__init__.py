"""Sparse derivatives: ``ag.sparse_jacobian``, and which elements may be other than zero."""

from agnograd_sparse._derivatives import prepare, sparse_hessian, sparse_jacobian
from agnograd_sparse._pattern import sparsity

__all__ = ["prepare", "sparse_hessian", "sparse_jacobian", "sparsity"]
