"""Samples of functions of several arrays."""

from typing import Any

from agnograd.extend import Sample, array

# Bounds of what is differentiated, and numbers for what is not, of functions that take them.
_TAKEN: dict[tuple[Any, ...], str] = {
    (2, 5, (0.2, 0.8)): "bdtr bdtrc bdtri nbdtr nbdtrc nbdtri",
    ((0.5, 2.0), (0.5, 2.0)): "beta betaln poch polygamma_rise",
    ((0.8, 2.0), (1.5, 3.0), (0.2, 0.8)): "betainc betaincc betainccinv betaincinv beta_density",
    ((4.0, 6.0), (1.2, 2.8)): "binom",
    ((0.5, 2.0), (-1.0, 1.0)): "boxcox boxcox1p boxcox1p_slope boxcox_slope powm1",
    ((2.5, 4.5), (0.5, 5.0)): "chdtr chdtrc",
    ((2.5, 4.5), (0.2, 0.8)): "chdtri",
    ((0.3, 1.4), (0.2, 0.8)): "ellipeinc ellipkinc",
    ((0.3, 1.4), 0.6): "ellipj",
    (3, (-0.8, 0.8)): "eval_chebyt eval_chebyu eval_legendre",
    (3, 1.5, (-0.8, 0.8)): "eval_gegenbauer",
    (3, 1.5, (0.5, 2.0)): "eval_genlaguerre",
    (3, (-2.0, 2.0)): "eval_hermite eval_hermitenorm",
    (3, 1.5, 0.5, (-0.8, 0.8)): "eval_jacobi",
    (3, (0.5, 2.0)): "eval_laguerre",
    (2, (0.5, 2.0)): "expn",
    ((2.5, 4.5), (3.5, 5.5), (0.5, 2.0)): "fdtr fdtrc",
    ((2.5, 4.5), (3.5, 5.5), (0.2, 0.8)): "fdtri",
    ((0.5, 3.5), (0.5, 5.0)): "gamma_density gammainc gammaincc",
    ((0.8, 3.5), (0.2, 0.8)): "gammainccinv gammaincinv",
    ((0.5, 2.0), (1.5, 3.0), (0.5, 2.0)): "gdtr gdtrc",
    ((0.5, 2.0), (1.5, 3.0), (0.2, 0.8)): "gdtrix",
    (1.5, (0.5, 3.0)): "hankel1 hankel2 iv ive jv kv kve struve yv",
    ((0.5, 0.9), (1.0, 2.0)): "huber",
    (1.5, (-1.0, 2.0)): "hyp0f1",
    (1.5, 2.5, (-1.0, 2.0)): "hyp1f1",
    (1.5, 0.5, 2.5, (-0.9, 0.8)): "hyp2f1",
    (1.5, 2.5, (0.5, 2.0)): "hyperu",
    ((0.5, 2.0), (0.3, 1.0)): "inv_boxcox inv_boxcox1p",
    (2, (0.5, 3.0)): (
        "jn kn pdtr pdtrc polygamma spherical_in spherical_jn spherical_kn spherical_yn yn"
    ),
    ((0.3, 2.0), (0.3, 2.0)): "kl_div rel_entr",
    (1, 2.5, (-0.8, 0.8)): "lpmv lpmv_slope",
    (1.5, (0.5, 2.0)): "modstruve",
    ((-1.0, 1.0), (0.3, 2.0)): "owens_t",
    (2, (0.2, 0.8)): "pdtri",
    ((0.5, 2.0), (-2.0, 2.0)): "pseudo_huber",
    ((0.0, 90.0), (0.0, 60.0), (0.0, 60.0)): "radian",
    (3.5, (-2.0, 2.0)): "stdtr",
    (3.5, (0.2, 0.8)): "stdtrit",
    ((-1.0, 2.0), (0.3, 2.0)): "xlog1py xlogy",
    ((1.5, 4.0), (0.5, 3.0)): "zeta",
}
ARGUMENTS = {name: arguments for arguments, names in _TAKEN.items() for name in names.split()}


def _made(name: str, *shapes: tuple[int, ...], order: int = 2, **options: Any) -> Sample:
    """Return a sample with arrays of these shapes, one for each bounds, and numbers as they are."""
    given = iter(shapes)
    args = [
        array(*next(given), low=each[0], high=each[1], **options)
        if isinstance(each, tuple)
        else each
        for each in ARGUMENTS[name]
    ]
    return Sample(f"special.{name}", *args, order=order)


def _with_arrays(name: str) -> Sample:
    """Return a sample whose parameters are arrays that are broadcast."""
    args = [
        array(2, 1, low=each[0], high=each[1])
        if isinstance(each, tuple)
        else array(
            values=[each, each + 1] if isinstance(each, int) else [each, each + 0.25],
            dtype="int64" if isinstance(each, int) else "float64",
        )
        for each in ARGUMENTS[name]
    ]
    return Sample(f"special.{name}", *args, order=1)


def _count(name: str) -> int:
    return sum(isinstance(each, tuple) for each in ARGUMENTS[name])


