"""All that can be done or shown, found by its name and by keyboard."""

import pytest
from playwright.sync_api import Page, expect

from app.version import compiler_version
from tests.app.browsing import MARKS, THEMES, pane, source, violations, write

pytestmark = MARKS


def take(page: Page, words: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text(words)
    expect(page.locator(".palette [role=option]").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture(autouse=True)
def settled(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")


def test_the_palette_opens_stages_panes_layouts_examples_and_themes(page: Page) -> None:
    take(page, "stage funmem")
    expect(pane(page)).to_contain_text("-- funmem")
    take(page, "types beside")
    expect(pane(page, 1)).to_contain_text("-- typed")
    take(page, "details remarks")
    expect(page.get_by_role("tab", name="Remarks")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tab", name="Remarks")).to_be_focused()
    take(page, "layout lecture")
    expect(page.locator(".work > .column")).to_have_count(2)
    take(page, "theme dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_label("Theme")).to_have_value("dark")
    take(page, "example second")
    expect(source(page)).to_contain_text("-- Second")
    take(page, "run")
    expect(page.locator(".run-result .value")).to_be_visible()
    take(page, "outline")
    expect(page.locator(".ask")).to_be_visible()


def test_a_text_that_was_replaced_is_found_again(page: Page) -> None:
    write(page, "-- precious\nentry main = 1\n")
    take(page, "example first")
    expect(source(page)).to_contain_text("-- First steps")
    take(page, "precious")
    expect(source(page)).to_contain_text("-- precious")


def test_axe_finds_nothing_in_the_palette(page: Page) -> None:
    source(page).focus()
    page.keyboard.press("Control+k")
    expect(page.locator(".palette [role=option]").first).to_be_visible()
    assert violations(page) == []
    assert violations(page, THEMES, [".palette"]) == []
    page.keyboard.insert_text("nothing is called so")
    option = page.locator(".palette [role=option]")
    expect(option).to_have_text("Nothing matches.")
    for word, name in (("threshold", "Versions"), ("cost", "Warps"), ("embed", "Share")):
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(word)
        expect(option.first).to_contain_text(name)
    assert violations(page, THEMES, [".palette"]) == []
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(source(page)).to_be_focused()


def test_arrows_choose_in_the_palette_and_leave_the_page_alone(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.insert_text("theme")
    first = page.locator(".palette [role=option]").nth(0)
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".palette [role=option]").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Alt+ArrowRight")
    page.keyboard.press("Escape")
    expect(pane(page).get_by_label("Stage", exact=True)).to_have_value("fused")


def test_a_question_mark_lists_the_keys_but_where_text_is_typed(page: Page) -> None:
    page.locator(".chip").first.focus()
    page.keyboard.press("?")
    keys = page.locator(".help .popover")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("Ctrl+K")
    expect(keys).to_contain_text(f"Stridescope {compiler_version()}")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    # A second key that comes before the browser has told that the list is open.
    page.evaluate(
        """() => ["?", "Escape"].forEach((key) => document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", {key, bubbles: true})))"""
    )
    expect(keys).to_be_hidden()
    source(page).focus()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    expect(source(page)).to_contain_text("?")
