"""The certificate as a page, in a real browser: verdict, table, filters, reasons; text is text."""

import pytest

from agnograd.testing.page import page
from agnograd_certify._findings import Finding
from agnograd_certify._report import cell, report

MARKUP = "<b>f</b>(x)</script><!-- &amp;"
CELLS = [
    cell("sound(x)", "numpy", "gradient", Finding("right")),
    cell("sound(x)", "strict", "gradient", Finding("right")),
    cell("sound(x)", "numpy", "vmap", Finding("refused", "BatchingError: in vmap", "lib/a.py:3")),
    cell("sound(x)", "strict", "vmap", Finding("right")),
    cell(MARKUP, "numpy", "gradient", Finding("wrong", "x[0]: <i>1</i>, by differences 2")),
    cell(MARKUP, "strict", "gradient", Finding("unsupported", "the result is a ndarray")),
    cell(MARKUP, "numpy", "vmap", Finding("skipped")),
    cell(MARKUP, "strict", "vmap", Finding("unsupported")),
    cell("by_asarray(x)", "numpy", "gradient", Finding("refused", "no", "lib/b.py:7 in g: <x>")),
    cell("by_asarray(x)", "strict", "gradient", Finding("refused", "no", "lib/b.py:7 in g: <x>")),
    cell("by_asarray(x)", "numpy", "vmap", Finding("skipped", warnings=["UserWarning: <w>"])),
    cell("by_asarray(x)", "strict", "vmap", Finding("skipped")),
]
CELLS[8] |= {"gap": "our own <reason>"}
NEW = [each for each in CELLS if each["bad"] and "gap" not in each]


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a certificate; an error or a request of its script fails."""
    errors = []

    def open_page(found, **options):
        path = tmp_path / "page.html"
        path.write_text(page("agnograd_certify", found), encoding="utf-8")
        tab = browser.new_page(**options)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda sent: sent.url.startswith("file:") or errors.append(sent.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    assert errors == []


@pytest.fixture
def tab(opened):
    return opened(report("lib.<part>", CELLS, ["gradient", "vmap"], 12.5, new=NEW))


def rows(tab):
    return tab.locator("#matrix tbody th").all_inner_texts()


def cells(tab):
    return tab.locator("#matrix tbody td").all_inner_texts()


def test_the_verdict_is_at_the_top(tab, opened):
    verdict = tab.locator("#verdict")
    assert "1 of 3 calls are differentiable on numpy, strict." in verdict.inner_text()
    assert "3 findings are bad and not known gaps. 1 are known gaps." in verdict.inner_text()
    assert verdict.get_attribute("class") == "bad"
    assert tab.title() == "lib.<part>: 1 of 3 calls are differentiable"
    good = opened(report("lib", CELLS[:2], ["gradient"], 1.0))
    assert good.locator("#verdict").get_attribute("class") == "good"
    assert "Nothing is bad that is not a known gap." in good.locator("#verdict").inner_text()


def test_the_table_has_a_column_for_each_backend_or_check(tab):
    assert rows(tab) == ["sound(x)", MARKUP, "by_asarray(x)"]
    assert cells(tab) == ["right", "right", "wrong", "unsupported", "refused", "refused"]
    assert [each.get_attribute("class") for each in tab.locator("#matrix tbody td").all()] == [
        *("passed", "passed", "failed", "skipped", "gaps", "failed")
    ]
    tab.select_option("#columns", "all checks on numpy")
    assert cells(tab) == ["right", "refused", "wrong", "skipped", "refused", "skipped"]
    tab.select_option("#columns", "vmap")
    assert cells(tab)[:2] == ["refused", "right"]


def test_filters_choose_rows_and_reasons(tab):
    tab.fill("#call", "SOUND")
    assert rows(tab) == ["sound(x)"]
    assert tab.locator("#shown").inner_text() == "1 of 3 calls"
    assert tab.locator("#reasons section").count() == 1
    tab.fill("#call", "")
    tab.select_option("#status", "wrong")
    assert rows(tab) == [MARKUP]
    assert tab.locator("#reasons section").count() == 1
    tab.select_option("#status", "unsupported")
    assert "the result is a ndarray" in tab.locator("#reasons").inner_text()
    tab.select_option("#status", "new")
    assert rows(tab) == [MARKUP, "by_asarray(x)"]


def test_reasons_have_lines_and_text_is_not_markup(tab):
    reasons = tab.locator("#reasons").inner_text()
    assert "x[0]: <i>1</i>, by differences 2" in reasons
    assert "at lib/b.py:7 in g: <x>" in reasons
    assert "known gap: our own <reason>" in reasons
    assert tab.locator("#reasons b, #reasons i, #matrix b").count() == 0


def test_a_cell_opens_all_that_is_known_of_the_call(tab):
    tab.locator("#matrix tbody button").last.click()
    found = tab.locator("#found")
    assert found.locator("h2").inner_text() == "by_asarray(x)"
    assert found.locator("tr").count() == 5
    assert "warns: UserWarning: <w>" in found.inner_text()
    tab.locator("#close").click()
    assert not tab.locator("#detail").is_visible()


def test_it_can_be_read_on_a_narrow_and_dark_screen(opened):
    found = report("lib", CELLS, ["gradient", "vmap"], 12.5, new=NEW)
    tab = opened(found, viewport={"width": 360, "height": 640}, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert (
        tab.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
        == "rgb(23, 23, 23)"
    )
