"""Profiles and measurements, in a browser with the compiler behind it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from compiler.runtime.runner import compiler_available
from tests.app.browsing import (
    HOLDING,
    MARKS,
    compiled,
    details,
    hold,
    is_held,
    release,
    working,
    write,
)
from tests.runtime.cuda_on_cpu import needs_cxx

pytestmark = [
    *MARKS,
    pytest.mark.skipif(not compiler_available(), reason="there is no C compiler"),
]

PROGRAM = """-- ==
-- input { [1, 2, 3] } output { [2, 4, 6] }
-- "wrong" input { [1] } output { [1] }
-- input { [1] } error: never

entry main [n] (xs: [n]i32) =
  let ys = map (* 2) xs
  in scan i32.max 0 ys
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, PROGRAM)
        expect(opened.get_by_label("Entry")).to_contain_text("main")
        yield opened


def test_a_profile_leads_to_lines_and_stages_and_is_in_links(page: Page) -> None:
    page.get_by_role("button", name="Profile", exact=True).click()
    lines = page.get_by_role("region", name="Time by line")
    expect(lines).to_contain_text("between")
    parts = page.get_by_role("region", name="Time by part")
    expect(parts).to_contain_text("kernel")
    lines.get_by_role("button", name="line 8").first.click()
    expect(page.locator(".source .cm-content")).to_be_focused()
    parts.locator("tbody tr").first.locator("td").nth(1).get_by_role("button").click()
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    before = parts.inner_text()
    page.goto(url)
    expect(parts).to_have_text(before, use_inner_text=True)
    assert "<h2>Profile</h2>" in page.request.get(url).text()


@needs_cxx
def test_a_profile_of_cuda_counts_and_is_in_links(page: Page) -> None:
    page.get_by_label("Target").select_option("cuda")
    compiled(page)
    page.get_by_role("button", name="Profile", exact=True).click()
    lines = page.get_by_role("region", name="Sectors of 32 bytes by line")
    expect(lines).to_contain_text("line 8")
    kernels = page.get_by_role("region", name="Kernels")
    expect(kernels.locator("tbody tr").first).to_contain_text("scan")
    expect(page.get_by_role("region", name="Profile")).to_contain_text("no times")
    lines.get_by_role("button", name="line 8").first.click()
    expect(page.locator(".source .cm-content")).to_be_focused()
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    before = kernels.inner_text()
    page.goto(url)
    expect(kernels).to_have_text(before, use_inner_text=True)
    assert "Sectors of 32 bytes, by line" in page.request.get(url).text()


def test_tests_are_measured_and_compared_with_what_was_before(page: Page) -> None:
    details(page, "Bench")
    page.get_by_role("button", name="Measure", exact=True).click()
    table = page.get_by_role("region", name="Measurements")
    rows = table.locator("tbody")
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible()
    failed = page.get_by_role("region", name="Not measured").get_by_role("listitem")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(re.compile(r"\d (µs|ms)"))
    expect(rows).to_contain_text(re.compile(r"foretold: about [0-9.]+ ms on an H200"))
    expect(failed).to_have_count(2)
    expect(failed.nth(0)).to_contain_text("should be")
    expect(failed.nth(1)).to_contain_text("not measured")
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(rows.locator(".compared")).to_contain_text(re.compile("before: .*(µs|ms)"))
    expect(rows.locator("td").nth(2)).to_have_text(re.compile(r"^[\d.]+–[\d.]+ (µs|ms|s)$"))
    assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible()
    page.evaluate(HOLDING)
    hold(page, "/api/bench")
    page.get_by_role("button", name="Measure", exact=True).click()
    is_held(page)
    page.get_by_role("button", name="Stop", exact=True).click()
    release(page)
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible()
    expect(rows).to_have_count(1)
    write(page, "entry main (xs: []i32) = xs\n")
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.locator("#panel-bench")).to_contain_text("The program has no tests.")
