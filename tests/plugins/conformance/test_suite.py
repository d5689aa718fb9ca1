"""The suite as its users run it: by command and by pytest, with what it selects and reports."""

import contextlib
import importlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import agnograd as ag
from agnograd._cli.main import main
from agnograd._plugins.backends import backend_named
from agnograd.extend import Capabilities, Sample, array
from agnograd.testing import all_samples
from agnograd_conformance import CHECKS, NotApplicable, Trial

PROGRAM = Path(sys.executable).with_name("agnograd")


def run(*command, code=0, cwd=None, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | environment,
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def conformance(*arguments, **options):
    return run(PROGRAM, "conformance", *arguments, **options)


def in_pytest(*arguments, **options):
    suite = ("--pyargs", "agnograd.testing.conformance", "-p", "no:cacheprovider")
    suite += ("-p", "no:hypothesispytest")
    return run(sys.executable, "-m", "pytest", *suite, *arguments, **options)


@pytest.mark.slow
def test_the_quick_set_passes(tmp_path):
    report = tmp_path / "report.json"
    out = conformance("--backend=numpy", "--quick", "--json", report, "--", "-W", "error")
    assert " 0 failed, 0 known gaps" in out
    found = json.loads(report.read_text())
    ops = ag.ops().items()
    own = {name for name, info in ops if info.distribution.startswith("agnograd ")}
    assert set(found["ops"]) >= {name for name in own if ag.ops()[name].status == "rule"}
    assert {each["check"] for each in found["results"]} == set(CHECKS)


# -- what is selected ------------------------------------------------------------------------------


def results(report):
    return json.loads(report.read_text())["results"]


def test_ops_checks_and_dtypes_are_selected(tmp_path):
    report = tmp_path / "some" / "report.json"
    conformance("--ops", "linalg.in*", "--checks", "f*", "--json", report)
    assert {each["op"] for each in results(report)} == {"linalg.inv"}
    assert {each["check"] for each in results(report)} == {
        *("forward", "first_derivative", "forward_mode", "freed"),
    }
    dtypes = {each["dtype"] for each in results(report)}
    assert dtypes == {"float32", "float64", "complex64", "complex128"}


@pytest.mark.slow
def test_some_checks_take_few_samples(tmp_path):
    report, quick = tmp_path / "report.json", tmp_path / "quick.json"
    selected = ("--ops=linalg.inv", "--checks=forward", "--checks=freed", "--json")
    conformance("--few=freed", *selected, report)
    conformance("--quick", *selected, quick)

    def passed(path, check):
        return {each["dtype"]: each["passed"] for each in results(path) if each["check"] == check}

    assert passed(report, "freed") == passed(quick, "freed") == {"float64": 2, "complex128": 1}
    assert set(passed(report, "forward")) > set(passed(quick, "forward"))
    assert passed(report, "forward")["float64"] > 2
    out = conformance("--few=fred", code=2)
    assert "the checks that take few samples: 'fred' names none" in out
    conformance("--quick", *selected, report)
    assert {each["dtype"] for each in results(report)} == {"float64", "complex128"}


@pytest.mark.slow
def test_double_precision_has_every_sample(tmp_path):
    def counts(*options):
        report = tmp_path / "report.json"
        selected = ("--ops=linalg.inv", "--ops=astype", "--checks=forward", "--checks=freed")
        conformance(*selected, *options, "--json", report)
        return {
            (each["op"], each["check"], each["dtype"]): each["passed"]
            + sum(each["skipped"].values())
            for each in results(report)
        }

    every, double = counts(), counts("--double")
    wide = {cell: count for cell, count in every.items() if cell[2] in ("float64", "complex128")}
    assert {cell: count for cell, count in double.items() if cell in wide} == wide
    assert {cell for cell in double if cell[0] == "linalg.inv"} <= set(wide)
    given = {(op, dtype) for op, _, dtype in set(double) - set(wide)}  # as they are given
    assert given == {("astype", dtype) for dtype in ("float32", "complex64", "int64")}
    samples = [each for _, _, each in all_samples() if each.op in ("linalg.inv", "astype")]
    assert sum(n for (_, check, _), n in double.items() if check == "forward") == len(samples)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ops", "linalg.innv"], ["'linalg.innv' names none", "did you mean 'linalg.inv'?"]),
        pytest.param(
            ["--checks", "forwards"],
            ["'forwards' names none", "did you mean 'forward'?"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--lowering", "fast"],
            ["no lowering is named 'fast'", "there are: auto, "],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--backend", "numppy"], ["no backend is named 'numppy'"], marks=pytest.mark.slow
        ),
        (["--gaps", "nowhere.txt"], ["nowhere.txt"]),
    ],
)
def test_a_misspelt_name_is_an_error(options, words):
    out = conformance(*options, code=2)
    for word in words:
        assert word in out


