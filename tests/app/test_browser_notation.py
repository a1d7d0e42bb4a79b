"""Notation that explains itself; numbers of names that tell apart nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from compiler.driver import switches
from tests.app.browsing import MARKS, TEXT, more, pane, source, violations, working, write

pytestmark = MARKS

SOURCE = """entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) (map (* 2) xs)
entry other (k: i64) = #[unsafe] (k + 1)
entry square (m: i64) (ys: [m * m]f32) = map (/ 3) ys
"""
POINT = """([element, word]) => {
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node; (node = walk.nextNode());) {
    const at = node.data.indexOf(word);
    if (at < 0) continue;
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    const { left, top, width, height } = range.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        write(opened, SOURCE)
        expect(pane(opened)).to_contain_text("entry other")
        yield opened


def over(page: Page, line: Locator, word: str) -> None:
    page.mouse.move(5, 5)
    x, y = page.evaluate(POINT, [line.element_handle(), word])
    page.mouse.move(x, y)  # lights lines, which are drawn anew
    expect(line).to_have_class(re.compile("lit"))
    page.mouse.move(x + 1, y)


def test_a_word_of_a_stage_explains_itself_under_the_mouse(page: Page) -> None:
    page.locator("[data-stage='funmem']").click()
    line = pane(page).locator(".cm-line", has_text="segmap").first
    over(page, line, "segmap")
    tip = page.locator(".notation")
    expect(tip).to_contain_text("A kernel: the body runs once for each point")
    expect(tip.locator("pre")).to_contain_text("segmap (i < n, j < m)")
    expect(tip.get_by_role("img", name="six points give one element each")).to_be_visible()
    over(page, pane(page).locator(".cm-line", has_text="-> 0 + {").first, "@")
    expect(tip.get_by_role("img")).to_have_attribute(
        "aria-label", "With every name 3, its elements in order are cells 0, 1, 2 of the block"
    )
    over(page, pane(page).locator(".cm-line", has_text="**2: 1)").first, "@")
    expect(tip.get_by_role("img", name="cells 0, 1, 2, 3, 4, 5, 6, 7, 8 of")).to_be_visible()
    over(page, line, "@")
    expect(tip).to_have_count(0)  # a level, and no place
    assert violations(page) == []
    page.mouse.move(5, 5)
    expect(tip).to_have_count(0)


def test_it_explains_itself_by_keyboard_and_leads_to_the_rules(page: Page) -> None:
    page.locator("[data-stage='fused']").click()
    content = pane(page).locator(".cm-content")
    content.focus()
    page.keyboard.press("Control+Home")
    tip = page.locator(".notation")
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Home")
        page.keyboard.press("F1")
        if tip.count() and tip.inner_text().startswith("map "):
            break
    expect(tip).to_contain_text("Applies a function to each element")
    link = tip.get_by_role("link", name="the rule fuse/map-map")
    rules = page.context.new_page()
    rules.goto(page.url.split("#")[0].rstrip("/") + str(link.get_attribute("href")))
    expect(rules.locator("main")).to_contain_text("Fuses a map into the map")
    for theme in ("light", "dark", "contrast", "projector", "lecture"):
        rules.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        assert violations(rules) == [], theme
    rules.get_by_role("link", name="Open it").click()
    expect(source(rules)).to_contain_text("in map (* 2) ys")
    rules.close()
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)


def test_numbers_of_names_are_seen_where_two_names_would_be_one(page: Page) -> None:
    page.locator("[data-stage='fused']").click()
    text = pane(page).evaluate(TEXT)
    hidden = pane(page).locator(".name-number")
    expect(hidden.first).to_be_attached()
    for one in hidden.all():
        assert re.fullmatch(r"_\d+", one.text_content() or "")
        assert one.evaluate("one => one.getBoundingClientRect().width") == 0
    seen = "".join(
        pane(page)
        .locator(".cm-content")
        .evaluate(
            "all => [...all.querySelectorAll('.cm-line')].map(line => [...line.childNodes]"
            ".filter(one => !one.matches?.('.name-number')).map(one => one.textContent).join(''))"
        )
    )
    assert "xs:" in seen
    names: dict[str, set[str]] = {}
    for name, number in re.findall(r"\b([A-Za-z]\w*?)_(\d+)\b", text):
        names.setdefault(name, set()).add(number)
    for name, numbers in names.items():
        if len(numbers) > 1:
            assert all(f"{name}_{number}" in seen for number in numbers)
    more(pane(page), "Numbers of names")
    expect(hidden).to_have_count(0)
    more(pane(page), "Numbers of names")
    expect(hidden.first).to_be_attached()
    page.locator("[data-stage='c']").click()
    expect(pane(page)).to_contain_text("entry_main")
    expect(hidden).to_have_count(0)  # what another compiler reads is shown as it is


def test_each_notation_leads_to_a_rule_that_is_there() -> None:
    text = (Path(__file__).parents[2] / "static/src/notation.ts").read_text("utf-8")
    wanted = re.findall(r'rule: "([^"]+)"', text)
    assert wanted
    assert set(wanted) <= set(switches.IDS)
