"""What a gradient is where there is no derivative: the table of conventions, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["CONVENTIONS", "Convention"]


class Convention(NamedTuple):
    """A program, a point, and the gradient that every backend gives there.

    Attributes
    ----------
    rule : str
        What it is an example of.
    program : str
        The array program: an expression, or lines that end with ``return``; it names ``xp`` and
        its inputs.
    at : dict
        The inputs by name: numbers or nested lists of them, real or complex.
    gradient : complex, list or dict
        The gradient of the result's sum (of its real part), by input if there are several.
    second : complex, list or None
        The gradient of the gradient's sum, if it is part of the convention.
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
        scope: dict[str, Any] = {"xp": xp}
        exec(f"def program({', '.join(self.at)}):\n{lines}", scope)
        function: Callable[..., Any] = scope["program"]
        return function


def _rows(rule: str, *rows: tuple[Any, ...]) -> list[Convention]:
    return [Convention(rule, *row) for row in rows]


FIVE = [-2.0, -1.0, 0.0, 1.0, 2.0]
ZEROS = [[0.0, 0.0], [0.0, 0.0]]
EYE = [[1.0, 0.0], [0.0, 1.0]]

CONVENTIONS: list[Convention] = [
    *_rows(
        "Ties share equally",
        ("xp.max(x)", {"x": [1.0, 1.0, 0.0]}, [0.5, 0.5, 0.0]),
        ("xp.max(x, axis=0)", {"x": [1.0, 1.0, 0.0]}, [0.5, 0.5, 0.0]),
        ("xp.min(x)", {"x": [1.0, 1.0, 2.0]}, [0.5, 0.5, 0.0]),
        ("xp.maximum(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.5, "y": 0.5}),
        ("xp.minimum(x, y)", {"x": 1.0, "y": 1.0}, {"x": 0.5, "y": 0.5}),
        ("xp.maximum(x, 1.0)", {"x": 1.0}, 0.5),
        ("xp.maximum(x, x)", {"x": 1.0}, 1.0),
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
        ("xp.linalg.vector_norm(x, ord=0.5)", {"x": [0.0, 4.0]}, [0.0, 1.0]),
        ("xp.linalg.matrix_norm(x)", {"x": ZEROS}, ZEROS, ZEROS),
        ('xp.linalg.matrix_norm(x, ord="nuc")', {"x": ZEROS}, ZEROS, ZEROS),
        ("xp.linalg.matrix_norm(x, ord=2)", {"x": ZEROS}, ZEROS),
        ("xp.linalg.svdvals(x)", {"x": ZEROS}, ZEROS),
        ("xp.hypot(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.atan2(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.std(x)", {"x": [2.0, 2.0, 2.0]}, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ("xp.std(x)", {"x": [0.1, 0.1, 0.1]}, [0.0, 0.0, 0.0]),
    ),
    *_rows(
        "`clip` is 1 on the closed interval; a bound has what the array has not",
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
        "Zeros are as good as any other number",
        ("xp.pow(x, y)", {"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}),
        ("xp.pow(x, y)", {"x": 0.0, "y": 2.0}, {"x": 0.0, "y": 0.0}),
        ("x**1", {"x": 0.0}, 1.0),
        ("x**2", {"x": 0.0}, 0.0, 2.0),
        ("0.0**x", {"x": 2.0}, 0.0),
        ("xp.prod(x)", {"x": [0.0, 2.0, 3.0]}, [6.0, 0.0, 0.0], [5.0, 3.0, 2.0]),
        ("xp.prod(x)", {"x": [0.0, 0.0, 3.0]}, [0.0, 0.0, 0.0], [3.0, 3.0, 0.0]),
        ("xp.cumulative_prod(x)", {"x": [0.0, 2.0, 3.0]}, [9.0, 0.0, 0.0]),
        ("xp.linalg.det(x)", {"x": [[1.0, 2.0], [2.0, 4.0]]}, [[4.0, -2.0], [-2.0, 1.0]]),
        ("xp.linalg.det(x)", {"x": ZEROS}, ZEROS, [[1.0, -1.0], [-1.0, 1.0]]),
    ),
    *_rows(
        "A branch that was not taken: 0, whatever it would be",
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
        ("xp.sqrt(x)[x > 0]", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        ("xp.take(xp.sqrt(x), xp.asarray([1]))", {"x": [0.0, 4.0]}, [0.0, 0.25], [0.0, -0.03125]),
        (
            "y = xp.log(x)\ny[x <= 0] = 0.0\nreturn y",
            *({"x": [0.0, 2.0]}, [0.0, 0.5], [0.0, -0.25]),
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
        "Places that are read twice add up; of two writes to a place the last one stands",
        ("xp.take(x, xp.asarray([0, 0, 1]))", {"x": [1.0, 2.0]}, [2.0, 1.0]),
        (
            "y = x * 1.0\ny[0] = v\ny[0] = 3 * v\nreturn y",
            {"x": [1.0, 2.0], "v": 1.0},
            {"x": [0.0, 1.0], "v": 3.0},
        ),
    ),
]
