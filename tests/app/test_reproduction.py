"""The page of what five documents say beside what is here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, expect

from app import reproduction
from app.gallery import load
from app.paths import EXAMPLES
from app.reproduction import PrintedItem, every_part, marked, plain
from compiler.driver.pipeline import BY_ID
from compiler.driver.targets import BY_ID as TARGETS
from compiler.driver.worker import answer
from tests.app.browsing import MARKS, visiting

ROOT = Path(__file__).parents[2]
PARTS = list(every_part(load(EXAMPLES)))
ITEMS = {item.slug: item for part in PARTS for item in part.items}
OPENED = {
    (item.shown.source, item.shown.stage): item for item in ITEMS.values() if item.shown is not None
}


def test_each_row_of_the_documents_is_there_once() -> None:
    rows = [
        line
        for name in reproduction.DOCUMENTS
        for line in (ROOT / "docs" / name).read_text("utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| Item ")
    ]
    assert len(ITEMS) == len(rows) == sum(len(part.items) for part in PARTS)
    for item, row in zip(ITEMS.values(), rows, strict=True):
        assert row.startswith(f"| {item.name} |")


def test_what_is_to_be_opened_belongs_to_a_row() -> None:
    names = {item.name for item in ITEMS.values()}
    told = reproduction.all_shown(load(EXAMPLES))
    assert {name for name in told if not name.startswith("example ")} <= names


@pytest.mark.parametrize("item", OPENED.values(), ids=[item.slug for item in OPENED.values()])
def test_a_program_has_the_stage_the_pane_and_the_part_that_it_opens(item: PrintedItem) -> None:
    shown = item.shown
    assert shown is not None
    panes = set(
        re.findall(
            r'^  id: "(\w+)"',
            "\n".join(path.read_text() for path in (ROOT / "static/src/panes").glob("*.ts")),
            re.M,
        )
    )
    assert shown.stage in {*BY_ID, *TARGETS}
    assert shown.tab in {"", *panes}
    assert shown.code in shown.source
    asked = {"op": "show", "source": shown.source, "stages": [shown.stage]}
    found = answer(asked | ({"main": shown.main} if shown.main else {}))
    assert found["ok"], found


def test_figures_are_those_that_were_recorded(client: FlaskClient) -> None:
    record = json.loads((ROOT / "bench/results/thesis.json").read_text())
    page = client.get("/reproduction/").text
    assert f"<code>{record['command']}</code>" in page
    assert record["machine"]["date"] in page
    for one in record["figures"].values():
        assert one["printed"] in page
        assert f"{one['c']['impact']} times as fast with the pass" in page
    measured_there = [one for one in record["figures"].values() if "impact" in one["cuda"]]
    assert page.count("On a GPU: not measured.") == len(record["figures"]) - len(measured_there)
    told = {item.name.partition(",")[0] for item in ITEMS.values() if item.figures}
    assert told == {f"Table {one['table']}" for one in record["figures"].values()}


def test_without_a_record_no_figure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "recorded", dict)
    assert reproduction.measured() is None
    assert not any(item.figures for part in every_part(()) for item in part.items)


def test_cells_of_tables_become_html() -> None:
    text = "**Not yet**: `a < b` for *i*, 2*n and [this](x.md) <b>"
    assert marked(text) == (
        "<strong>Not yet</strong>: <code>a &lt; b</code> for <em>i</em>, 2*n and "
        "<span>this</span> &lt;b&gt;"
    )
    assert plain("**A** and *b*") == "A and b"


def test_an_unknown_row_has_no_program(client: FlaskClient) -> None:
    assert client.get("/reproduction/nothing").status_code == 404
    without = next(item.slug for item in ITEMS.values() if item.shown is None)
    assert client.get(f"/reproduction/{without}").status_code == 404
    assert client.get("/reproduction").status_code == 308


class TestInABrowser:
    """Links lead to the program, its stage and its pane."""

    pytestmark = MARKS

    def test_a_row_opens_its_stage_and_pane(self, browser: Browser, address: str) -> None:
        with visiting(browser) as page:
            page.goto(f"{address}/reproduction/")
            page.locator("#procedure-3-5-nooverlap").get_by_role("link").click()
            expect(page.locator('.stage-pane[data-shows="shortcircuit"]')).to_be_visible()
            expect(page.locator(".attempts li").first).to_be_visible()
            expect(page.locator(".cm-content").first).to_contain_text("lmad_update_3d")
