"""Programs on PyTorch: every sample runs as its ops do one by one, bit for bit."""

import functools

import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd_compile._programs.program import Missed
from agnograd_compile._programs.straight import straight
from tests.helpers.lowered import both, lowered, outcome, program_of, samples
from threads import in_threads
from traced import traced

torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")

xp = ag.namespace("torch")


def same(found, expected):
    """Return whether outcomes are the same bit for bit, and lie in memory in the same way."""
    if not isinstance(expected, list):
        return found == expected
    return len(found) == len(expected) and all(map(same_tensor, found, expected))


def same_tensor(one, other):
    return one.stride() == other.stride() and same_bits(one, other)


def same_bits(one, other):
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype.is_complex:
        one, other = (torch.view_as_real(each.resolve_conj()) for each in (one, other))
    if one.dtype.is_floating_point:
        signs = torch.signbit(one) == torch.signbit(other)
        if not torch.all(signs | torch.isnan(one)):
            return False
    return bool(torch.all((one == other) | ((one != one) & (other != other))))


@pytest.mark.parametrize("sample", samples())
def test_every_sample_is_the_same_bit_for_bit(sample):
    program, arrays, others = program_of(sample, "torch")
    for given in (arrays, others):
        kept = [each.clone() for each in given]
        found, expected = both("torch.torch", program, given)
        assert same(found, expected)
        assert all(map(same_bits, given, kept))
        if isinstance(found, list):
            ends = [each.untyped_storage().data_ptr() for each in (*found, *given) if each.numel()]
            assert len(set(ends)) == len(ends)


def ones(*shape, dtype=torch.float64):
    return torch.ones(shape, dtype=dtype)


def text_of(program):
    """Return what the lowering writes."""
    from agnograd_torch.lowering import DirectWriter

    return DirectWriter(program).source()


def test_results_take_memory_that_nothing_reads_any_more():
    program = traced("torch", lambda x: xp.exp(xp.sin(x * 2.0)) + x, ones(3))
    assert text_of(program).count("out=") == 3


def test_what_views_read_is_not_written_to():
    def f(x):
        y = xp.exp(x)
        rows = xp.matrix_transpose(y)
        z = xp.sin(y)
        return xp.matmul(z, rows) + xp.sum(y)

    def last(x):
        y = xp.exp(x)
        return y + xp.matrix_transpose(y), xp.sin(x)

    x = torch.arange(9.0, dtype=torch.float64).reshape(3, 3) / 9
    for each in (f, last):
        assert same(*both("torch.torch", traced("torch", each, x), [x]))


def test_inputs_constants_and_outputs_are_not_written_to():
    constant = ones(3)

    def f(x):
        y = xp.exp(x)
        return y, xp.sin(y), xp.cos(x), xp.negative(xp.asarray(constant)) * x

    x = ones(3)
    program = traced("torch", f, x)
    found, expected = both("torch.torch", program, [x])
    assert same(found, expected)
    assert torch.equal(x, ones(3))
    assert torch.equal(constant, ones(3))
    assert "out=" in text_of(traced("torch", lambda x: xp.cos(xp.exp(x)), x))


def test_results_of_another_shape_layout_or_dtype_take_no_memory():
    wide, tall = torch.ones(3, 4), torch.ones(4, 3)
    for f in (
        lambda x, y: xp.sum(xp.exp(x), axis=0) + xp.exp(y)[:, 0:1],
        lambda x, y: xp.exp(x) + xp.matrix_transpose(xp.exp(y)),
        lambda x, y: xp.exp(x) > 1.0,
        lambda x, y: xp.matrix_transpose(xp.exp(y)) + xp.exp(x),
    ):
        program = traced("torch", f, wide, tall)
        assert same(*both("torch.torch", program, [wide, tall]))


@pytest.mark.parametrize("number", [2, 2.5, -0.0, float("nan"), float("inf"), True, 2**30, 1j])
@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int32", "complex64", "bool"])
@pytest.mark.parametrize("shape", [(), (5,)])
def test_numbers_beside_tensors_promote_as_in_each_call(name, number, shape):
    x = (torch.ones(shape) * 3).to(getattr(torch, name))
    for f in (
        lambda x: (x + number, number + x),
        lambda x: (x * number, number - x),
        lambda x: (x / number, number / x),
        lambda x: (x == number, x < number),
    ):
        try:
            program = traced("torch", f, x)
        except (TypeError, RuntimeError, UserWarning):
            continue  # nor does eager code
        assert same(*both("torch.torch", program, [x]))


@pytest.mark.parametrize("one", ["float64", "float32", "int64", "bool", "complex128"])
@pytest.mark.parametrize("other", ["float64", "float32", "int64", "bool", "complex128"])
def test_tensors_without_axes_promote_as_in_the_standard(one, other):
    for shapes in (((), ()), ((3,), ()), ((), (3,)), ((3,), (3,))):
        pair = [
            torch.ones(s).to(getattr(torch, n)) for s, n in zip(shapes, (one, other), strict=True)
        ]
        for f in (lambda x, y: x * y, lambda x, y: xp.where(x == y, x, y)):
            program = traced("torch", f, *pair)
            assert same(*both("torch.torch", program, pair))


