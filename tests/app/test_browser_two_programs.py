"""The text of A beside the source: what differs, errors, keys, sizes, reloads and links."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import (
    MARKS,
    TEXT,
    compiled,
    details,
    pane,
    source,
    text,
    violations,
    visiting,
    working,
    write,
)

pytestmark = MARKS

TWICE = """\
entry main [n] (xs: [n]i64): [n]i64 =
  let a = map (+ 1) xs
  let b = map (* 2) a
  let c = map (+ 7) b
  in map (\\x -> x - 3) c
"""
LONGER = TWICE.replace("(* 2) a", "(* 5) a\n  -- one line more").replace("x - 3", "x - 4")
FILLED = 80
"""Declarations that make a text longer than an editor is high."""

FIRST = """selector => {
  const { top } = document.querySelector(`${selector} .cm-scroller`).getBoundingClientRect();
  const lines = [...document.querySelectorAll(`${selector} .cm-line`)];
  return lines.find(line => line.getBoundingClientRect().bottom > top + 10).textContent;
}"""
"""The line at the upper edge of an editor."""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        yield opened


def pin(page: Page, program: str) -> None:
    write(page, program)
    details(page, "Compare")
    page.get_by_role("button", name="Pin as A").click()
    expect(panel(page)).to_contain_text("A is the program as it was")


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel", name="Compare")


def program_a(page: Page) -> Locator:
    return page.get_by_role("region", name="A, text", exact=True)


def text_of_a(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text of A")


def only_in(page: Page, name: str) -> Locator:
    """Lines that only one of the texts has."""
    where = {"A": ".program-a .cm-line.diff-removed", "B": ".source .cm-line.diff-added"}
    return page.locator(where[name])


def test_both_texts_stand_beside_each_other_with_what_differs(page: Page) -> None:
    pin(page, TWICE)
    panel(page).get_by_role("button", name="Show A beside the source").click()
    expect(program_a(page)).to_contain_text("The same text as B.")
    write(page, LONGER)
    expect(only_in(page, "A")).to_have_text([re.compile(r"\(\* 2\)"), re.compile("x - 3")])
    expect(only_in(page, "B")).to_have_count(3)
    expect(program_a(page)).to_contain_text("2 lines only in A, 3 only in B.")
    for name, sign in (("A", "−"), ("B", "+")):
        one = only_in(page, name).first
        assert one.evaluate("one => getComputedStyle(one, '::after').content") == f'"{sign}"'
    # It is read until it is to be edited.
    expect(text_of_a(page)).to_have_attribute("aria-readonly", "true")
    text_of_a(page).click()
    page.keyboard.insert_text("nothing of this")
    expect(text_of_a(page)).not_to_contain_text("nothing of this")
    page.get_by_role("button", name="Close A's text").click()
    expect(program_a(page)).to_have_count(0)
    expect(only_in(page, "B")).to_have_count(0)


def test_what_is_edited_is_compiled_with_its_errors_under_the_text(page: Page) -> None:
    pin(page, TWICE)
    page.keyboard.press("F8")
    page.get_by_role("button", name="Edit A").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(TWICE.replace("(* 2) a", "(* true) a"))
    problem = program_a(page).locator(".problem-text")
    expect(problem).to_contain_text("bool")
    expect(program_a(page)).to_contain_text("A does not compile.")
    expect(panel(page)).to_contain_text("A does not compile: ")
    expect(panel(page)).not_to_contain_text("only in B")
    # The source has its own ones.
    expect(page.locator(".source .problem-text")).to_have_count(0)
    write(page, TWICE.replace("(+ 1)", "(+ false)"))
    expect(page.locator(".source .problem-text")).to_contain_text("bool")
    expect(problem).to_have_count(1)
    write(page, TWICE)
    compiled(page)
    text_of_a(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(TWICE.replace("map (* 2)", "scan (+) 0"))
    expect(problem).to_have_count(0)
    expect(page.locator(".chip[data-stage=fused]")).to_contain_text("vs A: ")
    expect(panel(page).locator("tr", has_text="Fused")).to_contain_text("−1 scan")
    # After a reload it is there as it was left.
    page.wait_for_function("() => localStorage['stridescope.pinned'].includes('scan')")
    page.reload()
    expect(text_of_a(page)).to_contain_text("scan")
    expect(page.get_by_role("button", name="Edit A")).to_have_attribute("aria-pressed", "true")
    expect(only_in(page, "A")).to_have_count(1)
    panel(page).get_by_role("button", name="Unpin").click()
    expect(program_a(page)).to_have_count(0)


def test_an_a_that_does_not_compile_is_there_after_a_reload(page: Page) -> None:
    pin(page, TWICE)
    page.keyboard.press("F8")
    page.get_by_role("button", name="Edit A").click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("def oops = 1 + true\n")
    expect(program_a(page).locator(".problem-text")).to_have_count(1)
    page.reload()
    expect(text_of_a(page)).to_contain_text("oops")
    expect(program_a(page).locator(".problem-text")).to_have_count(1)


def test_keys_go_from_one_text_to_the_other_and_through_what_differs(page: Page) -> None:
    page.keyboard.press("F8")
    expect(page.locator("#announcer")).to_contain_text("Nothing is pinned as A")
    pin(page, TWICE)
    write(page, LONGER)
    expect(pane(page)).to_contain_text("5i64")
    compiled(page)
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("F8")
    expect(text_of_a(page)).to_be_focused()
    expect(program_a(page).locator(".cm-line").nth(4)).to_be_visible()
    page.keyboard.press("F7")
    expect(page.locator("#announcer")).to_have_text("Difference 1 of 2")
    page.keyboard.press("F7")
    expect(page.locator("#announcer")).to_have_text("Difference 2 of 2")
    page.keyboard.press("F8")
    expect(source(page)).to_be_focused()
    page.keyboard.press("Shift+F7")
    expect(page.locator("#announcer")).to_have_text("Difference 1 of 2")
    page.keyboard.press("F6")
    expect(program_a(page).locator(":focus")).to_have_count(1)


def test_where_one_text_is_scrolled_the_other_follows(page: Page) -> None:
    lines = "".join(f"def f{k} (x: i64): i64 = x + {k}\n" for k in range(FILLED))
    pin(page, f"{lines}\n{TWICE}")
    write(page, f"-- a line\n-- and another\n{lines}\n{TWICE}")
    page.keyboard.press("Control+Home")
    page.keyboard.press("F8")
    expect(only_in(page, "B")).to_have_count(2)
    text_of_a(page).hover()
    page.mouse.wheel(0, 600)
    page.wait_for_function(f"() => ({FIRST})('.program-a').startsWith('def f3')")
    page.wait_for_function(f"() => ({FIRST})('.program-a') === ({FIRST})('.source')")
    source(page).hover()
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"() => ({FIRST})('.source').startsWith('def f1')")
    page.wait_for_function(f"() => ({FIRST})('.program-a') === ({FIRST})('.source')")


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1920, 1080)])
def test_both_have_room_for_55_characters(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    pin(page, TWICE)
    page.keyboard.press("F8")
    expect(text_of_a(page)).to_be_visible()
    rooms = page.evaluate(
        "() => ['.source', '.program-a'].map(name => document.querySelector(name +"
        " ' .cm-content').getBoundingClientRect().width / (() => { const one ="
        " document.createElement('span'); one.textContent = 'x'.repeat(100);"
        " document.querySelector('.cm-line').append(one); const { width } ="
        " one.getBoundingClientRect(); one.remove(); return width / 100; })())"
    )
    assert min(rooms) >= 55
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(panel(page)).to_be_visible()


def test_on_a_phone_both_are_tabs(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    pin(page, TWICE)
    panel(page).get_by_role("button", name="Show A beside the source").click()
    expect(text_of_a(page)).to_be_visible()
    expect(source(page)).to_be_hidden()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("tab", name="Source", exact=True).click()
    expect(source(page)).to_be_visible()
    expect(text_of_a(page)).to_be_hidden()
    page.keyboard.press("F8")
    expect(text_of_a(page)).to_be_focused()


def test_a_link_keeps_both_texts(page: Page, browser: Browser, address: str) -> None:
    pin(page, TWICE)
    page.keyboard.press("F8")
    page.get_by_role("button", name="Edit A").click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("-- A's own line\n")
    expect(program_a(page)).to_contain_text("1 line only in A")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link", exact=True).input_value()
    # The same is shared under the same address, though A is made a link of its own first.
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_label("Link", exact=True)).to_have_value(link)
    with visiting(browser) as other:
        other.goto(link)
        expect(text_of_a(other)).to_contain_text("A's own line")
        expect(other.locator(".program-a")).to_contain_text("1 line only in A, 0 only in B.")
        assert text_of_a(other).evaluate("one => one.cmTile.root.view.state.readOnly") is False
        # The reader's own A is another one, which is there when they are back.
        assert other.evaluate("() => localStorage['stridescope.pinned']") is None
        other.reload()
        expect(text_of_a(other)).to_contain_text("A's own line")
        assert "own line" not in other.locator(".source").evaluate(TEXT)
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(link)
    plain.get_by_role("link", name="another program, A").click()
    expect(plain.locator("#source")).to_contain_text("A's own line")
    plain.context.close()


def test_files_of_a_follow_those_of_the_source(page: Page) -> None:
    write(page, 'import "lib"\nentry main (x: i64) = twice x\n')
    page.get_by_role("button", name="Create lib.fut").click()
    write(page, "def twice (x: i64) = 2 * x\n")
    compiled(page)
    details(page, "Compare")
    page.get_by_role("button", name="Pin as A").click()
    write(page, "def twice (x: i64) = x + x\n")
    page.keyboard.press("F8")
    expect(text_of_a(page)).to_contain_text("2 * x")
    expect(only_in(page, "A")).to_have_count(1)
    page.get_by_role("tab", name="main.fut").click()
    expect(text_of_a(page)).to_contain_text("entry main")
    expect(program_a(page)).to_contain_text("The same text as B.")
    program_a(page).get_by_label("File of A").select_option("lib.fut")
    expect(program_a(page)).to_contain_text("B shows main.fut, another file.")


def test_the_editor_of_a_knows_what_the_source_does(page: Page) -> None:
    """Types under the mouse, declarations; and where A is edited, completion and other names."""
    write(page, 'import "lib"\n-- of A\nentry main (x: i64) = twice x\n')
    page.get_by_role("button", name="Create lib.fut").click()
    write(page, "def twice (y: i64): i64 = 2 * y\n")
    compiled(page)
    details(page, "Compare")
    page.get_by_role("button", name="Pin as A").click()
    page.get_by_role("tab", name="main.fut").click()
    write(page, "entry main (x: f32) = x\n")
    page.keyboard.press("F8")
    line = page.locator(".program-a .cm-line", has_text="twice x")
    line.hover(position={"x": 200, "y": 8})
    expect(page.locator(".type-tip")).to_contain_text("def twice (y: i64): i64")
    line.click(position={"x": 200, "y": 8})
    page.keyboard.press("F2")
    expect(program_a(page).locator(".ask")).to_contain_text("This text is read")
    page.keyboard.press("Escape")
    page.keyboard.press("F12")
    expect(text_of_a(page)).to_contain_text("2 * y")
    expect(source(page)).to_contain_text("x: f32")
    # From here on it is edited: in both files, of A alone.
    program_a(page).get_by_role("button", name="Edit A").click()
    page.keyboard.press("F2")
    program_a(page).get_by_label("New name").fill("double")
    page.keyboard.press("Enter")
    expect(text_of_a(page)).to_contain_text("def double")
    program_a(page).get_by_label("File of A").select_option("main.fut")
    expect(text_of_a(page)).to_contain_text("double x")
    text_of_a(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("entry more = dou")
    found = page.locator(".cm-tooltip-autocomplete li", has_text="double")
    expect(found).to_contain_text("(y: i64): i64")
    found.click()  # Enter is not taken for an answer as long as the list is just there
    expect(text_of_a(page)).to_contain_text("more = double")
    assert text(page) == "entry main (x: f32) = x\n"
