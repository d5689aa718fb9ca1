"""What a release promises: one version everywhere, metadata that agrees, public names that stay."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import agnograd as ag
from public_names import FOLDER, public_names

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
RECIPE = yaml.safe_load((ROOT / "conda/recipe/recipe.yaml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
HEADING = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_version_is_one():
    assert PROJECT["dynamic"] == ["version"]  # the only source is agnograd/__init__.py
    installed = metadata("agnograd")["Version"]
    assert installed == ag.__version__, "reinstall with pip install -e '.[test]'"
    assert CITATION["version"] == ag.__version__
    assert RECIPE["context"]["version"] == ag.__version__
    assert HEADING[1] == ag.__version__
    minor = ag.__version__.rpartition(".")[0]
    assert f"Version {minor} supports" in (ROOT / "docs/versions.md").read_text()


def test_the_citation_is_complete():
    required = {"cff-version", "message", "title", "authors"}
    known = {"type", "abstract", "version", "date-released", "license", "keywords"}
    assert required <= set(CITATION) <= required | known
    assert CITATION["cff-version"] == "1.2.0"
    assert all(set(author) == {"name"} for author in CITATION["authors"])
    assert CITATION["license"] == PROJECT["license"]
    assert str(CITATION["date-released"]) == HEADING[2]


def test_the_conda_recipe_requires_what_the_project_does():
    run = {Requirement(each) for each in RECIPE["requirements"]["run"][1:]}
    dependencies = {each.replace("-loader", "_loader") for each in PROJECT["dependencies"]}
    assert run == {Requirement(each) for each in dependencies}
    assert f">={RECIPE['context']['python_min']}" == PROJECT["requires-python"]
    points = [f"{name} = {value}" for name, value in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == points
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    host = {Requirement(each) for each in RECIPE["requirements"]["host"][2:]}
    assert host == {Requirement(each) for each in build} | run  # to write what ops do
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_pythons_are_those_of_the_policy():
    oldest = Version(PROJECT["requires-python"].removeprefix(">="))
    named = [
        Version(each.rpartition(" ")[2])
        for each in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", each)
    ]
    assert min(named) == oldest
    matrix = RELEASE["jobs"]["install"]["strategy"]["matrix"]["python"]
    assert set(map(str, named)) <= set(matrix)
    assert any(each.endswith("t") for each in matrix)  # without a global lock
    (listed,) = re.findall(r"\| Python \| ([\d.]+) \|", (ROOT / "docs/versions.md").read_text())
    assert Version(listed) == oldest


# Permissions


def test_only_the_job_that_publishes_may_do_more_than_read():
    assert RELEASE["permissions"] == {"contents": "read"}
    granted = {
        name: job["permissions"] for name, job in RELEASE["jobs"].items() if "permissions" in job
    }
    assert granted == {"publish": {"id-token": "write"}}
    assert RELEASE["jobs"]["publish"]["environment"] == "pypi"
    # With that permission run only the actions that are needed, and no command.
    steps = RELEASE["jobs"]["publish"]["steps"]
    assert [step["uses"].partition("@")[0] for step in steps] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    assert steps[-1]["with"]["attestations"] is True


def test_nothing_is_published_that_was_not_checked():
    jobs = RELEASE["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    commands = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert any("check_distributions.py dist --tag" in each for each in commands)
    assert any("twine check --strict" in each for each in commands)
    assert "tools/smoke.py" in jobs["install"]["steps"][-1]["run"]


def test_jobs_keep_no_credentials_and_take_nothing_from_an_event():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                given = re.findall(r"\$\{\{(.+?)\}\}", step.get("run", ""))
                assert all("github.event" not in each for each in given), path.name
                if "checkout" in step.get("uses", ""):
                    assert step["with"]["persist-credentials"] is False


# What GitHub reads


@pytest.mark.parametrize("name", ["bug", "op", "idea"])
def test_issue_forms_are_ones(name):
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    assert {"name", "description", "labels", "body"} == set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"input", "textarea", "dropdown"}
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


@pytest.mark.parametrize("name", ["SECURITY.md", ".github/pull_request_template.md"])
def test_files_that_they_name_exist(name):
    text = (ROOT / name).read_text()
    named = re.findall(r"`((?:docs|tools|\.github|\.ci)/[\w./-]+)`|\]\((docs/[\w.-]+)\)", text)
    assert named
    for pair in named:
        assert (ROOT / "".join(pair)).exists(), pair


# Public names


def last_release():
    versions = sorted(Version(path.stem) for path in FOLDER.glob("[0-9]*.txt"))
    return [version for version in versions if version <= Version(ag.__version__)][-1]


def removed():
    """Return the names that went: for each, when it was deprecated, and when it went."""
    lines = [
        line.split("#")[0].split() for line in (FOLDER / "removed.txt").read_text().splitlines()
    ]
    return {" ".join(line[:-2]): tuple(map(Version, line[-2:])) for line in lines if line}


def test_public_names_of_the_last_release_are_still_there():
    listed = set((FOLDER / f"{last_release()}.txt").read_text().splitlines())
    assert len(listed) > 3000
    gone = sorted(listed - set(public_names()) - set(removed()))
    assert not gone, (
        "these public names went, or were renamed. Keep each as a deprecated one for two minor "
        "releases (docs/versions.md says how), and only then list it in "
        "tests/public_names/removed.txt:\n" + "\n".join(gone)
    )


def test_names_go_only_after_two_minor_releases():
    for name, (deprecated, went) in removed().items():
        assert went.major > deprecated.major or went.minor - deprecated.minor >= 2, name
        assert went <= Version(ag.__version__), f"{name}: {went} is yet to come"


def test_a_name_that_goes_is_noticed(monkeypatch):
    monkeypatch.setattr(ag.autodiff, "__all__", ["backward", "grad", "graph"])
    names = set(public_names())
    assert "agnograd.autodiff.Graph" not in names
    assert {"agnograd.autodiff.grad", "agnograd.autodiff.grad(outputs)"} <= names
    assert {"hook forward_preprocess(op)", "xp.linalg.cholesky(upper)", "xp.sin"} <= names
    assert {"agnograd.plugins: nan", "$ agnograd conformance --backend"} <= names
    assert not any(re.search(r"\._(?!_)", name) for name in names)