def test_the_checks_are_listed():
    lines = conformance("--list").splitlines()
    assert [line.split()[0] for line in lines] == list(CHECKS)
    assert all(len(line.split()) > 3 for line in lines)


def test_the_page_has_a_row_for_each_check():
    page = (Path(__file__).parents[3] / "docs" / "conformance.md").read_text()
    _, _, rows = page.partition("| check | what must hold |")
    assert re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE) == list(CHECKS)


def test_pytest_runs_the_suite_and_knows_its_items(tmp_path):
    xml = tmp_path / "junit.xml"
    out = in_pytest("--agnograd-ops=sin", "-k", "float32 and forward", f"--junitxml={xml}", "-v")
    assert re.search(r"sin::forward\[float32-numpy\] PASSED", out)
    cases = list(ElementTree.parse(xml).getroot().iter("testcase"))
    assert {case.get("name") for case in cases} == {
        "forward[float32-numpy]",
        "forward_mode[float32-numpy]",
    }
    assert all(case.get("classname").endswith("conformance.sin") for case in cases)


def test_the_plugin_imports_nothing_of_agnograd_before_it_is_asked():
    code = "import sys, pytest, agnograd; a = set(sys.modules); import agnograd_conformance.plugin"
    out = run(sys.executable, "-c", f"{code}; print(*(set(sys.modules) - a))")
    assert set(out.split()) == {"agnograd_conformance", "agnograd_conformance.plugin"}


def test_the_suite_is_a_module_of_agnograd_testing():
    found = importlib.import_module("agnograd.testing.conformance")
    assert found is ag.testing.conformance is sys.modules["agnograd_conformance"]
    assert (found.CHECKS, found.Trial) == (CHECKS, Trial)


@pytest.mark.slow
def test_the_environment_chooses_the_backend(tmp_path):
    pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
    report = tmp_path / "report.json"
    conformance("--ops=sin", f"--json={report}", AGNOGRAD_BACKEND="strict")
    assert json.loads(report.read_text())["backend"] == "strict"


@pytest.mark.slow
def test_the_project_around_it_has_no_say(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not to be loaded')\n")
    assert " 0 failed" in conformance("--ops=sin", cwd=tmp_path)


@pytest.mark.slow
def test_processes_share_the_work_and_the_report_is_the_same(tmp_path):
    pytest.importorskip("xdist", reason="pip install 'agnograd[conformance]'")
    reports = [tmp_path / "one.json", tmp_path / "two.json"]
    selected = ("--ops=sin", "--ops=sign", "--quick", "--json")
    conformance(*selected, reports[0])
    conformance(*selected, reports[1], "-n", "2")
    one, two = ([{**each, "seconds": 0} for each in results(report)] for report in reports)
    assert one == two


# -- known gaps ------------------------------------------------------------------------------------


BACKEND = '''
"""A young backend: NumPy, of which something is missing."""

import types

from agnograd.extend import Backend, Capabilities, hookimpl


def missing(x, /):
    raise NotImplementedError("no logarithm yet")


class YoungBackend(Backend):
    name = "young"
    modules = ("numpy",)
    hidden = ()

    def namespace(self):
        import array_api_compat.numpy as xp

        young = types.ModuleType("young")
        vars(young).update(vars(xp))
        young.log10 = missing
        for name in ("trunc", *self.hidden):
            delattr(young, name)
        return young

    def array_types(self):
        import numpy as np

        return (np.ndarray, np.generic)

    def to_host(self, array, *, dtype=None, copy=None):
        return self.namespace().asarray(array, dtype=dtype, copy=copy)

    {body}


@hookimpl
def backend():
    return YoungBackend()
'''


@pytest.fixture
def young(tmp_path):
    """Return a function that runs the suite on a backend with a body of one's own."""
    info = tmp_path / "young-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: young\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[agnograd.backends]\nyoung = young\n")

    def run(*arguments, body="", gaps=None, code=0):
        (tmp_path / "young.py").write_text(BACKEND.replace("{body}", body))
        if gaps is not None:
            (tmp_path / "gaps.txt").write_text(gaps)
            arguments = (*arguments, "--gaps", tmp_path / "gaps.txt")
        return conformance(
            *("--backend=young", *arguments), code=code, PYTHONPATH=str(tmp_path), cwd=tmp_path
        )

    return run


