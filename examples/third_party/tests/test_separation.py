"""The protocol: pyerfa's own function is called on Variables."""

import erfa
import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import UnsupportedFunctionError

# Longitude and latitude in radians: Sirius, Vega and Polaris.
LONGITUDE = [1.7678, 4.8736, 0.6624]
LATITUDE = [-0.2918, 0.6769, 1.5580]
CENTRE = (1.5, 0.25)


@pytest.fixture(params=["numpy", "strict", "rows"])
def xp(request):
    return ag.namespace(request.param)


def numbers(array):
    return [array[k].item() for k in range(array.shape[0])]


def test_the_value_is_pyerfas(xp):
    longitude = xp.asarray(LONGITUDE, dtype=xp.float64)
    found = erfa.seps(longitude, xp.asarray(LATITUDE, dtype=xp.float64), *CENTRE)
    assert isinstance(found, ag.Variable)
    assert numbers(found) == pytest.approx(erfa.seps(LONGITUDE, LATITUDE, *CENTRE), rel=1e-14)


def test_the_gradient_is_that_of_pyerfas_values(xp):
    point = ag.Variable(xp.asarray(CENTRE, dtype=xp.float64), requires_grad=True)
    xp.sum(erfa.seps(LONGITUDE, LATITUDE, point[0], point[1])).backward()
    step = 1e-6
    for k, unit in enumerate(np.eye(2)):
        ahead, behind = (
            erfa.seps(LONGITUDE, LATITUDE, *(CENTRE + t * unit)) for t in (step, -step)
        )
        slope = np.sum(ahead - behind) / (2 * step)
        assert point.grad[k].item() == pytest.approx(slope, rel=1e-8)


def test_its_derivatives_are_right_to_second_order(xp):
    raw = xp.asarray(LONGITUDE, dtype=xp.float64).data
    ag.check_grad(lambda x: erfa.seps(x, LATITUDE, *CENTRE).sum(), raw)


def test_what_it_does_not_answer_for_is_an_error():
    v = ag.Variable(np.asarray(LONGITUDE))
    with pytest.raises(UnsupportedFunctionError, match=r"seps with out= has no counterpart"):
        erfa.ufunc.seps(v, v, 0.0, 0.0, out=v)
    with pytest.raises(UnsupportedFunctionError, match="'anp' has no counterpart"):
        erfa.anp(v)
