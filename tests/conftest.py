"""Backends to test on; one whose library is missing is skipped, and says how to install it."""

import gc
import importlib
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

os.environ.setdefault("AGNOGRAD_VERIFY", "1")  # of all programs of all tests

import agnograd as ag
from agnograd._hooks.state import REFERENCE
from agnograd._plugins.backends import backend_named
from agnograd._util.switches import MODE
from agnograd.errors import PluginError
from gaps import gaps

LIBRARIES = {
    "cupy": "array_api_compat.cupy",
    "dask": "array_api_compat.dask.array",
    "jax": "jax.numpy",
    "numpy": "array_api_compat.numpy",
    "strict": "array_api_strict",
    "torch": "array_api_compat.torch",
}


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="module")  # while it is there, an event loop runs
def browser():
    """Return a real browser; without one a test that takes it is skipped, and says what to do."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="drives the browser: pip install 'agnograd[browser]'"
    )
    if CHROMIUM is None:
        pytest.skip("no browser: install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a folder with the package as a wheel has it, with what is written for ops."""
    root, folder = Path(__file__).parent.parent, tmp_path_factory.mktemp("wheel")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "agnograd", folder / "agnograd", ignore=without)
    command = [sys.executable, root / "tools" / "functions.py", folder / "agnograd" / "_built"]
    subprocess.run(command, check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", folder], check=True)
    return folder


@pytest.fixture
def backend(request):
    """Return the name of a backend; a test that takes it runs on each that was asked for."""
    try:
        ag.namespace(request.param)
    except PluginError as error:
        pytest.skip(str(error))
    with backend_named(request.param).conformance():
        yield request.param


@pytest.fixture
def xp(backend):
    """Return the differentiable namespace of a backend."""
    return ag.namespace(backend)


@pytest.fixture
def library(backend):
    """Return the raw namespace that a backend wraps."""
    return importlib.import_module(LIBRARIES[backend])


def pytest_generate_tests(metafunc):
    """Run a test that takes a backend on all that were asked for."""
    own = metafunc.definition.iter_markers("parametrize")
    if "backend" in metafunc.fixturenames and not any("backend" in mark.args[0] for mark in own):
        chosen = metafunc.config.getoption("backend") or ["numpy", "strict"]
        metafunc.parametrize("backend", chosen, indirect=True)


def pytest_configure(config):
    """Draw more random programs where there is time."""
    if config.option.programs is None:
        config.option.programs = 1000 if config.option.slow else 100
    if MODE.side or MODE.numbers:  # results are right without a program, which a warning says
        ignored = "ignore:.* was compiled .* times:agnograd.errors.CompileWarning"
        config.addinivalue_line("filterwarnings", ignored)


def pytest_collection_modifyitems(config, items):
    """Leave out slow tests that were not asked for, and skip those of what is switched off."""
    selected = config.getoption("keyword") or any("::" in arg for arg in config.args)
    expect_gaps(items, selected)
    if REFERENCE:  # a pass without accelerations
        for item in filter(lambda item: item.get_closest_marker("accelerated"), items):
            item.add_marker(pytest.mark.skip(reason="of what AGNOGRAD_REFERENCE=1 leaves out"))
    if MODE.side or MODE.numbers:
        for item in filter(lambda item: item.get_closest_marker("usual_switches"), items):
            item.add_marker(pytest.mark.skip(reason="of what AGNOGRAD_SWITCHES decides"))
    if not (selected or config.getoption("slow")):
        leave_out(config, items, lambda item: item.get_closest_marker("slow"))
    if of_slow := config.getoption("slow_part"):
        leave_out(config, items, lambda i: i.get_closest_marker("slow") and not is_in(of_slow, i))
    if part := config.getoption("part"):
        leave_out(config, items, lambda item: not is_in(part, item))


def leave_out(config, items, which):
    """Take tests away from what was collected."""
    config.hook.pytest_deselected(items=[item for item in items if which(item)])
    items[:] = [item for item in items if not which(item)]


def is_in(part, item):
    """Return whether a test is in the K-th of N parts, which have about as many tests each."""
    number, of = map(int, part.split("/"))
    return zlib.crc32(item.nodeid.encode()) % of == number - 1


def pytest_collection_finish(session):
    """Let the garbage collector pass over what was collected, which stays: tests call it often."""
    gc.collect()
    gc.freeze()


def expect_gaps(items, selected):
    """Expect the known gaps of libraries; one that is none any more is a failure."""
    known, files = {}, set()  # and which files run on which backend
    for item in items:
        backend = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        if backend is None:
            continue
        files.add((backend, item.nodeid.partition("::")[0]))
        of_backend = known.setdefault(backend, {gap: set() for gap in gaps(backend)})
        for gap, tests in of_backend.items():
            if gap.is_of(item.nodeid):
                tests.add(item.nodeid)
                mark = pytest.mark.xfail(raises=gap.error, reason=gap.reason, strict=True)
                item.add_marker(mark)
    for backend, of_backend in known.items():
        for gap, tests in of_backend.items():
            if not (tests or selected) and (backend, gap.pattern.partition("::")[0]) in files:
                raise pytest.UsageError(f"a gap of {backend} names no test: {gap.pattern}")


def pytest_addoption(parser):
    parser.addoption(
        "--backend",
        action="append",
        metavar="NAME",
        help="a backend to run tests on; may be given several times (default: numpy and strict)",
    )
    parser.addoption(
        "--slow",
        action="store_true",
        help="also run the tests that take long, as continuous integration does",
    )
    parser.addoption(
        "--slow-part",
        metavar="K/N",
        help="with --slow: of the tests that take long, the K-th of N parts",
    )
    parser.addoption("--part", metavar="K/N", help="of all tests, the K-th of N parts")
    parser.addoption(
        "--programs",
        type=int,
        metavar="N",
        help="how many random programs to check (default: 100, and 1000 with --slow)",
    )
    parser.addoption(
        "--all-ops",
        action="store_true",
        help="check every op as a function of other engines, and not only some of them",
    )
    parser.addoption(
        "--python",
        action="append",
        default=[],
        type=lambda pair: tuple(pair.split("=", 1)),
        metavar="NAME=PATH",
        help="run a library's blocks of the documentation by an interpreter of its own",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the functions that agnograd generates for ten ops into tests/codegen/golden",
    )