def branching(x):
    return xp.exp(x) * 2.0 if bool(xp.sum(x) > 2.0) else x / 2.0


@pytest.mark.parametrize("name", ["torch.torch", "torch.inductor"])
def test_a_guard_that_finds_another_value_is_missed(name):
    program = traced("torch", branching, ones(3))
    run = lowered(name, program)
    assert torch.allclose(run([ones(3)])[0], xp.exp(ones(3)).data * 2.0)
    with pytest.raises(Missed) as raised:
        run([-ones(3)])
    assert raised.value.args == (0, False)


def test_runs_of_several_threads_do_not_meet():
    def f(x):
        for _ in range(30):
            x = xp.sin(x * 1.5) + xp.cos(x)
        return x

    program = traced("torch", ag.value_and_grad(lambda x: xp.sum(f(x))), ones(40, 50))
    run, plain = lowered("torch.torch", program), straight(program)
    wrong = []

    def work(seed):
        x = torch.full((40, 50), 0.1 * seed, dtype=torch.float64)
        expected = plain([x])
        wrong.extend(seed for _ in range(20) if not same(run([x]), expected))

    in_threads(work, range(4))
    assert not wrong


def test_transformations_of_torchs_own_run_the_program():
    run = lowered("torch.torch", traced("torch", lambda x: xp.exp(xp.sin(x)) * 2.0, ones(3)))
    rows = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    found = torch.func.vmap(lambda row: run([row])[0])(rows)
    assert torch.equal(found, torch.exp(torch.sin(rows)) * 2.0)


def test_an_error_of_the_program_is_the_same():
    def f(x):
        return xp.linalg.inv(xp.exp(x) - 1.0)

    run = lowered("torch.torch", traced("torch", f, torch.eye(2, dtype=torch.float64)))
    with pytest.raises(RuntimeError, match="singular"):
        run([torch.zeros(2, 2, dtype=torch.float64)])


def test_inductor_computes_values_and_gradients():
    x = torch.linspace(-1.0, 1.0, 12, dtype=torch.float64).reshape(3, 4)

    def loss(x):
        y = xp.tanh(x @ xp.matrix_transpose(x))
        return xp.sum(y * xp.exp(y))

    def f(x):
        value, gradient = ag.value_and_grad(loss)(x)
        return value, gradient, x, gradient, xp.matrix_transpose(x)

    program = traced("torch", f, x)
    run = lowered("torch.inductor", program)
    for given in (x, x * 0.5):
        found, expected = run([given]), straight(program)([given])
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)
        ends = [each.untyped_storage().data_ptr() for each in (*found, given)]
        assert len(set(ends)) == len(ends)


def test_what_inductor_cannot_compile_runs_all_the_same(monkeypatch):
    def refuse(function, **options):
        def run(arrays):
            raise RuntimeError("no compiler")

        return run

    program = traced("torch", branching, ones(3))
    monkeypatch.setattr(torch, "compile", refuse)
    run = lowered("torch.inductor", program)
    for _ in range(2):
        assert same(run([ones(3)]), straight(program)([ones(3)]))
    assert outcome(run, [-ones(3)]) == (0, False)


def test_tensors_of_one_storage_may_share_memory():
    backend = domain_named("torch").backend
    x = ones(4, 4)
    for view in (x[0], x.T, x.detach(), x.view(-1)[3:]):
        assert backend.may_share(x, view)
    for other in (x.clone(), ones(4), ones(0)):
        assert not backend.may_share(x, other)
    assert not backend.may_share(ones(0), ones(0))
    assert backend.strides(x.T) == (8, 32)
    assert backend.strides(x.to_sparse()) is None


def test_gradients_of_reads_add_up_in_one_tensor():
    def loss(x):
        y = xp.exp(x)
        return sum(y[k] * y[k + 1] for k in range(8))

    x = torch.linspace(0.0, 1.0, 9, dtype=torch.float64)
    program = traced("torch", ag.grad(loss), x)
    assert same(*both("torch.torch", program, [x]))
    adding = [step for step in program.steps if step.op.startswith("@scatter_add")]
    assert text_of(program).count("clone()") < max(len(adding), 1)


def test_a_number_divided_by_a_tensor_rounds_as_pytorchs_operator_does():
    x = torch.linspace(0.5, 3.0, 200, dtype=torch.float64)
    for f in (
        lambda x: xp.sum(1.7 / x),
        lambda x: xp.sum(xp.divide(1.7, x)),
        lambda x: xp.sum(xp.square(xp.log2(x))),
    ):
        function = ag.value_and_grad(f)
        compiled = ag.compile(function)
        for found, expected in zip(compiled(x), function(x), strict=True):
            assert same_tensor(found, expected)


