"""The functions that libraries have themselves: SciPy's name for each, and the library's."""

__all__ = ["JAX", "TORCH"]


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# Of torch.special.
TORCH = {
    **_same("digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln"),
    **_same("i0 i0e i1 i1e log1p log_ndtr logit ndtr ndtri psi sinc xlog1py xlogy zeta"),
    "j0": "bessel_j0",
    "j1": "bessel_j1",
    "k0": "modified_bessel_k0",
    "k0e": "scaled_modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k1e": "scaled_modified_bessel_k1",
    "polygamma": "zeta",
    "y0": "bessel_y0",
    "y1": "bessel_y1",
}
# Of jax.scipy.special, those that are as exact as SciPy's for all real arguments.
JAX = {
    **_same("betainc betaln digamma entr erf erfc erfinv exp1 expi expit gamma gammainc"),
    **_same("gammaincc gammaln gammasgn i0 i0e i1 i1e kl_div log_ndtr logit ndtr ndtri"),
    **_same("polygamma rel_entr xlog1py xlogy zeta"),
    "psi": "digamma",
}
