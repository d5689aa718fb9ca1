"""Memory of results is lent to other values before, and never while the results are there."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._programs import rooms
from agnograd_compile._programs.plan import MemoryPlan, Room, planned
from agnograd_compile._programs.program import Fact
from agnograd_compile._programs.rooms import lent
from agnograd_compile._programs.straight import straight
from agnograd_compile._programs.verify import PlanError, verify
from agnograd_numpy import lowering as numpy_lowering
from memory import peak_of
from tests.plugins.compile.programs.test_plan import program, way
from traced import traced

xp = ag.namespace("numpy")
LONG = Fact((12,), np.dtype("float64"), (8,), np.ndarray)
STEPS = [("sin", 0), ("matmul", 1, 0), ("matmul", 2, 0)]


@pytest.fixture(autouse=True)
def every(monkeypatch):
    """Let small values move, too, and prove each plan."""
    monkeypatch.setattr(rooms, "ROOM_BYTES", 1)
    monkeypatch.setattr(rooms, "_ALIGNED", 8)
    monkeypatch.setattr("agnograd_numpy._elementwise._VERIFIED", True)


def plans_of(steps, outputs, **kwargs):
    found = program(steps, outputs, **kwargs)
    before = planned(found, way)
    after = lent(found, before, way)
    verify(found, after, way)
    return before, after


def test_values_are_in_a_result_that_comes_later():
    before, after = plans_of(STEPS, [3])
    assert before.sizes == (32, 32)
    assert after.sizes == (32,)  # what is read while the result is written
    assert [(room.owner.number, room.offset) for room in after.rooms] == [(3, 0)]
    assert after.writes == ((1,), (0,), (None,))


def test_several_values_are_beside_each_other():
    steps = [("sin", 0), ("sin", 0), ("matmul", 1, 2), ("cos", 3), ("sin", 0)]
    _, after = plans_of(steps, [4, 5], facts={5: LONG})
    assert {(room.offset, room.size) for room in after.rooms} == {(0, 32), (32, 32), (64, 32)}
    assert after.sizes == ()


def test_nothing_is_lent_by_what_comes_first_or_is_no_result():
    for steps, outputs in (([("sin", 0), ("sin", 0), ("matmul", 2, 2)], [1]), (STEPS[:1], [1])):
        before, after = plans_of(steps, outputs)
        assert after == before


def test_what_the_library_makes_lends_nothing():
    before, after = plans_of([("sin", 0), ("matmul", 1, 1), ("cos", 2)], [3])
    assert after == before


def test_random_programs():
    draws = np.random.default_rng(0)
    ops = ["sin", "add", "matmul", "reversed", "@scatter_add", "cos"]
    moved = 0
    for _ in range(400):
        count = int(draws.integers(2, 14))
        steps = []
        for number in range(count):
            op = ops[draws.integers(len(ops))]
            arguments = [int(draws.integers(number + 1)) for _ in range(1 + (op in ops[1:3]))]
            steps.append((op, *arguments))
        outputs = sorted({int(each) for each in draws.integers(1, count + 1, 3)})
        facts = {int(n): LONG for n in draws.integers(1, count + 1, count // 2)}
        before, after = plans_of(steps, outputs, facts=facts)
        assert sum(after.sizes) <= sum(before.sizes)
        moved += len(after.rooms)
    assert moved > 100


def network(w1, w2, w3, x):
    h = xp.tanh(x @ w1)
    h = xp.tanh(h @ w2) * xp.sin(h @ w2)
    return xp.sum((h @ w3) ** 2)


ARRAYS = [np.random.default_rng(1).standard_normal(s) for s in ((9, 9), (9, 9), (9, 5), (7, 9))]


@pytest.mark.parametrize("name", ["numpy", "c"])
def test_programs_run(name):
    gradient = ag.grad(network, (0, 1, 2, 3))
    compiled = ag.compile(gradient, lowering=name)
    expected = gradient(*ARRAYS)
    kept = compiled(*ARRAYS)
    for _ in range(2):
        for found, right in zip(compiled(*ARRAYS), expected, strict=True):
            if name == "numpy":
                assert found.tobytes() == right.tobytes()
            np.testing.assert_allclose(found, right, rtol=1e-12)
            assert found.base is None
    for found, right in zip(kept, expected, strict=True):  # no later call writes to a result
        np.testing.assert_allclose(found, right, rtol=1e-12)
    found = traced("numpy", gradient, *ARRAYS)
    writer = numpy_lowering.NumpyWriter(found)
    assert len(writer.plan.rooms) > 2
    assert all(
        np.array_equal(one, other)
        for one, other in zip(writer.runnable()(ARRAYS), straight(found)(ARRAYS), strict=True)
    )


def test_an_error_leaves_no_result_in_use():
    def f(x, w):
        y = xp.sin(x) * 2.0
        return xp.linalg.inv(w), (y @ w) @ w, xp.sum(y)

    compiled = ag.compile(f, lowering="numpy")
    x, w = ARRAYS[3], ARRAYS[0]
    before = [each.copy() for each in compiled(x, w)]
    with pytest.raises(np.linalg.LinAlgError):
        compiled(x, np.zeros_like(w))
    for found, right in zip(compiled(x, w), before, strict=True):
        assert np.array_equal(found, right)


@pytest.mark.usual_switches
def test_a_large_networks_gradient_needs_little_more_than_its_results():
    draws = np.random.default_rng(2)
    arrays = [draws.standard_normal(s) for s in ((256, 256), (256, 256), (256, 8), (64, 256))]
    gradient = ag.grad(network, (0, 1, 2))
    compiled = ag.compile(gradient, lowering="numpy")
    results = sum(each.nbytes for each in compiled(*arrays))
    kept = sum(numpy_lowering.NumpyWriter(traced("numpy", gradient, *arrays)).plan.sizes)
    compiled(*arrays)
    assert kept + peak_of(lambda: compiled(*arrays)) < 1.6 * results


class TestVerifier:
    """Rooms that are not free are found."""

    def refused(self, message, writes):
        found = program(STEPS, [3])
        plan = MemoryPlan((32,), writes, frozenset(), rooms=(Room(found.outputs[0], 0, 32),))
        with pytest.raises(PlanError, match=message):
            verify(found, plan, way)

    def test_what_is_read_while_it_is_written(self):
        self.refused("to memory that its argument %2 is in", ((0,), (1,), (None,)))
        self.refused("to buffer 1, where its argument %1 is", ((1,), (1,), (None,)))

    def test_rooms_on_each_other(self):
        steps = [("sin", 0), ("sin", 0), ("matmul", 1, 2), ("sin", 0)]
        found = program(steps, [3, 4], facts={4: LONG})
        owner = found.steps[3].outs[0]
        for second, right in ((32, True), (24, False)):
            plan = MemoryPlan(
                (),
                ((0,), (1,), (None,), (None,)),
                frozenset(),
                rooms=(Room(owner, 0, 32), Room(owner, second, 32)),
            )
            if right:
                verify(found, plan, way)
                continue
            with pytest.raises(PlanError, match="was written to since"):
                verify(found, plan, way)

    def test_rooms_outside_of_the_result(self):
        found = program(STEPS, [3])
        for offset in (8, -8):
            plan = MemoryPlan(
                (32,),
                ((1,), (0,), (None,)),
                frozenset(),
                rooms=(Room(found.outputs[0], offset, 32),),
            )
            with pytest.raises(PlanError, match="outside of"):
                verify(found, plan, way)

    def test_a_result_in_a_room(self):
        found = program([("sin", 0), ("sin", 0)], [1, 2])
        owner = found.steps[1].outs[0]
        plan = MemoryPlan((), ((0,), (None,)), frozenset(), rooms=(Room(owner, 0, 32),))
        with pytest.raises(
            PlanError, match="the result reads %1, but buffer 0 was written to since"
        ):
            verify(found, plan, way)

    def test_what_the_library_makes(self):
        found = program([("sin", 0), ("cos", 1)], [2])
        owner = found.steps[1].outs[0]
        plan = MemoryPlan((), ((0,), (None,)), frozenset(), rooms=(Room(owner, 0, 32),))
        with pytest.raises(PlanError, match=r"memory that (its argument|was lent)"):
            verify(found, plan, way)
