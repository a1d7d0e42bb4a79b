"""Where panes stand: moved by drag and by keyboard, presets, layouts of one's own."""

import json

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import MARKS, details, pane, source, violations, visiting

pytestmark = MARKS

ORDER = """() => [...document.querySelectorAll('.work > .column')].map(column =>
  [...column.children].filter(one => !one.matches('.splitter')).map(group =>
    [...group.querySelectorAll(':scope > .tabs-bar [role=tab]')].map(tab => tab.textContent)
      .join(' ') || group.getAttribute('aria-label')))"""
TABS = ["Memory", "Proof", "Selection", "Remarks", "Index functions", "Graph", "Bounds"]
TABS += ["Warps", "Formulas", "Versions", "Compare", "Tests", "Notebook", "Bench"]
DETAILS = " ".join(TABS)


def order(page: Page) -> list[list[str]]:
    """The columns, with the names of what stands in them, from above."""
    found: list[list[str]] = page.evaluate(ORDER)
    return found


def stands(page: Page, *columns: list[str]) -> None:
    wanted = json.dumps([*columns])
    page.wait_for_function(f"wanted => JSON.stringify(({ORDER})()) === wanted", arg=compact(wanted))


def compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


def preset(page: Page, name: str) -> None:
    page.locator("summary", has_text="View").click()
    page.locator(".layout-menu").get_by_role("button", name=name, exact=True).click()


def middle(one: Locator) -> tuple[float, float]:
    box = one.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, what: Locator, x: float, y: float) -> None:
    page.mouse.move(*middle(what))
    page.mouse.down()
    page.mouse.move(x, y, steps=4)
    expect(page.locator(".drop")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".drop")).to_have_count(0)


@pytest.fixture(autouse=True)
def settled(page: Page) -> None:
    expect(pane(page)).to_contain_text("-- fused")


def test_a_tab_that_is_dragged_comes_to_stand_where_it_is_let_go(page: Page) -> None:
    stands(page, ["Source"], ["Fused"], [DETAILS])
    box = page.locator(".stage-pane").bounding_box()
    assert box is not None
    below = box["x"] + box["width"] / 2, box["y"] + box["height"] - 20
    details(page, "Selection")
    drag(page, page.get_by_role("tab", name="Proof"), *below)
    rest = DETAILS.replace("Proof ", "")
    stands(page, ["Source"], ["Fused", "Proof"], [rest])
    expect(page.locator("#panel-proof .outcome")).to_be_visible()
    expect(page.locator("#panel-selection")).to_be_visible()  # no pane took another one's place
    drag(page, page.locator(".stage-pane .grip"), *middle(page.locator("#panel-selection")))
    stands(page, ["Source"], ["Proof"], [f"{rest} Fused"])
    page.reload()
    stands(page, ["Source"], ["Proof"], [f"{rest} Fused"])
    page.go_back()
    stands(page, ["Source"], ["Fused", "Proof"], [rest])
    page.go_back()
    stands(page, ["Source"], ["Fused"], [DETAILS])
    page.go_forward()
    stands(page, ["Source"], ["Fused", "Proof"], [rest])


