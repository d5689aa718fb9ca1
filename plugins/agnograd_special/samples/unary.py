"""Samples of functions of one array."""

from agnograd.extend import Sample, array

# Bounds within which functions, and their derivatives, are smooth.
_SMOOTH = {
    (-2.0, 2.0): "airy cosm1 dawsn erf erfc expm1 exprel i0 i1",
    (0.3, 2.0): "cbrt entr shichi sici",
    (-80.0, 80.0): "cosdg sindg",
    (20.0, 160.0): "cotdg",
    (0.5, 3.0): "digamma gamma gammaln k0 k0e k1 k1e loggamma psi y0 y1",
    (-1.0, 0.9): "ellipe ellipk",
    (0.05, 0.45): "ellipem1",
    (0.2, 0.45): "ellipkm1",
    (0.2, 1.8): "erfcinv",
    (-1.0, 3.0): "erfcx",
    (-1.0, 1.0): "erfi exp10",
    (-0.8, 0.8): "erfinv",
    (0.5, 2.0): "exp1 expi",
    (-1.0, 2.0): "exp2 wrightomega",
    (-3.0, 3.0): "expit j0 j1 log_expit ndtr",
    (-1.5, 1.5): "fresnel sinc",
    (-0.9, -0.1): "gammasgn",
    (0.3, 3.0): "i0e i1e",
    (-0.5, 2.0): "log1p",
    (-5.0, 3.0): "log_ndtr",
    (0.2, 0.8): "logit ndtri",
    (-8.0, -0.3): "ndtri_exp",
    (-1.3, 2.0): "rgamma",
    (0.3, 2.5): "spence",
    (-70.0, 70.0): "tandg",
}
BOUNDS = {name: bounds for bounds, names in _SMOOTH.items() for name in names.split()}
# Where formulas change, or a singularity is removed.
POINTS = {
    "ellipe": [0.0, 0.5, 0.95],
    "ellipk": [0.0, 0.5, 0.95],
    "ellipkm1": [0.05, 0.55, 1.0],
    "exprel": [0.0, 0.4, -0.7],
    "i1": [0.0, 0.9, -1.2],
    "i0e": [-35.0, -0.5, 29.0, 31.0],
    "i1e": [-35.0, -0.5, 0.9, 1.2, 29.0, 31.0],
    "j1": [0.0, 0.9, -1.2],
    "k0e": [0.1, 29.0, 31.0],
    "k1e": [0.1, 29.0, 31.0],
    "log_ndtr": [-30.0, -0.1, 0.1, 8.0],
    "ndtri_exp": [-300.0, -0.6, -0.8],
    "rgamma": [0.0, -1.0, 0.6],
    "sinc": [0.0, 0.2, 0.3],
    "spence": [1.0, 0.76, 1.3],
}
# Functions that are analytic, as their rules are, by the order to which their rules are.
ANALYTIC = {
    2: (
        "airy dawsn erf erfc erfcx erfi exp1 expm1 fresnel lambertw log1p shichi sici sinc spence "
        "wofz wrightomega"
    ),
    1: "gamma loggamma rgamma",
}

samples = [
    sample
    for name, (low, high) in BOUNDS.items()
    for sample in (
        Sample(f"special.{name}", array(2, 2, low=low, high=high, layout="strided")),
        Sample(f"special.{name}", array(low=low, high=high)),
        Sample(f"special.{name}", array(0, 2, low=low, high=high)),
        Sample(f"special.{name}", array(2, low=low, high=high, dtype="float32"), order=1),
    )
]
samples += [Sample(f"special.{name}", array(values=values)) for name, values in POINTS.items()]
samples += [
    Sample(f"special.{name}", array(2, low=0.3, high=0.8, dtype="complex128"), order=order)
    for order, names in ANALYTIC.items()
    for name in names.split()
]
samples += [
    Sample("special.gamma", array(2, low=-0.9, high=-0.2)),
    Sample("special.lambertw", array(2, low=0.3, high=2.0)),
    Sample("special.lambertw", array(2, low=0.3, high=2.0, dtype="complex128"), 1),
    Sample(
        "special.lambertw", array(2, low=0.3, high=2.0), array(2, 1, low=-1, high=1, dtype="int64")
    ),
    Sample("special.wofz", array(2, low=-1.0, high=1.0)),
    Sample(
        "special.wofz", array(values=[13.0 + 5.0j, -30.0 + 0.5j, 2.0 - 1.0j], dtype="complex128")
    ),
    Sample("special.zetac", array(values=[2.5, 0.5, -0.7, -3.2])),
]
