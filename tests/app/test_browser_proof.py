"""The proof pane in a browser: attempts, obligations, pictures, facts, ways out."""

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, PATIENCE, compiled, details, more, pane, working, write

pytestmark = MARKS

OVERLAPS = """selector => {
  const boxes = [...document.querySelectorAll(selector)]
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right && b.left < a.right
    && a.top < b.bottom - 4 && b.top < a.bottom - 4;
  return boxes.flatMap(([name, a], k) =>
    boxes.slice(k + 1).filter(([, b]) => meet(a, b)).map(([other]) => [name, other]));
}"""
"""Pairs of texts that lie over each other, by more than their lines' own room."""
CUT = """selector => [...document.querySelectorAll(selector)].filter((one) => {
  const [a, b] = [one.getBoundingClientRect(), one.ownerSVGElement.getBoundingClientRect()];
  return a.left < b.left - 1 || a.right > b.right + 1;
}).map((one) => one.textContent)"""
"""Texts that their drawing cuts."""


def open_proof(page: Page) -> None:
    details(page, "Proof")
    expect(page.locator(".attempts li").first).to_be_visible()


def test_an_attempt_is_shown_with_its_proof_and_its_picture(page: Page) -> None:
    open_proof(page)
    panel = page.locator(".proof-program")
    expect(panel).to_contain_text("row is built in its place in ys, and never copied.")
    expect(page.locator(".pair-verdict")).to_contain_text("never share a cell")
    cells = page.locator("svg.sets .set-cell")
    expect(cells.locator(".in-a")).to_have_count(5)
    expect(cells.locator(".in-b")).to_have_count(5)
    expect(page.locator(".terms").first).to_have_text("n + (n : 1)")
    expect(page.locator(".legend li").first).to_contain_text("here from cell 5: 5 steps of 1")
    expect(page.locator(".proof-tree")).to_contain_text("The smallest value of the sum is n·m")
    expect(page.locator(".proof-tree .needs")).to_contain_text("n ≥ 2·b + 1")
    told = page.locator(".pair").get_by_text("Each square is a cell of")
    expect(told.locator("code")).to_have_text("ys_mem")
    page.locator(".term").first.focus()
    expect(page.locator("svg.sets .pointed")).to_have_count(1)
    page.locator(".pair").get_by_role("button", name="Table").click()
    expect(page.locator(".cells-table:visible tbody tr")).to_have_count(10)
    expect(page.locator(".cells-table:visible tbody tr").first).to_have_text("5[0]–")
    page.get_by_label("n", exact=True).last.fill("2")
    expect(page.locator(".broken")).to_contain_text("do not satisfy n ≥ 2·b + 1")


def test_a_proof_can_be_taken_along(page: Page) -> None:
    open_proof(page)
    with page.expect_download() as got:
        page.get_by_role("link", name="certificate").click()
    taken = json.loads(Path(got.value.path()).read_text())
    assert taken["a"] == {"offset": [[1, "n"]], "dims": [[[[1, "n"]], [[1]]]]}
    assert taken["b"] == {"offset": [[2, "n"]], "dims": [[[[1, "n"]], [[1]]]]}
    assert taken["steps"][0]["needs"][0]["claim"] == [[1, "n"], [-2, "b"], [-1]]
    assert taken["facts"] == [[[1, "n"], [-2, "b"], [-1]], [[1, "b"]]]


def test_what_is_saved_is_told_in_bytes_for_the_values_of_the_picture(page: Page) -> None:
    open_proof(page)
    saved = page.locator(".savings")
    expect(saved).to_contain_text("less to copy and to allocate40 B 8·n B")
    page.locator(".pair").get_by_label("n", exact=True).fill("7")
    expect(saved).to_contain_text("less to copy and to allocate56 B 8·n B")


def test_facts_say_where_they_come_from_and_lead_there(page: Page) -> None:
    write(page, "-- One\n\nloop k < n\nys[k] = row\n")
    expect(pane(page)).to_contain_text("ys[k] = row -- fused")
    open_proof(page)
    fact = page.locator(".facts-used li.used")
    expect(fact).to_contain_text("n ≥ 2·b + 1 used")
    expect(fact).to_contain_text("k counts the iterations of a loop, line 3")
    page.locator(".fact-reference").click()
    expect(fact).to_be_focused()
    expect(page.locator(".source .lit-place")).to_have_text("loop k <")


