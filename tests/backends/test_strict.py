"""What is special to array-api-strict: devices that it makes up, and its name."""

import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domain import Domain
from agnograd._plugins.backends import backend_named
from agnograd.errors import MixedBackendsWarning
from agnograd.extend import Backend
from agnograd_offload import Offload

strict = pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
DEVICE = strict.Device("device1")
OTHER = strict.Device("device2")


def test_what_is_on_another_device_is_copied_to_the_host():
    backend, x = backend_named("strict"), strict.ones(3, device=DEVICE)
    assert backend.to_host(x, dtype=np.float32).tolist() == [1.0, 1.0, 1.0]
    assert backend.to_host(x).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False"):
        backend.to_host(x, copy=False)


@pytest.mark.parametrize("to", ["compressed", "disk", "host"])
def test_what_is_offloaded_returns_to_its_device(to, tmp_path):
    xp = ag.namespace("strict")
    x = ag.Variable(strict.ones(1000, device=DEVICE))
    with ag.hooks(Offload(above=100, to=to, folder=tmp_path)) as (offload,):
        xp.sum(xp.exp(x)).backward()
    assert offload.to_dict()["restored"] == 1
    assert x.grad.device == DEVICE
    np.testing.assert_array_equal(
        backend_named("strict").to_host(x.grad.data), np.exp(np.ones(1000))
    )


@pytest.fixture
def current(monkeypatch):
    """Give the library a current device, and return a list of which the last element is that."""
    devices = [None]

    @contextmanager
    def on_device(self, array):
        devices.append(array.device)
        try:
            yield
        finally:
            devices.pop()

    monkeypatch.setattr(type(backend_named("strict")), "on_device", on_device)
    monkeypatch.setattr(Backend, "switching", True)
    return devices


class On(ag.Function):
    """Twice an array; backward it looks at which device is the current one."""

    def __init__(self, device, seen, current, error=None):
        self.device, self.seen, self.current, self.error = device, seen, current, error

    def forward(self, xp, x):
        return 2 * x

    def backward(self, xp, g):
        assert g.device == self.current[-1] == self.device
        self.seen.append(self.device)
        if self.error:
            raise self.error
        return 2 * g


def test_rules_run_on_the_device_of_their_cotangent(current):
    def f(x):
        parts = xp.unstack(x * On(DEVICE, seen, current)(x))
        y = xp.to_device(parts[0] + parts[2], OTHER)
        z = xp.to_device(parts[1], OTHER) + y[...]
        return On(OTHER, seen, current)(xp.exp(z * 0.1)) + z

    xp, seen = ag.namespace("strict"), []
    raw = strict.asarray([1.0, 2.0, 3.0], device=DEVICE)
    x = ag.Variable(raw)
    for _ in range(2):  # the second pass adds to what is there
        f(x).backward()
    assert seen == [OTHER, DEVICE] * 2
    values = np.asarray([1.0, 2.0, 3.0])
    expected = 4 * values * (0.2 * np.exp(0.2 * np.sum(values**2)) + 1.0)
    host = backend_named("strict").to_host
    np.testing.assert_allclose(host(x.grad.data), 2 * expected)
    second = ag.grad(lambda x: xp.sum(xp.to_device(ag.grad(f)(x), OTHER)))(raw)
    assert x.grad.device == second.device == DEVICE
    e = np.exp(0.2 * np.sum(values**2))
    hessian = 4 * np.eye(3) * (0.2 * e + 1.0) + 0.32 * e * np.outer(values, values)
    np.testing.assert_allclose(host(second), hessian.sum(axis=0))
    assert current == [None]


def test_backends_that_switch_devices_are_noticed(monkeypatch):
    class Switching(type(backend_named("strict"))):
        def on_device(self, array):
            raise AssertionError

    monkeypatch.setattr(Backend, "switching", False)
    Domain(backend_named("strict"))
    assert not Backend.switching
    Domain(Switching())
    assert Backend.switching


def test_the_current_device_is_as_it_was_when_a_rule_fails(current):
    xp, seen = ag.namespace("strict"), []
    x = ag.Variable(strict.ones(3, device=DEVICE))
    loss = xp.sum(On(DEVICE, seen, current, ZeroDivisionError("no"))(x))
    with pytest.raises(ZeroDivisionError) as caught:
        loss.backward()
    assert "at op 'On'" in caught.value.__notes__[0]
    assert (seen, current, x.grad) == ([DEVICE], [None], None)


