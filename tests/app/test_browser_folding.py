"""What stands beside the program in a stage is folded, and chips say what a stage changed."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, all_stages, more, pane, working, write
from tests.app.test_browser_fates import choose

pytestmark = MARKS

CHECKED = """entry main [n] (xs: [n]f32) (i: i64): f32 =
  let x = xs[i]
  in x + 1
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, CHECKED)
        opened.locator("[data-stage='soa']").click()
        expect(pane(opened)).to_contain_text("xs_")
        expect(pane(opened)).to_contain_text("1 line: checks")
        yield opened


def test_checks_are_folded_until_asked_for_by_keyboard_and_stay_so(page: Page) -> None:
    expect(pane(page)).not_to_contain_text("out of bounds")
    toggle = pane(page).locator("button", has_text="Fold asides")
    pane(page).locator(".pane-menu > summary").first.focus()
    page.keyboard.press("Enter")
    toggle.focus()
    page.keyboard.press("Enter")
    expect(toggle).to_be_hidden()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    expect(pane(page)).to_contain_text("out of bounds")
    page.wait_for_function("text => localStorage['stridescope.work']?.includes('xs[i]')", arg="")
    page.reload()
    expect(pane(page)).to_contain_text("out of bounds")
    more(pane(page), "Fold asides")
    expect(pane(page)).not_to_contain_text("out of bounds")


def test_a_place_that_is_chosen_and_a_search_unfold_what_they_come_to(page: Page) -> None:
    choose(page, "let x", "xs")
    expect(pane(page)).to_contain_text("out of bounds")
    for _ in range(2):
        more(pane(page), "Fold asides")
    expect(pane(page)).not_to_contain_text("out of bounds")
    pane(page).locator(".cm-content").focus()
    page.keyboard.press("Control+f")
    page.keyboard.type("out of")
    page.keyboard.press("Enter")
    expect(pane(page)).to_contain_text("out of bounds")


def test_support_code_and_host_code_are_folded(page: Page) -> None:
    all_stages(page)
    page.locator("[data-stage='c']").click()
    expect(pane(page).locator(".folded").first).to_contain_text("support code")
    expect(pane(page)).to_contain_text("entry_main")
    page.locator("[data-stage='cuda']").click()
    expect(pane(page)).to_contain_text("host code")
    page.locator("[data-stage='imp']").click()
    expect(pane(page)).to_contain_text("parameters and results")


def test_chips_say_what_changed_and_no_times(page: Page) -> None:
    write(page, "entry main [n] (xs: [n]f32): f32 = reduce (+) 0 (map (\\x -> x * x) xs)\n")
    all_stages(page)
    expect(page.locator("[data-stage='fused'] .chip-delta")).to_contain_text("−1 map")
    # Stages come one by one, each with its note.
    expect(page.locator(".chip-note", has_text=re.compile(r"^$"))).to_have_count(0)
    notes = page.locator(".chip-note").all_inner_texts()
    assert all(notes), notes
    assert not any(note.rstrip().endswith("ms") for note in notes), notes
    assert len(set(notes)) > 5, notes
    assert "It took " in str(page.locator("[data-stage='fused']").get_attribute("title"))
