"""The table of conventions: the gradients at points without a derivative, as programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from agnograd._util.deferred import function_from

__all__ = ["CONVENTIONS", "Convention"]


class Convention(NamedTuple):
    """A program, a point, and the gradient that every backend gives there.

    Attributes
    ----------
    rule : str
        The convention that the program is an example of.
    program : str
        The array program: an expression, or lines that end with ``return``. It uses ``xp`` and
        its inputs by name.
    at : dict
        The inputs by name: numbers or nested lists of them, real or complex.
    gradient : complex, list or dict
        The gradient of the sum of the result (of its real part); a dict by input if there are
        several inputs.
    second : complex, list or None
        The gradient of the sum of the gradient, if the convention covers it.
    """

    rule: str
    program: str
    at: dict[str, Any]
    gradient: Any
    second: Any = None

    def function(self, xp: Any) -> Callable[..., Any]:
        """Return the program as a function of its inputs, in their order."""
        body = self.program if "return" in self.program else f"return {self.program}"
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        return function_from(f"def program({', '.join(self.at)}):\n{lines}", {"xp": xp})


def _rows(rule: str, *rows: tuple[Any, ...]) -> list[Convention]:
    return [Convention(rule, *row) for row in rows]


FIVE = [-2.0, -1.0, 0.0, 1.0, 2.0]
ROOTS = [[1.0, 0.0], [1.0, 4.0]]
ZEROS = [[0.0, 0.0], [0.0, 0.0]]
INF = float("inf")
HALF = math.sqrt(0.5)
EYE = [[1.0, 0.0], [0.0, 1.0]]
LOST = [[float("nan"), float("nan")], [float("nan"), float("nan")]]

CONVENTIONS: list[Convention] = [
    *_rows(
        "Ties share the gradient equally",
        ("xp.max(x)", {"x": [1.0, 1.0, 0.0]}, [0.5, 0.5, 0.0]),
        ("xp.max(x, axis=0)", {"x": [1.0, 1.0, 0.0]}, [0.5, 0.5, 0.0]),
        ("xp.min(x)", {"x": [1.0, 1.0, 2.0]}, [0.5, 0.5, 0.0]),
        ("xp.maximum(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.5, "y": 0.5}),
        ("xp.minimum(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.5, "y": 0.5}),
        ("xp.maximum(x, 1.0)", {"x": 1.0}, 0.5),
        ("xp.maximum(x, x)", {"x": 1.0}, 1.0),
        ("xp.logaddexp(x, y)", {"x": INF, "y": INF}, {"x": 0.5, "y": 0.5}),
        ("xp.logaddexp(x, y)", {"x": -INF, "y": -INF}, {"x": 0.5, "y": 0.5}),
        ("xp.logaddexp(x, y)", {"x": INF, "y": 1.0}, {"x": 1.0, "y": 0.0}),
        ("xp.unique_values(x)", {"x": [1.0, 1.0, 2.0]}, [0.5, 0.5, 1.0]),
        ("xp.linalg.vector_norm(x, ord=xp.inf)", {"x": [1.0, -1.0, 0.0]}, [0.5, -0.5, 0.0]),
        ("xp.linalg.matrix_norm(x, ord=1)", {"x": EYE}, [[0.5, 0.0], [0.0, 0.5]]),
        ("xp.linalg.matrix_norm(x, ord=2)", {"x": EYE}, [[0.5, 0.0], [0.0, 0.5]]),
    ),
    *_rows(
        "Kinks of absolute values, signs and norms: 0",
        ("xp.abs(x)", {"x": [0.0, -1.0]}, [0.0, -1.0], [0.0, 0.0]),
        ("xp.abs(z)", {"z": 0j}, 0.0),
        ("xp.sign(x)", {"x": [0.0, 2.0]}, [0.0, 0.0]),
        ("xp.sign(z)", {"z": 0j}, 0.0),
        ("xp.linalg.vector_norm(x)", {"x": [0.0, 0.0]}, [0.0, 0.0], [0.0, 0.0]),
        ("xp.linalg.vector_norm(x, ord=1)", {"x": [0.0, 3.0]}, [0.0, 1.0], [0.0, 0.0]),
        ("xp.linalg.vector_norm(x, ord=1.5)", {"x": [0.0, 4.0]}, [0.0, 1.0], [0.0, 0.0]),
        ("xp.linalg.vector_norm(x, ord=0.5)", {"x": [0.0, 4.0]}, [0.0, 1.0], [0.0, 0.0]),
        ("xp.linalg.vector_norm(x, ord=-1)", {"x": [0.0, 2.0, 3.0]}, [0.0] * 3, [0.0] * 3),
        ("xp.linalg.matrix_norm(x)", {"x": ZEROS}, ZEROS, ZEROS),
        ('xp.linalg.matrix_norm(x, ord="nuc")', {"x": ZEROS}, ZEROS, ZEROS),
        ("xp.linalg.matrix_norm(x, ord=2)", {"x": ZEROS}, ZEROS, ZEROS),
        ("xp.linalg.svdvals(x)", {"x": ZEROS}, ZEROS),
        ("xp.hypot(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.atan2(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.std(x)", {"x": [2.0, 2.0, 2.0]}, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ("xp.std(x)", {"x": [0.1, 0.1, 0.1]}, [0.0, 0.0, 0.0]),
    ),
    *_rows(
        "`clip`: 1 on the closed interval; outside it the bound gets the gradient",
        ("xp.clip(x, -1.0, 1.0)", {"x": FIVE}, [0.0, 1.0, 1.0, 1.0, 0.0]),
        ("xp.clip(x, -1.0)", {"x": FIVE}, [0.0, 1.0, 1.0, 1.0, 1.0]),
        ("xp.clip(x, max=1.0)", {"x": FIVE}, [1.0, 1.0, 1.0, 1.0, 0.0]),
        ("xp.clip(x, a, b)", {"x": 1.0, "a": 1.0, "b": 1.0}, {"x": 1.0, "a": 0.0, "b": 0.0}),
        ("xp.clip(x, a, b)", {"x": 0.0, "a": 1.0, "b": 2.0}, {"x": 0.0, "a": 1.0, "b": 0.0}),
    ),
    *_rows(
        "Steps: 0",
        *(
            (f"xp.{name}(x)", {"x": [1.0, 1.5]}, [0.0, 0.0])
            for name in ("ceil", "floor", "round", "trunc")
        ),
        ("xp.floor_divide(x, y)", {"x": 5.0, "y": 2.0}, {"x": 0.0, "y": 0.0}),
    ),
    *_rows(
        "Zeros in powers, products and determinants: exact derivatives",
        ("xp.pow(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.pow(x, y)", {"x": 0.0, "y": 2.0}, {"x": 0.0, "y": 0.0}),
        ("xp.pow(x, y)", {"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 0.0}),
        ("x**1", {"x": 0.0}, 1.0),
        ("x**2", {"x": 0.0}, 0.0, 2.0),
        ("0.0**x", {"x": 2.0}, 0.0),
        ("0.0**x", {"x": -1.0}, -math.inf, math.inf),
        ("xp.prod(x)", {"x": [0.0, 2.0, 3.0]}, [6.0, 0.0, 0.0], [5.0, 3.0, 2.0]),
        ("xp.prod(x)", {"x": [0.0, 0.0, 3.0]}, [0.0, 0.0, 0.0], [3.0, 3.0, 0.0]),
        ("xp.cumulative_prod(x)", {"x": [0.0, 2.0, 3.0]}, [9.0, 0.0, 0.0]),
        ("xp.linalg.det(x)", {"x": [[1.0, 2.0], [2.0, 4.0]]}, [[4.0, -2.0], [-2.0, 1.0]]),
        ("xp.linalg.det(x)", {"x": ZEROS}, ZEROS, [[1.0, -1.0], [-1.0, 1.0]]),
    ),
    *_rows(
        "A branch that was not taken: 0, whatever its derivative would be",
        ("xp.where(x > 0, xp.sqrt(x), 0.0)", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        ("xp.where(x == 0, 1.0, xp.sin(x) / x)", {"x": 0.0}, 0.0, 0.0),
        (
            "xp.where(x > 0, xp.log(x), 0.0)",
            {"x": [0.0, -1.0, 2.0]},
            [0.0, 0.0, 0.5],
            [0.0, 0.0, -0.25],
        ),
        ("xp.where(x > 0, x * xp.log(x), 0.0)", {"x": [0.0, 1.0]}, [0.0, 1.0], [0.0, 1.0]),
        ("xp.where(x > 0, x**0.5, 0.0)", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        ("xp.where(x > 0, x**y, 0.0)", {"x": 0.0, "y": -1.0}, {"x": 0.0, "y": 0.0}),
        ("xp.where(x > 0, 1 / x, 0.0)", {"x": [0.0, 2.0]}, [0.0, -0.25], [0.0, 0.25]),
        ("xp.where(x < 1, xp.atanh(x), 0.0)", {"x": [1.0, 0.0]}, [0.0, 1.0], [0.0, 0.0]),
        ("xp.where(xp.isnan(x), 0.0, x * x)", {"x": [float("nan"), 1.0]}, [0.0, 2.0], [0.0, 2.0]),
        (
            "n = xp.linalg.vector_norm(x)\nreturn xp.where(n > 0, x / n, 0.0)",
            *({"x": [0.0, 0.0]}, [0.0, 0.0], [0.0, 0.0]),
        ),
        (
            "s = xp.sum(x * x)\nreturn xp.where(s > 0, xp.sqrt(s), 0.0)",
            *({"x": [0.0, 0.0]}, [0.0, 0.0], [0.0, 0.0]),
        ),
        (
            "s, d = xp.linalg.slogdet(x)\nreturn xp.where(s != 0, d, 0.0)",
            *({"x": ZEROS}, ZEROS, ZEROS),
        ),
        (
            "w, v = xp.linalg.eigh(x)\nreturn xp.where(w[0] < 0, v, x * x)",
            *({"x": EYE}, [[2.0, 0.0], [0.0, 2.0]]),
        ),
        (
            "u, s, v = xp.linalg.svd(x)\nreturn xp.where(s[:, :1, None] > 1, u @ v, x)",
            {"x": [EYE, [[2.0, 0.0], [0.0, 1.0]]]},
            [[[1.0, 1.0], [1.0, 1.0]], ZEROS],
        ),
        (
            "xp.where(x > 0, xp.exp(-1 / x), 0.0)",
            *({"x": [0.0, 0.5]}, [0.0, 0.5413411329464508], [0.0, 0.0]),
        ),
        ("xp.sqrt(x)[x > 0]", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        ("xp.take(xp.sqrt(x), xp.asarray([1]))", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        (
            "y = xp.log(x)\ny[x <= 0] = 0.0\nreturn y",
            *({"x": [0.0, 2.0]}, [0.0, 0.5], [0.0, -0.25]),
        ),
        *(
            (program, {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125])
            for program in (
                "xp.sqrt(x)[1]",
                "xp.sqrt(x)[1:]",
                "xp.sqrt(x)[:0:-1]",
                "xp.flip(xp.sqrt(x))[:1]",
                "y = xp.sqrt(x)\ny[0] = 0.0\nreturn y",
                "y = xp.sqrt(x)\ny[:1] = 0.0\nreturn y",
                "xp.unstack(xp.sqrt(x))[1]",
            )
        ),
        ("xp.acos(x)[:1]", {"x": [0.0, 1.0]}, [-1.0, 0.0], [0.0, 0.0]),
        ("(x * (1 / (x - 1)))[:1]", {"x": [2.0, 1.0]}, [-1.0, 0.0], [2.0, 0.0]),
        ("xp.exp(x)[:1]", {"x": [0.0, 1000.0]}, [1.0, 0.0], [1.0, 0.0]),
        ("xp.linalg.trace(xp.sqrt(x))", {"x": ROOTS}, [[0.5, 0.0], [0.0, 0.25]]),
        ("xp.linalg.diagonal(xp.sqrt(x))", {"x": ROOTS}, [[0.5, 0.0], [0.0, 0.25]]),
        ("xp.tril(xp.sqrt(x))", {"x": ROOTS}, [[0.5, 0.0], [0.5, 0.25]]),
    ),
    *_rows(
        "Directions at infinity: beside infinite numbers, which count as equal, others count as 0",
        ("xp.hypot(x, y)", {"x": INF, "y": 1.0}, {"x": 1.0, "y": 0.0}),
        ("xp.hypot(x, 1.0)", {"x": -INF}, -1.0, 0.0),
        ("xp.hypot(x, y)", {"x": INF, "y": -INF}, {"x": HALF, "y": -HALF}),
        ("xp.atan2(x, y)", {"x": INF, "y": 1.0}, {"x": 0.0, "y": 0.0}),
        ("xp.atan2(1.0, x)", {"x": -INF}, 0.0, 0.0),
        ("xp.atan2(x, y)", {"x": INF, "y": INF}, {"x": 0.0, "y": 0.0}),
        ("xp.abs(x)", {"x": [INF, -INF]}, [1.0, -1.0], [0.0, 0.0]),
        ("xp.abs(z)", {"z": complex(INF, 2.0)}, 1.0),
        ("xp.abs(z)", {"z": complex(1.0, -INF)}, -1j),
        ("xp.sign(z)", {"z": complex(INF, 2.0)}, 0.0),
        ("xp.linalg.vector_norm(x)", {"x": [INF, 3.0]}, [1.0, 0.0], [0.0, 0.0]),
        ("xp.linalg.vector_norm(x)", {"x": [INF, -INF]}, [HALF, -HALF], [0.0, 0.0]),
    ),
    *_rows(
        "Hermitian and triangular matrices: only one triangle is read, the lower one unless you "
        "ask for an upper factor; a Hermitian matrix has a Hermitian gradient",
        (
            "xp.linalg.cholesky(x)[1, 0]",
            {"x": [[4.0, 9.0], [2.0, 3.0]]},
            [[-0.125, 0.25], [0.25, 0]],
        ),
        (
            "xp.linalg.cholesky(x, upper=True)[0, 1]",
            *({"x": [[4.0, 2.0], [9.0, 3.0]]}, [[-0.125, 0.25], [0.25, 0.0]]),
        ),
        ("xp.linalg.eigvalsh(x)[1]", {"x": [[2.0, 9.0], [0.0, 1.0]]}, [[1.0, 0.0], [0.0, 0.0]]),
        ("xp.linalg.eigh(x)[0][1]", {"x": [[2.0, 9.0], [0.0, 1.0]]}, [[1.0, 0.0], [0.0, 0.0]]),
        (
            "xp.linalg.solve_triangle(x, y)",
            {"x": [[2.0, 9.0], [0.0, 1.0]], "y": [[2.0], [1.0]]},
            {"x": [[-0.5, 0.0], [-1.0, -1.0]], "y": [[0.5], [1.0]]},
        ),
    ),
    *_rows(
        "Matrices without a derivative: NaN; the other matrices of a batch keep their gradients",
        (
            "xp.real(xp.linalg.eigvals(x)) ** 2",
            {"x": [[[3.0, 1.0], [-1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]]},
            [LOST, [[4.0, 0.0], [0.0, 2.0]]],
        ),
        (
            "xp.real(xp.linalg.eig(x)[0])",
            {"x": [[[0.0, 1.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]]},
            [LOST, EYE],
        ),
        (
            "xp.real(xp.linalg.eigvals(x)) ** 2",
            {"x": [[2.0, 0.0], [0.0, 2.0]]},
            [[4.0, 0], [0, 4.0]],
        ),
        (
            "xp.abs(xp.linalg.qr(x)[1])",
            {"x": [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]]},
            [LOST, [[1.0, 0.0], [0.0, 1.0]]],
        ),
    ),
    *_rows(
        "Complex: dL/da + i dL/db at z = a + ib, for a real L; a real input has a real gradient",
        ("xp.abs(z) ** 2", {"z": 1 + 2j}, 2 + 4j),
        ("xp.real(z)", {"z": 1 + 2j}, 1 + 0j),
        ("xp.imag(z)", {"z": 1 + 2j}, 1j),
        ("x * z", {"x": 2.0, "z": 1 + 3j}, {"x": 1.0, "z": 2 + 0j}),
    ),
    *_rows(
        "Repeated indices: the gradients of two reads add up; only the last of two writes counts",
        ("xp.take(x, xp.asarray([0, 0, 1]))", {"x": [1.0, 2.0]}, [2.0, 1.0]),
        (
            "y = x * 1.0\ny[0] = v\ny[0] = 3 * v\nreturn y",
            {"x": [1.0, 2.0], "v": 1.0},
            {"x": [0.0, 1.0], "v": 3.0},
        ),
    ),
]
