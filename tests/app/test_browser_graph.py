"""The pane with graphs: fusion before and after, any stage, as drawings and as tables."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.app.browsing import MARKS, details, operations, violations, working, write
from tests.app.browsing import pane as stage
from tests.explain.test_dataflow import CHAIN
from tests.protocol.test_declarations import scans

pytestmark = MARKS
SUMS = """type shape = #circle f32 | #square f32 | #empty
entry main [n] (xs: [n]f32) =
  let shapes = map (\\x -> if x > 0 then #circle x else (#empty : shape)) xs
  let areas = map (\\s -> match s case #circle r -> r case #square a -> a case #empty -> 0) shapes
  in scan (+) 0 areas
"""
LONG = 200
"""Statements: more than are drawn."""


def test_graphs_are_drawn_and_select_their_statements(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        write(page, CHAIN)
        details(page, "Graph")
        pane = page.locator(".graphs")
        expect(pane.get_by_role("status")).to_have_text("Fusions done: 2 of 3 tried.")
        before = pane.get_by_role("img", name="Before, in main: ")
        expect(before).to_have_attribute("aria-label", re.compile("7 statements and 6 arrays"))
        expect(before.locator(".graph-edge.applied text").first).to_have_text("✓ ys: 4·n B")
        expect(before.locator(".graph-edge.missed title")).to_contain_text("comes from a scan")
        expect(pane.get_by_role("img", name="After, in main: ")).to_be_visible()
        tried = pane.get_by_role("region", name="Tried fusions").locator("tbody tr")
        expect(tried).to_have_count(3)
        expect(tried.first.get_by_role("link")).to_have_attribute("href", "/rules/fuse/map-scan")
        before.locator(".graph-node.scan").click()
        expect(stage(page).locator(".cm-line.lit").first).to_contain_text("zs")
        pane.get_by_label("as a table").check()
        expect(pane.locator("caption").first).to_have_text("Statements of Before, in main")
        lines = [f"  let x{k + 1} = scan (+) {k} x{k}\n" for k in range(LONG)]
        write(page, f"entry main (x0: []i32) =\n{''.join(lines)}  in x{LONG}\n")
        pane.get_by_label("Graph of").select_option("flat")
        expect(pane.locator("tbody tr")).to_have_count(LONG + 2)
        pane.get_by_label("as a table").uncheck()
        expect(pane.get_by_role("img")).to_have_attribute(
            "aria-label", re.compile("150 statements")
        )
        expect(pane).to_contain_text(f"The first 150 of {LONG + 2} statements are drawn")


def test_a_link_keeps_the_graph_and_the_sums_that_were_seen(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        write(page, SUMS)
        expect(stage(page)).to_contain_text("scan")
        details(page, "Graph")
        graphs, memory = page.locator(".graphs"), page.locator(".memory")
        graphs.get_by_label("Graph of").select_option("flat")
        graphs.get_by_label("as a table").check()
        caption = graphs.locator("caption", has_text="Statements of main")
        expect(caption).to_be_visible()
        rows = graphs.locator("tbody tr").all_inner_texts()
        # After a reload it is drawn as it was.
        page.reload()
        expect(caption).to_be_visible()
        expect(graphs.get_by_label("Graph of")).to_have_value("flat")
        details(page, "Memory")
        memory.get_by_role("button", name="Sums").click()
        expect(memory.get_by_role("region", name="Slots of")).to_contain_text("#circle")
        page.keyboard.press("Control+s")
        link = page.get_by_role("textbox", name="Link").input_value()
        asked: list[str] = []
        page.on("request", lambda request: asked.extend(operations(request)))
        page.goto(link)
        expect(memory.get_by_role("region", name="Slots of")).to_contain_text("#circle")
        details(page, "Graph")
        expect(caption).to_be_visible()
        assert graphs.locator("tbody tr").all_inner_texts() == rows
        assert asked == []
        # Another one is not kept, and says so.
        graphs.get_by_label("Graph of").select_option("simplified")
        expect(graphs).to_contain_text("Graphs are made by today's compiler.")
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(link)
        plain.get_by_role("link", name="Graph of Flattened").click()
        statements = plain.get_by_role("region", name="Graph of Flattened: main")
        expect(statements.get_by_role("row", name=re.compile("segscan")).first).to_contain_text(
            "B)"
        )
        plain.get_by_role("link", name="Sums", exact=True).click()
        expect(plain.get_by_role("region", name="Slots of")).to_contain_text("#circle")


APART = """() => {
  const drawing = [...document.querySelectorAll("svg.graph")].find((one) => one.checkVisibility());
  const boxes = [...drawing.querySelectorAll(".graph-edge text, .graph-node rect")]
    .map((one) => [one.textContent || "node", one.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  return boxes.flatMap(([name, a], k) =>
    boxes.slice(k + 1).filter(([, b]) => meet(a, b)).map(([other]) => [name, other]));
}"""
"""Pairs of labels and statements that lie over each other."""


@pytest.mark.parametrize("example", ["blocked_wavefront", "heat_by_parts"])
def test_a_real_program_is_seen_whole_and_its_labels_lie_apart(
    browser: Browser, address: str, example: str
) -> None:
    with working(browser, address) as page:
        page.goto(f"{address}/examples/{example}")
        details(page, "Graph")
        pane = page.locator(".graphs")
        menu = pane.get_by_label("Graph of")
        menu.select_option("flat")
        picture = pane.locator("svg.graph").first
        expect(picture).to_be_visible()
        assert page.evaluate(APART) == []
        tools = pane.get_by_role("group", name="Size of the drawing").first
        tools.get_by_role("button", name="Fit").click()
        place = pane.locator(".drawing").first
        inside = "e => e.scrollWidth <= e.clientWidth + 1 && e.clientHeight <= innerHeight"
        assert place.evaluate(inside)
        shown = picture.bounding_box()
        assert shown is not None
        place.focus()
        page.keyboard.press("+")
        larger = picture.bounding_box()
        assert larger is not None
        assert abs(larger["width"] / shown["width"] - 1.25) < 0.02
        page.keyboard.press("0")
        assert place.evaluate(inside)


def test_of_several_functions_that_of_the_entry_point_is_open(
    browser: Browser, address: str
) -> None:
    with working(browser, address) as page:
        names = ("first", "second", "third")
        write(page, "".join(f"entry {one} (xs: []i32) = map (+ 1) xs\n" for one in names))
        expect(stage(page)).to_contain_text("entry third")
        details(page, "Graph")
        pane = page.locator(".graphs")
        pane.get_by_label("Graph of").select_option("flat")
        expect(pane.get_by_role("img")).to_have_count(1)
        expect(pane.locator("details > summary")).to_have_text(["second", "third"])
        pane.locator("summary", has_text="third").click()
        expect(pane.get_by_role("img", name=re.compile("^third: "))).to_be_visible()


def test_a_link_keeps_what_fusion_did(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        write(page, CHAIN)
        details(page, "Graph")
        told = page.locator(".graphs").get_by_role("status")
        expect(told).to_have_text("Fusions done: 2 of 3 tried.")
        page.keyboard.press("Control+s")
        link = page.get_by_role("textbox", name="Link").input_value()
        page.goto(link)
        expect(told).to_have_text("Fusions done: 2 of 3 tried.")
        text = page.request.get(link).text()
    assert 'id="graph-fusion"' in text
    tried = text[text.index("Attempts, in order") :]
    assert tried.count("<td>yes</td>") == 2
    assert "<td>zs = scan</td>" in tried
    assert "comes from a scan" in tried


def test_imperative_stages_are_drawn_and_open_to_their_bodies(
    browser: Browser, address: str
) -> None:
    with working(browser, address) as page:
        write(page, CHAIN)
        details(page, "Graph")
        pane = page.locator(".graphs")
        menu = pane.get_by_label("Graph of")
        menu.select_option("imp")
        outer = pane.get_by_role("img", name=re.compile("^main: "))
        expect(outer).to_have_attribute("aria-label", re.compile("blocks and scalars between them"))
        expect(outer.locator(".graph-edge text", has_text="zs_mem: 4·n B").first).to_be_visible()
        loop = pane.locator("details", has_text="for i: i32 < 3i32")
        expect(loop).not_to_have_attribute("open", "")
        outer.locator(".graph-node.for").click()
        expect(loop).to_have_attribute("open", "")
        expect(stage(page).locator(".cm-line.lit").first).to_contain_text("let (a")
        inside = loop.get_by_role("img", name="for i: i32 < 3i32: ")
        around = inside.locator(".graph-edge.carried")
        expect(around.locator("title").first).to_contain_text("from the previous iteration")
        expect(around.locator("path").first).to_be_visible()
        assert violations(page) == []
        # By the keyboard, down to what a thread does.
        menu.select_option("kernels")
        third = pane.locator("summary", has_text=re.compile("^launch scan_.*_third$"))
        third.focus()
        page.keyboard.press("Enter")
        threads = pane.get_by_role("img", name=re.compile("^launch scan_.*_third: "))
        expect(threads.locator(".graph-node.stride").first).to_be_visible()
        pane.get_by_label("as a table").check()
        rows = pane.get_by_role("region", name="Statements of main").locator("tbody tr")
        expect(rows.filter(has_text=re.compile("^launch scan_.*_third")).first).to_contain_text(
            "zs_mem of zs_mem = alloc(n) (4·n B, to be written)"
        )
        pane.get_by_role("button", name=re.compile("^launch scan_.*_first$")).first.click()
        expect(
            pane.get_by_role("region", name=re.compile("^Statements of launch scan_"))
        ).to_be_visible()
        # The text of a target has the graph of what it is printed from.
        labels = menu.locator("option").all_inner_texts()
        assert "C, printed from IMP" in labels
        menu.select_option("c")
        expect(rows.filter(has_text="scan scan_").first).to_be_visible()


def test_kernels_of_a_large_program_are_asked_for_when_opened(
    browser: Browser, address: str
) -> None:
    with working(browser, address) as page:
        write(page, scans(50))
        details(page, "Graph")
        pane = page.locator(".graphs")
        pane.get_by_label("Graph of").select_option("kernels")
        summary = pane.locator("summary", has_text=re.compile("^launch scan_.*_third$")).first
        name = summary.inner_text()
        summary.click()
        threads = pane.get_by_role("img", name=f"{name}: ")
        expect(threads.locator(".graph-node.stride").first).to_be_visible()
