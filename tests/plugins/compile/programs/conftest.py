"""What tests of programs and plans share."""

import pytest

import agnograd_compile._programs.rooms  # noqa: F401 - whose switches are set
from usual import usual


@pytest.fixture(autouse=True)
def usual_plans():
    """Let plans use as little memory as usual, which these tests count."""
    with pytest.MonkeyPatch.context() as patch:
        usual(patch, "agnograd_compile._programs.plan", "agnograd_compile._programs.rooms")
        yield
