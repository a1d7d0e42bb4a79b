"""The pane with graphs: fusion before and after, any stage, as drawings and as tables."""

import re

from playwright.sync_api import Browser, expect

from tests.app.browsing import MARKS, violations, visiting, write
from tests.app.browsing import pane as stage
from tests.explain.test_dataflow import CHAIN

pytestmark = MARKS
LONG = 200
"""Statements: more than are drawn."""


def test_graphs_are_drawn_and_select_their_statements(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        page.goto(address)
        expect(page.locator(".status")).to_contain_text("compiled in")
        write(page, CHAIN)
        page.get_by_role("tab", name="Graph").click()
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
        assert violations(page) == []
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
