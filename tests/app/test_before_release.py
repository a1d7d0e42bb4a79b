"""Links from before the first release: their program stays, and words say what does not."""

import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.unpacking import BEFORE_RELEASE, COMPILE_ANEW
from tests.app.browsing import pane, source, write
from tests.app.conftest import SOURCE, MakeApp

OLD = Path(__file__).parent / "links_0_1_0.sql"
"""A database with two links, whose polynomials are text: of the fake worker, of the compiler."""
NAME, REAL = "yc545toxpy", "yrbbtr3tdm"


@pytest.fixture
def old_data(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    with sqlite3.connect(folder / "permalinks.sqlite") as database:
        database.executescript(OLD.read_text())
    database.close()


@pytest.mark.usefixtures("old_data")
def test_every_form_has_the_program_and_says_what_is_gone(make_app: MakeApp) -> None:
    client = make_app().test_client()
    for form in ("/z/{}", "/embed/{}", "/z/{}/offline.html"):
        page = " ".join(client.get(form.format(REAL)).get_data(as_text=True).split())
        assert "A map that needs no second array" in page, form
        assert form != "/z/{}" or (BEFORE_RELEASE in page and COMPILE_ANEW in page)
    state = client.get(f"/z/{NAME}.json").get_json()
    assert state["error"]["message"] == BEFORE_RELEASE
    assert (state["source"], state["stages"], state["attempts"]) == (SOURCE, {}, None)
    assert client.get(f"/z/{NAME}/source.txt").get_data(as_text=True) == SOURCE
    for form in ("/z/{}/preview.png", "/z/{}/source.zip"):
        assert client.get(form.format(REAL)).status_code == 200
    assert client.get(f"/z/{REAL}/fused.txt").status_code == 404


@pytest.mark.browser
@pytest.mark.usefixtures("old_data")
def test_the_page_opens_the_program_and_compiles_it_when_it_is_edited(
    page: Page, site: str
) -> None:
    page.goto(f"{site}/z/{REAL}")
    expect(source(page)).to_contain_text("map (+ 2) xs")
    expect(page.get_by_text(BEFORE_RELEASE).first).to_be_visible()
    write(page, "entry main (x: i32) = x + 1\n")
    expect(pane(page)).to_contain_text("-- fused")
    expect(page.get_by_text(BEFORE_RELEASE).first).to_be_hidden()
