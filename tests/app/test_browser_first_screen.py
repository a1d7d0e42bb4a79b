"""What is on the first screen: little at once, and all of it within reach."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, choose, compiled, visiting, working, write

pytestmark = MARKS

MOST = 30
"""Controls that are seen at first: links, buttons, fields and what opens; no editors, no bars."""
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((element) => {
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    const inside = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    if (!inside || width < 2 || height < 2) return false;
    return element.checkVisibility({ visibilityProperty: true });
  })
  .map((element) => {
    let seen = true;
    for (let at = element; at; at = at.parentElement) seen &&= getComputedStyle(at).opacity !== "0";
    const name = (element.getAttribute("aria-label") || element.textContent).trim().slice(0, 40);
    return [name, seen];
  })"""
PARTS = """entry main [n] (xs: [n]i32): []i32 =
  let zs = xs[1:]
  in map (+ 1) xs ++ map (* 2) zs
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        yield opened


def test_few_controls_are_seen_and_the_others_where_the_pointer_or_the_focus_is(page: Page) -> None:
    expect(page.locator("#panel-memory svg.lanes").first).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("on an H200")
    expect(page.locator(".answer")).to_contain_text("3 times")
    page.wait_for_load_state("networkidle")
    page.mouse.move(1, 1)
    all_of_them: list[tuple[str, bool]] = page.evaluate(CONTROLS)
    seen = [name for name, is_seen in all_of_them if is_seen]
    asleep = [name for name, is_seen in all_of_them if not is_seen]
    assert len(seen) <= MOST, seen
    assert {"Files", "New", "Format", "Outline", "Stage", "Sums"} <= set(asleep), asleep
    for place in (".source", ".stage-pane", ".pane:has(#panel-memory)"):
        page.locator(place).first.hover()
        now: list[tuple[str, bool]] = page.evaluate(CONTROLS)
        assert len(now) == len(all_of_them)
        asleep = [name for name in asleep if [name, True] not in now]
    assert asleep == []
    page.mouse.move(1, 1)
    page.get_by_role("button", name="Format").focus()
    assert ["Format", True] in page.evaluate(CONTROLS)


def test_where_nothing_points_everything_is_seen(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    opened = context.new_page()
    opened.goto(address)
    compiled(opened)
    assert all(is_seen for _, is_seen in opened.evaluate(CONTROLS))
    context.close()


def test_a_part_of_what_is_put_together_is_told_of_alone(page: Page) -> None:
    write(page, PARTS)
    answer = page.locator(".answer")
    expect(answer).to_contain_text("396 B never copied")
    choose(page, "in map", "zs")
    expect(answer.locator(".answer-item").first).to_contain_text("396 B never copied")
    expect(answer).not_to_contain_text("400 B")


def test_an_error_leaves_no_costs_that_seem_to_be_of_it(page: Page) -> None:
    why = page.locator(".answer-why")
    expect(why).to_contain_text("Builds the result")
    write(page, "entry main (xs: []i32) = map (+ 1) ys\n")
    expect(why).to_have_text("Out of date: it belongs to an earlier version of the program.")
    write(page, "entry main (xs: []i32) = map (+ 1) xs\n")
    expect(why).not_to_contain_text("Out of date")


def test_a_lessons_question_is_in_sight_and_its_line_tells_nothing(
    browser: Browser, address: str
) -> None:
    with visiting(browser) as opened:
        opened.goto(f"{address}/lessons/coalescing")
        compiled(opened)
        expect(opened.get_by_label("Example").locator("option").first).to_have_text("This lesson")
        expect(opened.get_by_role("button", name="Reveal")).to_be_in_viewport(ratio=1)
        heat = opened.locator(".source .cm-lineNumbers .heat")
        expect(heat.first).to_have_css("background-image", "none")


def test_a_new_program_is_begun_from_the_list_of_examples(page: Page) -> None:
    page.get_by_label("Example").select_option(label="A new program")
    expect(page.locator(".source .cm-content")).to_contain_text("x + 1")
    expect(page.get_by_label("Example")).to_have_value("")
