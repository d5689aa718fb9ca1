"""What tests of compiled functions share."""

import pytest

from usual import usual


@pytest.fixture(autouse=True)
def usual_programs(monkeypatch):
    """Let a function have as many programs as usual, which many of these tests count."""
    usual(monkeypatch, "agnograd._compile.compiled")
