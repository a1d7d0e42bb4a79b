"""Axe finds nothing wrong with any pane: in any theme, on a phone, with errors and out of date.

Panes and themes are those that the page offers, so that none can be forgotten.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import COLOURS, MARKS, THEMES, more, pane, violations, visiting, write

pytestmark = MARKS

PROGRAM = """\
-- # Notes
--
-- Each pane has something to show of this: text with `code`.

type shape = #circle f32 | #square f32 f32 | #none

-- | What it covers.
def area (s: shape): f32 =
  match s
  case #circle r -> 3.14 * r * r
  case #square a b -> a * b
  case #none -> 0

-- ==
-- entry: main
-- input { [1, 2, 3] [0i64, 1i64, 2i64] 1i64 }
-- "wrong" input { [1, 2, 3] [0i64, 1i64, 2i64] 1i64 } output { 1 }
-- "outside" input { [1] [7i64] 1i64 } error: Index
-- input @ data/none.in

entry main [n] (xs: [n]i32) (is: [n]i64) (k: i64) =
  let both = concat (map (+ 1) xs) (map (* 2) xs)
  let sum = loop s = 0 for i < n do s + xs[k] + xs[i]
  let read = map (\\i -> xs[i]) is
  let products = map (\\x -> map (* x) xs) xs
  let sums = map i32.sum (transpose products)
  let areas = map (\\x -> area (if x > 2 then #circle (f32.i32 x) else #square 1 2)) xs
  in (both, sum, scan (+) 0 read, products, sums, f32.sum areas)

entry tone = [0f32, 1f32]
entry grid (n: i64): [n][n]f32 = tabulate_2d n n (\\i j -> f32.i64 (i * j) / 9)

-- > main [1, 2, 3] [0i64, 1i64, 2i64] 1i64

-- > :img grid 4i64

-- > :audio tone

-- > grid
"""


COUNTED = """
const fetched = window.fetch;
window.asked = 0;
window.fetch = async (...all) => {
  window.asked += 1;
  try {
    return await fetched(...all);
  } finally {
    window.asked -= 1;
  }
};
"""
QUIET = """() => new Promise((resume) => {
  let since = performance.now();
  const look = () => {
    if (window.asked) since = performance.now();
    if (performance.now() > since + 400) resume();
    else setTimeout(look, 20);
  };
  look();
})"""
"""When nothing has been asked for a moment: what was opened is drawn."""

UNFOLD = "(all, few) => all.slice(0, few).forEach(one => (one.open = true))"
"""The first ones hold one of each kind; all that is behind them would take axe long."""
FEW = {"warps": 3}
"""Two accesses and a table: five had a third of all elements of the page."""

CHOICES = ".segmented button:visible"
"""What panes draw, one of several."""


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The program above, with all that can be asked about it, against another one as A."""
    with visiting(browser) as opened:
        opened.add_init_script(COUNTED)
        opened.emulate_media(reduced_motion="reduce")
        opened.goto(address)
        expect(opened.locator(".status")).to_contain_text("compiled in")
        write(opened, PROGRAM.replace("x > 2", "x > 1"))
        expect(opened.get_by_label("Entry")).to_contain_text("grid")
        show(opened, "compare").get_by_role("button", name="Pin as A").click()
        expect(show(opened, "compare")).to_contain_text("A is the program as it was")
        write(opened, PROGRAM)
        opened.locator("#run-backend").select_option("ref")
        opened.keyboard.press("Control+Enter")
        expect(opened.locator(".run-result .value").first).to_be_visible()
        for expression in ("1 + true", "map (+ 1) [1, 2]"):
            opened.get_by_label("Expression", exact=True).fill(expression)
            opened.keyboard.press("Enter")
            expect(opened.locator(".evaluated > li code").first).to_have_text(expression)
        opened.get_by_role("button", name="Profile", exact=True).click()
        expect(opened.get_by_role("region", name="Time by line")).to_be_visible()
        for tab, does in (("tests", "Run all"), ("notebook", "Run notebook"), ("bench", "Measure")):
            button = show(opened, tab).get_by_role("button", name=does, exact=True)
            button.click()
            expect(button).to_be_visible()
        opened.locator(".source .cm-line", has_text="let products").click()
        # Beside what stands against A, a stage by itself.
        opened.locator(".chip[data-stage=funmem]").click(modifiers=["Shift"])
        more(opened, "Value flow")
        yield opened


def show(page: Page, tab: str) -> Locator:
    """Open a pane, which is drawn then."""
    page.locator(f"#tab-{tab}").evaluate("tab => tab.click()")
    page.evaluate(QUIET)
    panel = page.locator(f"#panel-{tab}")
    panel.locator("details").evaluate_all(UNFOLD, FEW.get(tab, 6))
    return panel


def offered(choices: Locator) -> list[str]:
    """What one can choose among."""
    found: list[str] = choices.evaluate_all("all => all.map(one => one.dataset.tab ?? one.value)")
    return found


LINK = """<p style="color: #000">
  A <a href="/" style="color: #222; text-decoration: none">link</a> in a text.
</p>"""


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ('<p style="color: #777; background: #888">word</p>', "color-contrast"),
        ('<div style="opacity: 0.3"><p>word</p></div>', "color-contrast"),
        (LINK, "link-in-text-block"),
    ],
)
def test_a_text_that_cannot_be_read_is_found(browser: Browser, wrong: str, rule: str) -> None:
    """Among many that can be, of which axe is asked about few."""
    with visiting(browser) as opened:
        right = '<p>word</p><p>A <a href="/">link</a> in a text.</p>' * 20
        opened.set_content(right + wrong + right)
        (found,) = (said for said in violations(opened) if COLOURS[0] in said or COLOURS[1] in said)
        assert rule in found


