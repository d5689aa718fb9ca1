"""Random programs as checkpoints with policies, against the programs; see ``--programs=N``."""

from zlib import crc32

import pytest

import agnograd as ag
from differences import close, flat
from drawn import XP, search

POLICIES = {
    "products": "products",
    "nothing": lambda op: False,
    "everything": lambda op: True,
    "half of the ops": lambda op: crc32(op.name.encode()) % 2 == 0,
}


@pytest.mark.slow
def test_random_programs_have_the_same_gradients_by_every_policy(request):
    count = request.config.getoption("--programs")
    kept = []

    def holds(program):
        function, places = program.function(), tuple(range(len(program.inputs)))

        def of_namespace(*inputs):
            return function(XP, *inputs)

        expected = ag.grad(of_namespace, places)(*program.inputs)
        for name, policy in POLICIES.items():
            checkpointed = ag.checkpoint(of_namespace, policy=policy)
            found = ag.grad(checkpointed, places)(*program.inputs)
            assert close(flat(found), flat(expected), 1e-12), name
            node = checkpointed(*map(ag.Variable, program.inputs)).node
            if node is not None:  # a program of comparisons has none
                kept.append((name, len(node.saved) - len(places)))

    assert search(count, holds) == count
    assert all(results == 0 for name, results in kept if name == "nothing")
    assert sum(results for name, results in kept if name == "everything") > 2 * count