def test_hooks_targets_and_managers_are_served_on_devices(current):
    xp = ag.namespace("strict")
    x = ag.Variable(strict.ones(3, device=DEVICE))
    y = x * 3.0
    shown = []
    y.register_hook(lambda g: shown.append(current[-1]))
    (found,) = ag.autodiff.grad([xp.sum(y * y)], [x])
    assert shown == [DEVICE]
    assert found.device == DEVICE
    with ag.GradManager() as manager:
        manager.attach([x], callback=lambda _, g: shown.append(g.device))
        manager.backward(xp.sum(xp.take(x * x, xp.asarray([0, 0, 2], device=DEVICE))))
    assert shown == [DEVICE] * 2
    assert backend_named("strict").to_host(x.grad.data).tolist() == [4.0, 0.0, 2.0]


def test_it_is_known_by_the_librarys_name():
    xp = ag.namespace("strict")
    assert (xp.__name__, repr(xp)) == ("array_api_strict", "<namespace 'agnograd.strict'>")
    assert xp.sin.__module__ == xp.__package__ == "agnograd.strict"
    assert pickle.loads(pickle.dumps(xp)) is xp
    assert pickle.loads(pickle.dumps(xp.linalg)) is xp.linalg
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    xp.sum(xp.asarray(x, device=xp.Device("CPU_DEVICE")) * x).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


# -- NumPy's arrays as constants ---------------------------------------------------------------

C = np.asarray([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, x: xp.sum(x * C * x),
        lambda xp, x: xp.sum(np.arange(1, 4) * x * x),
        lambda xp, x: xp.vecdot(x**2, np.arange(1, 4)),
        lambda xp, x: C.astype(np.float32) @ (x * x),
        lambda xp, x: np.sum(np.multiply(C, np.square(x))),
        lambda xp, x: np.concatenate([x * x, C])[:3] @ xp.asarray(C),
        lambda xp, x: xp.sum(xp.where(C > 0, xp.asarray(C) * x * x, 0.0)),
    ],
)
def test_numpys_arrays_are_constants_with_a_warning(f):
    xp, x = ag.namespace("strict"), strict.asarray([0.5, 1.0, -2.0])
    with pytest.warns(MixedBackendsWarning, match=r"AGNOGRAD: .*ag\.asarray") as caught:
        gradient = ag.grad(lambda x: f(xp, x))(x)
    assert type(gradient) is type(x)
    np.testing.assert_allclose(np.asarray(gradient), 2 * C * np.asarray(x))
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.filterwarnings("ignore::agnograd.errors.MixedBackendsWarning")
@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.parametrize("own", ["int16", "float32", "float64", "complex64", "complex128"])
def test_constants_are_promoted_as_in_numpy(own, kind):
    x, c = ag.namespace("strict").ones(3, dtype=getattr(strict, own)), np.ones(3, kind)
    if own == "int16" and kind in ("bool", "float32", "float64"):
        with pytest.raises(TypeError, match=r"promot|dtype"):  # an array's own dtype stays
            x * c
        return
    expected = (np.ones(3, own) * c).dtype.name
    assert backend_named("strict").to_host((x * c).data).dtype.name == expected
    assert backend_named("strict").to_host((c * x).data).dtype.name == expected


@pytest.mark.filterwarnings("ignore::agnograd.errors.MixedBackendsWarning")
def test_writes_take_constants():
    xp = ag.namespace("strict")
    x = ag.Variable(strict.asarray([0.5, 1.0, -2.0]))
    y = x * x
    y += np.arange(3)
    y[:1] = np.zeros(1, int)
    xp.sum(y * y).backward()
    np.testing.assert_allclose(np.asarray(x.grad.data), [0.0, 8.0, -48.0])


@pytest.mark.filterwarnings("ignore::agnograd.errors.MixedBackendsWarning")
def test_indices_stay_integers():
    xp = ag.namespace("strict")
    x = ag.Variable(strict.asarray([0.5, 1.0, -2.0]))
    xp.sum(xp.take(x * x, np.asarray([0, 2, 2]))).backward()
    np.testing.assert_array_equal(np.asarray(x.grad.data), [1.0, 0.0, -8.0])
    np.testing.assert_array_equal(
        np.asarray(xp.repeat(x, np.asarray([0, 1, 2])).detach()), [1.0, -2.0, -2.0]
    )


def test_with_warnings_as_errors_nothing_is_mixed():
    x = ag.Variable(strict.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mix in (lambda: x * C, lambda: C * x, lambda: np.concatenate([x, C])):
            with pytest.raises(MixedBackendsWarning):
                mix()


def test_views_may_share_memory_and_copies_do_not():
    x, backend = strict.reshape(strict.arange(6.0), (2, 3)), backend_named("strict")
    assert all(backend.may_share(x, view) for view in (x, x.T, x[1, ...]))
    assert not any(backend.may_share(x, other) for other in (strict.asarray(x, copy=True), x + 1.0))