_BROADCAST = [(2, 1), (3,), ()]
_INSIDE = array(values=[0.2, 0.7])
_SHAPES = array(3, low=0.8, high=3.0), array(low=1.5, high=3.0), array(3, low=0.2, high=0.8)
samples = [
    sample
    for name in ARGUMENTS
    for sample in (
        _made(name, *_BROADCAST[: _count(name)]),
        _made(name, *[()] * _count(name)),
        _made(name, *[(0, 2)] * _count(name)),
        _made(name, *[(2, 2)] * _count(name), layout="transposed", order=1),
    )
]
samples += [
    _made(name, *[(2,)] * _count(name), dtype="float32", order=1)
    for name in ARGUMENTS
    if name not in ("bdtr", "bdtrc", "bdtri")  # SciPy has integers for them only in float64
]
samples += [_with_arrays(name) for name in ARGUMENTS if _count(name) < len(ARGUMENTS[name])]
samples += [
    Sample("special.boxcox", array(values=[0.5, 1.0, 2.0]), array(values=[0.0, 0.3, 1e-3])),
    Sample("special.boxcox1p", array(values=[0.5, 1.0, 2.0]), 0.0),
    Sample("special.ellipeinc", array(values=0.8), array(values=[0.0, 0.04, 0.06, -0.5])),
    Sample("special.ellipkinc", array(values=0.8), array(values=[0.0, 0.04, 0.06, -0.5])),
    *(
        Sample(f"special.eval_{name}", array(values=[0, 1, 4], dtype="int64"), array(3, low=0.2))
        for name in ("chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre")
    ),
    Sample("special.expn", array(values=[0, 1, 3], dtype="int64"), array(3, low=0.5, high=2.0)),
    Sample("special.huber", 1.5, array(2, low=-1.0, high=1.0)),
    Sample("special.huber", array(2, low=0.5, high=1.0), -2.0),
    Sample("special.inv_boxcox", array(values=[0.5, 1.0]), array(values=[0.0, 1e-3])),
    Sample("special.inv_boxcox1p", array(values=[0.5, 1.0]), 0.0),
    Sample("special.multigammaln", array(2, low=2.5, high=4.0), 3),
    Sample("special.multigammaln", array(low=1.5, high=4.0), d=1),
    Sample("special.beta_density", array(values=[12.0, 30.0, 1.5]), 20.0, array(values=0.3)),
    Sample("special.gamma_density", array(values=[12.0, 30.0]), array(values=[8.0, 35.0])),
    Sample("special.betainc_by_shapes", *_SHAPES, order=1),
    Sample("special.betainc_by_shapes", *_SHAPES, by_a=0, by_b=1, order=1),
    *(
        Sample("special.betainc_by_shapes", 1.5, 2.5, _INSIDE, by_a=by_a, by_b=2 - by_a)
        for by_a in range(3)
    ),
    Sample("special.gammainc_by_shape", _SHAPES[0], array(values=[0.4, 1.2, 6.0]), order=1),
    Sample("special.gammainc_by_shape", 1.5, array(values=[0.4, 1.2, 6.0]), 2),
    Sample("special.stdtr", _SHAPES[0], array(values=[0.4, -1.2, 6.0])),
    Sample("special.stdtr_by_df", _SHAPES[0], array(values=[0.4, -1.2, 6.0]), order=1),
    Sample("special.stdtrit", _SHAPES[0], array(values=[0.4, 0.1, 0.9]), order=1),
    Sample("special.lpmv", array(values=[0, 2], dtype="int64"), 3.0, array(values=[0.3, -0.6])),
    Sample("special.lpmv", array(values=[-1, -2], dtype="int64"), 3.0, array(values=[0.3, -0.6])),
    Sample("special.lpmv_slope", -1, 2.5, array(values=[0.3, -0.6]), order=2),
    Sample(
        "special.boxcox_slope", array(values=[0.5, 2.0, 5.0]), array(values=[3.0, 0.0, -2.0]), 2
    ),
    Sample(
        "special.boxcox1p_slope", array(values=[-0.4, 2.0, 5.0]), array(values=[3.0, 0.0, -2.0])
    ),
    Sample("special.polygamma_rise", array(values=[0.5, 2.0]), array(values=[-0.3, 15.0]), 1),
    Sample("special.polygamma_rise", array(values=[-0.5, 2.0]), 1.2, 2),
    Sample("special.polygamma", 0, array(2, low=0.5, high=3.0)),
    Sample("special.xlogy", array(2, low=0.3), 2.0),
    Sample("special.xlogy", 2, array(2, low=0.3)),
    Sample("special.xlogy", array(values=[0.0, 1.0]), array(values=[2.0, 3.0])),
    Sample("special.zeta", array(2, low=1.5, high=3.0)),
    *(
        Sample(f"special.{name}", 2, array(2, low=0.5, high=3.0), derivative=True)
        for name in ("spherical_in", "spherical_jn", "spherical_kn", "spherical_yn")
    ),
    *(
        Sample(f"special.{name}", 1.5, array(2, low=0.5, high=2.0, dtype="complex128"))
        for name in ("hankel1", "hankel2", "hyp0f1", "iv", "jv", "kv", "kve", "yv")
    ),
]
