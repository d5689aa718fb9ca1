"""Signatures, which ops give as texts, and the parameters of functions."""

import inspect
from functools import partial

import pytest

from agnograd._util.signatures import parameters_of, positional_only, prototype, signature_of
from agnograd.errors import RuleError

TEXTS = [
    "pi()",
    "sin(x, /)",
    "sum(x, /, *, axis=None, dtype=None, keepdims=False)",
    "meshgrid(*arrays, indexing='xy')",
    "pad(x, pad_width=(1, 2), /, mode='a, b', **options)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_signature_is_that_of_its_text(text):
    signature = signature_of(text)
    assert str(signature) == text[text.index("(") :]
    assert parameters_of(prototype(text)) == tuple(signature.parameters)
    only = [
        each.name for each in signature.parameters.values() if each.kind is each.POSITIONAL_ONLY
    ]
    assert positional_only(prototype(text)) == tuple(only)


def test_ops_with_the_same_parameters_share_one_prototype():
    assert prototype("sin(x, /)") is prototype("cos(x, /)")
    assert prototype("sin(x, /)") is not prototype("sin(y, /)")


@pytest.mark.parametrize("text", ["sin", "sin(x", "sum(x, *, axis=Noen)", "sin(1)"])
def test_other_texts_are_errors(text):
    with pytest.raises(RuleError, match="is not a signature such as"):
        prototype(text)


def test_parameters_are_found_of_any_callable():
    def plain(g, x, *, axis=None):
        return g

    class Callable:
        def __call__(self, g, x):
            return g

    assert parameters_of(plain) == ("g", "x", "axis")
    assert parameters_of(lambda *arrays, axis, **options: arrays) == ("arrays", "axis", "options")
    assert parameters_of(partial(plain, x=1)) == tuple(
        inspect.signature(partial(plain, x=1)).parameters
    )
    assert parameters_of(Callable()) == ("g", "x")
