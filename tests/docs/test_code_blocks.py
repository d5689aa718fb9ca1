"""Every Python block of README, CONTRIBUTING and docs runs, and every link leads somewhere."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

import agnograd as ag
from agnograd.errors import PluginError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
RUNNABLE = [page for page in PAGES if "```python\n" in page.read_text()]
# A block that needs a library which is not always there says so in a comment above it. With
# --python=NAME=PATH another interpreter runs the blocks of that library: one with an old NumPy.
BLOCK = re.compile(
    r"^(?:<!-- with: (?P<library>\w+) -->\n)?```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_the_blocks_of_a_page_run_from_top_to_bottom(
    page, capsys, monkeypatch, tmp_path, pytestconfig
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGNOGRAD_BACKEND", raising=False)
    if page.parent.name == "backends":
        try:
            ag.namespace(page.stem)
        except PluginError as error:
            pytest.skip(str(error))
    text = page.read_text()
    scope = {"__name__": "page"}
    left_out = []
    pythons, elsewhere = dict(pytestconfig.getoption("python")), {}
    for block in BLOCK.finditer(text):
        if block["library"] in pythons:
            python = pythons[block["library"]]
            elsewhere[python] = elsewhere.get(python, "") + block["code"]
            continue
        if block["library"] and not importlib.util.find_spec(block["library"]):
            left_out.append(block["library"])
            continue
        line = text[: block.start("code")].count("\n")
        exec(compile("\n" * line + block["code"], str(page), "exec"), scope)
    for python, code in elsewhere.items():
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    if left_out:
        pytest.skip(f"all blocks ran but those with {', '.join(sorted(set(left_out)))}")


def test_pages_have_blocks():
    assert len(RUNNABLE) >= 6


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