def test_the_intervals_of_a_step_are_drawn_for_the_values(page: Page) -> None:
    open_proof(page)
    picture = page.locator(".intervals-axis")
    expect(picture).to_have_count(0)  # `m` has no value in the picture: nothing is made up.
    page.route("**/api/batch", _with_offset)
    write(page, "-- Another\nys[k] = row\n")
    expect(picture).to_have_attribute("aria-label", re.compile("The sum lies from 5 to 9: never"))


def _with_offset(route: object) -> None:
    """The answer, with a sum that the picture's values determine."""
    response = route.fetch()  # type: ignore[attr-defined]
    text = response.text().replace('"offset":[[1,"n_2","m_9"]]', '"offset":[[1,"n_2"]]')
    route.fulfill(response=response, body=text)  # type: ignore[attr-defined]


def test_a_failed_attempt_says_why_and_draws_the_witness(page: Page) -> None:
    open_proof(page)
    page.locator(".attempt", has_text="copy").click()
    expect(page.locator(".source .lit-place")).to_have_count(1)
    panel = page.locator(".proof-program")
    expect(panel).to_contain_text("row would overwrite cell 4, which is read later.")
    expect(panel).to_contain_text("The early writes do not overlap elements that are still needed.")
    expect(page.locator(".way-out").first).to_contain_text("Read it before.")
    expect(page.locator(".pair-verdict")).to_contain_text("Witness: cell 4 for b = 1, n = 4.")
    expect(page.locator("svg.sets .witness .in-both")).to_have_count(1)
    expect(page.locator("svg.sets .witness title")).to_contain_text("cell 4:")


def test_what_is_missing_is_said(page: Page) -> None:
    write(page, "entry main [n] (ys: *[n]i64) (m: i64) = ys\n")
    expect(pane(page)).to_contain_text("= ys -- fused")
    open_proof(page)
    page.locator(".attempt", has_text="copy").click()
    second = page.locator(".obligation").nth(1)
    second.focus()
    page.keyboard.press("Enter")
    expect(second).to_be_focused()
    verdict = page.locator(".pair-verdict")
    expect(verdict).to_contain_text("It is not proved that m is at least k + 1")
    expect(verdict.locator(".missing")).to_have_text("m ≥ k + 1")
    # What helps is tried in the whole program, and not for this pair alone.
    expect(page.locator(".proof-program .way-out")).to_have_count(1)


def test_attempts_are_filtered_by_how_they_ended(page: Page) -> None:
    open_proof(page)
    filters = page.locator(".attempt-filters")
    expect(filters).to_contain_text("all 3")
    rows = page.locator(".attempts li")
    expect(rows).to_have_count(3)
    for name, text in (
        ("built in place", "update"),
        ("refused", "copy"),
        ("does not apply", "concatenation"),
    ):
        filters.get_by_role("button", name=name).click()
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(text)
    rows.locator("button").click()
    expect(page.locator(".outcome")).to_contain_text("Does not apply")
    # Nothing is known that helps: then nothing is proposed.
    expect(page.locator(".outcome .way-out")).to_have_count(0)


def test_why_an_array_was_copied_is_answered_from_the_source(page: Page) -> None:
    write(page, "-- One\n\nloop k < n\nys[k] = row\n")
    expect(pane(page)).to_contain_text("ys[k] = row -- fused")
    page.locator(".source .cm-line", has_text="ys[k]").click()
    details(page, "Selection")
    tried = page.locator(".selection .remark", has_text="see the attempts")
    expect(tried).to_contain_text("row into ys: refused.")
    tried.get_by_role("button", name="see the attempts").click()
    expect(page.locator(".outcome")).to_contain_text("Not built in place")
    page.locator(".source .cm-line", has_text="loop k").click()  # here the source is made
    expect(page.locator(".attempt[aria-pressed=true]")).to_contain_text("row into ys update")
    expect(page.locator(".attempt-filters")).to_contain_text("at the selection 2")
    page.locator(".source .cm-line", has_text="One").click()
    expect(page.locator(".attempt-list")).to_contain_text("Nothing at line 1 is copied into")