def test_one_pane_after_the_other_on_a_phone(page: Page) -> None:
    """The whole page with the first of them, then each by itself: beside all others it is below."""
    page.set_viewport_size({"width": 390, "height": 844})
    for k, tab in enumerate(offered(page.locator(".side [data-tab]"))):
        show(page, tab)
        assert violations(page, places=[".side"] if k else []) == [], tab


def test_all_panes_beside_each_other_in_each_theme(page: Page) -> None:
    themes = offered(page.locator("select.theme option"))
    every = offered(page.locator(".side [data-tab]"))
    stages = offered(pane(page).locator(".stage-select option"))
    assert {*themes} == {"", *THEMES}
    assert min(len(every), len(stages)) > 5
    page.set_viewport_size({"width": 13_000, "height": 1000})
    write(page, PROGRAM)
    page.keyboard.press("F8")
    while (number := page.locator(".stage-pane").count()) < 8:
        page.locator(".chip").first.click(modifiers=["Shift"])
        expect(page.locator(".stage-pane")).to_have_count(number + 1)
    for k, stage in enumerate(stages[:: len(stages) // 6 + 1]):
        pane(page, k + 2).locator(".stage-select").select_option(stage)
    for tab in every[1:]:
        show(page, tab)
        focused = page.locator(f"#tab-{tab}:visible, .kinds [aria-pressed=true]:visible").first
        focused.focus()
        page.keyboard.press("Control+Alt+ArrowRight")
        show(page, tab)
    expect(page.locator(".panel:visible")).to_have_count(len(every))
    assert violations(page, themes, every=True) == []
    # What else panes draw; the last choice of each stays.
    panels = page.locator(".panel", has=page.locator(CHOICES)).all()
    for k in range(1, max(panel.locator(CHOICES).count() for panel in panels)):
        places = []
        for panel in panels:
            if k < panel.locator(CHOICES).count():
                panel.locator(CHOICES).nth(k).evaluate("button => button.click()")
                places.append(f"#{panel.get_attribute('id')}")
        page.evaluate(QUIET)
        if places:
            assert violations(page, places=places) == [], k
    # Errors, and what is out of date.
    write(page, PROGRAM.replace("i32.sum", "WRONG"))
    expect(page.locator(".source .problem-text")).to_be_visible()
    expect(pane(page)).to_have_class(re.compile("stale"))
    page.evaluate(QUIET)
    assert violations(page) == []
    # Programs alone look otherwise then: what panels say of errors, they say in the same colours.
    assert violations(page, themes, [".pane"]) == []
