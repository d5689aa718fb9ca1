"""A site of several versions, and the switch between them in a real browser."""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "site.py"
PAGE = """\
<!doctype html><html data-content_root="{root}"><meta charset="utf-8"><title>{title}</title>
{switch}<script src="{root}_static/versions.js" defer></script></html>
"""


def build(folder, version, pages):
    """Write what a build has of a page: the template of the sidebar, and the script."""
    template = (ROOT / "docs/_templates/sidebar/versions.html").read_text()
    (folder / "_static").mkdir(parents=True)
    (folder / "_static/versions.js").write_text((ROOT / "docs/_static/versions.js").read_text())
    for page in pages:
        root = "../" * page.count("/") or "./"
        switch = template[template.index("<label") :]
        switch = switch.replace("{{ content_root }}", root).replace("{{ version }}", version)
        assert "{{" not in switch
        (folder / page).parent.mkdir(exist_ok=True)
        (folder / page).write_text(PAGE.format(root=root, title=f"{page} {version}", switch=switch))
    return folder


def add(*arguments):
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    old = build(folder / "old", "0.9", ["index.html", "plugins/nan.html"])
    new = build(folder / "new", "0.10", ["index.html", "plugins/nan.html", "plugins/new.html"])
    for source, version in ((new, "0.10"), (old, "0.9"), (old, "0.9")):
        assert add(source, folder / "site", version).returncode == 0
    return folder / "site"


@pytest.fixture(scope="module")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_versions_are_numbers_newest_first(site):
    assert (site / "versions.json").read_text() == '["0.10", "0.9"]\n'
    assert "url=0.10/" in (site / "index.html").read_text()
    assert sorted(path.name for path in site.iterdir() if path.is_dir()) == ["0.10", "0.9"]


def test_what_it_refuses(tmp_path):
    assert "like 0.2" in add(tmp_path, tmp_path / "site", "../0.2").stderr
    assert "build the documentation first" in add(tmp_path, tmp_path / "site", "0.2").stderr
    assert "usage" in add().stderr
    assert not (tmp_path / "site").exists()


def test_one_switches_to_the_same_page_or_to_the_first(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/0.10/plugins/nan.html#top")
    page.wait_for_selector("option:nth-of-type(2)", state="attached")
    select = page.locator("select")
    assert select.evaluate("s => [...s.options].map((o) => o.value)") == ["0.10", "0.9"]
    assert select.input_value() == "0.10"
    select.select_option("0.9")
    page.wait_for_url(f"{address}/0.9/plugins/nan.html#top")
    page.wait_for_selector("option:nth-of-type(2)", state="attached")
    assert page.locator("select").input_value() == "0.9"
    page.goto(f"{address}/0.10/plugins/new.html")  # which 0.9 does not have
    page.wait_for_selector("option:nth-of-type(2)", state="attached")
    page.locator("select").select_option("0.9")
    page.wait_for_url(f"{address}/0.9/")
    page.close()


def test_a_build_by_itself_keeps_its_version(browser, site):
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    page.goto((site / "0.9/index.html").as_uri())
    assert page.locator("option").all_inner_texts() == ["0.9"]
    assert errors == []
    page.close()


def test_the_sites_pages_have_the_switch():
    configuration = (ROOT / "docs/conf.py").read_text()
    assert '"sidebar/versions.html"' in configuration
    # As the folders of a site are named, or the script would not find its own version.
    assert 'version = release.rpartition(".")[0]' in configuration
    assert '"versions.js"' in configuration
