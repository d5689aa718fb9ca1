"""Backends to test on; one whose library is missing is skipped, and says how to install it."""

import importlib

import pytest

import agnograd as ag
from agnograd.errors import PluginError


@pytest.fixture(params=["numpy", "strict"])
def backend(request):
    """Return the name of a backend; a test that takes it runs on each."""
    try:
        ag.namespace(request.param)
    except PluginError as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture
def xp(backend):
    """Return the differentiable namespace of a backend."""
    return ag.namespace(backend)


@pytest.fixture
def library(backend):
    """Return the raw namespace that a backend wraps."""
    return importlib.import_module(
        {"numpy": "array_api_compat.numpy", "strict": "array_api_strict"}[backend]
    )


def pytest_addoption(parser):
    parser.addoption(
        "--programs",
        type=int,
        default=1000,
        metavar="N",
        help="how many random programs to check against finite differences (default: 1000)",
    )
