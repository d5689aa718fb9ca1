"""Fixtures of backends' tests."""

import pytest

from on_cupy import cupy_or_skip


@pytest.fixture
def cupy():
    """Return CuPy; skip where it, or a device, is missing."""
    return cupy_or_skip()
