"""What a hurried user does while an answer is under way: nothing is lost or goes astray."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.app.browsing import (
    HOLDING,
    MARKS,
    RELEASE,
    details,
    hold,
    is_held,
    pane,
    release,
    source,
    write,
)
from tests.app.conftest import SOURCE

pytestmark = MARKS

TYPE = """(field, value) => {
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}"""


@pytest.fixture
def holding(page: Page) -> Page:
    page.evaluate(HOLDING)
    return page


def test_the_second_digit_is_typed_when_the_answer_for_the_first_comes(holding: Page) -> None:
    page = holding
    details(page, "Proof")
    field = page.locator(".pair").get_by_label("n", exact=True)
    saved = page.locator(".savings")
    expect(saved).to_contain_text("less to copy and to allocate40 B")
    hold(page, "/api/batch")
    field.fill("7")
    is_held(page)
    field.evaluate(f"(field) => {{ ({TYPE})(field, '71'); ({RELEASE})(); }}")
    expect(saved).to_contain_text("less to copy and to allocate568 B")
    expect(field).to_have_value("71")


def test_a_pane_says_that_its_first_answer_is_awaited(holding: Page) -> None:
    page = holding
    hold(page, "/api/batch")
    details(page, "Bounds")
    is_held(page)
    panel = page.get_by_role("tabpanel", name="Bounds")
    waiting = panel.get_by_text("It is being computed.")
    expect(waiting).to_be_visible()
    release(page)
    expect(waiting).to_be_hidden()
    expect(panel).to_have_text(re.compile(r"\S"))
    hold(page, "/api/batch")
    write(page, "-- Another\nentry main (xs: []i64) = map (+1) xs\n")
    is_held(page)
    expect(waiting).to_be_hidden()  # what was told before is still seen
    note = pane(page).locator(".pane-note")
    expect(note).to_have_text("Out of date: the current program is being compiled.")
    release(page)
    expect(note).not_to_contain_text("Out of date")


def test_what_stages_of_an_earlier_text_came_to_is_not_told_of_the_new_one(holding: Page) -> None:
    page = holding
    note = page.locator(".chip[data-stage=fused] .chip-note")
    expect(note).to_be_visible()
    told = note.inner_text()
    hold(page, "/api/")
    write(page, "-- Another\nentry main (xs: []i64) = map (+1) xs\n")
    is_held(page)
    expect(note).to_be_hidden()
    release(page)
    expect(pane(page)).to_contain_text("-- Another -- fused")
    expect(note).to_be_visible()
    expect(note).to_have_text(told)


def test_who_types_a_size_goes_on_when_another_program_was_compiled(holding: Page) -> None:
    page = holding
    details(page, "Proof")
    saved = page.locator(".savings")
    expect(saved).to_contain_text("less to copy and to allocate40 B")
    hold(page, "/api/batch")
    write(page, "-- Another\nentry main (xs: []i64) = map (+1) xs\n")
    is_held(page)
    field = page.locator(".pair").get_by_label("n", exact=True)
    field.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("8")
    release(page)
    expect(pane(page)).to_contain_text("-- Another -- fused")
    expect(page.locator(".outdated-note span:visible")).to_have_count(0)
    expect(field).to_be_focused()
    page.keyboard.type("0")
    expect(saved).to_contain_text("less to copy and to allocate640 B")


def test_sizes_typed_while_arrays_of_another_text_are_awaited_are_for_those(
    holding: Page,
) -> None:
    page = holding
    memory = page.locator(".memory")
    field = memory.get_by_label("n", exact=True).and_(memory.locator("input:visible"))
    memory.get_by_role("button", name="One array").click()
    expect(memory.locator("svg.cells").first).to_be_visible()
    memory.get_by_role("button", name="All blocks").click()
    for number in range(2):  # the second request does not ask for arrays any more
        write(page, f"entry main (xs: []i64) = map (+{number}) xs\n")
        expect(pane(page)).to_contain_text(f"map (+{number}) xs -- fused")
        expect(page.locator(".outdated-note span:visible")).to_have_count(0)
        page.wait_for_timeout(800)  # until what panes ask is settled
    hold(page, "/api/batch")
    memory.get_by_role("button", name="One array").click()
    is_held(page)
    field.fill("2")
    page.wait_for_timeout(300)  # after which cells would be asked for
    release(page)
    expect(page.locator(".outdated-note span:visible")).to_have_count(0)
    expect(field).to_have_value("2")
    expect(memory.locator("svg.cells").first.locator(".cell")).to_have_count(12)


def test_an_error_of_a_run_marks_no_other_text(holding: Page) -> None:
    page = holding
    write(page, "entry main (xs: []i64) =\n  xs[FAILS]\n")
    expect(pane(page)).to_contain_text("FAILS")
    hold(page, "/api/run")
    page.keyboard.press("Control+Enter")
    is_held(page)
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("-- one more line, longer than what follows it\n")
    release(page)
    expect(page.locator(".run-result")).to_contain_text("out of bounds")
    expect(page.locator(".run-side .outdated-note span:visible")).to_have_count(1)
    expect(page.locator(".source .wavy")).to_have_count(0)
    expect(page.locator(".run-result").get_by_role("button")).to_have_count(0)


def test_a_run_that_goes_on_does_not_take_the_place_of_a_links_result(
    page: Page, site: str
) -> None:
    asked = {"source": SOURCE, "run": {"entry": "main", "input": "[4i64]"}}
    made = page.request.post(f"{site}/api/share", data=asked).json()
    page.goto(made["url"])
    page.evaluate(HOLDING)
    result = page.locator(".run-result .value")
    expect(result).to_have_text("[4i64]")
    write(page, "entry main (xs: []i64) = xs\n")
    expect(pane(page)).to_contain_text("= xs -- fused")
    page.locator("#run-value-0").fill("[9i64]")
    hold(page, "/api/run")
    page.keyboard.press("Control+Enter")
    is_held(page)
    page.go_back()
    expect(page.locator(".status")).to_contain_text("frozen")
    expect(result).to_have_text("[4i64]")
    release(page)
    page.wait_for_timeout(300)
    expect(result).to_have_text("[4i64]")
    expect(page.locator("header").get_by_role("button", name="Run")).to_be_visible()


def test_inputs_typed_before_another_example_is_there_are_its_own(holding: Page) -> None:
    """What is typed while an example is compiled stays in its field, if that is of the type."""
    page = holding
    hold(page, "/api/batch")
    page.get_by_label("Example").select_option("second")
    is_held(page)
    page.locator("#run-value-0").fill("[6i64]")
    release(page)
    expect(page.locator(".run-fields label")).to_have_text("[]i64")
    expect(page.locator("#run-value-0")).to_have_value("[6i64]")
    page.get_by_label("Example").select_option("first")
    expect(page.locator(".run-fields label")).to_have_text("xs: []i64")
    expect(page.locator("#run-value-0")).not_to_have_value("[6i64]")
    expect(source(page)).to_contain_text("-- First steps")


def test_who_types_a_seed_goes_on_when_the_names_of_sizes_come(holding: Page) -> None:
    """They come from the compiler where types do not tell them."""
    page = holding
    hold(page, "/api/batch")
    page.get_by_label("random").check()
    is_held(page)
    seed = page.get_by_label("seed")
    seed.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("4")
    release(page)
    page.wait_for_timeout(200)
    page.keyboard.type("2")
    expect(seed).to_have_value("42")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_contain_text("seed=42")


def test_inputs_typed_for_a_program_that_is_compiled_stay_if_they_are_of_its_type(
    holding: Page,
) -> None:
    page = holding
    hold(page, "/api/batch")
    write(page, "-- Another\nentry main (ys: []i64) (k: f32) = ys\n")
    is_held(page)
    page.locator("#run-value-0").fill("[8i64]")
    release(page)
    expect(page.locator(".run-fields label").first).to_have_text("ys: []i64")
    expect(page.locator("#run-value-0")).to_have_value("[8i64]")
    hold(page, "/api/batch")
    write(page, "-- Another\nentry main (k: f32) = k\n")
    is_held(page)
    page.locator("#run-value-0").fill("[9i64]")
    release(page)
    expect(page.locator(".run-fields label")).to_have_text("k: f32")
    expect(page.locator("#run-value-0")).not_to_have_value("[9i64]")
