"""Plans of buffers: memory is used again once it is free, and never while it is needed."""

import numpy as np
import pytest

from agnograd_compile._programs.plan import MemoryPlan, Way, nbytes, planned, shared
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram
from agnograd_compile._programs.verify import verify

FACT = Fact((4,), np.dtype("float64"), (8,), np.ndarray)
WAYS = {
    "sin": Way.ELEMENTWISE,
    "add": Way.ELEMENTWISE,
    "matmul": Way.INTO,
    "@scatter_add": Way.UPDATE,
}


def way(step):
    return WAYS.get(step.op, Way.NEW)


def program(steps, outputs, facts=None, inputs=1):
    """Return a program of lines ``(op, arguments)``; ``reversed`` is a view of its argument."""
    refs = [Ref(i) for i in range(inputs + len(steps))]
    made = []
    for out, (op, *given) in zip(refs[inputs:], steps, strict=True):
        args = tuple(refs[each] for each in given)
        made.append(Step(op, args, {}, (out,), views=args if op == "reversed" else ()))
    known = dict.fromkeys(refs, FACT) | {refs[n]: fact for n, fact in (facts or {}).items()}
    outs = tuple(refs[each] for each in outputs)
    return TracedProgram(None, tuple(refs[:inputs]), {}, tuple(made), outs, known)


def plan_of(steps, outputs, **kwargs):
    found = program(steps, outputs, **kwargs)
    plan = planned(found, way)
    verify(found, plan, way)
    return plan


def test_a_chain_takes_one_buffer():
    plan = plan_of([("sin", 0), ("sin", 1), ("sin", 2), ("sin", 3)], [4])
    assert plan == MemoryPlan((32,), ((0,), (0,), (0,), (None,)), frozenset())


def test_a_product_never_writes_to_an_argument():
    plan = plan_of([("sin", 0), ("matmul", 1, 1), ("matmul", 2, 2), ("sin", 3)], [4])
    assert plan.writes == ((0,), (1,), (0,), (None,))


def test_a_view_keeps_the_buffer():
    plan = plan_of([("sin", 0), ("reversed", 1), ("sin", 0), ("add", 2, 3), ("sin", 4)], [5])
    assert plan.writes[0] != plan.writes[2]
    # The view is read in the step, in other places than the result is written to.
    assert plan.writes[3] == plan.writes[2]


def test_nothing_is_written_over_an_argument_of_which_a_view_is_read():
    plan = plan_of([("sin", 0), ("reversed", 1), ("add", 1, 2), ("sin", 3)], [4])
    assert plan.writes[2] != plan.writes[0]


def test_what_an_output_may_share_has_memory_of_its_own():
    plan = plan_of([("sin", 0), ("reversed", 1), ("sin", 1), ("sin", 3)], [2, 4])
    assert plan.writes == ((None,), (None,), (0,), (None,))


def test_inputs_are_never_written_to():
    plan = plan_of([("add", 0, 1), ("sin", 2)], [3], inputs=2)
    assert plan.writes == ((0,), (None,))
    assert not plan_of([("@scatter_add", 0), ("sin", 1)], [2]).updates


def test_updates_are_in_place_where_nothing_else_needs_the_array():
    steps = [("sin", 0), ("@scatter_add", 1), ("@scatter_add", 2), ("sin", 3)]
    assert plan_of(steps, [4]) == MemoryPlan((32,), ((0,), (0,), (0,), (None,)), frozenset((1, 2)))
    read_later = [("sin", 0), ("@scatter_add", 1), ("add", 1, 2)]
    assert not plan_of(read_later, [3]).updates


def test_updates_that_become_an_output_are_in_memory_of_their_own():
    steps = [("sin", 0), ("@scatter_add", 1), ("@scatter_add", 2)]
    assert plan_of(steps, [3]) == MemoryPlan((), ((None,),) * 3, frozenset((1, 2)))


def test_an_update_does_not_write_over_what_it_adds():
    steps = [("sin", 0), ("reversed", 1), ("@scatter_add", 1, 2), ("sin", 3)]
    assert not plan_of(steps, [4]).updates


def test_buffers_serve_all_values_of_their_size():
    half = Fact((2, 4), np.dtype("float32"), (16, 4), np.ndarray)
    steps = [("sin", 0), ("matmul", 1, 1), ("matmul", 2, 2), ("sin", 3)]
    plan = plan_of(steps, [4], facts={3: half})
    assert plan.sizes == (32, 32)
    assert plan.writes[2] == plan.writes[0]


