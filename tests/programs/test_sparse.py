"""Sparse derivatives of random programs against dense ones; of ``--programs=N`` it takes N / 4."""

import numpy as np

import agnograd as ag
from agnograd.errors import SparsityError
from differences import close
from drawn import XP, search

OTHER = 0.985  # a factor of inputs, by which programs stay where they are tame


def test_sparse_derivatives_of_random_programs_are_the_dense_ones(request):
    # Each is differentiated ten times: a quarter of the programs.
    count, refused = request.config.getoption("--programs") // 4, []

    def holds(program):
        of_inputs = program.function()
        every = tuple(range(len(program.inputs)))

        def function(*inputs):
            return of_inputs(XP, *inputs)

        compare(program, function, every, "local")
        try:
            compare(program, function, every, "global")
        except SparsityError:
            assert program.of_values, "its shapes do not depend on values"
            refused.append(program)

    assert search(count, holds) == count
    assert len(refused) <= 0.4 * count, f"{len(refused)} of {count} programs are refused"


def compare(program, function, every, mode):
    """Compare gradients and Hessians where a pattern was found, and elsewhere if it is global."""
    tolerance = 1e-9 if program.narrow is None else program.narrow
    gradient = ag.prepare(ag.sparse_jacobian(function, every, mode=mode), *program.inputs)
    hessians = [
        ag.prepare(ag.sparse_hessian(function, every, mode=mode, method=method), *program.inputs)
        for method in ("star", "acyclic")
    ]
    for factor in (1.0, OTHER) if mode == "global" else (1.0,):
        inputs = [factor * x for x in program.inputs]
        row = np.concat([np.reshape(g, (-1,)) for g in ag.grad(function, every)(*inputs)])
        assert close(gradient(*inputs).toarray()[0], row, tolerance)
        dense = assembled(ag.hessian(function, every)(*inputs), program.inputs)
        for hessian in hessians:
            found = hessian(*inputs).toarray()
            assert close(found, dense, tolerance), f"{mode}: {found}, not {dense}"


def assembled(blocks, inputs):
    """Return the matrix of the blocks that a dense Hessian is returned as."""
    sizes = [x.size for x in inputs]
    rows = [
        np.concat(
            [np.reshape(b, (size, other)) for b, other in zip(row, sizes, strict=True)], axis=1
        )
        for row, size in zip(blocks, sizes, strict=True)
    ]
    return np.concat(rows)