def test_escape_lets_a_dragged_pane_where_it_was(page: Page) -> None:
    details(page, "Selection")
    page.mouse.move(*middle(page.get_by_role("tab", name="Proof")))
    page.mouse.down()
    page.mouse.move(*middle(pane(page)), steps=4)
    expect(page.locator(".drop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".drop")).to_have_count(0)
    page.mouse.up()
    stands(page, ["Source"], ["Fused"], [DETAILS])


def test_panes_move_by_keyboard_and_keep_the_focus_and_what_was_scrolled(page: Page) -> None:
    details(page, "Proof")
    page.get_by_role("tab", name="Proof").focus()
    page.keyboard.press("Control+Alt+ArrowLeft")
    rest = DETAILS.replace("Proof ", "")
    stands(page, ["Source"], ["Fused"], ["Proof"], [rest])
    expect(page.get_by_role("tab", name="Proof")).to_be_focused()
    page.keyboard.press("Control+Alt+ArrowLeft")
    stands(page, ["Source"], ["Fused Proof"], [rest])
    expect(page.locator("#announcer")).to_have_text("Proof is in column 2 of 3, one of 2 tabs.")
    page.keyboard.press("Control+Alt+ArrowUp")
    stands(page, ["Source"], ["Proof", "Fused"], [rest])
    page.locator(".stage-pane .grip").focus()
    page.keyboard.press("ArrowLeft")
    stands(page, ["Source"], ["Fused"], ["Proof"], [rest])
    expect(page.locator(".stage-pane .grip")).to_be_focused()


def test_presets_and_layouts_of_ones_own_are_kept(page: Page) -> None:
    preset(page, "Compare")
    stands(page, ["Source", DETAILS], ["Types"], ["Fused, pane 2"])
    preset(page, "Proof")
    stands(page, ["Source", "Types Fused"], [DETAILS])
    expect(page.get_by_role("tab", name="Proof")).to_have_attribute("aria-selected", "true")
    page.locator("summary", has_text="View").click()
    page.get_by_label("Name of this layout").fill("mine")
    page.get_by_role("button", name="Save this layout").click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    preset(page, "Lecture")
    stands(page, ["Source"], [f"Types Fused {DETAILS}"])
    page.reload()
    stands(page, ["Source"], [f"Types Fused {DETAILS}"])
    preset(page, "mine")
    stands(page, ["Source", "Types Fused"], [DETAILS])
    page.go_back()
    stands(page, ["Source"], [f"Types Fused {DETAILS}"])
    page.locator("summary", has_text="View").click()
    page.get_by_role("button", name="Forget mine").click()
    page.locator("summary", has_text="View").click()
    expect(page.get_by_role("button", name="mine", exact=True)).to_have_count(0)


def test_a_menu_that_opens_again_keeps_what_may_be_clicked_already(page: Page) -> None:
    preset(page, "Proof")
    stands(page, ["Source", "Fused"], [DETAILS])
    stays = """async () => {
      const menu = [...document.querySelectorAll("details.menu")].find(
        (one) => one.querySelector(".layout-menu"));
      const told = new Promise((resume) => menu.addEventListener("toggle", resume));
      menu.querySelector("summary").click();
      const offered = menu.querySelector(".layout-menu button");
      await told;
      return menu.open && offered.isConnected;
    }"""
    assert page.evaluate(stays)


def test_panes_without_room_become_tabs(page: Page) -> None:
    page.locator("[data-stage='funmem']").click(modifiers=["Shift"])
    stands(page, ["Source"], ["Fused FUNMEM"], [DETAILS])
    expect(pane(page, 1)).to_be_visible()
    for width, columns in ((1920, 4), (1000, 2), (700, 1)):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(f"() => ({ORDER})().length === {columns}")
        if width > 860:
            widths = page.eval_on_selector_all(
                ".work > .column", "all => all.map(one => one.offsetWidth)"
            )
            assert min(widths) >= 310, widths
    page.set_viewport_size({"width": 1366, "height": 768})
    stands(page, ["Source"], ["Fused FUNMEM"], [DETAILS])
    pane(page, 1).locator(".pane-menu > summary").first.click()
    expect(pane(page, 1).get_by_role("button", name="Close this pane")).to_be_in_viewport(ratio=1)
    expect(pane(page, 1).get_by_label("Compare with")).to_be_in_viewport(ratio=1)
    pane(page, 1).get_by_role("button", name="Close this pane").click()
    stands(page, ["Source"], ["Fused"], [DETAILS])


def test_a_bar_between_panes_moves_by_keyboard(page: Page) -> None:
    before = source(page).evaluate("one => one.closest('.column').offsetWidth")
    bar = page.get_by_role("separator", name="Width of Source")
    bar.focus()
    page.keyboard.press("Shift+ArrowRight")
    width = "one => one.closest('.column').offsetWidth"
    assert abs(source(page).evaluate(width) - before - 64) <= 1
    after = source(page).evaluate(width)
    page.wait_for_function("() => (localStorage['stridescope.layout'] ?? 'null') !== 'null'")
    page.reload()
    expect(pane(page)).to_contain_text("-- fused")
    assert abs(source(page).evaluate(width) - after) <= 1


@pytest.mark.parametrize("kept", ["[]", "[1]", '[{"size":1,"groups":[]}]', "{}", '"x"', "[{}]"])
def test_what_is_no_layout_is_the_standard_one(browser: Browser, site: str, kept: str) -> None:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.add_init_script(f"localStorage['stridescope.layout'] = {json.dumps(kept)}")
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    stands(page, ["Source"], ["Fused"], [DETAILS])
    page.context.close()


def test_the_drawing_of_a_proof_is_seen_without_scrolling(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        page.goto(address)
        details(page, "Proof")
        expect(
            page.locator("#panel-proof").get_by_role("img", name="Cells of the block")
        ).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(
    "example",
    [
        "anti_diagonal",
        "lu_step",
        "blocked_wavefront",
        "heat_by_parts",
        "blocked_lu",
        "copies_that_stay",
    ],
)
def test_the_drawings_of_long_proofs_begin_in_sight(
    browser: Browser, address: str, example: str
) -> None:
    with visiting(browser) as page:
        page.goto(f"{address}/examples/{example}")
        details(page, "Proof")
        cells = page.locator("#panel-proof").get_by_role("img", name="Cells of the block")
        expect(cells).to_be_in_viewport(ratio=0.1)


def test_a_kind_of_panes_opens_the_one_that_was_open_last(page: Page) -> None:
    kinds = page.locator(".kinds button")
    expect(kinds).to_have_text(["Memory", "Why", "Cost", "Compare", "Run"])
    details(page, "Remarks")
    expect(page.locator(".side [role=tab]:visible")).to_have_text(
        ["Proof", "Selection", "Remarks", "Index functions", "Graph"]
    )
    kinds.get_by_text("Memory").click()
    expect(page.locator(".side [role=tab]:visible")).to_have_count(0)
    kinds.get_by_text("Why").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel-remarks")).to_be_visible()
    details(page, "Graph")
    page.get_by_role("tab", name="Graph").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Bounds")).to_be_focused()
    expect(page.locator(".kinds [aria-pressed=true]")).to_have_text("Cost")


def test_the_page_is_as_high_as_the_window_whatever_is_in_its_panes(page: Page) -> None:
    for tab in TABS:
        details(page, tab)
        assert page.evaluate("[document.documentElement.scrollHeight, scrollY]") == [768, 0], tab


@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1366, 3), (1920, 3)])
def test_every_pane_is_reached_by_the_mouse(page: Page, width: int, columns: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    expect(page.locator(".work > .column")).to_have_count(columns)
    for title in TABS:
        details(page, title)
        pane_id = "layouts" if title == "Index functions" else title.lower()
        expect(page.locator(f"#panel-{pane_id}")).to_be_visible()
