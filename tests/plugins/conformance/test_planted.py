"""The suite finds each planted defect, by the check that is for it, and says where to look."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import install

FOLDER = Path(__file__).parent / "planted"
PROGRAM = Path(sys.executable).with_name("agnograd")

# What is planted, the check that is for it, and what that says.
DEFECTS = {
    "wrong_sign": ("first_derivative", "order 1, argument 0, element (0, 0): the derivative is"),
    "missing_sum": ("first_derivative", "order 1, argument 1, element (0,): the derivative is"),
    "wrong_dtype": ("gradient_form", "the rule for 'x' returns dtype float32"),
    "leaked_array": ("freed", "the input 'x' is alive after the pass"),
    "changed_input": ("inputs_unchanged", "an input has changed"),
    "hook_called_twice": ("hooks", "hooks are called as forward_preprocess(hook_called_twice), "),
    "missing_conjugate": ("first_derivative", "order 1, argument 0, element (0,)"),
    "wrong_stacking": ("shared_inputs", "the gradient of three calls that share 'x2'"),
    "wrong_negation": ("declared", "the result of a negation"),
    "wrong_reading": ("declared", "the gradient of 9 readings"),
    "wrong_exactness": ("declared", "element (0, 0) by itself"),
    "wrong_commutation": ("declared", "the result of swapped arguments"),
    "wrong_selection": ("declared", "the result for ones"),
    "wrong_dtype_of_result": (
        "gradient_form",
        "1 of 0 floating-point results need a gradient; does the op say",
    ),
    "wrong_batching": ("batched", "with x mapped: result 0, element"),
    "lost_in_batching": ("batched", "in a pass through vmap: the gradient of array 0, 'x',"),
    "wrong_product": ("taylor", "the derivative of order 1 along a line: result 0"),
    "lost_in_passes_at_once": ("composed", "the Jacobian by passes: the gradient of array 0"),
    "lost_below_a_level": ("composed", "the Jacobian by passes: the gradient of array 0"),
    "wrong_pattern": ("sparse", "the local pattern lacks row 0, column 5: the derivative of"),
    "undeclared_noise": ("sparse", "of a zero, say Sample(noisy_zeros=True)"),
    "computed_lazy_array": ("batched", "no Python branch, loop or number can depend on its values"),
    "wrong_second_derivative": ("second_derivative", "order 2, argument 0, element (0, 0)"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(FOLDER, folder)
    return folder


@pytest.fixture(scope="module")
def results(site):
    """Return a function that runs the suite on the planted ops, and gives what fails by op."""

    def run(backend):
        report = site / f"{backend}.json"
        done = subprocess.run(
            [PROGRAM, "conformance", f"--backend={backend}", f"--json={report}"]
            + [f"--ops={name}" for name in (*DEFECTS, "declared_noise", "sound")],
            env=os.environ | {"PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        found = {}
        for each in json.loads(report.read_text())["results"]:
            for failure in each["failed"]:
                checks = found.setdefault(each["op"], {})
                checks.setdefault(each["check"], []).append(failure)
        return found, done.stdout

    return run


@pytest.fixture(scope="module")
def on_numpy(results):
    return results("numpy")


# Those are of what is declared to save time, which a simple pass does not use.
ACCELERATED = dict.fromkeys(("wrong_stacking", "wrong_reading"), pytest.mark.accelerated)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ACCELERATED.get(name, ())) for name in DEFECTS]
)
def test_a_defect_is_caught_by_its_check(name, on_numpy):
    found, printed = on_numpy
    check, message = DEFECTS[name]
    failure = found[name][check][0]
    assert message in failure["message"]
    assert name in printed
    assert f"xp.{name}(" in failure["code"]


@pytest.mark.parametrize(
    "name", ["wrong_sign", "missing_sum", "wrong_second_derivative", "wrong_batching"]
)
def test_the_line_to_mend_is_named(name, on_numpy):
    found, _ = on_numpy
    file, _, line = found[name][DEFECTS[name][0]][0]["mend"].split(" ")[0].rpartition(":")
    lines = Path(file).read_text().splitlines()
    assert any(name in each for each in lines[int(line) - 4 : int(line)])


@pytest.mark.parametrize("name", ["lost_in_passes_at_once", "lost_below_a_level"])
def test_what_is_lost_where_levels_meet_is_caught_by_one_check_alone(name, on_numpy):
    found, _ = on_numpy
    assert set(found[name]) == {"composed"}


def test_a_failing_sample_is_a_script_that_fails(on_numpy, site, tmp_path):
    found, _ = on_numpy
    failure = found["wrong_sign"]["first_derivative"][0]
    script = tmp_path / "failing.py"
    script.write_text(failure["code"])
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "AssertionError: order 1, argument 0, element (0, 0)" in done.stderr


@pytest.mark.accelerated
def test_what_is_sound_passes_everything(on_numpy):
    found, _ = on_numpy
    assert set(found) == set(DEFECTS)


@pytest.mark.parametrize(
    ("lowering", "message"),
    [
        ("stale", r"result 0, element \(0, 0\): \S+ and \S+ by the call itself"),
        ("rounding", "step by step"),
    ],
)
def test_a_wrong_lowering_is_caught(lowering, message, site):
    done = subprocess.run(
        [PROGRAM, "conformance", "--ops=sound", "--checks=compiled", f"--lowering={lowering}"],
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert re.search(message, done.stdout)


def test_an_op_without_samples_is_named(on_numpy, site):
    _, printed = on_numpy
    assert "unsampled: not checked: it has a rule and no samples" in printed
    done = subprocess.run(
        [PROGRAM, "conformance", "--ops=unsampled"],
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "op 'unsampled' has a rule and no samples" in done.stdout


@pytest.mark.slow
def test_a_rule_that_waits_for_the_device_is_caught_where_it_is_counted(results):
    pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
    found, _ = results("waiting")
    (failure, *_) = found["computed_lazy_array"]["synchronisation"]
    assert "the backward pass waits for values 1 times" in failure["message"]
    assert "sound" not in found


def test_a_rule_that_computes_a_lazy_array_is_caught(results):
    pytest.importorskip("dask.array", reason="a lazy backend: pip install 'agnograd[dask]'")
    found, _ = results("dask")
    (failure, *_) = found["computed_lazy_array"]["laziness"]
    assert "the backward pass computes 1 times" in failure["message"]
    assert "sound" not in found