def test_what_is_not_there_is_said_once_an_op(young):
    out = young("--ops=trunc", "--ops=log10", code=1)
    assert "the backend's namespace has no function 'trunc'" in out
    assert "NotImplementedError: no logarithm yet" in out
    assert "young.py:26 (YoungBackend.namespace)" in out or "young.py:10 (raised there)" in out
    assert "second_derivative fails" not in out


@pytest.mark.slow
def test_a_known_gap_is_none_any_more_when_it_passes(young):
    reason = "# No logarithm yet.\n"
    gap = "NotImplementedError log10(*)::forward[*]\n"
    assert "0 failed" in young("--ops=log10", gaps=reason + gap)
    out = young(
        "--ops=log10",
        "--ops=sin",
        gaps=f"{reason}{gap}ValueError sin([2, 3])::forward[*]\n",
        code=1,
    )
    assert "a known gap that is none any more, take it out of the list: No logarithm yet." in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ValueErro sin(*)::*", "gaps.txt:2: 'ValueErro' is not an exception"),
        pytest.param("ValueError", "gaps.txt:2: a gap has a pattern", marks=pytest.mark.slow),
        ("ValueError no_such_op(*)::*", "a gap names nothing: no_such_op(*)::*"),
    ],
)
def test_a_misspelt_gap_is_an_error(line, message, young):
    out = young(gaps=f"# A reason.\n{line}\n", code=2)
    assert message in out


@pytest.mark.slow
def test_a_gap_needs_a_reason_and_another_suites_lines_are_left_to_it(young):
    assert "a reason above it" in young(gaps="ValueError sin(*)::*\n", code=2)
    lines = "# Theirs.\ntests/test_x.py::test_y\nValueError tests/test_x.py::test_z\n"
    assert "0 failed" in young("--ops=exp", gaps=lines)


# -- runs that do not come to their end ------------------------------------------------------------


CRASHING = """
    def kernels(self):
        import os
        import signal

        return {"sqrt": lambda x: os.kill(os.getpid(), signal.SIGABRT)}
"""


@pytest.mark.slow
def test_a_run_that_dies_leaves_what_it_found(young, tmp_path):
    report, page = tmp_path / "report.json", tmp_path / "page.html"
    selected = ("--quick", "--ops=sin", "--ops=sqrt", "--checks=forward")
    out = young(*selected, "--json", report, body=CRASHING.strip(), code=128 + signal.SIGABRT)
    assert "the run was ended by SIGABRT" in out
    assert f"agnograd scoreboard {report} --html FILE" in out
    found = json.loads(report.read_text())
    assert not found["finished"]
    (running,) = found["running"]
    assert running.endswith("sqrt::forward[float64-young]")
    assert {each["op"] for each in found["results"]} == {"sin"}
    run(PROGRAM, "scoreboard", report, "--html", page)
    assert "forward[float64-young]" in page.read_text()
    out = young("--quick", "--ops=sqrt", body=CRASHING.strip(), code=128 + signal.SIGABRT)
    assert "with --json FILE" in out


@pytest.mark.slow
def test_a_run_that_cannot_begin_or_is_stopped_says_so_in_its_report(young, tmp_path):
    report = tmp_path / "report.json"
    young("--quick", "--json", report, body=METHODS["item"], code=2)
    found = json.loads(report.read_text())
    assert "YoungBackend.item(): it gives 1.0 for 2.5" in found["error"]
    assert (found["finished"], found["results"]) == (False, [])
    stop = ("--", "--maxfail=1")
    young("--quick", "--ops=log10", "--ops=sin", "--json", report, *stop, code=1)
    found = json.loads(report.read_text())
    assert (found["finished"], found["error"]) == (False, "stopping after 1 failures")
    young("--quick", "--ops=sin", "--json", report)
    found = json.loads(report.read_text())
    assert found["finished"]
    assert "error" not in found


# -- capabilities, and the list of ops -------------------------------------------------------------


