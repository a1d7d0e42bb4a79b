"""Types, declarations, uses, other names, completions and the layout in the page's editor."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, text, violations, visiting, write

pytestmark = MARKS

MAIN = """\
import "lib/sums"

type point = {x: f32, y: f32}
def norm (p: point) = f32.sqrt (p.x * p.x + p.y * p.y)

entry main (xs: []f32) : f32 =
  total xs + norm {x = 1, y = 2}
"""
SUMS = "-- | Sums of all.\ndef total [n] (ys: [n]f32) : f32 =\n  reduce (+) 0 ys\n"
PUT = """(element, at) => {
  const view = element.querySelector('.cm-content').cmTile.root.view;
  view.dispatch({selection: {anchor: view.state.doc.toString().indexOf(at)}});
  view.focus();
}"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A program of two files; what the browser complains of fails the test."""
    with visiting(browser) as opened:
        opened.goto(address)
        expect(opened.locator("header .status")).to_contain_text("ms")
        write(opened, MAIN)
        opened.locator(".file-note, .below-line").get_by_role("button", name="Create").first.click()
        write(opened, SUMS)
        opened.get_by_role("tab", name="main.fut").click()
        expect(opened.locator(".source .problem-text")).to_have_count(0)
        expect(opened.locator("header .status")).to_contain_text("ms")
        yield opened


def put(page: Page, where: str) -> None:
    page.locator(".source .cm-editor").evaluate(PUT, where)


def test_the_mouse_on_a_name_shows_its_type_and_documentation(page: Page) -> None:
    page.locator(".source .cm-line", has_text="total xs").hover(position={"x": 30, "y": 8})
    expect(page.locator(".type-tip")).to_contain_text("def total [n] (ys: [n]f32): f32")
    expect(page.locator(".type-tip")).to_contain_text("Sums of all.")
    assert violations(page) == []


def test_a_name_leads_to_its_declaration_and_its_uses_by_keyboard(page: Page) -> None:
    put(page, "total xs")
    page.keyboard.press("F12")
    expect(page.get_by_role("tab", name="sums.fut")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Shift+F12")
    items = page.locator(".ask-item")
    expect(items).to_have_count(2)
    expect(items.first).to_contain_text("declared here")
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="main.fut")).to_have_attribute("aria-selected", "true")


def test_another_name_goes_into_all_files_and_back(page: Page) -> None:
    put(page, "total xs")
    page.keyboard.press("F2")
    field = page.get_by_label("New name")
    expect(field).to_be_focused()
    field.fill("norm")
    page.keyboard.press("Enter")
    expect(page.locator(".ask")).to_contain_text("would change")
    field.fill("sum_of")
    page.keyboard.press("Enter")
    expect(page.locator(".ask")).to_have_count(0)
    assert "sum_of xs + norm" in text(page)
    page.get_by_role("tab", name="sums.fut").click()
    expect(page.locator(".source .cm-content")).to_contain_text("def sum_of [n]")
    page.locator(".source .cm-content").focus()
    page.keyboard.press("Control+z")
    assert text(page) == SUMS


def test_completion_knows_fields_and_types(page: Page) -> None:
    put(page, "p.y * p.y")
    page.keyboard.type("p.")
    options = page.locator(".cm-tooltip-autocomplete li")
    expect(options).to_have_count(2)
    expect(options.first).to_contain_text("f32")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    put(page, "total xs")
    page.keyboard.type("tot")
    expect(options.filter(has_text="total")).to_contain_text("[n] (ys: [n]f32): f32")


def test_the_layout_can_be_undone(page: Page) -> None:
    put(page, "norm {x")
    page.keyboard.type("  1+")
    before = text(page)
    page.get_by_role("button", name="Format").click()
    expect(page.locator(".source .cm-content")).to_contain_text("total xs + 1 + norm")
    assert text(page) == MAIN.replace("+ norm {", "+ 1 + norm {")
    page.locator(".source .cm-content").focus()
    page.keyboard.press("Control+z")
    assert text(page) == before
    put(page, "total xs")
    page.keyboard.type(") ")
    page.keyboard.press("Shift+Alt+F")
    expect(page.locator(".ask")).to_contain_text("is not formatted")
    page.keyboard.press("Escape")
    expect(page.locator(".ask")).to_have_count(0)


def test_the_outline_leads_to_declarations_and_these_fold(page: Page) -> None:
    page.get_by_role("button", name="Outline").click()
    items = page.locator(".ask-item")
    expect(items).to_have_text(["point type", "norm function", "main function"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".source .cm-activeLine")).to_contain_text("entry main")
    page.keyboard.press("Control+Shift+BracketLeft")
    expect(page.locator(".source .cm-foldPlaceholder")).to_have_count(1)
    page.keyboard.press("Control+Shift+BracketRight")
    expect(page.locator(".source .cm-foldPlaceholder")).to_have_count(0)


def test_a_hint_is_followed_by_keyboard(page: Page) -> None:
    write(page, "entry main (xs: []i32) = mapp (+ 1) xs\n")
    expect(page.locator(".source .problem-hint")).to_contain_text("Did you mean")
    put(page, "mapp")
    page.keyboard.press("Control+.")
    expect(page.locator(".ask-item").first).to_have_text("Change to map")
    page.keyboard.press("Enter")
    expect(page.locator(".source .cm-content")).to_contain_text("= map (+ 1) xs")
    expect(page.locator(".source .problem-hint")).to_have_count(0)
    page.keyboard.press("Control+.")
    expect(page.locator(".ask")).to_contain_text("This line has no hint.")
