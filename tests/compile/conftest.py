"""What tests of compiled functions share."""

import pytest


@pytest.fixture(autouse=True)
def eight_programs(monkeypatch):
    """Let a function have as many programs as usual, which many of these tests count."""
    monkeypatch.setattr("agnograd._compile.compiled.PROGRAMS", 8)
