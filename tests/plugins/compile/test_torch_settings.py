"""PyTorch's settings that results depend on: programs are made for each of them."""

import contextlib

import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd_compile._surroundings.differences import difference
from threads import in_threads

torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
xp = ag.namespace("torch")


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def with_ones(x):
    return xp.sum(xp.tanh(x @ x)) + xp.sum(xp.ones(3))


STATES = {
    "nothing": contextlib.nullcontext,
    "double precision": lambda: default_dtype(torch.float64),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "another autocast": lambda: torch.autocast("cpu", dtype=torch.float16),
}


@pytest.mark.parametrize("lowering", ["torch", "plain"])
def test_each_setting_has_a_program(lowering):
    functions = [lambda x: with_ones(x).data, ag.grad(with_ones)]
    compiled = [ag.compile(f, lowering=lowering) for f in (with_ones, functions[1])]
    x = torch.arange(9, dtype=torch.float32).reshape(3, 3) / 9
    dtypes = set()
    for _ in range(2):  # by key, and by what looks at calls
        for entered in STATES.values():
            with entered():
                for f, program in zip(functions, compiled, strict=True):
                    for _ in range(3):
                        found, expected = program(x), f(x)
                        assert found.dtype == expected.dtype
                        torch.testing.assert_close(found, expected)
                    dtypes.add(found.dtype)
    assert [len(program._entries) for program in compiled] == [len(STATES)] * 2
    assert dtypes == {torch.float32, torch.float64}


def test_a_default_device_is_one_of_a_thread():
    def read(on):
        with torch.device("meta") if on else contextlib.nullcontext():
            return [backend_named("torch").settings()() for _ in range(3)]

    usual, elsewhere = in_threads(read, (False, True))
    assert usual == ["torch.float32 by default"] * 3
    assert elsewhere == ["torch.float32 by default, on meta"] * 3


def test_functions_without_arrays(monkeypatch):
    monkeypatch.setattr("agnograd._arrays.domains.default_name", lambda: "torch")
    compiled = ag.compile(lambda: xp.zeros(2) + 1.0)
    for dtype in (torch.float32, torch.float64) * 3:
        with default_dtype(dtype):
            assert compiled().dtype == dtype


def test_a_message_names_the_setting():
    compiled = ag.compile(with_ones)
    for entered in ("nothing", "another autocast"):
        with STATES[entered]():
            compiled(torch.eye(3))
    old, new = compiled._entries
    assert difference(old, new) == (
        "argument 0 has the setting torch.float32 by default, autocast to torch.float16 on cpu "
        "where it had torch.float32 by default"
    )
