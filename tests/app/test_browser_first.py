"""The first view: drawn before the editors are there, at the places where all will stand."""

import time
from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, Route, expect

from app.context import EXTENSION, Parts
from app.first_view import first_view
from app.gallery import front_example
from tests.app.browsing import MARKS, PATIENCE, compiled, details, source, text, visiting

pytestmark = MARKS

PLACES = """() => {
  const half = (number) => Math.round(2 * number) / 2;
  const boxes = (...selectors) => [...document.querySelectorAll(selectors.join())]
    .filter((one) => one.checkVisibility()).map((one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      return [one.textContent.replace(/_\\d+/g, ""), ...[x, y, width, height].map(half)];
    });
  return {
    source: boxes(".source .plain-code", ".source .cm-line"),
    stage: boxes(".stage-pane .plain-code", ".stage-pane .cm-line").filter(([text]) => text),
    numbers: boxes(".plain-number", ".cm-lineNumbers .cm-gutterElement")
      .filter(([, , , , height]) => height),
    pictures: boxes("svg.lanes .bar", ".before-after td"),
    heads: boxes(".rail .chip", ".brand", ".point", ".looks li", ".pane-note", ".dock-tabs button",
      ".pane-head select"),
  };
}"""
"""Where what is seen stands, to half a pixel."""


@pytest.fixture(scope="module")
def prepared(real_app: Flask) -> None:
    """A server that knows what the first view shows: it asks for that at its start."""
    parts: Parts = real_app.extensions[EXTENSION]
    front = front_example(real_app.config, parts.examples())
    assert front is not None
    until = time.monotonic() + PATIENCE / 1000
    while first_view(parts.jobs, front) is None:
        assert time.monotonic() < until, "nobody has asked"
        time.sleep(0.1)


@pytest.fixture
def early(browser: Browser, address: str, prepared: None) -> Iterator[Page]:
    """A first visit, of which the script with the editors is held back in `page.held`."""
    with visiting(browser, known=("net::ERR_FAILED",)) as page:  # what a test makes fail
        yield page


def visit(page: Page, address: str) -> list[Route]:
    """Open the page; the requests for its main script, which wait."""
    held: list[Route] = []
    page.route("**/dist/main.js*", lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    expect(page.locator(".source .plain-code").first).to_be_visible()
    return held


def settled(page: Page) -> dict[str, list[object]]:
    """Where all stands, once that has not changed for a moment."""
    last: dict[str, list[object]] = {}
    while (now := page.evaluate(PLACES)) != last:
        last = now
        page.wait_for_timeout(250)
    return last


@pytest.mark.parametrize("width", [1920, 1440, 1024, 768, 390])
def test_nothing_moves_when_the_editors_come(early: Page, address: str, width: int) -> None:
    early.set_viewport_size({"width": width, "height": 900})
    held = visit(early, address)
    picture = early.locator("svg.lanes .bar").first
    if width != 1024:  # there it is behind a tab
        expect(picture).to_be_visible()
    expect(early.locator(".stage-pane .plain-code").first).to_be_visible()
    before = settled(early)
    assert before["source"]
    assert before["stage"]
    for route in held:
        route.continue_()
    compiled(early)
    expect(early.locator(".stage-pane .cm-line").first).to_be_visible()
    after = settled(early)
    for part, boxes in before.items():
        assert after[part] == boxes


def test_what_is_typed_early_is_kept_with_its_cursor(early: Page, address: str) -> None:
    held = visit(early, address)
    source(early).click()
    early.keyboard.press("Control+End")
    early.keyboard.insert_text("-- typed early")
    expect(early.locator(".plain-source.typed")).to_be_visible()
    early.keyboard.press("ArrowLeft")
    for route in held:
        route.continue_()
    expect(early.locator(".source .cm-content")).to_be_visible()
    compiled(early)
    early.keyboard.insert_text("+")
    assert text(early).endswith("\n-- typed earl+y")
    expect(early.locator(".stage-pane .cm-line").first).to_contain_text("main")
    early.unroute_all()
    early.reload()
    compiled(early)
    assert text(early).endswith("\n-- typed earl+y")


def test_a_script_that_does_not_come_is_told_and_the_text_stays(early: Page, address: str) -> None:
    held = visit(early, address)
    source(early).fill("entry mine = 1")
    for route in held:
        route.abort()
    expect(early.locator(".strips")).to_contain_text("Reload")
    expect(source(early)).to_have_value("entry mine = 1")


def test_who_was_here_before_gets_what_they_left(early: Page, address: str) -> None:
    visit(early, address)
    early.unroute_all()
    early.reload()
    compiled(early)
    source(early).fill("entry mine = 1")
    compiled(early)
    early.route("**/dist/main.js*", lambda route: None)
    early.reload(wait_until="commit")
    expect(early.locator(".arriving")).to_be_visible()
    expect(early.locator(".plain-code")).to_have_count(0)


def test_a_tab_that_is_opened_early_stays_open(early: Page, address: str) -> None:
    held = visit(early, address)
    details(early, "Proof")
    expect(early.locator("#panel-proof")).to_contain_text("is loading")
    for route in held:
        route.continue_()
    expect(early.locator(".attempts li").first).to_be_visible()
    expect(early.get_by_role("tab", name="Proof", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
