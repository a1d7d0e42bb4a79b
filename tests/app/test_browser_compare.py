"""A compilation that is pinned, against the program as it is now; switches, rewrites, versions."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.app.browsing import MARKS, against, compiled, details, pane, visiting, working, write

pytestmark = MARKS

FUSES = """\
entry main [n] (xs: [n]i64): [n]i64 =
  let a = map (+ 1) xs
  let b = map (* 2) a
  in map (\\x -> x - 3) b
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, FUSES)
        expect(pane(opened)).to_contain_text("2i64 * x")
        details(opened, "Compare")
        yield opened


def compare(page: Page) -> Locator:
    return page.get_by_role("tabpanel", name="Compare")


def pin(page: Page) -> None:
    compiled(page)
    compare(page).get_by_role("button", name="Pin as A").click()
    expect(compare(page)).to_contain_text("A is the program as it was")


def differs(page: Page, stage: str) -> Locator:
    row = compare(page).locator("tr", has=page.get_by_role("button", name=stage, exact=True))
    return row.locator(".words")


def switch(page: Page, name: str) -> None:
    compare(page).locator("summary", has_text="Passes and rules").click()
    compare(page).locator(f"[data-switch='{name}']").click()


def test_what_is_pinned_stands_against_the_program_as_it_is_now(page: Page) -> None:
    pin(page)
    expect(pane(page)).to_contain_text("The same as in A.")
    switch(page, "fuse")
    expect(differs(page, "Fused")).to_contain_text("+2 maps")
    expect(differs(page, "Types")).to_have_text("the same")
    expect(pane(page).locator(".cm-line.diff-added").first).to_be_visible()
    expect(page.locator(".chip[data-stage=fused]")).to_contain_text("vs A: +2 maps")
    expect(compare(page)).to_contain_text("only in A")
    expect(compare(page).get_by_role("group", name=re.compile("Memory"))).to_contain_text("main")
    times = compare(page).get_by_role("group", name=re.compile("Predicted, for the sizes"))
    expect(times.get_by_role("cell", name=re.compile("about .* ms on an H200"))).to_have_count(2)
    page.reload()
    expect(differs(page, "Fused")).to_contain_text("+2 maps")
    compare(page).get_by_role("button", name="Unpin").click()
    expect(pane(page).locator(".diff-added")).to_have_count(0)
    expect(page.locator(".chip[data-stage=fused]")).not_to_contain_text("vs A")


def test_another_program_is_not_compared_with_a_unasked(page: Page, address: str) -> None:
    pin(page)
    choices = page.get_by_label("Example", exact=True)
    choices.select_option(index=3)
    expect(compare(page)).to_contain_text("You have opened another program")
    chips = page.locator(".rail")
    compiled(page)
    expect(chips).not_to_contain_text("vs A")
    expect(pane(page).locator(".diff-added, .diff-removed")).to_have_count(0)
    against(page, "@A")
    expect(pane(page).locator(".diff-added").first).to_be_visible()
    page.goto(f"{address}/lessons/fusion")
    page.get_by_role("button", name="Show me").click()
    compiled(page)
    details(page, "Compare")
    expect(compare(page)).to_contain_text("You have opened another program")
    expect(chips).not_to_contain_text("vs A")
    compare(page).get_by_role("button", name="Pin the current compilation").click()
    switch(page, "fuse")
    expect(chips).to_contain_text("vs A: ")
    expect(compare(page)).not_to_contain_text("another program")


def test_what_is_asked_for_is_told_apart_and_a_link_keeps_it(page: Page, browser: Browser) -> None:
    write(page, "entry main (xs: []f64) = map f64.exp xs\n")
    pane(page).get_by_label("Stage", exact=True).select_option("c")
    expect(pane(page)).to_contain_text("exp_f64(")
    pin(page)
    options = compare(page).locator("summary", has_text="Options")
    options.click()
    box = compare(page).get_by_role("checkbox", name="c/fast-functions")
    expect(box).not_to_be_checked()
    box.check()
    expect(pane(page).locator(".cm-line.diff-added").last).to_contain_text("= exp(")
    expect(differs(page, "IMP")).to_have_text("the same")
    compiled(page)
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link", exact=True).input_value()
    with visiting(browser) as other:
        other.goto(link)
        details(other, "Compare")
        expect(other.get_by_role("tabpanel", name="Compare")).to_contain_text("A is ")
        options = other.locator("summary", has_text="Options")
        options.click()
        expect(other.get_by_role("checkbox", name="c/fast-functions")).to_be_checked()
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(link)
        expect(plain.locator("main")).to_contain_text("Compiled with c/fast-functions.")
        plain.get_by_role("link", name="another program, A").click()
        expect(plain.locator("#source")).to_contain_text("map f64.exp xs")
        expect(plain.locator("main")).not_to_contain_text("c/fast-functions")
    page.keyboard.press("Escape")
    compare(page).get_by_role("button", name="Pin the current compilation").click()
    expect(compare(page)).to_contain_text(
        re.compile(r"as it was at ..:.., with c/fast-functions\.")
    )
    box.uncheck()
    expect(pane(page).locator(".cm-line.diff-removed").last).to_contain_text("= exp(")