@pytest.mark.slow
def test_a_list_of_ops_lets_a_backend_grow(young, tmp_path):
    report = tmp_path / "report.json"
    young("--quick", "--json", report, body='ops = ("exp*", "linalg.inv")')
    ops = set(json.loads(report.read_text())["ops"])
    assert ops == {"exp", "expm1", "expand_dims", "linalg.inv"}


@pytest.mark.slow
def test_a_list_of_ops_may_leave_some_out(young, tmp_path):
    report = tmp_path / "report.json"

    def ops(*arguments, body):
        young("--quick", "--checks=forward", "--json", report, *arguments, body=body)
        return set(json.loads(report.read_text())["ops"])

    body = 'ops = ("exp*", "!expand_*", "linalg.inv")'
    assert ops(body=body) == {"exp", "expm1", "linalg.inv"}
    most = ops("--ops=e*", "--ops=t*", body='ops = ("!trunc", "!exp*", "expm1")')
    assert {"expm1", "einsum", "tan"} <= most
    assert not {"trunc", "exp"} & most
    assert ops("--ops=s?n*", "--ops=!sinh", body="") == {"sin"}
    out = young("--quick", body='ops = ("!trunk",)', code=2)
    assert "YoungBackend.ops: '!trunk' names none; did you mean 'trunc'?" in out


def test_a_misspelt_op_in_the_list_is_an_error(young):
    out = young("--quick", body='ops = ("sin", "cosin")', code=2)
    assert "YoungBackend.ops: 'cosin' names none; did you mean" in out


def test_what_a_backend_has_not_is_left_out(young, tmp_path):
    report = tmp_path / "report.json"
    body = "capabilities = Capabilities(float64=False, complex=False, immutable=True)"
    young("--ops=exp", "--json", report, body=body)
    found = results(report)
    assert {each["dtype"] for each in found} == {"float32"}
    skipped = {each["check"]: each["skipped"] for each in found}
    assert any("immutable" in reason for reason in skipped["layouts"])


def dtypes(report):
    return {each["dtype"] for each in results(report)}


@pytest.mark.slow
def test_single_and_double_precision_are_declared_one_by_one(young, tmp_path):
    report = tmp_path / "report.json"
    body = "capabilities = Capabilities({})\n    hidden = ({},)"
    selected = ("--ops=exp", "--ops=astype", "--checks=forward", "--json", report)
    young(*selected, body=body.format("complex128=False", "'complex128'"))
    assert dtypes(report) >= {"float32", "float64", "complex64"}
    assert "complex128" not in dtypes(report)
    young(*selected, body=body.format("float64=False", "'float64', 'complex128'"))
    # Not integers: the sample that has some makes float64 of them.
    assert dtypes(report) == {"float32", "complex64"}
    out = young(*selected, body=body.format("", "'complex128'"), code=2)
    assert "the namespace has no dtype 'complex128': declare complex128=False" in out
    has = Capabilities(float64=False, complex128=True).has
    assert [has(name) for name in ("float64", "complex128", "complex64", "int8")] == [
        *(False, True, True, True)
    ]
    assert not Capabilities(complex=False, complex128=True).has("complex128")


WITHOUT_MASKS = """
    def operator(self, function):
        import operator

        return self.read if function is operator.getitem else function

    def read(self, x, key):
        if getattr(key, "dtype", None) == bool:
            raise IndexError("no masks")
        return x[key]

    hidden = ("nonzero", "unique_values")
    capabilities = Capabilities(boolean_indexing=False, data_dependent_shapes=False)
"""


@pytest.mark.slow
def test_what_the_standard_leaves_to_a_library_is_left_out(young, tmp_path):
    report = tmp_path / "report.json"
    ops = ("__getitem__", "__setitem__", "nonzero", "unique_values", "repeat", "sin")
    given = [f"--ops={name}" for name in ops]
    young(*given, "--checks=forward", "--double", "--json", report, body=WITHOUT_MASKS.strip())
    found = json.loads(report.read_text())["ops"]
    assert set(found) == {"__getitem__", "__setitem__", "repeat", "sin"}
    out = young(body='hidden = ("nonzero",)', code=2)
    assert "no function 'nonzero': declare data_dependent_shapes=False" in out


def test_a_misspelt_capability_is_an_error(young):
    with pytest.raises(TypeError, match="lazzy"):
        Capabilities(lazzy=True)
    assert "lazzy" in young(body="capabilities = Capabilities(lazzy=True)", code=2)


def test_a_capability_that_is_not_so_is_an_error(young):
    out = young(body='hidden = ("complex64",)', code=2)
    assert (
        "YoungBackend.capabilities: the namespace has no dtype 'complex64': declare complex=False"
        in out
    )


