"""Texts of stages come with an edit where panes show them, else when something asks for them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.app.browsing import (
    HOLDING,
    MARKS,
    against,
    all_stages,
    choose,
    compiled,
    details,
    hold,
    is_held,
    more,
    pane,
    release,
    visiting,
    working,
    write,
)

pytestmark = MARKS

FIRST = """\
entry main [n] (xs: [n]i64): [n]i64 =
  let a = scan (+) 0 xs
  let b = map (* 2) a
  in map (\\x -> x - 3) b
"""
SECOND = FIRST.replace("- 3", "- 777")


@pytest.fixture(scope="module")
def visit(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        all_stages(opened)
        opened.evaluate(HOLDING)
        yield opened


@pytest.fixture
def page(visit: Page) -> Iterator[Page]:
    visit.locator("[data-stage='fused']").click()
    write(visit, FIRST)
    expect(pane(visit)).to_contain_text("- 3i64")
    compiled(visit)
    yield visit
    release(visit)


def chip(page: Page, stage: str) -> None:
    page.locator(f"[data-stage='{stage}']").click()


def asked(page: Page) -> list[dict[str, Any]]:
    """The requests from here on: of a batch those for stages, else those for a text."""
    found: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        if request.method == "POST" and request.url.endswith(("/batch", "/text")):
            given = request.post_data_json
            found.extend(given.get("requests", [{**given, "op": "text"}]))

    page.on("request", note)
    return found


def fates(page: Page) -> Locator:
    return page.locator(".fate tbody tr")


def test_an_edit_brings_the_texts_that_are_shown_and_no_others(page: Page) -> None:
    chip(page, "imp")
    expect(pane(page)).to_contain_text("@grid")
    compiled(page)
    found = asked(page)
    write(page, SECOND)
    expect(pane(page)).to_contain_text("777i64")
    compiled(page)
    assert [one["texts"] for one in found if one["op"] == "show"] == [["imp"]]
    chip(page, "c")
    expect(pane(page)).to_contain_text("777")
    chip(page, "imp")
    chip(page, "c")
    expect(pane(page)).to_contain_text("777")
    assert [one["stage"] for one in found if one["op"] == "text"] == ["c"]


def test_what_is_selected_is_lit_in_a_stage_that_is_opened_later(page: Page) -> None:
    choose(page, "let a", "scan")
    for stage in ("kernels", "typed"):
        chip(page, stage)
        expect(pane(page).locator(".cm-line.lit").first).to_be_visible()
    page.keyboard.press("Escape")


def test_back_and_forward_lead_to_stages_with_their_texts(page: Page) -> None:
    chip(page, "mono")
    expect(pane(page)).to_contain_text("intrinsics.scan")
    chip(page, "cuda")
    expect(pane(page)).to_contain_text("__global__")
    page.go_back()
    expect(pane(page)).to_contain_text("intrinsics.scan")
    page.go_forward()
    expect(pane(page)).to_contain_text("__global__")


def test_a_text_that_is_under_way_when_the_program_changes_is_not_shown(page: Page) -> None:
    hold(page, "/api/text")
    chip(page, "c")
    is_held(page)
    expect(pane(page)).to_contain_text("It is being computed.")
    write(page, SECOND)
    expect(pane(page)).to_contain_text("777")
    release(page)
    page.wait_for_timeout(300)
    expect(pane(page)).to_contain_text("777")


def test_a_stage_that_is_opened_while_an_answer_is_under_way_gets_its_text(page: Page) -> None:
    hold(page, "/api/batch")
    write(page, SECOND)
    is_held(page)
    chip(page, "c")
    release(page)
    expect(pane(page)).to_contain_text("777")


def test_a_chip_that_is_drawn_anew_while_it_is_pressed_opens_its_stage(page: Page) -> None:
    hold(page, "/api/batch")
    write(page, FIRST.replace("map (* 2) a", "scan (*) 1 a"))
    is_held(page)
    of_imp = page.locator("[data-stage='imp']")
    before = of_imp.inner_text()
    box = of_imp.locator(".chip-title").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    release(page)
    expect(of_imp).not_to_have_text(before, use_inner_text=True)
    page.mouse.up()
    expect(pane(page)).to_contain_text("@grid")


def test_a_stage_is_compared_with_one_that_was_not_shown(page: Page) -> None:
    against(page, "simplified")
    expect(pane(page)).to_contain_text(re.compile("added, .* since Simplified|The same as"))
    against(page, "soa")
    expect(pane(page)).to_contain_text(re.compile("added, .* removed since Structure of arrays"))
    expect(pane(page).locator(".cm-line.diff-removed").first).to_be_visible()
    against(page, "")


def test_stages_of_a_that_were_not_shown_are_compared_with_those_of_now(page: Page) -> None:
    details(page, "Compare")
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.get_by_role("button", name=re.compile("Pin")).click()
    expect(pane(page)).to_contain_text("The same as in A.")
    details(page, "Memory")
    write(page, SECOND)
    expect(pane(page).locator(".cm-line.diff-added")).to_contain_text("777i64")
    chip(page, "cuda")
    expect(pane(page).locator(".cm-line.diff-added").first).to_contain_text("777")
    details(page, "Compare")
    row = panel.locator("tr", has=page.get_by_role("button", name="Types", exact=True))
    expect(row.locator(".words")).to_have_text("other text")
    expect(row.locator("td").first).to_have_text(re.compile(r"\d"))
    panel.get_by_role("button", name="Unpin").click()
    details(page, "Memory")


def test_a_link_tells_the_same_of_a_selection_as_the_compiler(page: Page, browser: Browser) -> None:
    choose(page, "let b", "map")
    details(page, "Selection")
    expect(fates(page)).to_have_count(page.locator(".chip").count())
    expect(fates(page).last).not_to_contain_text("not used")
    told = fates(page).all_inner_texts()
    assert len({row.split("\t")[1] for row in told}) > 2, told
    place = page.evaluate("location.hash")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_role("textbox", name="Link").input_value()
    with visiting(browser) as frozen:
        frozen.goto(f"{link}{place}")
        details(frozen, "Selection")
        expect(fates(frozen)).to_have_count(len(told))
        assert fates(frozen).all_inner_texts() == told


def test_a_stage_is_written_by_hand_and_told_where_it_is_wrong(
    browser: Browser, address: str
) -> None:
    with working(browser, address) as page:
        write(page, "entry main [n] (xs: [n]i32) : i32 = reduce (+) 0 (map (* 2) xs)\n")
        compiled(page)
        shown = pane(page)
        shown.get_by_label("Stage", exact=True).select_option("flat")
        expect(shown).to_contain_text("* 2i32")
        more(shown, "✎ Edit this text")
        field = shown.get_by_role("textbox", name="The text of Flattened")
        text = field.input_value()
        field.fill(text.replace("* 2i32", "* 7i32"))
        expect(shown).to_contain_text("Written by hand")
        shown.get_by_label("Stage", exact=True).select_option("imp")
        expect(shown).to_contain_text("7i32")
        shown.get_by_label("Stage", exact=True).select_option("flat")
        expect(field).to_have_value(re.compile(r"\* 7i32"))
        field.fill(text.replace("segred @grid (", "segred @grid "))
        told = shown.locator(".written-problems")
        expect(told).to_contain_text("expected `(`".replace("`", ""))
        told.get_by_role("button", name="line 3").click()
        expect(field).to_be_focused()
        page.reload()
        expect(field).to_have_value(re.compile("segred @grid i"))
        shown.get_by_role("button", name="Take it back").click()
        expect(field).to_be_hidden()
        expect(shown).to_contain_text("* 2i32")
