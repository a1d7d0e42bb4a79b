"""What is selected, in the pictures: of memory, of the graph, in the accesses of a GPU."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import MARKS, choose, compiled, details, pane, working, write

pytestmark = MARKS


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        yield opened


def shown(page: Page, tab: str) -> Locator:
    details(page, tab)
    return page.get_by_role("tabpanel", name=tab)


def test_a_map_is_marked_in_every_picture_and_its_attempts_are_told_apart(page: Page) -> None:
    memory = shown(page, "Memory")
    expect(memory.locator(".lanes .bar")).not_to_have_count(0)
    expect(memory.locator(".picture-lit")).to_have_count(0)
    choose(page, "map (+ 1)", "map")
    # It is in one statement with the map over the same array, before and after blocks go away.
    expect(memory.locator(".lanes .picture-lit text")).to_have_text(["map_20", "map_16"] * 2)
    memory.get_by_role("button", name="Table", exact=True).click()
    expect(memory.locator("tr.picture-lit td:first-child")).to_have_text(["map_20", "map_16"] * 2)

    tried = shown(page, "Selection").locator(".remark", has_text="into cat")
    expect(tried).to_contain_text(["map_20 into cat: built in place.", "map_16 into cat"])
    expect(tried).to_have_count(2)
    expect(page.locator(".fate tr.gone")).to_have_count(0)

    graph = shown(page, "Graph")
    expect(graph.locator(".picture-lit text")).to_have_text(["map = map", "map, map = map"])
    warps = shown(page, "Warps")
    expect(warps.locator(".warp-list").first.locator(".picture-lit")).to_have_count(3)

    # What is above and below a stage's text is no place of it.
    box = pane(page).locator(".cm-scroller").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + box["height"] - 20)
    expect(warps.locator(".warp-list").first.locator(".picture-lit")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(warps.locator(".picture-lit")).to_have_count(0)


def test_a_name_of_any_length_stays_in_its_pane(page: Page) -> None:
    name = "x" * 300
    write(page, f"entry main [n] ({name}: [n]i32) = map (+ 1) {name} ++ map (* 2) {name}\n")
    compiled(page)
    for tab in ("Remarks", "Warps", "Proof"):
        panel = shown(page, tab)
        expect(panel.locator(".remark, .attempt").first).to_be_visible()
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth"), tab
    box = page.locator(".source .cm-line").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    tip = page.locator(".cm-tooltip-hover")
    expect(tip).to_contain_text("[n]i32")
    assert tip.evaluate("tip => tip.scrollWidth <= tip.clientWidth")