METHODS = {
    "namespace": "def namespace(self, made=namespace):\n"
    "        xp, take = made(self), made(self).take\n"
    "        xp.take = lambda x, indices, axis: take(x, xp.sort(indices), axis=axis)\n"
    "        return xp",
    "device": "def device(self, array):\n        return 'elsewhere'",
    "dtype": "def dtype(self, name):\n        return name",
    "from_dlpack": "def from_dlpack(self, x, **options):\n        return [1.0]",
    "put": "def put(self, x, key, value):\n        return x",
    "array_types": "def array_types(self):\n        return (str,)",
    "item": "def item(self, array):\n        return 1.0",
    "set": "def set(self, x, key, value):\n        x[key] = value\n        return x",
    "constant": "def accepts(self, value):\n        return True\n\n"
    "    def constant(self, value):\n        return value[::-1]",
    "counter": "def counter(self):\n        return len",
    "flat": "large = 1\n\n    def flat(self, x):\n        return x.T.reshape(-1)",
    "uniform": "large = 1\n\n    def uniform(self, x):\n        return x[0, 0]",
    "scatter_add": "def scatter_add(self, into, key, values):\n        return into + 1.0",
    "scatter_add_axis": "def scatter_add_axis(self, into, indices, values, axis):\n        1 / 0",
}
FOUND = {
    "namespace": "take(x, [2, 0, 2], axis=0) gives [1.0, 4.0, 4.0], and should give [4.0, 1.0,",
    "device": "ValueError: Unsupported device for NumPy: 'elsewhere'",
    "dtype": "it gives 'bool' for 'bool', and arrays have dtype('bool')",
    "from_dlpack": "it gives <class 'list'>, which is not among array_types()",
    "put": "at [0] it gives [1.0, 2.0, 4.0], and should give [5.0, 2.0, 4.0]",
    "array_types": "makes arrays of type <class 'numpy.ndarray'>, which is not among them",
    "item": "it gives 1.0 for 2.5",
    "set": "it changes its argument",
    "constant": "it gives [1.0, 2.0, 4.0], and should give [4.0, 2.0, 1.0]",
    "counter": "TypeError: len() of unsized object",
    "flat": "writing to the second element of what it gives for an array makes it [0.0, 0.0,",
    "uniform": "it gives np.float64(1.0) for an array of 1.0 and 2.0",
    "scatter_add": "at [0] it gives [1.0, 1.0, 1.0], and should give [5.0, 0.0, 0.0]",
    "scatter_add_axis": "ZeroDivisionError",
}


SOON = ("namespace", "dtype", "flat")  # found as the others are, each of which takes a run


@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=() if name in SOON else pytest.mark.slow) for name in METHODS],
)
def test_a_method_of_a_backend_that_is_wrong_is_named(method, young):
    out = young("--ops=exp", body=METHODS[method], code=2)
    assert f"YoungBackend.{method}(): " in out
    assert FOUND[method] in out


def test_results_of_another_type_than_the_arrays_are_named(young):
    body = (
        "hidden = ('sin',)\n\n"
        "    def namespace(self, made=BASE):\n"
        "        xp = made(self)\n"
        "        xp.sin = str\n"
        "        return xp"
    )
    out = young("--ops=exp", body=body.replace("BASE", "namespace"), code=2)
    assert "YoungBackend.array_types(): sin(x) is of type <class 'str'>, which is not among" in out


def test_what_passes_on_numpy_is_the_backends_to_mend(young):
    body = (
        "def operator(self, function):\n"
        "        import operator\n"
        "        return self.read if function is operator.getitem else function\n\n"
        "    def read(self, x, key):\n"  # the suite's first trials read arrays of one axis
        "        return 2.0 * x[key] if x.ndim > 1 else x[key]"
    )
    out = young("--quick", "--ops=__getitem__", "--checks=agrees_with_numpy", body=body, code=1)
    assert re.search(r"look at young\.py:\d+ \(YoungBackend\.read\)", out)
    assert "indexing.py" not in out


