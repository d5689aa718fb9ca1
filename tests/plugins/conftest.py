"""What tests of plugins share.

The packs' tests on ``strict`` repeat those on ``numpy``, whose kernels it runs: they are slow ones.
"""

import pytest

PACKS = ("test_fft", "test_scipy", "test_special", "test_stats")


def pytest_itemcollected(item):
    if item.path.name.startswith(PACKS) and not item.config.getoption("backend"):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("backend") == "strict":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def c_folder(tmp_path_factory):
    """Let what is compiled in C be kept in a folder of the module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGNOGRAD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def small_groups(monkeypatch):
    """Let groups of one step in C be worth it."""
    groups = pytest.importorskip(
        "agnograd_c._choose.groups", reason="the plugin c is not installed"
    )
    for name, value in {"NANOSECONDS": -(10**9), "GROUP": -(10**7), "SCALAR_STEPS": 10**9}.items():
        monkeypatch.setattr(groups, name, value)
