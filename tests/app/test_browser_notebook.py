"""A program as a notebook, in a browser with the compiler behind it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, details, working, write

pytestmark = MARKS

PROGRAM = """-- # Notes
--
-- Text with `code` and <b>no HTML</b>.
--
-- 1. An item.

entry grid (n: i64): [n][n]f32 = tabulate_2d n n (\\i j -> f32.i64 (i * j) / 9)
entry three = 3i32
entry tone = [0f32, 1f32]

-- > three

-- > :img grid 4i64

-- > :audio tone

-- > non
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, PROGRAM)
        expect(opened.get_by_label("Entry")).to_contain_text("three")
        opened.locator("#run-backend").select_option("ref")
        details(opened, "Notebook")
        opened.get_by_role("button", name="Run notebook").click()
        expect(opened.locator(".notebook h1")).to_have_text("Notes")
        yield opened


def shown(page: Page) -> None:
    expect(page.locator(".notebook h1")).to_have_text("Notes")
    expect(page.locator(".notebook-text").first).to_contain_text("<b>no HTML</b>")
    expect(page.locator(".notebook .value").first).to_have_text("3i32")
    picture = page.locator(".notebook img")
    expect(picture).to_have_js_property("naturalWidth", 4)
    expect(picture).to_have_js_property("clientWidth", 160)
    expect(page.locator(".notebook audio")).to_have_count(1)
    expect(page.locator(".notebook .problem-text")).to_contain_text("There is no entry point")


def test_results_stand_below_their_directives(page: Page) -> None:
    shown(page)
    expect(page.locator(".notebook-text ol")).to_have_css("list-style-type", "decimal")
    page.get_by_role("button", name="> three").click()
    expect(page.locator(".source .cm-content")).to_be_focused()
    write(page, PROGRAM.replace("3i32", "4i32"))
    expect(page.locator(".notebook.outdated")).to_have_count(1)
    page.get_by_role("button", name="Run notebook").click()
    expect(page.locator(".notebook .value").first).to_have_text("4i32")
    expect(page.locator(".notebook.outdated")).to_have_count(0)


ARRAYS = """\
entry line = map f64.i64 (iota 100)
entry table = tabulate_2d 2 3 (\\i j -> i * j)
-- > line

-- > table

-- > (line, table)
"""


def test_arrays_are_looked_at_as_results_are(page: Page) -> None:
    write(page, ARRAYS)
    page.get_by_role("button", name="Run notebook").click()
    line, table, both = (page.locator(".notebook-directive").nth(k) for k in range(3))
    expect(line.get_by_role("button", name="line", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    table.get_by_role("button", name="table", exact=True).click()
    expect(table.locator("table")).to_be_visible()
    expect(both.locator(".value")).to_contain_text("([0.0f64")
    page.get_by_role("button", name="Run notebook").click()
    expect(table.locator("table")).to_be_visible()
    page.get_by_role("button", name="Share").click()
    page.goto(page.get_by_label("Link", exact=True).input_value())
    expect(page.get_by_role("button", name="heat map", exact=True)).to_be_visible()


def test_a_link_keeps_it(page: Page) -> None:
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    details(page, "Notebook")
    shown(page)
    assert not [one for one in asked if one.endswith("/api/literate")]
    plain = page.request.get(url).text()
    assert "<h1>Notes</h1>" in plain
    assert "&lt;b&gt;no HTML" in plain
    assert "data:image/png;base64," in plain