def test_a_reversed_copy_is_not_taken_for_its_original():
    compiled = ag.compile(lambda x: xp.exp(x)[::-1])
    x = torch.arange(3.0, dtype=torch.float64)
    for _ in range(2):
        assert torch.equal(compiled(x), torch.exp(x).flip(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("size", [0, 1, 3, 60])
def test_a_solve_and_its_gradient_share_factors(dtype, size):
    def f(a, b):
        x = xp.linalg.solve(a, b)
        return x, xp.linalg.solve_adjoint(a, b if b.ndim == 2 else b[:, None])

    torch.manual_seed(0)
    right = torch.randn(size, 2, dtype=dtype)
    matrix = torch.randn(size, size, dtype=dtype)
    for a in (matrix, matrix.mT):
        for b in (right, right[:, 0]):
            program = traced("torch", f, a, b)
            assert text_of(program).count("factors") == 1
            assert same(*both("torch.torch", program, [a, b]))


def test_a_solve_by_a_singular_matrix_raises_with_shared_factors():
    def f(a, b):
        return xp.linalg.solve(a, b), xp.linalg.solve_adjoint(a, b)

    program = traced("torch", f, torch.eye(2, dtype=torch.float64), ones(2, 1))
    run = lowered("torch.torch", program)
    with pytest.raises(RuntimeError, match="singular"):
        run([torch.zeros(2, 2, dtype=torch.float64), ones(2, 1)])


def test_factors_are_not_shared_where_they_would_round_differently():
    batch = torch.eye(2, dtype=torch.float64).expand(3, 2, 2)
    for a, b in ((batch, ones(3, 2, 1)), (batch[0], ones(2, 1, dtype=torch.float32))):
        program = traced(
            "torch", lambda a, b: (xp.linalg.solve(a, b), xp.linalg.solve_adjoint(a, b)), a, b
        )
        assert "factors" not in text_of(program)


def selected(program):
    """Return what a program's only step is written by in place of where, if it is."""
    from agnograd_torch._select import select_call

    (step,) = program.steps
    found = select_call(step, program)
    return None if found is None else found.function.__name__


SIDES = {
    "kept": lambda mask, x: xp.where(mask, x, 0.0),
    "cleared": lambda mask, x: xp.where(mask, 0.0, x),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_0_behind_a_mask_has_the_same_bits(side, dtype):
    from agnograd_torch._select import MASKED_ELEMENTS

    torch.manual_seed(0)
    x = torch.randn(MASKED_ELEMENTS, dtype=dtype)
    x[:5] = torch.tensor([-0.0, torch.nan, torch.inf, -torch.inf, 1e-45])
    masks = [x > 0.0, x != x, torch.arange(MASKED_ELEMENTS) % 2 == 0]
    for mask, given in [*((m, x) for m in masks), (masks[2].reshape(2, -1).T, x.reshape(2, -1).T)]:
        program = traced("torch", SIDES[side], mask, given)
        assert selected(program) == side
        assert same(*both("torch.torch", program, [mask, given]))
        assert same(*both("torch.torch", program, [~mask, given]))


def test_where_keeps_its_own_function_elsewhere():
    from agnograd_torch._select import MASKED_ELEMENTS

    x = ones(MASKED_ELEMENTS)
    for number, given in ((-0.0, x), (1.0, x), (0.0, x[1:]), (0.0, x.to(torch.complex128))):
        mask = given.real > 0.0
        program = traced("torch", lambda m, x, n=number: xp.where(m, x, n), mask, given)
        assert selected(program) is None
        assert same(*both("torch.torch", program, [mask, given]))


def masked(function, x):
    return function(x > 0.0, x)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_torchs_own_derivatives_see_through_where():
    from agnograd_torch._select import MASKED_ELEMENTS, cleared, kept

    x = torch.linspace(-1.0, 1.0, MASKED_ELEMENTS)
    for function, wanted in ((kept, x > 0.0), (cleared, x <= 0.0)):
        f = functools.partial(masked, function)
        assert torch.equal(torch.func.grad(lambda x, f=f: f(x).sum())(x), wanted.float())
        pushed = torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]
        assert torch.equal(pushed, wanted.float())


@pytest.mark.parametrize("number", [7.5, 2, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_numbers_on_either_side_of_what_a_step_made(dtype, number):
    # Where the step's memory is free, the next one may write to it.
    x = torch.asarray([1.5, -2.5, 3.0]).to(getattr(torch, dtype))
    for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "pow", "less"):
        op = getattr(xp, name)
        for f in (lambda x, op=op: op(number, x * 2), lambda x, op=op: op(x * 2, number)):
            expected = outcome_of(f, x)
            assert same_outcome(outcome_of(ag.compile(f, lowering="torch"), x), expected), name


def outcome_of(f, x):
    try:
        found = f(x)
    except Exception as error:
        return type(error)
    return found.data if isinstance(found, ag.Variable) else found


def same_outcome(one, other):
    is_error = isinstance(one, type) or isinstance(other, type)
    return one is other if is_error else same_bits(one, other)