def test_both_are_run_in_turn_and_plotted_on_one_scale(page: Page) -> None:
    pin(page)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.rpartition("/")[2]))
    compare(page).get_by_role("button", name="Run A and B").click()
    expect(compare(page).locator("svg.plot")).to_have_attribute("aria-label", re.compile("A: med"))
    assert asked.count("run") == 20
    rows = compare(page).get_by_role("group", name="Times").locator("tbody tr")
    expect(rows.locator("th")).to_have_text(["A", "B"])


def test_a_link_can_be_what_is_compared_with(page: Page) -> None:
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link", exact=True).input_value()
    page.keyboard.press("Escape")
    write(page, FUSES.replace("map (* 2) a", "scan (+) 0 a"))
    expect(pane(page)).to_contain_text("scan")
    compare(page).get_by_label("A from a link").fill("nonsense")
    compare(page).get_by_role("button", name="Take it as A").click()
    expect(compare(page).locator(".said").first).to_contain_text("not a link")
    compare(page).get_by_label("A from a link").fill(link)
    compare(page).get_by_role("button", name="Take it as A").click()
    expect(compare(page)).to_contain_text("A is the link")
    expect(differs(page, "Fused")).to_contain_text("+1 scan")


def test_the_rewrites_are_stepped_through_each_with_its_rule(page: Page) -> None:
    compare(page).locator("summary", has_text="Rewrite by rewrite").click()
    slider = compare(page).get_by_role("slider", name="Rewrites")
    most = int(slider.get_attribute("max") or 0)
    assert most >= 2
    fused = compare(page).locator("p code", has_text="fuse/")
    for fuel in range(most, 0, -1):
        slider.fill(str(fuel))
        expect(compare(page)).to_contain_text(re.compile(r"changed|no more"))
        compiled(page)
        if fused.count():
            break
    expect(fused).to_be_visible()
    expect(pane(page).locator(".diff-added, .diff-removed").first).to_be_visible()


def test_after_the_rewrites_the_readers_own_a_is_there_again(page: Page) -> None:
    pin(page)
    own = compare(page).get_by_text("A is the program as it was").inner_text()
    compare(page).locator("summary", has_text="Rewrite by rewrite").click()
    compare(page).get_by_role("slider", name="Rewrites").fill("2")
    expect(compare(page)).to_contain_text("A is the program after 1 rewrite.")
    compare(page).get_by_role("button", name="All", exact=True).click()
    expect(compare(page)).to_contain_text(own)


def test_a_comparison_opens_at_its_first_change_and_equal_lines_fold(page: Page) -> None:
    lines = "".join(f"  let a{k} = map (+ {k}) xs\n" for k in range(40))
    many = f"entry main [n] (xs: [n]i64) =\n{lines}  in ({', '.join(f'a{k}' for k in range(40))})\n"
    write(page, many)
    compiled(page)
    expect(page.locator(".source")).to_contain_text("a20")
    pane(page).get_by_label("Stage", exact=True).select_option("typed")
    expect(pane(page)).to_contain_text("a3")
    pin(page)
    write(page, many.replace("(+ 5)", "(* 5)").replace("(+ 35)", "(* 35)"))
    expect(pane(page)).to_contain_text("2 lines added, 2 removed")
    compiled(page)  # which is said after the typed stage is there
    folded = pane(page).locator(".cm-line", has_text="equal lines")
    count = folded.count()
    assert count >= 1
    page.keyboard.press("F7")
    expect(page.locator("#announcer")).to_have_text(re.compile("Difference . of 2"))
    page.keyboard.press("F7")
    page.keyboard.press("Shift+F7")
    expect(page.locator("#announcer")).to_have_text(re.compile("Difference . of 2"))
    folded.first.click()
    expect(folded).to_have_count(count - 1)


def forced(request: Request) -> list[int]:
    """The thresholds with which a program is asked for."""
    if not request.url.endswith("/api/batch"):
        return []
    return list(request.post_data_json["options"].get("thresholds", {}).values())


def test_a_version_is_forced(page: Page) -> None:
    page.get_by_label("Example").select_option("matrix_multiplication")
    compiled(page)
    compare(page).locator("summary", has_text="Versions").click()
    choice = compare(page).locator("select").last
    for version, threshold in (("first version", 0), ("other one", 2**53 - 1)):
        with page.expect_request(lambda asked, wanted=threshold: forced(asked) == [wanted]):
            choice.select_option(f"force the {version}")
