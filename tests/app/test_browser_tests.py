"""The Tests tab in a browser, with the compiler behind it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import (
    HOLDING,
    MARKS,
    PATIENCE,
    compiled,
    details,
    hold,
    is_held,
    release,
    source,
    write,
)

pytestmark = MARKS

PROGRAM = """-- ==
-- entry: sum
-- input { [1, 2, 3] } output { 6 }
-- "wrong" input { [[1, 2], [3, 4]] } output { 6 }
-- "differs" input { [4] } output { 5 }
-- input { [1] } error: out of bounds

-- ==
-- entry: at
-- input { [1] 7i64 } error: Index \\[7\\]
-- input { [1] 9i64 } output { 1 }
-- input @ data/none.in

entry sum (xs: []i32) = i32.sum xs
entry at (xs: []i32) (i: i64) = xs[i]
"""


@pytest.fixture(params=[(1366, 768), (390, 844)], ids=["wide", "phone"])
def tests(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The tab, open on the program above."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    compiled(page)
    write(page, PROGRAM)
    expect(page.get_by_label("Entry")).to_contain_text("at")
    compiled(page)
    details(page, "Tests")
    expect(page.locator(".trial")).to_have_count(7)
    page.evaluate(HOLDING)
    yield page
    context.close()


def run_all(page: Page) -> None:
    page.get_by_role("button", name="Run all").click()
    expect(page.locator(".trials-top [role=status]")).to_have_text(
        "7 tests: 2 passed, 4 failed, 1 skipped"
    )
    expect(page.get_by_role("button", name="Run all")).to_be_visible()


def test_all_are_run_and_differences_are_shown(tests: Page) -> None:
    page = tests
    run_all(page)
    trials = page.locator(".trial")
    signs = [trials.nth(k).locator(".remark-sign").get_attribute("aria-label") for k in range(7)]
    assert signs == [
        "Passed", "Failed", "Failed", "Failed", "Passed", "Failed", "Skipped"
    ]  # fmt: skip
    expect(trials.nth(1)).to_contain_text("should be [n]i32 and was given [2][2]i32")
    differs = trials.nth(2)
    expect(differs).to_contain_text("The result should be 5i32 and is 4i32.")
    expect(differs.locator(".difference dd")).to_have_text(["5i32", "4i32"])
    expect(trials.nth(3)).to_contain_text("It should fail and does not.")
    expect(trials.nth(5)).to_contain_text("Index [9] out of bounds")
    expect(trials.nth(6)).to_contain_text("is not among the program's files")
    trials.nth(5).get_by_role("button", name="line 11").click()
    expect(source(page)).to_be_focused()
    expect(page.locator(".cm-activeLine")).to_contain_text("9i64")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]


def test_nothing_is_lost_on_an_edit_and_what_is_out_of_date_says_so(tests: Page) -> None:
    page = tests
    run_all(page)
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("-- more\n")
    expect(page.locator(".trial.outdated")).to_have_count(7)
    expect(page.locator(".trial").nth(2)).to_contain_text("Out of date")
    expect(page.locator(".trial").nth(2)).to_contain_text("should be 5i32")
    page.wait_for_timeout(1500)
    expect(page.locator(".trial.outdated")).to_have_count(7)
    first = page.get_by_role("button", name=re.compile("^Run sum, #0"))
    first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".trial.outdated")).to_have_count(6)
    expect(page.locator(".trial").first).to_have_class(re.compile("passed"))
    write(page, PROGRAM.replace('output { 6 }\n-- "wrong"', 'output { 6\n-- "wrong"'))
    expect(page.get_by_role("tabpanel", name="Tests")).to_contain_text("has no }")
    write(page, "entry main = 1")
    expect(page.get_by_role("tabpanel", name="Tests")).to_contain_text("The program has no tests.")
    write(page, "-- ==\n-- error: WRONG\n\nentry main = WRONG\n")
    expect(page.locator(".trial")).to_have_count(1)
    page.get_by_role("button", name="Run all").click()
    expect(page.locator(".trial.passed")).to_have_count(1)


def test_tests_of_a_text_that_was_just_changed_are_listed_first(tests: Page) -> None:
    page = tests
    page.evaluate(
        """() => {
          const view = document.querySelector(".source .cm-content").cmTile?.view
            ?? document.querySelector(".source .cm-content").cmView.view;
          view.dispatch({changes: {from: 0, insert: "-- ==\\n-- input {} output { 1 }\\n\\n"}});
          [...document.querySelectorAll("button")].find((b) => b.textContent === "Run all").click();
        }"""
    )
    expect(page.locator(".trials-top [role=status]")).to_have_text(
        "8 tests: 2 passed, 5 failed, 1 skipped"
    )


def test_a_run_is_stopped(tests: Page) -> None:
    page = tests
    hold(page, "/api/test")
    page.get_by_role("button", name="Run all").click()
    is_held(page)
    expect(
        page.get_by_role("button", name="Running…")
        .or_(page.locator(".trial button[disabled]"))
        .first
    ).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).first.click()
    release(page)
    expect(page.get_by_role("button", name="Run all")).to_be_visible()
    expect(page.locator(".trial.passed, .trial.failed")).to_have_count(0)
    run_all(page)
