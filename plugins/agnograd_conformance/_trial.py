"""A sample in one precision on one backend, and what checks need of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from agnograd import Variable, autodiff
from agnograd.extend import ArraySpec, Op, Sample, domain_named
from agnograd.testing.differences import Problem, cotangents
from agnograd_conformance._case import Case, arrays_in, op_of

__all__ = ["DOUBLE", "NotApplicable", "Recorded", "Trial", "precisions", "wrapped"]

SINGLE = {"float64": "float32", "complex128": "complex64"}
DOUBLE = {single: double for double, single in SINGLE.items()}


class NotApplicable(Exception):  # noqa: N818 - nothing is wrong
    """Raised by a check that has nothing to say of a trial; the message is the reason."""


class Trial:
    """A sample in one precision on one backend: every call of ``case`` gives fresh arrays.

    Parameters
    ----------
    sample : Sample
        The sample as it stands beside the rule.
    dtype : str
        The widest of the dtypes that its arrays are to have: a sample of float64 arrays, say,
        is tried with float32 ones, too.
    backend, lowering : str
        The backend, and how compiled programs run there, as ``ag.compile`` has it.
    seed : int
        Which arrays are drawn; 0 for those that are checked by default.

    Attributes
    ----------
    turn : int or None
        The place among the samples of a quick run, where a check of many parts takes these in turn.
    """

    def __init__(
        self, sample: Sample, dtype: str, backend: str, seed: int = 0, lowering: str = "auto"
    ) -> None:
        self.given = sample
        self.dtype = dtype
        self.backend = backend
        self.seed = seed
        self.lowering = lowering
        self.turn: int | None = None
        self.derivatives: dict[int, list[Any]] = {}  # those that are known, by their order
        narrow = dtype in DOUBLE
        self.sample = sample.mapped(_to_single) if narrow else sample

    @property
    def domain(self) -> Any:
        """The backend's domain."""
        return domain_named(self.backend)

    @property
    def op(self) -> Op:
        """The op that the sample calls."""
        return op_of(self.sample)

    @property
    def single(self) -> bool:
        """Whether an array is of single precision."""
        return any(
            str(item.dtype if isinstance(item, ArraySpec) else item) in (name, f"dtype:{name}")
            for item in self.sample.items()
            for name in DOUBLE
        )

    @property
    def tolerance(self) -> float:
        """How far values that are computed in another way may be apart."""
        return 1e-3 if self.single else 1e-9

    def runs_on(self, backend: str) -> bool:
        """Return whether the sample is for a backend."""
        return self.given.backends is None or backend in self.given.backends

    def on(self, backend: str) -> Trial:
        """Return the same trial on a backend, with nothing known of it."""
        lowering = self.lowering if backend == self.backend else "auto"
        return Trial(self.given, self.dtype, backend, self.seed, lowering)

    def case(self) -> Case:
        """Return the sample's call, with fresh arrays."""
        return Case(self.sample, self.backend, self.seed)

    def problem(self) -> Problem:
        """Return the call as a function of its differentiable arrays, with fresh ones."""
        case = self.case()
        if not case.places:
            raise NotApplicable("no input has a gradient")
        return Problem(case, wrapped(case.inputs, self.domain, False))

    @cached_property
    def reference(self) -> Trial:
        """The trial whose differences the derivatives are compared with: in double precision.

        They are taken on NumPy, whose values the others must have, too: a library that compiles
        every op for every shape, or builds graphs, would take an hour.
        """
        backend = "numpy" if self.runs_on("numpy") else self.backend
        if not self.single and backend == self.backend:
            return self
        wide = self.sample.mapped(_to_double)
        return Trial(wide, DOUBLE.get(self.dtype, self.dtype), backend, self.seed)

    def needs_derivative(self, order: int) -> None:
        """Raise NotApplicable if the sample has no derivative of this order."""
        if self.sample.order < order:
            raise NotApplicable(f"the sample is for derivatives up to order {self.sample.order}")

    def needs_sizes(self, outputs: Sequence[Any]) -> None:
        """Raise NotApplicable if an output's size is unknown, as the backend says they may be."""
        unknown = [v.shape for v in outputs if not all(isinstance(n, int) for n in v.shape)]
        if not unknown:
            return
        if self.domain.backend.capabilities.unknown_shapes:
            raise NotApplicable("the size of the result is unknown before it is computed")
        raise AssertionError(
            f"the result has shape {unknown[0]}: if sizes may be unknown, say so with "
            "Capabilities(unknown_shapes=True)"
        )


