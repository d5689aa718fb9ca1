"""Certificates of more libraries come to what is known; those that are missing are skipped."""

import json
import re
from importlib.metadata import PackageNotFoundError, version

import pytest
from click.testing import CliRunner

from agnograd._cli.main import main
from tests.clients.matrix import BACKENDS
from tests.clients.more import counted, libraries, versions

LIBRARIES = libraries()


def test_there_are_ten_and_each_has_a_version():
    assert len(LIBRARIES) == 10
    assert [re.split("==", each)[0] for each in versions()] == [each.name for each in LIBRARIES]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.name)
def test_each_gap_is_of_a_call_on_a_backend(library):
    assert library.calls
    ends = re.compile(rf".*::\w+\[({'|'.join(BACKENDS)})\]$")
    for gap in library.gaps:
        assert ends.match(gap.pattern), gap
        assert gap.pattern.rpartition("::")[0] in library.calls, gap


def test_no_gradient_is_wrong_or_lost_silently():
    statuses = {gap.reason.partition(":")[0] for each in LIBRARIES for gap in each.gaps}
    assert statuses <= {"refused", "widened", "warned"}


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.name)
def test_a_certificate_comes_to_what_is_known(library, tmp_path):
    try:
        found = version(library.name)
    except PackageNotFoundError:
        pytest.skip(f"{library.name} not installed; pip install 'agnograd[certified]'")
    pinned = next(each.partition("==")[2] for each in versions() if each.startswith(library.name))
    assert found.startswith(pinned.removesuffix("*").removesuffix(".")), f"{found} is not {pinned}"
    gaps = f"--gaps={library.path.with_suffix('.gaps')}"
    report = tmp_path / "report.json"
    options = [f"--calls={library.path}", gaps, "--backend=numpy,strict", f"--json={report}"]
    done = CliRunner().invoke(main, ["certify", library.module, *options])
    assert done.exit_code == 0, done.output
    found = counted(json.loads(report.read_text()))
    assert found == {name: library.outcomes[name] for name in ("numpy", "strict")}
