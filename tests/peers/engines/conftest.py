"""Libraries for other engines, and calls of them: of all ops, or of every few of them."""

import pytest

import agnograd as ag
from library_calls import calls


@pytest.fixture(scope="session")
def scipy():
    return ag.bridge.library("scipy")


@pytest.fixture(scope="session")
def special():
    return ag.bridge.library("special")


def pytest_generate_tests(metafunc):
    """Run a test that takes a call on each that was asked for; its module says how few suffice."""
    if "call" in metafunc.fixturenames:
        step = 1 if metafunc.config.getoption("all_ops") else metafunc.module.EVERY
        metafunc.parametrize("call", calls()[::step], ids=repr)
