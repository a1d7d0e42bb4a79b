"""The page in a browser: what a user sees and does, with the fake worker behind it."""

import re
from contextlib import suppress

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, TimeoutError, expect

from tests.app.browsing import (
    MARKS,
    PATIENCE,
    against,
    compiled,
    details,
    more,
    operations,
    pane,
    run,
    serving,
    source,
    theme,
    write,
)
from tests.app.conftest import SOURCE

pytestmark = MARKS


def test_a_first_visit_shows_an_example_with_its_stages_and_a_picture(page: Page) -> None:
    expect(page.locator(".story")).to_contain_text("A map over an array.")
    expect(source(page)).to_contain_text("-- First steps")
    expect(page.locator(".chip")).to_have_count(4)
    expect(pane(page)).to_contain_text("map (+1) xs -- fused")
    expect(page.locator(".memory svg").first).to_be_visible()
    compiled(page)


def test_errors_stand_under_the_text_and_old_stages_are_dimmed(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    write(page, "entry main = WRONG\n")
    expect(page.locator(".source .problem-text")).to_contain_text("Unknown name WRONG.")
    expect(page.locator(".source .wavy")).to_have_text("WRONG")
    expect(page.locator(".status")).to_have_text("1 error")
    expect(pane(page)).to_have_class(re.compile("stale"))
    expect(pane(page)).to_contain_text("map (+1) xs -- fused")
    write(page, "entry main = 2\n")
    expect(page.locator(".problem-text")).to_have_count(0)
    expect(pane(page)).to_contain_text("entry main = 2 -- fused")
    expect(pane(page)).not_to_have_class(re.compile("stale"))


APART = """() => {
  const box = (selector) => document.querySelector(selector)?.getBoundingClientRect();
  const [list, text] = [box(".cm-tooltip-autocomplete"), box(".source .problem-text")];
  return list && text && list.height >= 40 && list.top >= 0 && list.bottom <= innerHeight
    && (list.bottom <= text.top || list.top >= text.bottom);
}"""


@pytest.mark.parametrize("before", ["WRONG ", "WRONG\n  ", "-- one\n-- two\n-- three\n1 + WRONG "])
def test_completions_leave_the_error_readable(page: Page, before: str) -> None:
    """Whether it stands below the cursor or above it, and whichever of the two comes first."""
    write(page, f"entry main =\n  {before}")
    expect(page.locator(".source .problem-text")).to_be_visible()
    page.keyboard.type("re")
    expect(page.locator(".cm-tooltip-autocomplete")).to_be_visible()
    page.wait_for_function(APART)
    page.keyboard.press("Escape")
    expect(page.locator(".cm-tooltip-autocomplete")).to_have_count(0)
    write(page, "entry main = 1\n")
    expect(page.locator(".source .problem-text")).to_have_count(0)
    source(page).press("Control+a")
    page.keyboard.type(f"entry main =\n  {before}re")
    expect(page.locator(".cm-tooltip-autocomplete")).to_be_visible()
    page.wait_for_function(APART)


def test_places_are_counted_as_the_compiler_counts_them(page: Page) -> None:
    """In characters, of which some are two for the browser; only a newline ends a line."""
    write(page, '-- a\u2028b\x0cc\x85d\nentry main = "😀𝒙" + WRONG\n')
    expect(page.locator(".source .wavy")).to_have_text("WRONG")


def test_warnings_stand_under_the_text_and_the_program_is_compiled(page: Page) -> None:
    write(page, "entry main UNUSED = 2\n")
    expect(pane(page)).to_contain_text("entry main UNUSED = 2 -- fused")
    warning = page.locator(".source .problem-text.kind-warning")
    expect(warning).to_have_text("Warning UNUSED is not used. Call it _.")
    expect(page.locator(".source .wavy.kind-warning")).to_have_text("UNUSED")
    expect(page.locator(".status")).to_contain_text("1 warning")
    write(page, "entry main = WRONG\n")
    expect(page.locator(".status")).to_have_text("1 error")
    expect(warning).to_have_count(0)


def test_a_program_of_ones_own_has_no_story(page: Page) -> None:
    expect(page.locator(".story")).to_be_visible()
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("-- more\n")
    expect(pane(page)).to_contain_text("more -- fused")
    expect(page.locator(".story")).to_be_visible()
    write(page, "entry main = 2\n")
    expect(page.locator(".story")).to_be_hidden()
    expect(page.get_by_label("Example")).to_have_value("")


def test_an_answer_that_is_out_of_date_is_dropped(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    write(page, "-- SLOW\nentry main = 1\n")
    page.wait_for_timeout(700)
    write(page, "entry main = 3\n")
    expect(pane(page)).to_contain_text("entry main = 3 -- fused")
    page.wait_for_timeout(1200)
    expect(pane(page)).to_contain_text("entry main = 3 -- fused")
    expect(pane(page)).not_to_contain_text("SLOW")


def test_nothing_typed_is_lost_on_reload(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    write(page, "entry main = 4\n")
    page.locator(".chip", has_text="FUNMEM").click(modifiers=["Shift"])
    page.get_by_label("random").check()
    page.reload()
    expect(source(page)).to_contain_text("entry main = 4")
    expect(page.locator(".stage-pane")).to_have_count(2)
    expect(pane(page, 1)).to_contain_text("-- funmem")
    expect(page.get_by_label("random")).to_be_checked()


def test_a_click_in_the_source_lights_the_lines_of_a_stage(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    page.locator(".source .cm-line", has_text="map (+1)").click()
    lit = pane(page).locator(".cm-line.lit")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("map (+1) xs -- fused")
    details(page, "Selection")
    expect(page.locator(".fate tbody tr")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(lit).to_have_count(0)


def test_a_stages_line_lights_its_place_by_mouse_and_by_keyboard(page: Page) -> None:
    expect(page.locator(".memory svg").first).to_be_visible()
    pane(page).locator(".cm-line", has_text="entry main").hover()
    expect(page.locator(".source .lit-place")).to_have_text("entry main (xs: []i64) =")
    page.mouse.move(5, 5)
    expect(page.locator(".source .lit-place")).to_have_count(0)
    pane(page).locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    expect(page.locator(".source .lit-place")).to_contain_text("map (+1) xs")


def test_the_mouse_on_an_expression_shows_its_types(page: Page) -> None:
    expect(page.locator(".memory svg").first).to_be_visible()
    page.locator(".source .cm-line", has_text="map (+1)").hover(position={"x": 40, "y": 8})
    expect(page.locator(".type-tip")).to_contain_text("map (+1) xs -- typed")


def test_what_was_typed_before_opening_a_link_is_kept(page: Page, site: str) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    write(page, "-- my own work\nentry main = 5\n")
    expect(pane(page)).to_contain_text("entry main = 5 -- fused")
    answer = page.request.post(f"{site}/api/share", data={"source": SOURCE}).json()
    page.goto(answer["url"])
    expect(pane(page)).to_contain_text("map (+1)")
    write(page, "entry main = 6\n")
    expect(pane(page)).to_contain_text("entry main = 6 -- fused")
    page.goto(site)
    expect(source(page)).to_contain_text("entry main = 6")
    earlier = page.get_by_label("Example").locator("option", has_text="my own work")
    page.get_by_label("Example").select_option(earlier.get_attribute("value"))
    expect(source(page)).to_contain_text("entry main = 5")


def test_any_two_stages_as_a_difference(page: Page) -> None:
    against(page, "typed")
    expect(pane(page).locator(".pane-note")).to_contain_text(re.compile("lines? added"))
    expect(pane(page).locator(".cm-line.diff-added").first).to_contain_text("-- fused")
    expect(pane(page).locator(".cm-line.diff-removed").first).to_contain_text("-- typed")
    against(page, "")
    expect(pane(page).locator(".diff-added")).to_have_count(0)


def test_the_rail_is_walked_with_the_keyboard(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    way_in = page.locator(".chip[tabindex='0']")
    expect(way_in).to_have_text(re.compile("^Fused"))
    way_in.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(pane(page)).to_contain_text("-- funmem")
    page.keyboard.press("End")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".stage-pane")).to_have_count(2)
    expect(pane(page, 1)).to_contain_text("-- c")
    page.keyboard.press("Alt+ArrowLeft")
    expect(pane(page, 1)).to_contain_text("-- funmem")


def test_something_to_look_at_is_a_link(page: Page) -> None:
    page.get_by_role("button", name="where it lies").click()
    expect(pane(page)).to_contain_text("-- funmem")
    expect(pane(page).locator(".lit-weak").last).to_contain_text("map (+1) xs -- funmem")
    expect(page.get_by_role("tab", name="Selection")).to_have_attribute("aria-selected", "true")


def test_a_stage_that_is_wanted_takes_its_room_from_wide_details(page: Page) -> None:
    more(page, "Wide details")
    expect(pane(page)).to_be_hidden()
    page.get_by_role("button", name="where it lies").click()
    expect(pane(page)).to_contain_text("-- funmem")
    expect(pane(page)).to_be_visible()
    more(page, "Wide details")
    page.locator(".chip", has_text="Types").click()
    expect(pane(page)).to_be_visible()
    more(page, "Wide details")
    page.reload()
    expect(pane(page)).to_contain_text("-- typed")
    expect(pane(page)).to_be_visible()


def test_a_link_to_what_is_no_longer_in_the_text_leads_nowhere(page: Page) -> None:
    link = page.get_by_role("button", name="where it lies")
    expect(link).to_be_enabled()
    write(page, "-- First steps\nentry main = 1\n")
    expect(link).to_be_disabled()
    write(page, "-- First steps\n\n-- moved\nentry main (xs: []i64) = map (+1) xs\n")
    expect(pane(page)).to_contain_text("-- fused")
    link.click()
    expect(page.locator(".source .lit-place")).to_have_text("map (+1) xs")


def test_undo_goes_back_to_what_was_loaded_and_not_beyond(page: Page) -> None:
    source(page).click()
    page.keyboard.insert_text("x")
    for _ in range(3):
        page.keyboard.press("Control+z")
    expect(source(page)).to_contain_text("-- First steps")
    page.get_by_label("Example").select_option("second")
    expect(source(page)).to_contain_text("-- Second")
    source(page).click()
    page.keyboard.press("Control+z")
    expect(source(page)).to_contain_text("-- First steps")
    page.keyboard.press("Control+z")
    expect(source(page)).to_contain_text("-- First steps")


def test_back_and_forward_go_through_programs_and_panes(page: Page, site: str) -> None:
    page.locator(".chip", has_text="FUNMEM").click()
    expect(pane(page)).to_contain_text("-- funmem")
    page.get_by_label("Example").select_option("second")
    expect(pane(page)).to_contain_text("entry main = 1 -- funmem")
    assert page.url == f"{site}/examples/second"
    write(page, "entry main = 2\n")
    expect(pane(page)).to_contain_text("entry main = 2 -- funmem")
    assert page.url == f"{site}/"
    page.go_back()
    expect(pane(page)).to_contain_text("entry main = 1 -- funmem")
    expect(source(page)).to_contain_text("-- Second")
    assert page.url == f"{site}/examples/second"
    expect(page.get_by_label("Example")).to_have_value("second")
    page.go_back()
    expect(pane(page)).to_contain_text("map (+1) xs -- funmem")
    page.go_back()
    expect(pane(page)).to_contain_text("map (+1) xs -- fused")
    for text in ("map (+1) xs -- funmem", "entry main = 1 -- funmem", "entry main = 2 -- funmem"):
        page.go_forward()
        expect(pane(page)).to_contain_text(text)
    expect(page.get_by_label("Example")).to_have_value("")


def test_back_leads_to_a_link_as_it_was(page: Page, site: str) -> None:
    answer = page.request.post(f"{site}/api/share", data={"source": SOURCE}).json()
    page.goto(answer["url"])
    expect(page.locator(".status")).to_contain_text("frozen")
    write(page, "entry main = 6\n")
    expect(pane(page)).to_contain_text("entry main = 6 -- fused")
    page.go_back()
    expect(page.locator(".status")).to_contain_text("frozen")
    expect(source(page)).to_contain_text("map (+1) xs")
    expect(pane(page)).to_contain_text("map (+1) xs -- fused")
    page.go_forward()
    expect(pane(page)).to_contain_text("entry main = 6 -- fused")


def test_an_example_keeps_its_panes_on_reload(page: Page, site: str) -> None:
    page.goto(f"{site}/examples/first")
    page.locator(".chip", has_text="FUNMEM").click(modifiers=["Shift"])
    details(page, "Remarks")
    page.reload()
    expect(page.locator(".stage-pane")).to_have_count(2)
    expect(pane(page, 1)).to_contain_text("-- funmem")
    expect(page.get_by_role("tab", name="Remarks")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".story")).to_be_visible()


def test_a_program_runs_on_typed_and_on_generated_inputs(page: Page) -> None:
    page.locator("#run-value-0").fill("[5i64, 6i64]")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_have_text("[5i64, 6i64]")
    expect(page.locator(".facts")).to_contain_text("0.5 ms")
    page.get_by_label("random").check()
    page.get_by_label("seed").fill("9")
    run(page)
    expect(page.locator(".run-result .value")).to_contain_text("seed=9")
    page.get_by_role("button", name="Check all stages").click()
    expect(page.locator(".verdict")).to_contain_text("All 2 stages agree")


def test_the_picture_of_memory_and_its_table_hold_the_same_numbers(page: Page) -> None:
    page.get_by_role("button", name="One array").click()
    drawing = page.locator(".memory svg.cells").first
    expect(drawing.locator(".cell")).to_have_count(24)
    drawn = drawing.locator(".cell text").all_text_contents()
    page.get_by_role("button", name="By thread").click()
    expect(page.locator(".memory svg.cells").nth(1)).to_contain_text("t1")
    page.get_by_role("button", name="Table").click()
    rows = page.locator(".cells-table:visible tbody tr")
    expect(rows).to_have_count(24)
    assert rows.locator("td:nth-child(2)").all_text_contents() == drawn
    expect(rows.nth(1)).to_have_text("[0][1]4t4 (4)")
    page.get_by_role("button", name="By thread").click()
    page.get_by_label("n", exact=True).first.fill("2")
    expect(drawing.locator(".cell")).to_have_count(12)


COVERED = """panel => {
  const note = panel.querySelector(".outdated-note:not([hidden]) span");
  if (!note) return ["there is no note"];
  const over = (one) => {
    const [a, b] = [note.getBoundingClientRect(), one.getBoundingClientRect()];
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  };
  const seen = (what) => [...panel.querySelectorAll(what)].filter((one) => one.checkVisibility());
  const found = seen("button, input").filter(over);
  panel.scrollTop = panel.scrollHeight;
  const last = seen("p, table, svg").filter((one) => !one.contains(note)).at(-1);
  const ends = last && over(last) ? [last] : [];
  panel.scrollTop = 0;
  if (!last) return ["there is no content"];
  return [...found, ...ends].map((one) => one.outerHTML);
}"""
"""The buttons of a pane that its note lies over, and its content's end, if that cannot be seen."""


def assert_free(page: Page) -> None:
    """The note lies over nothing, once the pane has its content: it may just be drawn anew."""
    panel = page.locator(".side .panel:not([hidden])")
    free = f"panel => !({COVERED})(panel).length"
    with suppress(TimeoutError):
        page.wait_for_function(free, arg=panel.element_handle(), timeout=3000)
    assert panel.evaluate(COVERED) == []


def test_what_is_of_an_earlier_text_says_so(page: Page) -> None:
    """Every pane, from the first changed letter until the answer for the new text is there."""
    outdated = page.locator(".outdated-note span:visible")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_be_visible()
    page.route("**/api/**", lambda route: route.abort())
    for wrong, good in (("entry main = 5\n", False), ("entry main = WRONG\n", True)):
        if good:
            page.unroute("**/api/**")
        write(page, wrong)
        expect(page.locator(".run-side").locator(outdated)).to_be_visible()
        for tab in ("Memory", "Remarks"):
            details(page, tab)
            expect(page.locator(".side").locator(outdated)).to_be_visible()
            expect(pane(page).locator(".cm-editor.outdated")).to_be_visible()
            assert_free(page)
    details(page, "Proof")  # not seen before, and of the last good text
    expect(page.locator(".outcome")).to_contain_text("Built in place")
    expect(page.locator(".side").locator(outdated)).to_be_visible()
    details(page, "Versions")
    expect(page.locator(".tree").first).to_be_visible()
    expect(page.locator(".side").locator(outdated)).to_be_visible()
    details(page, "Memory")
    for mode in ("One array", "Sharing"):
        page.get_by_role("button", name=mode).click()
        expect(page.locator(".memory svg:visible").first).to_be_visible()
        expect(page.locator(".side").locator(outdated)).to_be_visible()
    write(page, "entry main (xs: []i64) = map (+1) xs\n")
    expect(page.locator(".side").locator(outdated)).to_have_count(0)
    expect(outdated).to_have_count(1)  # the result: nothing ran since
    page.keyboard.press("Control+Enter")
    expect(outdated).to_have_count(0)


def test_lanes_show_what_lives_when_and_the_table_says_the_same(page: Page) -> None:
    drawing = page.locator("svg.lanes")
    expect(drawing).to_have_count(1)  # Nothing changes from the one stage to the other.
    expect(drawing.locator(".bar")).to_have_text([re.compile("tmp$"), re.compile("ys$")])
    expect(drawing).to_have_attribute("aria-label", re.compile("at most 160 B at once"))
    drawing.locator(".bar").first.hover()
    expect(page.locator(".source .lit-place")).to_have_count(1)
    drawing.locator(".bar").first.click()
    page.mouse.move(5, 5)
    expect(page.locator(".source .lit-place")).to_have_count(1)  # It stays.
    page.locator(".lanes-view").get_by_label("n", exact=True).fill("100")
    expect(drawing).to_have_attribute("aria-label", re.compile("at most 1.60 kB at once"))
    page.locator(".lanes-view").get_by_role("button", name="Table").click()
    expect(page.locator(".block-row").first).to_have_text("tmp_mem800 B12")
    expect(page.locator(".life-table .meets")).to_contain_text("1.60 kB peak")
    page.get_by_role("button", name="One array").click()
    expect(page.locator(".memory svg.cells").first).to_be_visible()


def test_blocks_that_share_memory_are_drawn_as_a_coloured_graph(page: Page) -> None:
    page.get_by_role("button", name="Sharing").click()
    graph = page.locator("svg.interference")
    expect(graph.locator(".edge")).to_have_count(2)
    expect(graph.locator(".node .colour")).to_have_text(["1", "2", "1"])
    expect(page.locator(".sharing h2")).to_contain_text("3 blocks in the memory of 2, 800 B saved")
    graph.locator(".node").nth(1).hover()
    expect(graph.locator(".edge.pointed")).to_have_count(2)
    page.locator(".sharing").get_by_label("n", exact=True).fill("10")
    expect(page.locator(".sharing h2")).to_contain_text("80 B saved")
    page.locator(".sharing").get_by_role("button", name="Table").click()
    rows = page.locator(".sharing table").last.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_have_text("b_mem280 B12a_mem, c_mem")


def test_a_stage_that_took_too_long_is_not_decided(page: Page) -> None:
    write(page, "-- SLOWLY\nentry main (xs: []i64) = map (+1) xs\n")
    expect(pane(page)).to_contain_text("SLOWLY")
    page.get_by_role("button", name="Check all stages").click()
    expect(page.locator(".verdict.open")).to_contain_text("1 of 2 stages agree")
    expect(page.locator(".verdicts .open")).to_contain_text("FUNMEM not decided So.")
    expect(page.locator(".verdict.bad")).to_have_count(0)


def test_the_versions_pane_tells_which_version_runs(page: Page) -> None:
    details(page, "Versions")
    running = page.locator(".tree li.runs", has=page.locator(".badge"))
    expect(running.last).to_contain_text("V1")
    page.get_by_label("n", exact=True).last.fill("20")
    expect(page.locator(".tree")).to_contain_text("here 40: not enough")
    expect(running.last).to_contain_text("V2")
    force = page.locator(".tree").get_by_role("combobox").first
    force.select_option("force the first version")
    expect(running.last).to_contain_text("V1")
    expect(page.locator(".tree")).not_to_contain_text("here 40")
    force.select_option("force the other one")
    expect(running.last).to_contain_text("V2")


def test_a_shared_link_holds_what_was_seen(page: Page, browser: Browser, site: str) -> None:
    write(page, "-- Shared\nentry main (xs: []i64) = map (+7) xs\n")
    expect(pane(page)).to_contain_text("map (+7)")
    page.locator("#run-value-0").fill("[8i64]")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_have_text("[8i64]")
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    name = url.rpartition("/")[2]
    box = page.locator(".share-popover")
    for summary in box.locator("summary").all():
        summary.click()
    embed = page.get_by_label("Embed in a page").input_value()
    assert f'{site}/embed/{name}?stages=source,fused"' in embed
    assert 'title="Shared"' in embed
    assert f"howpublished = {{\\url{{{url}}}}}" in page.get_by_label("Cite").input_value()
    offline = box.get_by_role("link", name="Offline file").get_attribute("href")
    assert offline == f"{url}/offline.html"
    for address in (offline, re.findall('src="([^"]+)"', embed)[0]):
        assert page.request.get(address).ok, address
    assert url.startswith(f"{site}/z/")
    page.goto(url)
    expect(source(page)).to_contain_text("map (+7)")
    expect(pane(page)).to_contain_text("map (+7) xs -- fused")
    expect(page.locator(".run-result .value")).to_have_text("[8i64]")
    expect(page.locator(".status")).to_contain_text("frozen")
    plain = browser.new_context(java_script_enabled=False)
    reading = plain.new_page()
    reading.goto(url)
    expect(reading.get_by_role("heading", name="Shared")).to_be_visible()
    expect(reading.get_by_role("region", name="FUNMEM")).to_contain_text("map (+7) xs -- funmem")
    expect(reading.locator("#run")).to_contain_text("[8i64]")
    plain.close()


def test_opening_a_link_compiles_nothing(page: Page, site: str) -> None:
    expect(page.locator(".memory svg").first).to_be_visible()
    answer = page.request.post(f"{site}/api/share", data={"source": SOURCE}).json()
    asked: list[str] = []
    page.on("request", lambda request: asked.extend(operations(request)))
    page.goto(answer["url"])
    expect(pane(page)).to_contain_text("-- fused")
    expect(page.locator("svg.lanes")).to_be_visible()  # it is kept in the link
    expect(page.locator(".lanes-view")).to_contain_text("As stored in this link, for n = 10.")
    details(page, "Proof")
    expect(page.locator(".outcome")).to_contain_text("Built in place")
    details(page, "Versions")
    page.wait_for_timeout(500)
    assert set(asked) == {"cells"}  # of two LMADs, for a picture
    page.get_by_role("button", name="Make it now").click()
    expect(page.locator(".tree").first).to_be_visible()


def test_a_theme_stays(page: Page) -> None:
    theme(page, "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_phone_shows_everything_without_sideways_scrolling(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("scrollY") == 0
    box = pane(page).bounding_box()
    assert box is not None
    assert box["height"] > 150
    page.get_by_role("button", name="where it lies").click()
    expect(pane(page)).to_contain_text("-- funmem")
    expect(pane(page).locator(".lit-weak").first).to_be_in_viewport()
    context.close()


def test_the_whole_of_it_with_the_compiler_behind(browser: Browser, real_app: Flask) -> None:
    real_app.test_client().get("/api/manifest")
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    with serving(real_app) as address:
        page.goto(f"{address}/examples/matrix_multiplication")
        expect(page.locator(".memory svg").first).to_be_visible()
        page.locator(".chip", has_text="FUNMEM").click()
        expect(pane(page)).to_contain_text("alloc(")
        page.get_by_label("Back end").select_option("ref")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_contain_text("[[1.0f32, 2.0f32, 8.0f32]")
        page.get_by_role("button", name="Check all stages").click()
        expect(page.locator(".verdict.good")).to_contain_text("agree")
        details(page, "Versions")
        expect(page.locator(".tree .badge").first).to_have_text("runs")
        write(page, "entry main (x: i32) = x + y\n")
        expect(page.locator(".source .problem-text")).to_contain_text("y")
        expect(page.locator(".chip.stopped")).to_have_text(re.compile("Types"))
    context.close()


IN_FLIGHT = """
window.most = window.flying = 0;
const fetched = window.fetch;
window.fetch = async (path, options) => {
  if (!String(path).includes("/api/") || options?.method !== "POST") return fetched(path, options);
  window.most = Math.max(window.most, ++window.flying);
  await new Promise((resume) => setTimeout(resume, 1500));
  try { return await fetched(path, options); } finally { window.flying -= 1; }
};
"""


def test_the_page_has_no_more_jobs_at_a_time_than_the_server_takes(
    browser: Browser, site: str
) -> None:
    page = browser.new_context().new_page()
    refused: list[int] = []
    page.on("response", lambda answer: refused.append(answer.status))
    page.add_init_script(IN_FLIGHT)
    page.goto(site)
    compiled(page)
    for number in range(3):
        page.get_by_role("button", name="Sharing").click()
        details(page, "Proof")
        details(page, "Memory")
        write(page, f"entry main (xs: []i64) = map (+{number}) xs")
        page.wait_for_timeout(700)
    while page.evaluate("window.flying"):
        page.wait_for_timeout(100)
    assert page.evaluate("window.most") <= 3
    assert 429 not in refused
    page.context.close()
