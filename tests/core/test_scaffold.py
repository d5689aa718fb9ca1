"""New distributions work as they are generated; a bad name is an error that says why."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import agnograd as ag
from agnograd._cli.main import main
from distributions import install

PROGRAM = Path(sys.executable).with_name("agnograd")


def run(*command, cwd, site=None, code=0):
    environment = os.environ | ({} if site is None else {"PYTHONPATH": str(site)})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def refused(*arguments, cwd):
    """Return the message of a command that must fail, and see that it has written nothing."""
    before = sorted(cwd.rglob("*"))
    done = run(PROGRAM, *arguments, cwd=cwd, code=1)
    assert sorted(cwd.rglob("*")) == before
    return done.stderr


KINDS = [("plugin", "my-counter"), ("ops", "agnograd-soft.sign"), ("backend", "Mine")]


@pytest.mark.parametrize(("kind", "name"), KINDS)
@pytest.mark.slow
def test_a_new_distribution_passes_its_tests(kind, name, tmp_path):
    pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
    out = run(PROGRAM, f"new-{kind}", name, cwd=tmp_path).stdout
    assert f"cd {name} && pip install" in out
    folder, site = tmp_path / name, tmp_path / "site"
    install(folder, site)
    done = run(sys.executable, "-m", "pytest", "-q", cwd=folder, site=site)
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
    assert "$" not in (folder / "README.md").read_text()
    assert (folder / ".gitignore").exists()


@pytest.mark.slow
def test_new_distributions_are_formatted_linted_and_typed(tmp_path):
    modules = []
    for kind, name in KINDS:
        run(PROGRAM, f"new-{kind}", name, cwd=tmp_path)
        folder = tmp_path / name
        run(sys.executable, "-m", "ruff", "format", "--check", "--no-cache", cwd=folder)
        run(sys.executable, "-m", "ruff", "check", "--no-cache", cwd=folder)
        modules += (folder / "src").iterdir()
    # Together, in one run: it is agnograd that takes the time.
    config = next(tmp_path.glob("*/pyproject.toml"))
    cache = Path(__file__).parents[2] / ".mypy_cache" / "scaffold"
    command = ["mypy", "--strict", "--config-file", str(config), "--cache-dir", str(cache)]
    run(sys.executable, "-m", *command, *map(str, modules), cwd=tmp_path)


def test_names_follow_from_the_name(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    run(PROGRAM, "new-plugin", "agnograd-Two.words", "--into", place, cwd=tmp_path)
    folder = place / "agnograd-Two.words"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "agnograd-Two.words"
    assert project["entry-points"] == {
        "agnograd.plugins": {"two_words": "agnograd_two_words:TwoWords"}
    }
    run(PROGRAM, "new-backend", "mine", "--library", "some_arrays", cwd=tmp_path)
    project = tomllib.loads((tmp_path / "mine" / "pyproject.toml").read_text())["project"]
    assert "some-arrays" in project["dependencies"]
    module = (tmp_path / "mine" / "src" / "mine" / "__init__.py").read_text()
    assert "import some_arrays" in module
    run(PROGRAM, "new-backend", "theirs", "--library", "some_arrays.core", cwd=tmp_path)
    project = tomllib.loads((tmp_path / "theirs" / "pyproject.toml").read_text())["project"]
    assert "some-arrays" in project["dependencies"]
    module = (tmp_path / "theirs" / "src" / "theirs" / "__init__.py").read_text()
    assert "import some_arrays.core\n" in module
    assert 'modules = ("some_arrays",)' in module


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my counter", ["not a valid name", "try 'my-counter'"]),
        ("-counter-", ["not a valid name", "try 'counter'"]),
        ("../counter", ["not a valid name", "try 'counter'"]),
        ("zähler", ["not a valid name"]),
        ("", ["not a valid name"]),
        ("2fast", ["begin with a letter"]),
        ("agnograd-class", ["use no keyword", "'class'"]),
        ("agnograd-timer", ["entry point 'timer' belongs to agnograd", "choose a name other"]),
        ("json", ["module 'json' is installed"]),
        ("agnograd_clip.", ["not a valid name", "try 'agnograd_clip'"]),
        ("optree", ["module 'optree' is installed"]),
        ("array-api-compat", ["module 'array_api_compat' is installed"]),
        ("lazy.loader", ["module 'lazy_loader' is installed"]),
        ("python-dateutil", ["distribution 'python-dateutil' is installed"]),
        ("true", ["class 'True'", "already a name in Python", "choose another name"]),
        ("agnograd-none", ["class 'None'", "already a name in Python"]),
        ("print", ["'print' is already a name in Python"]),
        ("agnograd-list", ["'list' is already a name in Python"]),
        ("value-error", ["'ValueError' is already a name in Python"]),
        ("counter", ["'Counter' is already a name in Python, or in what is written there"]),
        ("call", ["'Call' is already a name in Python, or in what is written there"]),
        ("float64", ["'float64' is already a name in Python, or in what is written there"]),
        ("conftest", ["'conftest' is already a name"]),
    ],
)
def test_a_name_that_does_not_do_is_refused(name, words, tmp_path):
    message = refused("new-plugin", "--", name, cwd=tmp_path)
    for word in words:
        assert word in message


def test_what_exists_is_never_written_over(tmp_path):
    run(PROGRAM, "new-plugin", "mine", cwd=tmp_path)
    readme = tmp_path / "mine" / "README.md"
    readme.write_text("precious")
    message = refused("new-ops", "mine", cwd=tmp_path)
    assert "mine exists already, and nothing was written" in message
    assert readme.read_text() == "precious"


@pytest.mark.parametrize("kind", ["plugin", "backend", "ops"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_is_written_whole_or_not_at_all(kind, error, tmp_path, monkeypatch):
    written = []

    def write_text(path, text, **options):
        if len(written) == 3:
            raise error
        written.append(path)
        path.write_bytes(text.encode())

    monkeypatch.setattr(Path, "write_text", write_text)
    done = CliRunner().invoke(main, [f"new-{kind}", "mine", "--into", str(tmp_path)])
    assert len(written) == 3
    assert done.exit_code == 1
    assert list(tmp_path.iterdir()) == []
    if isinstance(error, OSError):
        assert "mine cannot be written, and nothing is left of it: " in done.output
        assert "No space left" in done.output


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    message = refused("new-ops", "a" * 300, cwd=tmp_path)
    assert "cannot be written" in message


def test_names_of_ops_backends_and_libraries_are_checked_too(tmp_path):
    assert f"op 'sin' belongs to agnograd {ag.__version__}" in refused(
        "new-ops", "sin", cwd=tmp_path
    )
    for name in ("pi", "float64"):
        assert f"{name!r} is in the array API standard" in refused("new-ops", name, cwd=tmp_path)
    assert "'strict' belongs to" in refused("new-backend", "agnograd-strict", cwd=tmp_path)
    for library in ("a b", "a..b", ".a", "a.class", ""):
        assert "not a name of a Python module, such as 'torch' or 'mlx.core'" in refused(
            "new-backend", "mine", "--library", library, cwd=tmp_path
        )
