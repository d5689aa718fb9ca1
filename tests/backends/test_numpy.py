"""The NumPy backend: its namespace is array-api-compat's, without what it takes to import that."""

import subprocess
import sys

import array_api_compat.numpy as compat
import numpy as np
import pytest

import agnograd as ag
from agnograd._registry import registered_in
from agnograd.extend import Deferred
from agnograd_numpy import _library

# NumPy's own take what the standard says, and array-api-compat calls them.
CREATION = {
    *("arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace"),
    *("ones", "ones_like", "zeros", "zeros_like"),
}


def test_each_function_is_the_one_of_array_api_compat():
    names = [name for name in registered_in("") if hasattr(compat, name) and name[0] != "_"]
    assert len(names) > 120
    for name in names:
        own = getattr(_library, name)
        if isinstance(own, Deferred):
            assert own.loaded() is getattr(compat, name) is not getattr(np, name, None)
        elif name in CREATION:
            assert own is getattr(np, name)
        else:
            assert own is getattr(compat, name), name


def test_it_claims_no_more_than_array_api_compat():
    assert _library.__array_api_version__ <= compat.__array_api_version__
    assert _library.__array_namespace_info__().default_device() == "cpu"
    assert set(dir(_library)) >= {"linalg", "fft", "sort", "sin"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = _library.nothing
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'"):
        _ = _library.__wrapped__


def test_an_ordinary_program_does_not_import_what_it_does_not_use():
    code = (
        "import sys, agnograd as ag; xp = ag.namespace(); x = ag.Variable([1.0, 2.0]);"
        "print(ag.grad(lambda x: xp.sum(xp.sin(x) * xp.asarray([2.0, 3.0])))(x.data));"
        "wanted = {'array_api_compat.numpy', 'scipy', 'agnograd.bridge', 'agnograd.testing._check',"
        "'agnograd_special.gamma', 'agnograd_nn.conv'};"
        "assert not wanted & set(sys.modules), wanted & set(sys.modules);"
        "xp.sort(x); assert 'array_api_compat.numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deferred_functions_are_called_directly_once_they_are_there():
    xp = ag.namespace("numpy")
    xp.tensordot(xp.ones(2), xp.ones(2), axes=1)
    assert xp.tensordot.__globals__["_kernel"] is compat.tensordot
