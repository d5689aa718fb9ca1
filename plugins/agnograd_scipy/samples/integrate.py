"""Samples of integrals and differential equations."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd_scipy.samples._program import Program

_decay = Program("lambda t, y, p: -p * y + 0.1 * t * y**2")
_tight: Any = {"rtol": 1e-9, "atol": 1e-11}
_start, _rate = array(2, low=0.5, high=1.0), array(2, low=0.5, high=1.0)

samples = [
    *(
        Sample(
            "integrate.solve_ivp",
            _decay,
            (0.0, 0.5),
            _start,
            method,
            times,
            (_rate,),
            after=lambda out, xp: out.y[:, -2:] if out.t.shape[0] < 4 else out.y[:, -1],
            **_tight,
        )
        for method, times in (("RK45", None), ("DOP853", [0.0, 0.2, 0.5]), ("RK45", [0.3, 0.45]))
    ),
    Sample(
        "integrate.solve_ivp",
        _decay,
        [array(values=0.1), array(values=0.6)],
        _start,
        args=(0.7,),
        rtol=1e-6,
        after=lambda out, xp: (out.t[-1], out.y[:, -1]),
        order=1,
    ),
    Sample(
        "integrate.solve_ivp",
        _decay,
        (0.5, 0.0),
        _start,
        "RK23",
        args=(0.7,),
        rtol=1e-5,
        order=0,
    ),
    Sample(
        "integrate.quad",
        Program("lambda x, p: x**2 / (1 + p * x)"),
        0.2,
        array(values=1.3),
        (array(low=0.5),),
        after=lambda out, xp: out[0],
        epsabs=1e-4,
        epsrel=1e-4,
    ),
    Sample(
        "integrate.quad",
        Program("lambda x, p: 1 / (p + x**2)"),
        array(values=0.3),
        float("inf"),
        (array(low=0.5),),
        after=lambda out, xp: out[0],
        epsabs=1e-4,
        epsrel=1e-4,
    ),
    Sample(
        "integrate.fixed_quad",
        Program("lambda x, p: p * x**3"),
        array(values=0.3),
        array(values=0.9),
        (array(low=0.5),),
    ),
    Sample("integrate.fixed_quad", Program("lambda x: x**3"), 0.0, array(values=0.9), n=3),
]
