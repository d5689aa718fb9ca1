"""What is special to array-api-strict: devices that it makes up."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._backends import backend_named
from agnograd_offload import Offload

strict = pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
DEVICE = strict.Device("device1")


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
