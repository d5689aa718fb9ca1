"""What a gradient is where there is no derivative: program, point, gradient by input."""

ROWS = [
    ("xp.special.xlogy(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
    ("xp.special.xlog1py(x, y)", {"x": 0.0, "y": -1.0}, {"x": 0.0, "y": 0.0}),
    ("xp.special.rel_entr(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
    ("xp.special.kl_div(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 1.0}),
    ("xp.special.i0e(x)", {"x": 0.0}, 0.0),
    ("xp.special.logsumexp(x)", {"x": [-float("inf"), -float("inf")]}, [0.5, 0.5]),
    ("xp.special.logsumexp(x)", {"x": [float("inf"), 1.0, float("inf")]}, [0.5, 0.0, 0.5]),
]
