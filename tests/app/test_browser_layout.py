"""What stays in its place, what comes into view, and what is offered."""

import json
import re

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.app.browsing import MARKS, all_stages, compiled, pane, visiting, working, write

pytestmark = MARKS

TEXTS = {
    "entry main (xs: []i64) = map (+1) xs\n": "compiled in",
    "entry main = WRONG\n": "1 error",
    "": "^$",
    "-- map map map\nentry main UNUSED = map (+1) xs\n": "1 warning",
}


def test_the_rail_keeps_its_place_and_its_height(page: Page) -> None:
    for size in ((1440, 900), (930, 800), (820, 1000), (390, 844)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        places = set()
        for text, status in TEXTS.items():
            write(page, text or " ")
            if not text:
                page.keyboard.press("Control+a")
                page.keyboard.press("Delete")
            expect(page.locator(".status")).to_have_text(re.compile(status))
            places.add(str(page.evaluate(PLACES)))
        assert len(places) == 1, (size, places)
    page.route("**/api/batch", lambda route: route.abort())
    write(page, "entry main = 1\n")
    expect(page.locator(".strips > .trouble")).to_be_visible()
    places.add(str(page.evaluate(PLACES)))
    assert len(places) == 1


def test_half_a_screen_has_one_bar_and_a_button_to_run(page: Page) -> None:
    for width, height in ((960, 540), (1024, 768), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        bar, run = page.locator(".top"), page.locator(".top").get_by_role("button", name="Run")
        expect(run).to_be_in_viewport(ratio=1)
        box = bar.bounding_box()
        assert box is not None
        assert box["height"] < 60, width
        assert run.evaluate(
            "run => document.elementFromPoint(...(({ x, y }) => [x + 4, y + 4])"
            "(run.getBoundingClientRect())) === run"
        )


@pytest.mark.parametrize("width", [390, 870, 1024])
def test_what_drops_down_is_on_the_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    bar = page.locator(".top")
    buttons = (
        bar.get_by_role("button", name="Share"),
        bar.locator(".help summary"),
        bar.locator("summary", has_text="View"),
    )
    for button in buttons:
        button.click()
        dropped = bar.locator(".popover:visible")
        expect(dropped).to_be_in_viewport(ratio=1)
        expect(dropped.locator(":user-invalid")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(dropped).to_have_count(0)


def test_while_the_script_comes_the_page_says_so_and_what_it_asks_for_comes_too(
    browser: Browser, site: str
) -> None:
    with visiting(browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        coming: list[Route] = []
        page.route("**/dist/main.js*", lambda route: coming.append(route))
        page.goto(site, wait_until="commit")
        expect(page.locator(".arriving")).to_contain_text("The page is loading.")
        page.wait_for_function(
            "() => performance.getEntriesByName(`${location.origin}/api/examples`).length"
        )
        coming[0].continue_()
        expect(pane(page)).to_contain_text("-- fused")
        assert (asked.count("manifest"), asked.count("examples")) == (1, 1)
        expect(page.locator(".arriving")).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1920, 1080)])
def test_a_first_visit_has_room_for_the_source_and_a_strip_for_runs(
    browser: Browser, site: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    expect(page.locator(".tagline")).to_be_visible()
    write(page, f"-- {'x y ' * 13}\n-- {'x y ' * 60}\n")  # 55 characters, and many
    rows = page.locator(".source .cm-line")
    whole, many = (rows.nth(k).evaluate("line => line.offsetHeight") for k in range(2))
    assert whole < 1.5 * rows.nth(2).evaluate("line => line.offsetHeight") < many
    run = page.get_by_role("region", name="Run", exact=True)
    assert run.evaluate("run => run.offsetHeight") == 36
    expect(run.locator(".run-brief")).to_be_in_viewport(ratio=1)
    write(page, "entry main (xs: []i64) = map (+1) xs\n")
    run.get_by_label("xs: []i64").focus()  # by keyboard
    expect(run.get_by_label("xs: []i64")).to_be_in_viewport(ratio=1)
    assert run.evaluate("run => run.offsetHeight") == 140
    page.reload()
    expect(pane(page)).to_contain_text("-- fused")
    assert run.evaluate("run => run.offsetHeight") == 140
    context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_first_look_nothing_lies_over_its_neighbour_or_beyond_its_pane(
    browser: Browser, address: str, width: int
) -> None:
    with working(browser, address) as page:
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(".before-after")).to_be_visible()
        heads_are_in_order(page)
        inside = page.locator("#panel-memory")
        for part in (".before-after", ".before-after td", ".symbol"):
            for one in inside.locator(part).all():
                assert across(one)[1] <= across(inside)[1], part


def test_heads_of_narrow_panes_take_another_row(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        page.set_viewport_size({"width": 1920, "height": 1080})
        all_stages(page)
        for stage in ("funmem", "cuda"):
            page.locator(f".chip[data-stage={stage}]").click(modifiers=["Shift"])
            expect(
                page.locator(f".stage-pane .stage-select option[value={stage}]:checked")
            ).to_have_count(1)
        heads_are_in_order(page)


def heads_are_in_order(page: Page) -> None:
    """What stands in the head of a stage lies neither over its neighbour nor beyond the pane."""
    for head in page.locator(".stage-pane .pane-head").all():
        assert head.evaluate(COVERED) == []
        for choice in head.locator("select:visible").all():
            assert across(choice)[1] - across(choice)[0] > 75, "too narrow for its words"


COVERED = """head => {
  const found = [];
  const parts = [...head.querySelectorAll("button, select, summary")]
    .filter((one) => one.checkVisibility());
  const boxes = parts.map((one) => one.getBoundingClientRect());
  const end = head.getBoundingClientRect().right;
  boxes.forEach((one, k) => {
    const over = boxes.some((other, j) => j > k
      && one.left < other.right - 0.5 && other.left < one.right - 0.5
      && one.top < other.bottom - 0.5 && other.top < one.bottom - 0.5);
    if (over || one.right > end) found.push(parts[k].outerHTML.slice(0, 80));
  });
  return found;
}"""


def across(part: Locator) -> tuple[float, float]:
    """Where an element begins and ends, from left to right; twice 0 if it is hidden."""
    box = part.bounding_box() or {"x": 0, "width": 0}
    return round(box["x"]), round(box["x"] + box["width"])


def test_a_run_opens_the_strip(page: Page) -> None:
    run = page.get_by_role("region", name="Run", exact=True)
    assert run.evaluate("run => run.offsetHeight") == 36
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_be_in_viewport()
    assert run.evaluate("run => run.offsetHeight") == 140


def test_a_result_that_is_drawn_is_seen_at_once(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        write(page, "entry main (n: i64): [n][n]i64 = tabulate_2d n n (\\i j -> i * j)\n")
        page.get_by_label("n: i64").fill("40")
        page.locator("header").get_by_role("button", name="Run").click()
        expect(page.locator(".run-result .cells-canvas")).to_be_in_viewport(ratio=0.7)
        write(page, "entry main (n: i64): i64 = n\n")
        page.locator("header").get_by_role("button", name="Run").click()
        expect(page.locator(".run-result .value")).to_have_text("40i64")
        run = page.get_by_role("region", name="Run", exact=True)
        assert run.evaluate("run => run.offsetHeight") == 140


def test_what_is_wrong_with_the_last_line_is_seen_below_it(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        page.goto(f"{address}/examples/black_scholes")
        compiled(page)
        page.locator(".source .cm-content").click()
        page.keyboard.press("Control+End")
        page.keyboard.type("\ndef q = f32.s ")
        message = page.locator(".source").get_by_text("Module f32 has no s")
        expect(message).to_be_in_viewport(ratio=1)


PLACES = """() => {
  const rail = document.querySelector(".rail").getBoundingClientRect();
  const chips = [...document.querySelectorAll(".chip")].map((chip) => chip.offsetHeight);
  return [rail.top + scrollY, rail.height, ...chips];
}"""


def test_where_panes_lie_below_each_other_the_next_step_stays_in_sight(
    browser: Browser, address: str
) -> None:
    """A projector at 150 %: each step of the story leads further down."""
    with working(browser, address) as page:
        page.set_viewport_size({"width": 853, "height": 480})
        after = page.get_by_role("button", name="Next", exact=True)
        home = after.bounding_box()
        while after.get_attribute("aria-disabled") != "true":
            after.click()
            expect(page.locator(".ring")).to_be_in_viewport()
            expect(after).to_be_in_viewport(ratio=1)
            expect(page.locator(".story .point")).not_to_be_in_viewport()
        page.evaluate("scrollTo(0, 0)")
        expect(page.locator(".story.away")).to_have_count(0)
        assert after.bounding_box() == pytest.approx(home, abs=1)


def test_on_a_phone_a_run_from_the_top_shows_its_result(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    expect(page.locator(".run-result")).not_to_be_in_viewport()
    page.locator("header").get_by_role("button", name="Run").click()
    expect(page.locator(".run-result .value")).to_be_in_viewport()
    page.evaluate("scrollTo(0, 0)")
    write(page, "entry main (xs: []i64) = xs[FAILS]\n")
    expect(pane(page)).to_contain_text("FAILS")
    page.evaluate("scrollTo(0, 0)")
    page.locator("header").get_by_role("button", name="Run").click()
    expect(page.locator(".run-result .problem-text")).to_be_in_viewport()
    page.evaluate("scrollTo(0, 0)")
    page.locator(".source .cm-line", has_text="FAILS").click()
    expect(pane(page).locator(".cm-line.lit")).to_have_count(1)
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") == 0  # what is lit in another pane moves that pane alone
    context.close()


LATER = """
const fetched = window.fetch;
window.held = [];
window.fetch = async (path, options) => {
  const answer = await fetched(path, options);
  if (String(options?.body).includes("lifetimes")) {
    await new Promise((resume) => window.held.push(resume));
  }
  return answer;
};
"""
"""What the first pane below the stages asks for waits in `held`."""


@pytest.mark.parametrize("first", ["result", "panes"])
def test_on_a_phone_panes_that_come_later_leave_the_result_in_view(
    browser: Browser, site: str, first: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.add_init_script(LATER)
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    page.wait_for_function("() => held.length > 0")
    result = page.locator(".run-result .value")
    page.locator("header").get_by_role("button", name="Run").click()
    if first == "result":
        expect(result).to_be_in_viewport()
    page.evaluate("held.forEach((resume) => resume())")
    expect(page.locator("svg.lanes")).to_be_visible()
    expect(result).to_be_in_viewport()
    page.mouse.wheel(0, -2000)  # the user goes away
    page.wait_for_function("() => scrollY === 0")
    page.evaluate("document.querySelector('.lanes-view').style.paddingTop = '300px'")
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") == 0
    context.close()


def test_a_back_end_that_cannot_run_is_not_offered_and_why_is_said(page: Page) -> None:
    run = page.get_by_role("region", name="Run", exact=True)
    chosen = run.get_by_label("Back end")
    expect(chosen.locator("option")).to_have_text(["C, all cores", "Reference interpreter"])
    said = "CUDA is not offered: This machine has no GPU that CUDA can use."
    expect(run.locator(".lacking")).to_have_text(said)
    there = [{"id": name, "missing": ""} for name in ("c", "cuda", "ref")]
    page.route("**/api/backends", lambda route: route.fulfill(json={"backends": there}))
    page.reload()
    chosen.select_option("cuda")
    expect(run.locator(".lacking")).to_have_text("")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.locator(".top").get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".run-result .value")).to_be_visible()
    assert [json.loads(body)["backend"] for body in sent if "backend" in body] == ["cuda"]
    page.wait_for_timeout(400)
    page.unroute("**/api/backends")  # the device is gone, and was chosen last
    page.reload()
    expect(run.locator(".lacking")).to_have_text(said)
    expect(chosen).to_have_value("c")
    sent.clear()
    page.locator(".top").get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".run-result .value")).to_be_visible()
    assert [json.loads(body)["backend"] for body in sent if "backend" in body] == ["c"]


def test_nothing_that_is_hidden_makes_the_page_longer_than_the_screen(page: Page) -> None:
    expect(page.locator(".run-field textarea")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") == 0
