"""The verifier finds each kind of wrong plan."""

from dataclasses import replace

import numpy as np
import pytest

from agnograd_compile._programs.plan import MemoryPlan, planned
from agnograd_compile._programs.program import Fact
from agnograd_compile._programs.verify import PlanError, verify
from tests.plugins.compile.programs.test_plan import FACT, program, way

NO = frozenset()
CHAIN = [("sin", 0), ("sin", 1), ("add", 1, 2), ("sin", 3)]
SCATTER = [("sin", 0), ("@scatter_add", 1), ("sin", 2)]


def refused(steps, outputs, plan, message, **kwargs):
    with pytest.raises(PlanError, match=message):
        verify(program(steps, outputs, **kwargs), plan, way)


def test_right_plans_pass():
    for steps in (CHAIN, SCATTER):
        found = program(steps, [len(steps)])
        verify(found, planned(found, way), way)


def test_a_value_that_was_overwritten():
    plan = MemoryPlan((32,), ((0,), (0,), (None,), (None,)), NO)
    refused(CHAIN, [4], plan, r"step 2 \(add\) reads %1, but buffer 0 was written to since")


def test_a_view_of_what_was_overwritten():
    steps = [("sin", 0), ("reversed", 1), ("sin", 0), ("add", 2, 3)]
    plan = MemoryPlan((32,), ((0,), (None,), (0,), (None,)), NO)
    refused(steps, [4], plan, r"step 3 \(add\) reads %2, but buffer 0")


def test_outputs_in_buffers():
    refused([("sin", 0)], [1], MemoryPlan((32,), ((0,),), NO), "output %1 is in buffer 0")
    steps = [("sin", 0), ("reversed", 1)]
    refused(steps, [2], MemoryPlan((32,), ((0,), (None,)), NO), "output %2 is in buffer 0")


def test_outputs_that_were_overwritten():
    plan = MemoryPlan((), ((None,), (None,), (None,)), frozenset((1,)))
    refused(SCATTER, [1, 3], plan, "the result reads %1, but memory of %1 was written to since")


def test_results_over_arguments():
    steps = [("sin", 0), ("matmul", 1, 1), ("sin", 2)]
    plan = MemoryPlan((32,), ((0,), (0,), (None,)), NO)
    refused(steps, [3], plan, r"step 1 \(matmul\) writes %2 to buffer 0, where its argument %1 is")
    steps = [("sin", 0), ("reversed", 1), ("sin", 2), ("sin", 3)]
    plan = MemoryPlan((32,), ((0,), (None,), (0,), (None,)), NO)
    refused(steps, [4], plan, r"step 2 \(sin\) writes %3 to buffer 0, where its argument %2 is")


def test_results_over_arguments_of_another_layout():
    steps = [("sin", 0), ("sin", 1), ("sin", 2)]
    other = Fact((4,), np.dtype("int64"), (8,), np.ndarray)
    plan = MemoryPlan((32,), ((0,), (0,), (None,)), NO)
    verify(program(steps, [3]), plan, way)
    refused(steps, [3], plan, "where its argument %1 is", facts={1: other})


def test_changes_of_what_is_not_the_programs_own():
    plan = MemoryPlan((), ((None,), (None,)), frozenset((0,)))
    refused([("@scatter_add", 0), ("sin", 1)], [2], plan, "changes %0, which is not the program's")
    steps = [("sin", 0), ("reversed", 1), ("@scatter_add", 2), ("sin", 3)]
    plan = MemoryPlan((), ((None,),) * 4, frozenset((2,)))
    refused(steps, [4], plan, "makes %3 of %2, which has another layout")
    steps = [("sin", 0), ("reversed", 1), ("@scatter_add", 1, 2), ("sin", 3)]
    refused(steps, [4], plan, "changes %1 while it reads %2, in the same memory")


def test_changes_of_what_is_read_later():
    steps = [("sin", 0), ("@scatter_add", 1), ("add", 1, 2)]
    plan = MemoryPlan((), ((None,),) * 3, frozenset((1,)))
    refused(steps, [3], plan, r"step 2 \(add\) reads %1, but memory of %1 was written to since")


def test_a_change_that_is_planned_elsewhere():
    plan = MemoryPlan((32, 32), ((0,), (1,), (None,)), frozenset((1,)))
    refused(SCATTER, [3], plan, "changes %1 in buffer 0, and not in")
    plan = MemoryPlan((32,), ((None,), (0,), (None,)), frozenset((1,)))
    refused(SCATTER, [3], plan, "changes %1 in memory of %1, and not in")


def test_steps_that_cannot_write_to_buffers():
    steps = [("reversed", 0), ("sin", 1)]
    refused(steps, [2], MemoryPlan((32,), ((0,), (None,)), NO), "cannot write %1 to buffer 0")
    steps = [("sin", 0), ("sin", 1)]
    refused(
        steps, [2], MemoryPlan((), ((None,), (None,)), frozenset((1,))), "cannot change its first"
    )
    view = program(steps, [2])
    changed = replace(view.steps[0], views=view.inputs)
    with pytest.raises(PlanError, match="but it is a view of"):
        verify(
            replace(view, steps=(changed, view.steps[1])),
            MemoryPlan((32,), ((0,), (None,)), NO),
            way,
        )


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (FACT._replace(shape=(5,)), "more than the 32 bytes"),
        (FACT._replace(strides=(16,)), "leave gaps"),
        (FACT._replace(strides=(0,)), "lie on each other"),
        (FACT._replace(shape=(2, 2), strides=(8, 8)), "lie on each other"),
        (FACT._replace(strides=(-8,)), "lie on each other"),
    ],
)
def test_layouts_that_do_not_fit(fact, message):
    plan = MemoryPlan((32,), ((0,), (None,)), NO)
    refused([("sin", 0), ("sin", 1)], [2], plan, message, facts={1: fact})


def test_plans_of_other_programs():
    steps = [("sin", 0), ("sin", 1)]
    refused(steps, [2], MemoryPlan((), ((None,),), NO), "1 steps are planned, of 2")
    refused(steps, [2], MemoryPlan((), ((), (None,)), NO), "has 1 results, and 0 are planned")
    refused(steps, [2], MemoryPlan((8,), ((3,), (None,)), NO), "buffer 3, which does not exist")


@pytest.mark.parametrize(
    ("steps", "outputs", "over", "message"),
    [
        ([("sin", 0)], [1], {0: 0}, "writes over %0, which is not in memory of its own"),
        ([("cos", 0), ("sin", 1)], [2], {1: 1}, "writes over %1, which is not in memory of its"),
        ([("sin", 0), ("matmul", 1, 1)], [2], {1: 1}, "where its argument %1 is"),
        ([("sin", 0), ("sin", 1), ("add", 1, 2)], [3], {1: 1}, "reads %1, but memory of %1"),
        ([("sin", 0), ("sin", 1)], [1, 2], {1: 1}, "the result reads %1, but memory of %1"),
        ([("sin", 0), ("reversed", 1), ("add", 1, 2)], [3], {2: 1}, "where its argument %2 is"),
        ([("sin", 0), ("sin", 0)], [2], {1: 1}, "cannot write over %1"),
    ],
)
def test_results_over_arguments_in_memory_of_their_own(steps, outputs, over, message):
    found = program(steps, outputs)
    refs = {ref.number: ref for ref in found.facts}
    made = {number: refs[ref] for number, ref in over.items()}
    plan = MemoryPlan((), ((None,),) * len(steps), NO, made)
    with pytest.raises(PlanError, match=message):
        verify(found, plan, way)