@pytest.mark.slow
@pytest.mark.accelerated
def test_a_pullback_of_a_backend_is_held_against_its_rule(young):
    body = "def pullbacks(self):\n        return {'exp': {'x': lambda g, out: g * (1.0 + out)}}"
    out = young("--quick", "--ops=exp", "--checks=first_derivative", body=body, code=1)
    assert re.search(r"look at young\.py:\d+ \(YoungBackend\.pullbacks\.<locals>\.<lambda>\)", out)
    out = young("--quick", "--ops=exp", body=body.replace("1.0 + out", "out).conj("))
    assert " 0 failed" in out


@pytest.mark.slow
@pytest.mark.accelerated
def test_a_pullback_for_one_of_two_arrays_leaves_the_other_and_what_it_does_not_know(young):
    right = "g @ x2.mT if x2.ndim == g.ndim == 2 and x2.dtype.kind == 'f' else NotImplemented"
    body = f"def pullbacks(self):\n        return {{'matmul': {{'x1': lambda g, x2: {right}}}}}"
    assert " 0 failed" in young("--quick", "--ops=matmul", body=body)
    out = young("--quick", "--ops=matmul", body=body.replace("g @", "2.0 * g @"), code=1)
    assert re.search(r"look at young\.py:\d+ \(YoungBackend\.pullbacks\.<locals>\.<lambda>\)", out)
    halves = body.replace("matmul", "multiply").replace(right, "g * x2.conjugate()")
    assert " 0 failed" in young("--quick", "--ops=multiply", "--checks=*derivative", body=halves)


@pytest.mark.accelerated
@pytest.mark.parametrize(
    ("pullbacks", "message"),
    [
        (
            "{'exp': {'x': lambda g, y: g}}",
            "a pullback of exp for 'x' with the parameters g, y; they have to be some of: g, out",
        ),
        pytest.param(
            "{'tanh': {'y': lambda g: g}}",
            "a pullback of tanh for 'y'; single arrays with a rule are 'x'",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "{'concat': {'arrays': lambda g: g}}",
            "a pullback of concat for 'arrays'; single arrays with a rule are none",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "{'tanh': float}",
            "<class 'float'> as pullbacks of tanh; give a function for each input",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_pullback_of_other_arguments_is_an_error(young, pullbacks, message):
    body = f"def pullbacks(self):\n        return {pullbacks}"
    op = re.search(r"\w+", pullbacks)[0]
    out = young("--quick", f"--ops={op}", "--checks=forward", body=body, code=1)
    assert f"backend 'young' gives {message}" in " ".join(out.split())


def test_capabilities_are_those_of_the_libraries(backend):
    """They are declared by hand; here each is held against the library."""
    found, xp = backend_named(backend).capabilities, backend_named(backend).namespace()
    x = xp.asarray([1.0, 2.0], dtype=xp.float64)
    assert found.float64 == ("float64" in str(x.dtype))
    assert found.complex == ("complex128" in str(xp.asarray([1j], dtype=xp.complex128).dtype))
    try:
        x[0] = 3.0
    except TypeError:
        assert found.immutable
    else:
        assert not found.immutable
    if found.unknown_shapes:
        assert x[x > 1.0].shape != (1,)
    assert found.devices


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_exploring_prints_scripts_and_is_not_graded(young):
    out = young("--ops=log10", "--checks=forward", "--explore=2")
    assert "no logarithm yet" in out
    assert "xp.log10(" in out
    out = conformance("--ops=sinh", "--explore=3")
    assert " 0 failed" in out


@pytest.mark.slow
def test_a_scoreboard_merges_reports(tmp_path):
    for name in ("one", "two"):
        report = tmp_path / f"{name}.json"
        conformance("--ops=sin", "--json", report)
        report.write_text(report.read_text().replace('"backend": "numpy"', f'"backend": "{name}"'))
    html = tmp_path / "page.html"
    run(PROGRAM, "scoreboard", tmp_path / "one.json", tmp_path / "two.json", "--html", html)
    assert html.read_text().count('"backend":"two"') == 2
    out = run(PROGRAM, "scoreboard", report, report, "--html", html, code=1)
    assert "two reports are of backend 'two'" in out
    (tmp_path / "other.json").write_text("{}")
    out = run(PROGRAM, "scoreboard", tmp_path / "other.json", "--html", html, code=1)
    assert "is not a report of `agnograd conformance --json`" in out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda report: "{", "is not JSON"),
        (lambda report: "[" * 200_000, "is not JSON"),
        (lambda report: json.dumps(report | {"seconds": float("nan")}), "NaN is not a number"),
        (lambda report: "[1]", "is not a report of"),
        (lambda report: '{"format": 1}', "a damaged report: its 'backend' is missing"),
        (lambda report: json.dumps(report | {"backend": ["x"]}), "its 'backend' is missing, or of"),
        (lambda report: json.dumps(report | {"results": [1]}), "'op' of result 0 is missing"),
        (lambda report: json.dumps(report | {"ops": {"sin": {}}}), "the chapter of op 'sin'"),
        (lambda report: json.dumps(report)[:-20], "is not JSON"),
    ],
)
def test_a_broken_report_is_an_error_that_says_what_is_wrong(change, words, written, tmp_path):
    path, html = tmp_path / "report.json", tmp_path / "page.html"
    path.write_text(change(json.loads(written)))
    done = CliRunner().invoke(main, ["scoreboard", str(path), "--html", str(html)])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert f"Error: {path} is " in done.output
    assert words in done.output
    assert not html.exists()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the text of a report."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    conformance("--ops=sin", "--quick", "--json", path)
    return path.read_text()


