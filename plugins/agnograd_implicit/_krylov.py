"""Linear systems by products only: conjugate gradients and GMRES, for the arrays of any library.

They are a page of the standard's functions, so that derivatives do not depend on what is installed,
and stay on the device that the arrays are on. SciPy's own are for NumPy's arrays; they, and others
that are better for a certain matrix, are used as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd.errors import SolverError
from agnograd.extend import switch

if TYPE_CHECKING:
    from agnograd.extend.transforms import Domain

__all__ = ["KRYLOV_VECTORS", "Measures", "cg", "gmres"]

Product = Callable[[Any], Any]
# How many vectors GMRES keeps: it begins again after as many, and with too few comes to no end.
KRYLOV_VECTORS = switch("KRYLOV_VECTORS", 50, least=50, most=1000, module=__name__)
# Where the residual is not at least so many times smaller than before it, GMRES goes on in the
# direction of the last product.
_STAGNATES = 0.9


class Measures:
    """The numbers that a method goes by, of raw vectors."""

    def __init__(self, domain: Domain, b: Any, rtol: float | None, maxiter: int | None) -> None:
        self.domain, self.xp = domain, domain.raw
        self.spacing = 2.0**-52 if domain.name_of(b.dtype) == "float64" else 2.0**-23
        self.scale = self.norm(b)
        # Some digits more than half of them: what else is wrong with a derivative is seldom less.
        self.enough = (self.spacing**0.75 if rtol is None else rtol) * self.scale
        self.most = 10 * b.shape[0] + KRYLOV_VECTORS if maxiter is None else maxiter

    def dot(self, x: Any, y: Any) -> float:
        """Return the inner product of two vectors."""
        return float(self.domain.item(self.xp.vecdot(x, y)))

    def norm(self, x: Any) -> float:
        """Return the length of a vector."""
        return float(self.dot(x, x) ** 0.5)

    def is_rounding(self, r: float, x: Any, directions: Sequence[Any]) -> bool:
        """Return whether a residual is what rounding leaves of a product of ``x``.

        Products of the directions have the length 1, which bounds the matrix from below.
        """
        norms = [self.norm(each) for each in directions]
        largest = 1.0 / min(norms) if norms else 0.0
        bound = 100.0 * self.spacing * largest * self.norm(x)
        return bool(r <= min(bound, self.spacing**0.5 * self.scale))

    def failed(self, method: str, r: float, steps: int, why: str = "") -> SolverError:
        """Return the error of a method that came to an end without a solution."""
        relative = r / self.scale if self.scale else r
        return SolverError(
            f"solve={method!r} did not solve the linear system of a derivative: after {steps} "
            f"steps its residual is {relative:.1e} of the right hand side, and has to be "
            f"{self.enough / self.scale if self.scale else 0.0:.1e}{why}. The Jacobian may be "
            "singular or badly conditioned at the solution: give a preconditioner, a larger rtol "
            "or maxiter, or use solve='dense'"
        )


def cg(product: Product, b: Any, precondition: Product | None, measures: Measures) -> Any:
    """Solve a system of a symmetric definite matrix by conjugate gradients.

    Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952. It does
    not matter whether the matrix is positive or negative definite.
    """
    x, r = b * 0.0, b
    p: Any = None
    before = 1.0
    for steps in range(measures.most + 1):
        size = measures.norm(r)
        if size <= measures.enough:
            return x
        if steps == measures.most or size > measures.scale / measures.spacing:
            break
        z = r if precondition is None else precondition(r)
        now = measures.dot(r, z)
        p = z if p is None else z + (now / before) * p
        image = product(p)
        curvature = measures.dot(p, image)
        if curvature == 0.0 or curvature != curvature:
            raise measures.failed("cg", size, steps, ", and the matrix is not definite")
        step, before = now / curvature, now
        x, r = x + step * p, r - step * image
    raise measures.failed("cg", size, steps)


def gmres(product: Product, b: Any, precondition: Product | None, measures: Measures) -> Any:
    """Solve a system of any matrix so that residuals are least, with restarts.

    The iterates are those of Saad and Schultz, "GMRES", 1986, preconditioned from the right. They
    are computed from directions and their orthonormal products, which needs no matrix on the host:
    the adaptive variant of Jiranek and Rozloznik, "Adaptive version of simpler GMRES", 2010. A
    direction is the residual, or the last product where the residual did not get smaller.
    """
    xp = measures.xp
    x, r, steps = b * 0.0, b, 0
    size = measures.scale
    while not size <= measures.enough:
        first, direction = size, r
        directions: list[Any] = []
        products: list[Any] = []
        while (
            len(products) < KRYLOV_VECTORS and steps < measures.most and not size <= measures.enough
        ):
            z = direction if precondition is None else precondition(direction)
            q = product(z)
            length = measures.norm(q)
            if products:
                q, z = _orthogonal(xp, q, z, xp.stack(products), xp.stack(directions))
            left = measures.norm(q)
            if not left > 1e-14 * length:  # also if it is NaN
                break
            q, z = q / left, z / left
            step = measures.dot(q, r)
            r = r - step * q
            x = x + step * z
            products.append(q)
            directions.append(z)
            steps, before = steps + 1, size
            size = measures.norm(r)
            direction = r / size if 0.0 < size <= _STAGNATES * before else q
        r = b - product(x)  # without the rounding of updates
        size = measures.norm(r)
        if not size <= measures.enough and not (steps < measures.most and size < first):
            if measures.is_rounding(size, x, directions):
                break
            raise measures.failed("gmres", size, steps)
    return x


def _orthogonal(xp: Any, q: Any, z: Any, products: Any, directions: Any) -> tuple[Any, Any]:
    """Take what is along earlier products from a product, and the same from its direction.

    Twice is enough (Giraud and others, "The loss of orthogonality in the Gram-Schmidt
    orthogonalization process", 2005).
    """
    for _ in range(2):
        along = products @ q
        q, z = q - along @ products, z - along @ directions
    return q, z
