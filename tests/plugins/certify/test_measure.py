"""Certificates tell right gradients from wrong, lost, NaN and refused ones, and say where."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import planted_library as planted
from agnograd.errors import ArgumentError
from agnograd_certify import CHECKS, certify, differentiable
from agnograd_certify._calls import TextCall
from agnograd_certify._measure import Measured

x = np.asarray([0.5, 1.5])
INPUTS = {"x": x, "y": x[:1], "z": np.asarray([0.5 + 1j, 1.5 - 0.5j]), "i": np.asarray([1, 0])}


def gradient(text, backend="numpy", **options):
    call = TextCall(text, INPUTS, lambda: {"np": np} | vars(planted), ("planted_library",))
    return Measured(call, **options).on(backend, ["gradient"])["gradient"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("sound(x)", "right"),
        ("xp.abs(z) ** 2", "right"),
        ("(x, {'a': [x * x, 'text', None]}, 1)", "right"),
        ("x[i]", "right"),
        ("rounded(x)", "no gradient"),
        ("detached(rounded(x))", "no gradient"),
        ("doubled(x)", "wrong"),
        ("cubed(x)", "wrong"),
        ("other_value(x)", "wrong"),
        ("fewer(x)", "wrong"),
        ("detached(x)", "lost"),
        ("part_detached(x)", "lost"),
        ("float(x[0])", "warned"),
        ("by_float(x)", "warned"),
        ("behind_product(x)", "NaN"),
        ("by_asarray(x)", "refused"),
        ("failing_on_variables(x)", "refused"),
        ("failing(x)", "broken"),
        ("i", "broken"),
        ("rooted(x)", "right"),
        ("rooted(y)", "not smooth"),
        ("behind_where(x)", "right"),
        ("kinked(x)", "right"),
    ],
)
def test_each_status_is_told(text, status):
    found = gradient(text)
    assert found.status == status, found
    assert bool(found.reason) is (
        status not in ("right", "no gradient") or "left out" in found.reason
    )
    assert found.bad is (status not in ("right", "no gradient", "not smooth"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("by_float(x)", "return x * float(x[0])  # the gradient ends here"),
        ("by_asarray(x)", "return np.asarray(x) * 2.0  # which refuses"),
        ("behind_product(x)", "root = xp.sqrt(xp.sum((x - x) ** 2))"),
        ("failing(x)", 'raise ZeroDivisionError(f"of {x.shape[0]} elements")'),
    ],
)
def test_the_line_of_the_library_is_told(text, line):
    found = gradient(text).where
    text = Path(planted.__file__).read_text().splitlines()
    numbers = [number for number, each in enumerate(text, 1) if line in each]
    assert re.match(rf"planted_library\.py:{numbers[0]}\b", found), found
    assert line in found
    assert gradient("doubled(x)").where == ""


def test_the_reason_names_the_element_and_both_values():
    found = gradient("cubed(x)")
    assert re.match(r"x\[0\]: the gradient is -?[\d.]+, by differences -?[\d.]+$", found.reason)
    found = gradient("behind_product(x)")
    assert "the gradient is nan, by differences" in found.reason
    assert "the rule of 'sqrt'" in found.reason


def test_elements_that_are_not_smooth_are_left_out():
    assert gradient("rooted(x)").reason == "left out, not smooth there: 1 of 2 elements"
    assert gradient("doubled(kinked(x))").status == "wrong"  # the other element is


def test_a_warning_counts_where_elements_are_left_out():
    found = gradient("rooted(x) + 0.0 * float(x[1])")
    assert (found.status, found.reason) == ("warned", "left out, not smooth there: 1 of 2 elements")
    assert gradient("x * x + 0.0 * float(x[1])").status == "right"  # each element is compared


def test_differences_are_refined_where_the_function_varies_fast():
    assert gradient("xp.sin(200.0 * x) / 200.0").status == "right"
    assert gradient("doubled(xp.sin(200.0 * x) / 200.0)").status == "wrong"
    assert gradient("(1e6 * x) ** 2 / 1e6").status == "right"
    assert gradient("xp.log(1e-3 * x - 4.9e-4)").status == "right"


def test_exceptions_are_named_as_gaps_name_them():
    assert gradient("by_asarray(x)").error == "LostGradientError"
    assert gradient("failing(x)").error == "ZeroDivisionError"
    assert gradient("np.linalg.inv(np.zeros((2, 2))) + x").error == "ValueError"  # a LinAlgError
    assert gradient("doubled(x)").error == "AssertionError"
    assert gradient("behind_product(x)").error == "FloatingPointError"


def test_an_exception_whose_text_raises_is_named():
    class SilentError(Exception):
        def __str__(self):
            raise ValueError("no text")

    def failing(x):
        raise SilentError

    found = certify(differentiable(failing, x))["gradient"]
    assert found.status == "broken"
    assert found.reason == "SilentError: (its text raises an exception)"


def test_warnings_that_plain_numpy_does_not_give_are_kept():
    assert gradient("noisy(x)").warnings == ["UserWarning: a Variable"]
    assert gradient("(x, x / (0.0 * x))[:1]").warnings == []


def test_what_the_library_turns_into_numpys_arrays_is_unsupported():
    found = gradient("by_asarray(x)", "strict")
    assert (found.status, found.reason) == ("unsupported", "the result is a ndarray")
    assert not found.bad


@pytest.mark.parametrize("by_numpy", [False, True])
def test_another_backend(by_numpy):
    on_strict = "(hasattr(x, '_domain') and x._domain.backend.name == 'strict')"
    for text, status in (
        ("sound(x)", "right"),
        ("xp.abs(z) ** 2", "right"),
        ("rounded(x)", "no gradient"),
        ("by_float(x)", "warned"),
        (f"doubled(x) if {on_strict} else x", "wrong"),
        (f"detached(x) if {on_strict} else x", "lost"),
        (f"failing(x) if {on_strict} else x", "refused"),
    ):
        found = gradient(text, "strict", by_numpy=by_numpy)
        assert found.status == status, (text, found)


def test_everything_is_checked(backend):
    found = certify(differentiable(planted.sound, x, scale=np.asarray(2.0)), backend=backend)
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(CHECKS, "right")


def test_complex_and_integer_arrays_are_checked():
    def rotated(z, i):
        xp = z.__array_namespace__()
        return xp.real(z[i] * xp.exp(1j * xp.real(z)))

    found = certify(differentiable(rotated, INPUTS["z"], INPUTS["i"]))
    assert {each.status for each in found.values()} == {"right"}, found


@pytest.mark.parametrize(
    ("f", "check", "status", "where"),
    [
        (planted.branching, "vmap", "refused", "return x if xp.sum(x) > 0 else -x"),
        (planted.widened, "dtype", "widened", ""),
        (planted.once, "second", "lost", ""),
    ],
)
def test_other_checks_find_what_they_are_for(f, check, status, where):
    found = certify(differentiable(f, x), checks=[check])
    assert found["gradient"].status == "right", found
    assert found[check].status == status, found[check]
    assert where in found[check].where
    assert list(found) == ["gradient", check]


def test_a_kink_of_the_derivative_has_no_second_one():
    def bent(x):
        xp = x.__array_namespace__()
        return xp.where(x > 0.5, 2.0, 1.0) * (x - 0.5) ** 2

    found = certify(differentiable(bent, x), checks=["second"])
    assert found["gradient"].status == "right"
    assert found["second"].status == "not smooth"


def test_checks_after_a_gradient_that_is_not_right_are_skipped():
    assert certify(differentiable(planted.doubled, x))["vmap"].status == "skipped"
    assert certify(differentiable(planted.rounded, x))["vmap"].status == "no gradient"
    assert certify(differentiable(planted.failing, x))["vmap"].status == "skipped"


def test_empty_arrays_and_numbers():
    nothing = [gradient("x[:0]"), gradient("x * np.nan")]
    for array in (np.empty(0), np.empty((0, 3)), np.asarray([np.nan, np.inf])):
        nothing.append(certify(differentiable(planted.sound, array))["gradient"])
    for found in nothing:  # else a certificate would be of nothing
        assert found.status == "broken"
        assert "has a finite element: there is nothing to check" in found.reason
    assert (
        certify(differentiable(planted.sound, np.asarray([1e-300, 1e8])))["dtype"].status == "right"
    )
    huge = certify(differentiable(planted.sound, np.asarray([1e300])))
    assert huge["gradient"].status == "not smooth"
    nan = differentiable(planted.sound, np.asarray([np.nan, 1.0]))
    assert certify(nan)["gradient"].status == "broken"  # of two elements it makes one


def test_containers_and_keywords_hold_arrays():
    def weighted(pair, *more, options):
        return pair[0] * pair[1] + more[0] * options["w"]

    call = differentiable(weighted, [x, x + 1.0], x, options={"w": x, "name": "n"})
    assert call.names == ["pair[0]", "pair[1]", "more[0]", "options['w']"]
    assert call.name.startswith("weighted([float64[2], float64[2]], float64[2], options=")
    assert certify(call)["gradient"].status == "right"


def test_what_cannot_be_certified_is_an_error():
    with pytest.raises(ArgumentError, match="takes a function and its arguments, not float64"):
        differentiable(planted.sound(x))
    with pytest.raises(ArgumentError, match="no argument is a NumPy array of floating-point"):
        differentiable(planted.sound, 0.5)
    with pytest.raises(ArgumentError, match="no argument is a NumPy array of floating-point"):
        differentiable(planted.sound, np.asarray([1, 2]))
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ArgumentError, match=r"not a array_api_strict.*: pass numpy.asarray"):
        differentiable(planted.sound, strict.asarray([1.0]))
    with pytest.raises(ArgumentError, match="no check is called 'third'"):
        certify(differentiable(planted.sound, x), checks=["third"])


def test_names_do_not_change_between_processes():
    call = differentiable(planted.sound, x, object())
    assert call.name == "sound(float64[2], object)"
    assert call.named("a  name\n of mine").name == "a name of mine"
    assert repr(call) == "<differentiable a name of mine>"


def test_threads_each_hear_what_their_call_warns_of():
    def lost(x):
        return x * float(x[0])

    call = differentiable(lost, np.asarray([0.5, 1.5]))
    with ThreadPoolExecutor(4) as threads:
        found = list(
            threads.map(lambda _: certify(call, checks=["gradient"])["gradient"], range(8))
        )
    assert [each.status for each in found] == ["warned"] * 8