class Recorded:
    """One recorded call of the op itself, whose differentiable inputs are leaves.

    Attributes
    ----------
    named : dict
        The raw arrays among the arguments, as a list for each parameter.
    leaves, outputs : list of Variable
        The differentiable inputs, and the results that depend on them.
    raw_outputs : list of array
        All results.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.case = case = trial.case()
        if case.op.composed:
            raise NotApplicable("the op is made of others, which are checked by themselves")
        if not case.places:
            raise NotApplicable("no input has a gradient")
        if case.sample.before is not None:
            case.args = case.sample.before(case.args[0], case.domain.raw), *case.args[1:]
        types = case.domain.array_types
        self.named: dict[str, list[Any]] = {}
        for place, name in case.names.items():
            arrays = [x for x in arrays_in(case.argument(place)) if isinstance(x, types)]
            self.named.setdefault(name, []).extend(arrays)
        tracked = wrapped(case.inputs, case.domain, True)
        self.leaves = [x for x in arrays_in(tracked) if isinstance(x, Variable)]
        args, kwargs = case.filled(*tracked)
        result = arrays_in(attrgetter(case.op.name)(case.domain.namespace)(*args, **kwargs))
        self.raw_outputs = [each.data for each in result if isinstance(each, Variable)]
        self.outputs = [each for each in result if getattr(each, "requires_grad", False)]
        if self.outputs and self.outputs[0].is_leaf:
            raise NotApplicable("the op gives its input back")
        if not self.outputs:
            raise NotApplicable("no result has a gradient")

    @property
    def wanted(self) -> set[str]:
        """What the rules of the differentiable inputs name, but ``g`` and ``xp``."""
        op = self.case.op
        rules = [op.rules[self.case.names[place]] for place in self.case.places]
        return {name for rule in rules for name in rule.names} - {"g", "xp"}

    def cotangents(self, seed: int = 1) -> list[Variable]:
        """Return fixed cotangents of the outputs."""
        self.trial.needs_sizes(self.outputs)
        return cotangents(self.outputs, seed)

    def gradients(self, cotangents: Sequence[Any], **options: Any) -> list[Variable]:
        """Return the gradients of the leaves."""
        found = autodiff.grad(self.outputs, self.leaves, cotangents, **options)
        return list(found)  # type: ignore[arg-type]

    def differentiate_again(self, gradients: Sequence[Variable]) -> None:
        """Run a pass over recorded gradients, if the sample has a second derivative."""
        further = [g for g in gradients if g.requires_grad]
        if further and self.trial.sample.order > 1:
            autodiff.grad(further, self.leaves, further, allow_unused=True)


def precisions(sample: Sample) -> list[str]:
    """Return the dtypes that a sample is tried in; one without inexact arrays in its own."""
    dtypes: list[str] = [spec.dtype for spec in sample.specs()]
    inexact = [dtype for dtype in dtypes if dtype in SINGLE or dtype in DOUBLE]
    if not inexact:
        return dtypes[:1] or ["float64"]
    kind = "complex128" if any("complex" in dtype for dtype in inexact) else "float64"
    if any(dtype in DOUBLE for dtype in inexact):
        return [SINGLE[kind]]
    return [kind, SINGLE[kind]]


def wrapped(value: Any, domain: Any, tracked: bool) -> Any:
    """Return arrays as Variables of a backend; two backends may serve one library."""
    if isinstance(value, list | tuple):
        return [wrapped(each, domain, tracked) for each in value]
    types: Any = domain.array_types
    if isinstance(value, types) and domain.is_inexact(value.dtype):
        return domain.Variable(value, tracked)
    return value


def _to_single(value: Any) -> Any:
    if isinstance(value, ArraySpec):
        return value._replace(dtype=SINGLE.get(value.dtype, value.dtype))
    return value


def _to_double(value: Any) -> Any:
    if isinstance(value, ArraySpec):
        return value._replace(dtype=DOUBLE.get(value.dtype, value.dtype))
    if isinstance(value, str) and value.startswith("dtype:"):
        name = value.removeprefix("dtype:")
        return f"dtype:{DOUBLE.get(name, name)}"
    return value
