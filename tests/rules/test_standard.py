"""The namespace has what the standard has, with the standard's signatures."""

import inspect

import pytest

import agnograd as ag

array_api_strict = pytest.importorskip(
    "array_api_strict", reason="the standard's signatures: pip install 'agnograd[strict]'"
)

NOT_FUNCTIONS = {"Device", "ArrayAPIStrictFlags"}
FUNCTIONS = sorted(
    name
    for name in array_api_strict.__all__
    if callable(getattr(array_api_strict, name))
    and not name.startswith("__")
    and not name.endswith("array_api_strict_flags")
    and name not in NOT_FUNCTIONS
    and not isinstance(getattr(array_api_strict, name), type(array_api_strict.float64))
)
EXTENSIONS = [
    f"{extension}.{name}"
    for extension in ("linalg", "fft")
    for name in sorted(getattr(array_api_strict, extension).__all__)
]


def found(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


# What the standard has as keywords alone and clients give by position, too.
BY_POSITION = {("diff", "n")}


def shape_of(function):
    """Return each parameter by name: its place and kind (or "keyword"), and if it is needed."""
    shape = {}
    for place, each in enumerate(inspect.signature(function).parameters.values()):
        keyword = each.kind is each.KEYWORD_ONLY or (function.__name__, each.name) in BY_POSITION
        shape[each.name] = "keyword" if keyword else (place, each.kind), each.default is each.empty
    return shape


def test_the_standard_is_not_empty():
    assert len(FUNCTIONS) > 130
    assert len(EXTENSIONS) > 30


@pytest.mark.parametrize("name", FUNCTIONS + EXTENSIONS)
def test_signatures_are_the_standards(xp, name):
    ours, standard = found(xp, name), found(array_api_strict, name)
    assert inspect.isfunction(ours)
    assert shape_of(ours) == shape_of(standard)
    assert ours.__name__ == name.rpartition(".")[2]
    parameters = inspect.signature(ours).parameters
    for other in inspect.signature(standard).parameters.values():
        if "Undef" not in repr(other.default):
            assert parameters[other.name].default == other.default, other


@pytest.mark.parametrize("name", FUNCTIONS + EXTENSIONS)
def test_every_function_has_a_rule_or_no_gradient_by_nature(name):
    assert ag.ops()[name].status in ("rule", "no gradient")


def test_nothing_is_missing():
    assert [name for name, op in ag.ops().items() if op.status == "missing"] == []
