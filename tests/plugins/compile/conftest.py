"""What tests of compiled functions share."""

import pytest

from usual import usual


@pytest.fixture(autouse=True)
def usual_programs():
    """Let a function have as many programs as usual, which many of these tests count."""
    with pytest.MonkeyPatch.context() as patch:
        usual(patch, "agnograd_compile._compiled")
        yield
