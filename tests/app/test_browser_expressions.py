"""The box for expressions below the result, in a browser with the compiler behind it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import HOLDING, MARKS, compiled, hold, is_held, release, run, working, write

pytestmark = MARKS

PROGRAM = "def f (x: i32) = x + 1\ndef at (i: i64) = [1, 2][i]\nentry main (xs: []i32) = map f xs\n"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, PROGRAM)
        expect(opened.get_by_label("Entry")).to_contain_text("main")
        compiled(opened)
        opened.locator("#run-backend").select_option("ref")
        yield opened


def evaluate(page: Page, expression: str) -> None:
    box = page.get_by_label("Expression", exact=True)
    box.fill(expression)
    box.press("Enter")
    first = page.locator(".evaluated > li").first
    expect(first.locator("code").first).to_have_text(expression)


def test_values_types_and_history(page: Page) -> None:
    page.get_by_role("textbox", name="xs: []i32").fill("[1, 2, 3]")
    run(page)
    expect(page.locator(".run")).to_contain_text("[2i32, 3i32, 4i32]")
    evaluate(page, "map f [1, 2]")
    first = page.locator(".evaluated > li").first
    expect(first).to_be_in_viewport(ratio=0.9)
    expect(first).to_contain_text("[2]i32")
    expect(first).to_contain_text("[2i32, 3i32]")
    evaluate(page, "f")
    expect(first).to_contain_text("i32 -> i32")
    expect(page.locator(".evaluated > li")).to_have_count(2)
    box = page.get_by_label("Expression", exact=True)
    expect(box).to_have_value("")
    box.press_sequentially("dra")
    box.press("ArrowUp")
    expect(box).to_have_value("f")
    box.press("ArrowUp")
    box.press("ArrowUp")
    expect(box).to_have_value("map f [1, 2]")
    box.press("ArrowDown")
    box.press("ArrowDown")
    expect(box).to_have_value("dra")


def test_errors_have_their_place_in_the_box_or_in_the_program(page: Page) -> None:
    evaluate(page, "1 + true")
    box = page.get_by_label("Expression", exact=True)
    expect(page.locator(".evaluated mark")).to_have_text("true")
    expect(box).to_have_value("1 + true")
    selected = "box => box.value.slice(box.selectionStart, box.selectionEnd)"
    assert box.evaluate(selected) == "true"
    evaluate(page, "at 7")
    expect(page.locator(".evaluated > li").first).to_contain_text("Index [7] out of bounds")
    page.locator(".evaluated .place").first.click()
    expect(page.locator(".source .cm-content")).to_be_focused()


def test_what_is_typed_meanwhile_and_what_was_told_before_an_edit_stay(page: Page) -> None:
    page.evaluate(HOLDING)
    box = page.get_by_label("Expression", exact=True)
    hold(page, "/api/eval")
    box.fill("f 3")
    box.press("Enter")
    is_held(page)
    box.fill("f 4")
    release(page)
    expect(page.locator(".evaluated > li")).to_contain_text("4i32")
    expect(box).to_have_value("f 4")
    write(page, PROGRAM.replace("x + 1", "x + 2"))
    expect(page.locator(".evaluated > li")).to_contain_text("Out of date")
    box.press("Enter")
    expect(page.locator(".evaluated > li")).to_have_count(2)
    expect(page.locator(".evaluated > li").first).to_contain_text("6i32")
    expect(page.locator(".evaluated .outdated, .evaluated > li.outdated")).to_have_count(1)


def test_it_is_stopped(page: Page) -> None:
    page.evaluate(HOLDING)
    hold(page, "/api/eval")
    box = page.get_by_label("Expression", exact=True)
    box.fill("f 3")
    box.press("Enter")
    is_held(page)
    page.locator(".expressions").get_by_role("button", name="Stop").click()
    release(page)
    expect(page.get_by_role("button", name="Evaluate")).to_be_visible()
    expect(box).to_have_value("f 3")
    expect(page.locator(".evaluated > li")).to_have_count(0)


def test_values_come_back_with_the_page_and_with_a_link(page: Page, address: str) -> None:
    evaluate(page, "map f [10]")
    evaluate(page, "g 1")
    expect(page.locator(".evaluated > li").first).to_contain_text("Unknown name")
    page.reload()
    expect(page.locator(".evaluated > li")).to_have_count(2)
    expect(page.locator(".evaluated > li").last).to_contain_text("[11i32]")
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    expect(page.locator(".evaluated > li")).to_have_count(2)
    expect(page.locator(".evaluated > li").last).to_contain_text("[11i32]")
    expect(page.locator(".evaluated mark")).to_have_text("g")
    assert not [one for one in asked if one.endswith("/api/eval")]
    plain = page.request.get(url).text()
    assert "[11i32]" in plain
    assert "Unknown name" in plain