def test_a_larger_buffer_serves_smaller_values_while_it_is_free():
    large = Fact((8,), np.dtype("float64"), (8,), np.ndarray)
    # The large values are %1 and %2; the small ones, %3 and %4, come after them.
    steps = [("matmul", 0, 0), ("matmul", 1, 1), ("matmul", 2, 2), ("matmul", 3, 3), ("sin", 4)]
    plan = plan_of(steps, [5], facts={1: large, 2: large})
    assert plan.sizes == (64, 64)
    assert plan.writes == ((0,), (1,), (0,), (1,), (None,))


def test_a_larger_buffer_that_is_read_in_the_step_serves_no_other_value():
    large = Fact((8,), np.dtype("float64"), (8,), np.ndarray)
    plan = plan_of([("sin", 0), ("matmul", 1, 1), ("sin", 2)], [3], facts={1: large})
    assert sorted(plan.sizes) == [32, 64]


def test_shared_buffers_are_never_in_use_at_the_same_time():
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes = [int(each) for each in rng.integers(1, 6, 20)]
        busy = [int(each) for each in rng.integers(1, 2**30, 20) & rng.integers(1, 2**30, 20)]
        busy = [each & busy[place - 1] or 1 for place, each in enumerate(busy)]
        found, places = shared(sizes, busy)
        assert len(found) == len(set(places)) <= len(sizes)
        assert all(size <= found[place] for size, place in zip(sizes, places, strict=True))
        for place in range(len(found)):
            members = [k for k in range(20) if places[k] == place]
            # Those of one size are as many as are needed at once: none takes another's place.
            assert len({sizes[k] for k in members}) > 1 or len(members) == 1
            together = sum(busy[k] for k in members)
            assert together.bit_count() == sum(busy[k].bit_count() for k in members)


@pytest.mark.parametrize(
    ("shape", "strides", "size"),
    [
        ((2, 3), (24, 8), 48),
        ((2, 3), (8, 16), 48),
        ((3, 1, 2), (16, 999, 8), 48),
        ((2, 3), (0, 8), None),
        ((2, 3), (48, 16), None),
        ((3,), (-8,), None),
        ((0, 3), (24, 8), None),
        ((2,), None, None),
    ],
)
def test_which_layouts_have_a_size(shape, strides, size):
    assert nbytes(Fact(shape, np.dtype("float64"), strides, np.ndarray)) == size


def over(steps, outputs, **kwargs):
    """Return a plan in which results go over arguments, as pairs of a step and an argument."""
    found = program(steps, outputs, **kwargs)
    plan = planned(found, way, over=True)
    verify(found, plan, way)
    return plan, {number: ref.number for number, ref in plan.over.items()}


def test_what_only_becomes_an_output_is_in_its_memory():
    plan, found = over([("matmul", 0, 0), ("sin", 1), ("add", 2, 0)], [3])
    assert found == {1: 1, 2: 2}
    assert plan.sizes == ()


@pytest.mark.parametrize(
    ("steps", "outputs"),
    [
        ([("sin", 0), ("sin", 1)], [1, 2]),  # it is an output itself
        ([("sin", 0), ("sin", 1), ("reversed", 1), ("add", 2, 3)], [2, 4]),  # it is read later
        ([("sin", 0), ("matmul", 1, 1)], [2]),  # it is not read element by element
        ([("sin", 0), ("reversed", 1), ("add", 1, 2)], [3]),  # a view is read, too
        ([("cos", 0), ("sin", 1)], [2]),  # the library decides on its memory
        ([("sin", 0), ("reversed", 0), ("sin", 2)], [3]),  # it is the caller's
    ],
)
def test_other_outputs_are_written_over_nothing(steps, outputs):
    assert over(steps, outputs)[1] == {}


def test_outputs_go_over_arguments_of_their_layout_only():
    half = Fact((2, 4), np.dtype("float32"), (16, 4), np.ndarray)
    assert over([("sin", 0), ("sin", 1)], [2], facts={1: half})[1] == {}
    scalar = Fact((), np.dtype("float64"), (), np.float64)
    facts = {0: scalar, 1: scalar, 2: scalar}
    assert over([("sin", 0), ("sin", 1)], [2], facts=facts)[1] == {}
