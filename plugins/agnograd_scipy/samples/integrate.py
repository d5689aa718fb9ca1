"""Samples of integrals and differential equations."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd_scipy.samples._program import Program

_decay = Program("lambda t, y, p: -p * y + 0.1 * t * y**2")
_DEEP = ("cupy", "jax", "numpy", "strict", "torch")  # Dask's recursion is not as deep as the graph
_QUICK = ("cupy", "numpy", "strict", "torch")  # SciPy moves from JAX and back for each evaluation
# Steps that no tolerance shortens: they are the same with a derivative and without one.
_loose: Any = {"rtol": 1e-2, "atol": 1e-2}
_even: Any = {**_loose, "hmax": 0.1, "h0": 0.1}
_even_steps: Any = {**_loose, "max_step": 0.1, "first_step": 0.1}
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
            backends=_DEEP,
            after=lambda out, xp: out.y[:, -2:] if out.t.shape[0] < 4 else out.y[:, -1],
            **_even_steps,
        )
        for method, times in (("RK45", None), ("DOP853", [0.0, 0.2, 0.5]), ("RK45", [0.3, 0.45]))
    ),
    Sample(
        "integrate.solve_ivp",
        _decay,
        (0.0, 0.2),
        _start,
        "DOP853",
        args=(_rate,),
        after=lambda out, xp: out.y[:, -1],
        adjoint="continuous",
        backends=_QUICK,
        rtol=1e-5,
        atol=1e-7,
    ),
    Sample(
        "integrate.solve_ivp",
        _decay,
        [array(values=0.1), array(values=0.6)],
        _start,
        args=(0.7,),
        **_even_steps,
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
        **_even_steps,
        order=0,
    ),
    Sample(
        "integrate.odeint",
        Program("lambda y, t, p: -p * y + 0.1 * t * y**2"),
        _start,
        [0.0, 0.2, 0.5],
        (_rate,),
        backends=_DEEP,
        after=lambda out, xp: out[1:, :],
        **_even,
    ),
    Sample(
        "integrate.odeint",
        Program("lambda t, y, p: [p * y[1], -y[0]]"),
        _start,
        array(values=[0.1, 0.4]),
        (0.7,),
        tfirst=True,
        **_even,
        order=1,
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