def test_a_remark_leads_to_its_attempt(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    details(page, "Remarks")
    page.get_by_role("button", name="see the attempts").click()
    expect(page.get_by_role("tab", name="Proof")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".attempt[aria-pressed=true]")).to_contain_text("copy")


def test_two_lmads_of_ones_own_are_decided_and_kept(page: Page) -> None:
    details(page, "Proof")
    page.get_by_role("button", name="Two LMADs").click()
    expect(page.locator(".free-pair .pair-verdict")).to_contain_text("never share a cell")
    page.locator("#pair-b").fill("{(n : n)} + OVER")
    expect(page.locator(".free-pair .pair-verdict")).to_contain_text("share a cell.")
    page.locator("#pair-a").fill("BAD")
    expect(page.locator(".free-pair [role=alert]")).to_contain_text("BAD is not a polynomial.")
    page.get_by_label("Assumptions").fill("0 <= i < n")
    with page.expect_request("**/api/prove") as asked:
        page.locator("#pair-a").fill("i*n + {(n : 1)}")
    body = asked.value.post_data_json
    assert body is not None
    assert body["assumptions"] == {"other": ["0 <= i", "i < n"]}
    page.reload()
    page.get_by_role("button", name="Two LMADs").click()
    expect(page.locator("#pair-a")).to_have_value("i*n + {(n : 1)}")


def test_far_sets_are_drawn_without_what_lies_between(page: Page) -> None:
    details(page, "Proof")
    page.get_by_role("button", name="Two LMADs").click()
    page.locator("#pair-b").fill("{(n : 1)} + FAR")
    drawing = page.locator(".free-pair .drawing svg.sets")
    expect(drawing).to_contain_text("rows in neither")
    expect(drawing.locator(".in-b")).to_have_count(5)
    page.locator(".free-pair").get_by_label("Cells in a row").fill("400")
    page.locator(".free-pair").get_by_label("Cells in a row").press("Enter")
    expect(drawing.locator(".columns-gap title").first).to_contain_text("columns in neither")
    expect(drawing.locator(".set-cell .in-b")).to_have_count(5)


def test_many_rows_and_columns_are_seen_through_a_window(page: Page) -> None:
    details(page, "Proof")
    page.get_by_role("button", name="Two LMADs").click()
    page.locator("#pair-b").fill("{(n : 1000)} + WIDE")
    drawing = page.locator(".free-pair .drawing svg.sets")
    seen = page.locator(".free-pair .rows-seen").first
    expect(seen).to_have_text("rows 1 to 5 of 5")
    page.locator(".free-pair").get_by_label("n", exact=True).fill("60")
    expect(seen).to_have_text("rows 1 to 36 of 60")
    slider = page.locator(".free-pair").get_by_label("First of the rows that are drawn")
    before = drawing.locator(".axis").nth(20).text_content()
    slider.focus()
    page.keyboard.press("End")
    expect(seen).to_have_text("rows 25 to 60 of 60")
    assert drawing.locator(".axis").nth(20).text_content() != before


def test_a_link_opens_at_the_attempt_that_was_shown(page: Page) -> None:
    open_proof(page)
    page.locator(".attempt", has_text="copy").click()
    expect(page.locator(".outcome")).to_contain_text("Not built in place")
    page.get_by_role("button", name="Share").click()
    page.goto(page.get_by_label("Link", exact=True).input_value())
    expect(page.get_by_role("tab", name="Proof")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".attempt[aria-pressed=true]")).to_contain_text("copy")
    expect(page.locator(".outcome")).to_contain_text("row would overwrite cell 4")


def test_wide_details_take_the_room_of_the_stages(page: Page) -> None:
    open_proof(page)
    before = page.locator(".side").bounding_box()
    more(page, "Wide details")
    expect(pane(page)).to_be_hidden()
    after = page.locator(".side").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > 2 * before["width"]
    more(page, "Wide details")
    expect(pane(page)).to_be_visible()


