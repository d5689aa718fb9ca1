"""What tests of passes share."""

import pytest

import agnograd_compile._passes.passes  # noqa: F401 - whose switches are set
from usual import usual

MODULES = ("chains", "columns", "order", "passes", "uniform")


@pytest.fixture(autouse=True)
def usual_passes():
    """Let passes do as much as usual, which these tests look at: others look at the results."""
    with pytest.MonkeyPatch.context() as patch:
        usual(patch, *(f"agnograd_compile._passes.{each}" for each in MODULES))
        yield