def test_a_page_that_cannot_be_written_is_an_error(written, tmp_path, monkeypatch):
    path, file = tmp_path / "report.json", tmp_path / "file"
    path.write_text(written)
    file.write_text("precious")

    def scoreboard(html):
        done = CliRunner().invoke(main, ["scoreboard", str(path), "--html", str(html)])
        assert isinstance(done.exception, SystemExit) or done.exit_code == 0
        return done.output

    assert "is written" in scoreboard(tmp_path / "new" / "page.html")
    assert f"{file / 'page.html'} cannot be written: " in scoreboard(file / "page.html")
    assert "is a directory" in scoreboard(tmp_path)
    assert "does not exist" in CliRunner().invoke(main, ["scoreboard", "x", "--html", "y"]).output

    def full(path, text, **options):
        path.write_bytes(text.encode()[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert "No space left on device" in scoreboard(file)
    assert file.read_bytes() == b"precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "new", "report.json"]


def test_paths_are_looked_at_before_the_run(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\xff\xfe")
    for option in ("--json", "--html"):
        done = CliRunner().invoke(main, ["conformance", option, str(file / "report")])
        assert done.exit_code == 1
        assert "no report can be written there: " in done.output
    for arguments in (["--gaps", str(tmp_path / "none")], ["--explore", "0"], ["--explore", "-2"]):
        done = CliRunner().invoke(main, ["conformance", *arguments])
        assert done.exit_code == 2
        assert "Invalid value" in done.output
    assert "file is not UTF-8 text" in conformance("--ops=sin", "--gaps", file, code=2)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
def test_a_report_says_what_was_run_and_on_what(tmp_path):
    report, html = tmp_path / "report.json", tmp_path / "report.html"
    out = conformance("--ops=sin", "--json", report, "--html", html)
    assert f"written: {report}" in out
    found = json.loads(report.read_text())
    assert found["agnograd"] == ag.__version__
    assert found["library"].startswith("numpy ")
    assert found["versions"]["Python"]
    assert found["seconds"] > 0
    assert found["selection"]["ops"] == ["sin"]
    assert found["capabilities"]["float64"] is True
    assert json.dumps(found["results"][0]["op"]) in html.read_text()


def test_a_terminal_gets_a_bar():
    ours, theirs = pty.openpty()
    command = [PROGRAM, "conformance", "--ops=sin", "--quick"]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of it
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", shown).decode()
    assert re.search(rf"numpy .*\d+/{2 * len(CHECKS)}\b", text)
    assert "[100%]" not in text
    assert " 0 failed" in text


def test_checks_are_functions_that_anyone_can_call():
    trial = Trial(Sample("sin", array(3)), "float64", "numpy")
    without = {"agrees_with_numpy", "declared", "laziness", "shared_inputs", "synchronisation"}
    for name in without:
        with pytest.raises(NotApplicable):
            CHECKS[name](trial)
    for name in CHECKS.keys() - without:
        CHECKS[name](trial)


@pytest.mark.parametrize("backend_name", ["numpy", "jax"])
def test_a_script_names_the_settings_that_it_needs(backend_name):
    try:
        ag.namespace(backend_name)
    except ImportError as error:
        pytest.skip(str(error))
    code = Sample("sin", array(values=[float("inf")], layout="reversed")).code(backend_name)
    assert ("in the settings of JaxBackend.conformance()" in code) == (backend_name == "jax")
    assert "xp.flip(xp.asarray([xp.inf], dtype=xp.float64))" in code
