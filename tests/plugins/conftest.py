"""The packs' tests on ``strict`` repeat those on ``numpy``, whose kernels it runs: slow ones."""

import pytest

PACKS = ("test_fft", "test_scipy", "test_special", "test_stats")


def pytest_itemcollected(item):
    if item.path.name.startswith(PACKS) and not item.config.getoption("backend"):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("backend") == "strict":
            item.add_marker(pytest.mark.slow)
