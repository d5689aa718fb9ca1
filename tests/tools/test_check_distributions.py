"""Real distributions of this repository pass, and those with something wrong do not."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import agnograd as ag

ROOT = Path(__file__).parents[2]
TAG = f"v{ag.__version__}"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    code = (
        "import sys\nfrom hatchling import build\n"
        "build.build_sdist(sys.argv[1]), build.build_wheel(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True)
    return folder


def check(folder, *options):
    script = ROOT / "tools" / "check_distributions.py"
    done = subprocess.run(
        [sys.executable, script, folder, *options], capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_is_built_is_complete(dist):
    assert check(dist, "--tag", TAG) == (0, "the wheel and the sdist are complete\n")


def test_a_tag_must_be_the_version(dist):
    status, said = check(dist, "--tag", "v9.9.9")
    assert status == 1
    assert f"the tag is v9.9.9, and the version in agnograd/__init__.py {ag.__version__}" in said
    assert "the newest section of CHANGELOG.md is" in said


def test_a_file_too_few_and_one_too_many(dist, tmp_path):
    shutil.copytree(dist, tmp_path, dirs_exist_ok=True)
    (wheel,) = tmp_path.glob("*.whl")
    (original,) = dist.glob("*.whl")
    with zipfile.ZipFile(original) as old, zipfile.ZipFile(wheel, "w") as new:
        for name in old.namelist():
            if name != "agnograd/py.typed" and not name.endswith("/LICENSE"):
                new.writestr(
                    name, old.read(name).replace(b"nan = agnograd_nan", b"not = agnograd_nan")
                )
        new.writestr("tests/conftest.py", "")
    status, said = check(tmp_path)
    assert status == 1
    assert said.splitlines() == [
        f"{wheel.name} lacks agnograd/py.typed",
        f"{wheel.name} has tests/conftest.py, which no package has",
        f"{wheel.name} lacks the license",
        f"{wheel.name} has other entry points than pyproject.toml",
    ]


def test_there_must_be_one_of_each(tmp_path):
    status, said = check(tmp_path)
    assert status == 1
    assert "0 wheels and 0 sdists" in said
