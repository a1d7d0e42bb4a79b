"""The answer line: what the program costs, or what is selected, beside the source and in links."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, choose, compiled, details, violations, working, write

pytestmark = MARKS

COPIED = """entry main [n] [m] (xss: *[n][m]i32): (*[n][m]i32, i32) =
  let row = map (+ 1) xss[1]
  let old = i32.sum xss[0]
  in (xss with [0] = row, old)
"""
TOLD = re.compile(r"^The program about [0-9.]+ ms on an H200, bound by [a-z ]+$")
COLUMNS = "entry main [n] [m] (xss: [n][m]f32): [m]f32 = map f32.sum (transpose xss)\n"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, COPIED)
        expect(opened.locator(".answer")).to_contain_text("copied: 400 B line 4")
        yield opened


def test_a_click_tells_what_the_expression_costs_and_leads_to_why(page: Page) -> None:
    answer = page.locator(".answer")
    expect(answer.locator(".answer-subject")).to_have_text(TOLD)
    expect(answer.locator(".answer-why")).to_contain_text("row would overwrite cell 0")
    choose(page, "xss with", "xss")
    expect(answer.locator(".answer-subject")).to_contain_text("line 4")
    answer.get_by_role("button", name="copied: 400 B").click()
    expect(page.locator("#panel-proof")).to_be_visible()
    expect(page.locator("#panel-proof")).to_contain_text("would overwrite")
    choose(page, "let old", "sum")
    expect(answer).not_to_contain_text("copied")
    answer.get_by_role("button", name="path through the compiler").click()
    expect(page.locator("#panel-selection")).to_be_visible()
    page.keyboard.press("Escape")
    expect(answer.locator(".answer-subject")).to_have_text(TOLD)


def test_lines_have_their_costs_beside_them(page: Page) -> None:
    mark = page.locator(".source .cost-mark[data-says$='400 B copied']")
    expect(mark).to_have_count(1)
    expect(page.locator(".source .cm-lineNumbers .heat-4")).to_have_text("4")
    mark.click()
    expect(page.locator(".answer-subject")).to_contain_text("line 4")
    assert violations(page, places=[".answer", ".source"]) == []


def test_sizes_of_the_line_are_those_of_the_page_and_links_keep_it(page: Page) -> None:
    page.get_by_label("Size m").fill("1000")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("copied: 4 kB")
    expect(page.locator("#panel-memory")).to_contain_text("4.00 kB")
    assert page.locator("#panel-memory").get_by_label("m", exact=True).count() == 0
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    page.goto(url)
    expect(answer).to_contain_text("copied: 4 kB line 4")
    expect(answer.get_by_label("Size m")).to_be_disabled()
    plain = page.context.browser
    assert plain is not None
    context = plain.new_context(java_script_enabled=False)
    without = context.new_page()
    without.goto(url)
    expect(without.locator("#costs")).to_contain_text("for m = 1000, n = 100")
    expect(without.locator("#costs li").first).to_contain_text("copied: 4 kB line 4: row would")
    context.close()


def test_what_is_switched_off_is_switched_on_from_the_line(page: Page) -> None:
    write(page, COLUMNS)
    answer = page.locator(".answer")
    expect(answer).not_to_contain_text("copied")
    compiled(page)
    details(page, "Compare")
    page.locator("#panel-compare summary", has_text="Passes and rules").click()
    page.locator("#panel-compare [data-switch='coalesce']").click()
    expect(answer).to_contain_text("a warp fetches 32 sectors where 4 would do")
    answer.get_by_role("button", name="Switch it on").click()
    expect(answer).not_to_contain_text("32 sectors where 4 would do")
