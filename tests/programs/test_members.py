"""Random programs of many members, against those of single ones; see ``--programs=N``."""

import numpy as np

import agnograd as ag
from agnograd.errors import BatchingError
from differences import close
from drawn import XP, search

FACTORS = (1.0, 0.985, 1.01)  # of the members' inputs, which stay where programs are tame


def test_random_programs_of_members_are_those_of_single_members(request):
    count, refused = request.config.getoption("--programs"), []

    def holds(program):
        function = program.function()
        every = tuple(range(len(program.inputs)))
        for mapped in {every, every[:1], every[-1:]}:
            try:
                compare(function, program, mapped)
            except BatchingError:
                assert program.of_values, "its shapes do not depend on values"
                refused.append(program)
                break

    assert search(count, holds) == count
    assert len(refused) <= 0.4 * count, f"{len(refused)} of {count} programs are refused"


def compare(function, program, mapped):
    """Compare values, gradients of each member, and the gradient of what all give together."""
    places = tuple(range(len(program.inputs)))
    tolerance = 1e-9 if program.narrow is None else program.narrow

    def of_namespace(*inputs):
        return function(XP, *inputs)

    def member(k):
        return [x * FACTORS[k] if i in mapped else x for i, x in enumerate(program.inputs)]

    members = [member(k) for k in range(len(FACTORS))]
    stacks = [
        np.stack([each[i] for each in members]) if i in mapped else program.inputs[i]
        for i in places
    ]
    axes = tuple(0 if i in mapped else None for i in places)
    both = ag.value_and_grad(of_namespace, places)
    value, gradients = ag.vmap(both, in_axes=axes)(*stacks)
    singles = [both(*each) for each in members]
    for k, (one, of_one) in enumerate(singles):
        assert close(value[k], np.asarray(one), tolerance), f"member {k}: {value[k]}, not {one}"
        for i in places:
            found, expected = gradients[i][k], np.asarray(of_one[i])
            assert close(found, expected, tolerance), f"member {k}, x{i}: {found}, not {expected}"
    together = ag.grad(lambda *xs: XP.sum(ag.vmap(of_namespace, in_axes=axes)(*xs)), places)
    for i, found in enumerate(together(*stacks)):
        expected = sum(np.asarray(of_one[i]) for _, of_one in singles)
        if i in mapped:
            expected = np.stack([np.asarray(of_one[i]) for _, of_one in singles])
        assert close(found, expected, tolerance), f"through vmap, x{i}: {found}, not {expected}"
