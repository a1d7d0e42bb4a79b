"""What is said is seen whole: in all panes, themes and sizes of screens."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, theme, visiting

pytestmark = MARKS

SIZES = ((1366, 768), (1920, 1080), (390, 844))
OF_TEXT = ("light", "projector", "lecture")
"""Themes that have a size of their own: the others have those of `light`."""
PANES = (
    "memory proof selection remarks bounds warps layouts graph versions compare tests notebook "
    "bench"
).split()

CUT = """(place) => {
  const found = new Set();
  const sideways = (one) => one.matches(
    "[role=region], [role=group], [role=toolbar], [role=tablist], .cm-scroller, .drawing");
  const words = document.createTreeWalker(document.querySelector(place), NodeFilter.SHOW_TEXT);
  for (let node; (node = words.nextNode()); ) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("option, title, .visually-hidden")) continue;
    if (own.closest("#app:not([data-used]) :is(.run-form, .run-side)")) continue; // a strip
    if (!own.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1) continue;
      let isRolled = false;
      for (let one = own; one.parentElement; one = one.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(one);
        const edge = one.getBoundingClientRect();
        const rolls = ["auto", "scroll"].includes(overflowX) && sideways(one);
        const beyond = box.right > edge.right + 1 || box.left < edge.left - 1;
        if (overflowX !== "visible" && beyond && !rolls) {
          found.add(`${one.id || one.className}: ${node.data.trim()}`);
        }
        const below = box.bottom > edge.bottom + 2 || box.top < edge.top - 2;
        if (["hidden", "clip"].includes(overflowY) && below) {
          found.add(`${one.id || one.className} below: ${node.data.trim()}`);
        }
        // What is rolled out of sight is no matter of what lies around.
        isRolled = rolls || (["auto", "scroll"].includes(overflowY) && below);
        if (isRolled) break;
      }
      const width = document.documentElement.clientWidth;
      if (!isRolled && box.right > width + 1) found.add(`the page: ${node.data.trim()}`);
    }
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const one of document.querySelectorAll(`${place} select`)) {
    if (!one.checkVisibility({ visibilityProperty: true })) continue;
    const { font, paddingLeft, paddingRight, appearance } = getComputedStyle(one);
    pen.font = font;
    const mark = appearance === "none" ? 0 : 16;
    const room = one.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - mark;
    const text = one.selectedOptions[0]?.textContent ?? "";
    if (pen.measureText(text).width > room + 1) found.add(`${one.className}: ${text}`);
  }
  return [...found];
}"""
"""What of the texts of a place is cut, unless it is in a part that rolls sideways."""


def cut(page: Page, place: str) -> list[str]:
    """What is cut, by the theme in which it is."""
    found = []
    for name in OF_TEXT:
        theme(page, name)
        found += [f"{name}: {one}" for one in page.evaluate(CUT, place)]
        if name == OF_TEXT[0]:
            found += [f"small: {one}" for one in page.evaluate(SMALL, place)]
    return found


SMALL = """(place) => {
  const found = new Set();
  const words = document.createTreeWalker(document.querySelector(place), NodeFilter.SHOW_TEXT);
  for (let node; (node = words.nextNode()); ) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("option, title, .visually-hidden, sup, sub")) continue;
    if (!own.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const scale = own.ownerSVGElement ? own.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(own).fontSize) * scale;
    if (size > 0 && size < 11.95) {
      const of = own.closest("[class]")?.getAttribute("class");
      found.add(`${of}: ${size.toFixed(1)} ${node.data.trim().slice(0, 20)}`);
    }
  }
  return [...found];
}"""
"""The texts of a place that are lower than 12 pixels."""


OPEN = """(pane) => {
  const tab = document.getElementById(`tab-${pane}`);
  if (tab) return tab.click();
  const more = [...document.querySelectorAll(".more-tabs")]
    .find((one) => [...one.options].some(({ value }) => value === pane));
  more.value = pane;
  more.dispatchEvent(new Event("change"));
}"""


@pytest.mark.parametrize("example", ["concatenation", "matrix_multiplication"])
def test_nothing_is_cut_in_any_pane_theme_and_size(
    browser: Browser, address: str, example: str
) -> None:
    with visiting(browser) as page:
        page.goto(f"{address}/examples/{example}")
        expect(page.locator(".status")).to_contain_text("compiled in")
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            assert cut(page, "body") == [], width
            for pane in PANES:
                page.evaluate(OPEN, pane)
                panel = page.locator(f"#panel-{pane}")
                expect(panel).to_be_visible()
                expect(panel.locator(".fresh > .empty:visible")).to_have_count(0)
                assert cut(page, f"#panel-{pane}") == [], (width, pane)


def test_what_is_cut_is_found(page: Page) -> None:
    """In a box that is too narrow and cannot be rolled, or a choice, and not where one can."""
    made: list[Any] = page.evaluate(
        f"""() => {{
          const words = "12345678901234567890";
          const made = (tag, style, inside, role = null) => {{
            const element = document.createElement(tag);
            Object.assign(element.style, style);
            if (role) element.role = role;
            element.append(inside);
            return element;
          }};
          const narrow = {{ width: "40px", overflow: "auto" }};
          return [
            made("div", narrow, words),
            made("div", {{ width: "40px" }}, made("p", {{ overflow: "auto" }}, words, "region")),
            made("select", {{ width: "60px" }}, made("option", {{}}, words)),
            made("div", {{ width: "300px", overflow: "hidden" }}, words),
            made("div", {{ height: "4px", overflow: "hidden" }}, words),
            made("p", {{ width: "9000px", textAlign: "right" }}, words),
          ].map((one) => {{
            const place = made("div", {{}}, one);
            place.id = "narrow";
            document.body.append(place);
            const found = ({CUT})("#narrow").length;
            place.remove();
            return found;
          }});
        }}"""
    )
    assert made == [1, 0, 1, 0, 1, 1]
