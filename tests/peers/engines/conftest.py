"""Calls of libraries for other engines: of all ops, or of every few of them."""

from library_calls import calls


def pytest_generate_tests(metafunc):
    """Run a test that takes a call on each that was asked for; its module says how few suffice."""
    if "call" in metafunc.fixturenames:
        step = 1 if metafunc.config.getoption("all_ops") else metafunc.module.EVERY
        metafunc.parametrize("call", calls()[::step], ids=repr)
