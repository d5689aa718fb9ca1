"""Every lowering of a random program, without running it, and without a C compiler."""

import numpy as np

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import CompileError
from agnograd_c._run import lowering
from agnograd_c.kernels import calls
from agnograd_compile._graph import Joint
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._passes import passes
from agnograd_compile._passes.partition import partition
from agnograd_compile._trace import ARRAY, Callee, Signature, record
from drawn import XP, aimed_program
from traced import traced


class Everything:
    """Compiles programs in every way that is counted."""

    def __init__(self):
        calls.driver = lambda: None
        lowering._callables = _not_compiled

    def compiled(self, seed):
        """Compile the program of a seed; return whether it can be."""
        try:
            program = aimed_program(seed)
        except AssertionError:  # not finite: another one is drawn for a test
            return False
        places = tuple(range(len(program.inputs)))
        function, inputs = program.function(), program.inputs

        def f(*inputs):
            return function(XP, *inputs)

        try:
            with np.errstate(all="ignore"):
                self.lowered(passes.run(traced("numpy", ag.value_and_grad(f, places), *inputs)))
                if seed % 4 == 0:
                    for part in parts_of(f, inputs):
                        self.lowered(part)
        except CompileError:
            return False
        return True

    def lowered(self, program):
        """Lower a program in every way."""
        for name in ("numpy", "c"):
            lowering_for("numpy", name).lower(program)
        # JAX would compile each op to trace it; its lowering looks at steps and shapes.
        lowering_for("jax", "auto").describe(program)


def _not_compiled(program, functions, pool, driver):
    """Stand for what compiles functions in C."""
    for each in functions:
        lowering._threads_of(each)
    return [print] * len(functions)


def parts_of(f, inputs):
    """Return the forward and the backward program of a function of arrays."""
    places = tuple(range(len(inputs)))
    joint = Joint(Callee(f, Signature((ARRAY,) * len(inputs), None)), places)
    found = passes.run(record(joint, domain_named("numpy"), inputs).program)
    return partition(found, joint.cotangents, joint.outputs)[:2]
