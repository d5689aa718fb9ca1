"""What a gradient is at the ends of supports: program, point, gradient by input, the second one."""

INF = float("inf")

ROWS = [
    ("xp.stats.expon.logpdf(x)", {"x": [-1.0, 0.0, 1.0]}, [0.0, -1.0, -1.0], [0.0, 0.0, 0.0]),
    ("xp.stats.expon.cdf(x)", {"x": [-1.0, 0.0]}, [0.0, 1.0], [0.0, -1.0]),
    ("xp.stats.gamma.pdf(x, 2.0)", {"x": [-1.0, 0.0]}, [0.0, 1.0], [0.0, -2.0]),
    ("xp.stats.gamma.logpdf(x, 2.0)", {"x": [-1.0, 0.0]}, [0.0, INF]),
    ("xp.stats.weibull_min.pdf(x, 2.0)", {"x": [-1.0, 0.0]}, [0.0, 2.0], [0.0, 0.0]),
    ("xp.stats.uniform.cdf(x)", {"x": [-0.5, 0.0, 1.0, 1.5]}, [0.0, 1.0, 1.0, 0.0]),
    ("xp.stats.uniform.logpdf(x, 0.0, s)", {"x": [0.5, 1.5], "s": 1.0}, {"x": [0.0, 0.0], "s": -1}),
    ("xp.stats.lognorm.pdf(x, s)", {"x": 0.0, "s": 1.0}, {"x": 0.0, "s": 0.0}),
    ("xp.stats.laplace.logpdf(x)", {"x": 0.0}, 0.0),
    ("xp.stats.norm.logpdf(x)", {"x": [-INF, INF]}, [0.0, 0.0], [0.0, 0.0]),
    ("xp.stats.norm.pdf(x, 0.0, s)", {"x": 1.0, "s": -1.0}, {"x": 0.0, "s": 0.0}),
    (
        "xp.stats.expon.ppf(q, m, s)",
        *({"q": 0.0, "m": 2.0, "s": 1.0}, {"q": 0.0, "m": 1.0, "s": 0.0}),
    ),
    ("xp.stats.poisson.pmf(1, m)", {"m": 0.0}, 1.0, -2.0),
    ("xp.stats.binom.logpmf(0, 3, p)", {"p": 0.0}, -3.0, -3.0),
]
