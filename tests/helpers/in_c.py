"""What tests of programs in C need: a compiler."""

import pytest

from agnograd_c._run import compiler


def needs_compiler():
    """Skip the module that calls this, loudly, where there is no C compiler."""
    try:
        compiler.compiler()
    except compiler.NoCompiler:
        pytest.skip("there is no C compiler", allow_module_level=True)
