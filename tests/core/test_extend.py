"""What authors of rules, backends and plugins import."""

import subprocess
import sys

import pytest

from agnograd import extend


def test_what_few_need_is_loaded_when_it_is_asked_for():
    code = """
import sys
import agnograd.extend

few = {"agnograd.testing._samples", "agnograd._plugins.bridges", "agnograd._plugins.keywords"}
assert not few & set(sys.modules)
assert dir(agnograd.extend) == sorted(agnograd.extend.__all__)
from agnograd.extend import *
assert few <= set(sys.modules)
assert all(name in globals() for name in agnograd.extend.__all__)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_name_that_there_is_not_is_an_error():
    with pytest.raises(AttributeError, match=r"'agnograd\.extend' has no attribute 'Smaple'"):
        extend.Smaple  # noqa: B018
