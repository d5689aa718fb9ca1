"""The page of reports, in a real browser: filter, open a failure, read its code."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from agnograd.testing.page import page, write

CODE = 'import agnograd as ag\n\nprint("<b>&amp; </script>")\n'


def report(backend, failing):
    """Return a small report: two ops, two checks, one of which fails on one of them."""

    def result(op, check, failed=(), gaps=(), **skipped):
        return {
            "op": op,
            "check": check,
            "dtype": "float64",
            "seconds": 0.25,
            "passed": 3,
            "failed": list(failed),
            "gaps": list(gaps),
            "skipped": skipped,
        }

    failure = {
        "sample": "inv([2, 2])",
        "message": "order 1: <i>wrong</i>",
        "error": "AssertionError",
    }
    failure |= {"mend": "rules/linalg.py:3 (the rule for 'x')", "code": CODE}
    gap = {"sample": "roll([2])", "error": "ValueError", "reason": "one shift alone"}
    capabilities = {"lazy": False, "devices": ["cpu"]}
    return {
        "format": 1,
        "agnograd": "0.1.0",
        "backend": backend,
        "library": f"{backend} 9.9",
        "devices": "cpu",
        "capabilities": capabilities,
        "versions": {"Python": "3.11"},
        "selection": {"backend": backend, "quick": True},
        "seconds": 1.5,
        "checks": {"forward": "The library's values.", "first_derivative": "Differences."},
        "ops": {
            "linalg.inv": {"chapter": "linalg", "distribution": "agnograd 0.1.0"},
            "roll": {"chapter": "manipulation", "distribution": "agnograd 0.1.0"},
        },
        "results": [
            result("linalg.inv", "forward"),
            result("linalg.inv", "first_derivative", failed=[failure] if failing else []),
            result("roll", "forward", gaps=[gap]),
            result("roll", "first_derivative", lazy=4),
        ],
    }


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a page of reports; any error of its script fails the test."""
    errors = []

    def open_page(*reports):
        path = tmp_path / "page.html"
        path.write_text(page("agnograd_conformance", reports), encoding="utf-8")
        tab = browser.new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda sent: sent.url.startswith("file:") or errors.append(sent.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    assert errors == []


def names(tab):
    return tab.locator("#matrix tbody th").all_inner_texts()


def test_the_matrix_has_a_row_an_op_and_a_column_a_check(opened):
    tab = opened(report("mine", failing=True))
    heads = tab.locator("#matrix thead th").all_inner_texts()
    assert heads == ["op", "chapter", "forward", "first_derivative"]
    assert names(tab) == ["linalg.inv", "roll"]
    cells = tab.locator("#matrix tbody td:nth-child(n + 3)").all_inner_texts()
    assert [cell.strip() for cell in cells] == ["3", "1 fail", "1 known", "3"]
    runs = tab.locator("#runs").inner_text()
    for text in ("mine 9.9", "0.1.0", "3.11", "quick: true", "1.5", "lazy: false"):
        assert text in runs


def test_filters_choose_rows(opened):
    tab = opened(report("mine", failing=True))
    tab.fill("#op", "ROL")
    assert names(tab) == ["roll"]
    assert tab.locator("#shown").inner_text() == "1 of 2 ops"
    tab.fill("#op", "")
    tab.select_option("#chapter", "linalg")
    assert names(tab) == ["linalg.inv"]
    tab.select_option("#chapter", "all")
    tab.select_option("#status", "failed")
    assert names(tab) == ["linalg.inv"]
    tab.select_option("#status", "gaps")
    assert names(tab) == ["roll"]
    tab.select_option("#status", "")
    tab.select_option("#dtype", "float64")
    assert names(tab) == ["linalg.inv", "roll"]


def test_a_failure_opens_with_its_code(opened):
    tab = opened(report("mine", failing=True))
    tab.click('button[data-op="linalg.inv"][data-column="first_derivative"]')
    failure = tab.locator("#detail .failure")
    assert failure.locator("pre code").text_content() == CODE
    assert "order 1: <i>wrong</i>" in failure.inner_text()
    assert "look at rules/linalg.py:3" in failure.inner_text()
    assert "0.25" in tab.locator("#detail .times").inner_text()
    tab.click("#close")
    assert not tab.locator("#detail").is_visible()


def test_gaps_and_what_does_not_apply_have_their_reasons(opened):
    tab = opened(report("mine", failing=True))
    tab.click('button[data-op="roll"][data-column="forward"]')
    assert "ValueError: one shift alone" in tab.locator("#detail").inner_text()
    tab.click("#close")
    tab.click('button[data-op="roll"][data-column="first_derivative"]')
    assert "does not apply to 4: lazy" in tab.locator("#detail").inner_text()


def test_several_reports_have_a_column_each_and_can_be_looked_into(opened):
    tab = opened(report("mine", failing=True), report("yours", failing=False))
    assert tab.locator("#matrix thead th").all_inner_texts()[2:] == ["mine", "yours"]
    cells = tab.locator("#matrix tbody tr:first-child td").all_inner_texts()
    assert [cell.strip() for cell in cells] == ["linalg", "1 fail", "6"]
    tab.select_option("#columns", "yours")
    assert tab.locator("#matrix thead th").all_inner_texts()[2:] == ["forward", "first_derivative"]
    assert tab.locator("#matrix td.failed").count() == 0


def test_what_a_report_says_is_data():
    odd = "</script><!--<script>alert(1)//-->\u2028 REPORTS & \"'"
    written = report("mine", failing=True) | {"library": odd}
    text = page("agnograd_conformance", [written])
    inside = text.split('id="reports">')[1].split("</script>")[0]
    assert "<" not in inside
    assert json.loads(inside) == [written]


def test_a_report_is_written_through_links_and_into_pipes(tmp_path):
    (tmp_path / "folder").mkdir()
    link, pipe = tmp_path / "link.html", tmp_path / "pipe"
    link.symlink_to(tmp_path / "folder" / "page.html")
    write(link, "a page")
    assert link.is_symlink()
    assert [each.name for each in (tmp_path / "folder").iterdir()] == ["page.html"]
    assert link.read_text() == "a page"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write, pipe, "another")
        assert pipe.read_text() == "another"
        written.result()
    assert pipe.is_fifo()


def test_a_page_is_one_file_that_holds_its_reports_unchanged():
    text = page("agnograd_conformance", [report("mine", failing=True)])
    assert "http" not in text.replace("https://", "").lower() or "src=" not in text
    inside = text.split('id="reports">')[1].split("</script>")[0]
    assert json.loads(inside) == [report("mine", failing=True)]
