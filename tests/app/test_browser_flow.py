"""Value flow in a stage's pane: steps, values behind their lines, cells of blocks."""

import re

from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import MARKS, all_stages, compiled, more, pane, visiting, write

pytestmark = MARKS

PROGRAM = """entry main (xs: []i32) = map (* 2) (reverse xs)
"""


def reversed_and_doubled(page: Page, address: str) -> Locator:
    """The value flow of the program at FUNMEM, for three numbers."""
    page.goto(address)
    compiled(page)
    all_stages(page)
    write(page, PROGRAM)
    page.locator(".chip", has_text="FUNMEM").click()
    expect(pane(page)).to_contain_text("segmap")
    flow = page.get_by_role("group", name="Value flow")
    more(page, "Value flow")
    # Until then the fields of inputs may be those of the program before.
    expect(flow.get_by_role("status")).to_contain_text(re.compile(r"= \[-?\d+i32"))
    page.locator("#run-value-0").fill("[1i32, 2i32, 3i32]")
    for _ in range(2):  # closed, and opened for the new input
        more(page, "Value flow")
    expect(flow.get_by_role("status")).to_contain_text("= [6i32, 4i32, 2i32]")
    return flow


def test_the_steps_of_a_stage_forward_and_backward(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        flow = reversed_and_doubled(page, address)
        cells = flow.get_by_role("list").get_by_role("listitem")
        expect(cells).to_have_text(["6", "4", "2"])
        expect(flow.locator(".own")).to_have_count(3)
        expect(pane(page).locator(".traced").first).to_be_visible()
        flow.get_by_role("button", name="Step back").click()
        expect(flow.get_by_role("status")).to_contain_text("= 1i32")
        expect(cells).to_have_count(0)
        flow.get_by_role("button", name="Step on").click()
        expect(cells).to_have_count(3)
        page.locator(".chip", has_text="Fused").click()
        expect(flow).to_be_hidden()
        more(page, "Value flow")
        expect(flow.get_by_role("status")).to_contain_text("Step ")
        expect(cells).to_have_count(0)
        write(page, "entry main (xs: []i32) = xs\n")
        expect(flow).to_be_hidden()
        expect(pane(page).locator(".traced")).to_have_count(0)


def test_a_link_keeps_the_steps_that_were_seen(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        flow = reversed_and_doubled(page, address)
        seen = flow.get_by_role("status").inner_text()
        page.keyboard.press("Control+s")
        link = page.get_by_role("textbox", name="Link").input_value()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(link)
        expect(flow.get_by_role("status")).to_have_text(seen)
        expect(pane(page).locator(".traced").first).to_be_visible()
        more(page, "Value flow")
        expect(flow).to_be_hidden()
        more(page, "Value flow")
        expect(flow.get_by_role("status")).to_have_text(seen)
        assert not [url for url in asked if url.endswith("/api/flow")]
        text = re.sub("<[^>]*>", "", page.request.get(link).text())
        assert "Value flow at funmem" in text
        assert re.search(r"= \[6i32, 4i32, 2i32\]", text)
        assert ": 6 4 2" in text
