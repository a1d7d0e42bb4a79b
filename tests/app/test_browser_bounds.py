"""The bounds pane in a browser: every access, and a mark beside each index in the source."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, PATIENCE, compiled, details, source, write

pytestmark = MARKS

PROGRAM = """entry main [n] (xs: [n]i32) (is: [n]i64) (k: i64): (i32, [n]i32) =
  let sum = loop s = 0 for i < n do s + xs[i]
  let fixed = loop s = 0 for i < n do s + xs[k] * i32.i64 i
  let read = map (\\i -> xs[i]) is
  in (sum + fixed, read)
"""
STATES = ["dropped", "hoisted", "kept"]


@pytest.fixture
def bounds(browser: Browser, address: str) -> Iterator[Page]:
    """The pane, open on the program above, with the compiler behind it."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    compiled(page)
    write(page, PROGRAM)
    details(page, "Bounds")
    expect(page.locator(".access")).to_have_count(3)
    yield page
    context.close()


def test_accesses_are_told_and_marked(bounds: Page) -> None:
    page = bounds
    for state, item in zip(STATES, page.locator(".access").all(), strict=True):
        expect(item).to_contain_text(f"index {state}.")
    expect(page.locator(".access.dropped")).to_contain_text("0 <= i < n, since")
    expect(page.locator(".access.dropped li")).to_have_text("i runs from 0 to n - 1")
    expect(page.locator(".access.kept")).to_contain_text("i < n is not proved")

    marks = page.locator(".cm-line .access-mark")
    expect(marks).to_have_count(3)
    labels = [mark.get_attribute("aria-label") or "" for mark in marks.all()]
    assert [label.split(":")[0] for label in labels] == [f"index {state}" for state in STATES]
    assert len({mark.inner_text() for mark in marks.all()}) == 3  # not only by colour
    lines = [page.locator(".source .cm-line").nth(k) for k in (1, 2, 3)]
    for line, state in zip(lines, STATES, strict=True):
        expect(line.locator(f".access-mark.{state}")).to_have_count(1)
    assert "xs[i✓]" in lines[0].inner_text().replace("\n", "")

    page.get_by_role("checkbox", name="kept").uncheck()
    expect(page.locator(".access")).to_have_count(2)
    page.get_by_role("button", name="line 3").first.click()
    expect(page.locator(".source .lit-place").first).to_be_visible()


def test_marks_are_of_the_text_that_stands_there(bounds: Page) -> None:
    page = bounds
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("-- more")
    expect(page.locator(".access-mark")).to_have_count(3)
    details(page, "Remarks")
    expect(page.locator(".access-mark")).to_have_count(0)