TOO_LITTLE = """entry main [k] (xs: *[k]i64) (n: i64) (m: i64): *[k]i64 =
  let few = 1 <= m && m <= 1000 && 1 <= n && n <= 30000
  let xs = assert (few && m * m * m >= n * n && m * m + n <= k) xs
  in xs with [0:n] = map (+ 1) (xs[m * m : m * m + n] :> [n]i64)
"""


def test_the_proposed_check_lets_the_compiler_build_in_place(
    browser: Browser, address: str
) -> None:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    compiled(page)
    write(page, TOO_LITTLE)
    open_proof(page)
    expect(page.locator(".outcome")).to_contain_text("Not built in place")
    check = page.locator(".way-out pre code")
    expect(check).to_have_text("let xs = assert (m * m >= n) xs in")
    write(page, TOO_LITTLE.replace("  in xs with", f"  in {check.inner_text()} xs with"))
    expect(page.locator(".outcome")).to_contain_text("Built in place")
    page.context.close()


def test_blocks_before_and_after_are_told_apart(browser: Browser, address: str) -> None:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/examples/concatenation")
    rows = page.locator(".before-after tbody tr")
    expect(rows.nth(0)).to_have_text("FUNMEM42.40 kB2.40 kB")
    expect(rows.nth(1)).to_have_text("Short-circuited1 −31.20 kB −1.20 kB2.00 kB −400 B")
    expect(page.locator("svg.lanes")).to_have_count(2)
    expect(page.locator("svg.lanes .gone")).to_have_count(3)
    page.context.close()


def test_the_numbers_of_far_cells_stand_apart_and_are_told_only_where_they_are_exact(
    browser: Browser, address: str
) -> None:
    """A number of more than 53 bits would be another one in the page."""
    with working(browser, address) as page:
        details(page, "Proof")
        pair = page.locator(".pair").first
        for name, size in (("m", 2**45 - 1), ("n", 2**45)):
            pair.get_by_label(name, exact=True).fill(str(size))
        labels = pair.locator("svg.sets .axis")
        expect(labels.filter(has_text=str(2**45))).to_have_count(1)
        assert page.evaluate(OVERLAPS, "svg.sets .axis") == []
        assert page.evaluate(CUT, "svg.sets .axis") == []
        expect(pair).to_contain_text("Of written cells and used cells only the first cells")
        for name in ("m", "n"):
            pair.get_by_label(name, exact=True).fill(str(2**53 - 1))
        expect(pair).to_contain_text("more than 53 bits are not shown")
        expect(pair.locator("svg.sets .set-cell")).to_have_count(0)
        expect(pair).not_to_contain_text(str(2**54 - 2))
        details(page, "Memory")
        page.get_by_role("button", name="One array").click()
        memory = page.locator(".memory")
        memory.locator("input[type=number]:visible").first.fill("5000")
        expect(memory).to_contain_text("More than 2,048 cells are too many to draw")
        expect(memory).not_to_contain_text("are shown")
        memory.get_by_role("button", name="Table").click()
        cells = memory.get_by_role("region", name="Cells as a table")
        expect(cells.locator("caption")).to_contain_text("the first 1000 of more than 4096")


def test_a_pair_is_stepped_through_as_the_thesis_has_it(browser: Browser, address: str) -> None:
    with working(browser, f"{address}/examples/concatenation") as page:
        open_proof(page)
        ways = page.locator(".three-ways")
        ways.locator("summary").click()
        rows = ways.locator(".three-ways-answers tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("NOOVERLAP✓ disjoint")
        expect(rows.nth(1)).to_contain_text("✓ disjoint")
        expect(ways.get_by_role("status")).to_contain_text("Step 1 of")
        back, forth = (ways.get_by_role("button", name=name) for name in ("Back", "Next"))
        expect(back).to_be_disabled()
        while forth.is_enabled():
            forth.click()
        expect(ways.locator("h3")).to_have_text("Compare")
        expect(ways).to_contain_text("Those of stride")
        expect(ways.locator(".three-ways-sums svg").first).to_be_visible()
        expect(back).to_be_focused()
