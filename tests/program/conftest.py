"""What tests of programs and plans share."""

import pytest

import agnograd._program.rooms  # noqa: F401 - whose switches are set
from usual import usual


@pytest.fixture(autouse=True)
def usual_plans(monkeypatch):
    """Let plans use as little memory as usual, which these tests count."""
    usual(monkeypatch, "agnograd._program.plan", "agnograd._program.rooms")
