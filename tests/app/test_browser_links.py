"""Links that an earlier version made, opened by this version's page."""

import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, compiled, details, pane, source, visiting, write
from tests.app.fake_worker import MANIFEST
from tests.app.test_forms import OLD, OLD_NAME, OLD_REAL

pytestmark = MARKS


@pytest.fixture
def old_site(page: Page, site: str, tmp_path: Path) -> str:
    """The server, with the links of an earlier version; the page's complaints fail the test."""
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    with sqlite3.connect(folder / "permalinks.sqlite") as database:
        database.executescript(OLD.read_text())
    database.close()
    return site


@pytest.mark.parametrize(
    ("name", "text"), [(OLD_NAME, "map (+1) xs -- fused"), (OLD_REAL, "map [n_")]
)
def test_an_earlier_link_opens_in_all_panes(
    page: Page, old_site: str, name: str, text: str
) -> None:
    page.goto(f"{old_site}/z/{name}")
    expect(page.locator(".status")).to_contain_text("version 1.0.0rc1")
    expect(source(page)).to_contain_text("entry")
    expect(pane(page)).to_contain_text(text)
    tabs = page.locator(".side [role=tab]").all_text_contents()
    assert {"Memory", "Warps", "Compare", "Tests", "Notebook", "Bench"} <= {*tabs}
    for tab in tabs:
        details(page, tab)
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
    details(page, "Proof")
    expect(page.locator(".outcome").first).to_contain_text("uilt in place")
    expect(page.locator(".run-result .value")).to_be_visible()
    page.reload()  # it has the page already
    expect(pane(page)).to_contain_text(text)
    styled = "getComputedStyle(document.querySelector('.cm-scroller')).display"
    assert page.evaluate(styled) == "flex", "the editor's styles carry the nonce of the page"


def test_an_earlier_link_has_its_stages_and_what_is_made_of_it_has_todays(
    page: Page, old_site: str
) -> None:
    chips = page.locator(".chip")
    stages = "[...document.querySelectorAll('.chip')].map(chip => chip.dataset.stage)"
    page.goto(f"{old_site}/z/{OLD_REAL}")
    expect(chips.first).to_be_visible()
    earlier = page.evaluate(stages)
    assert len(earlier) > len(MANIFEST)
    write(page, "entry main (x: i32) = x + 1\n")
    expect(chips).to_have_count(len(MANIFEST))
    assert page.evaluate(stages) == [stage["id"] for stage in MANIFEST]


def test_a_part_of_a_link_is_shown_in_a_page_that_is_a_file(
    page: Page, site: str, tmp_path: Path
) -> None:
    made = page.request.post(f"{site}/api/share", data={"source": "-- kept\nentry main = 1\n"})
    name = made.json()["id"]
    notes = tmp_path / "notes.html"
    frames = "".join(f'<iframe src="{site}/{what}/{name}"></iframe>' for what in ("embed", "z"))
    notes.write_text(f"<!doctype html><title>Notes</title>{frames}")
    other = page.context.new_page()
    other.goto(notes.as_uri())
    expect(other.frame_locator("iframe >> nth=0").locator("#source")).to_contain_text("kept")
    assert other.frames[2].locator("#source").count() == 0
    other.close()


def test_a_link_is_printed_whole_and_what_is_made_of_it_as_panes_show_it(
    page: Page, site: str
) -> None:
    program = "-- kept\nentry main = 1\n" + "-- and so on\n" * 200
    made = page.request.post(f"{site}/api/share", data={"source": program})
    page.goto(f"{site}/z/{made.json()['id']}")
    expect(source(page)).to_contain_text("kept")
    page.emulate_media(media="print")
    whole = page.locator("main.nojs .code").first
    expect(whole).to_be_visible()
    expect(source(page)).to_be_hidden()
    assert whole.evaluate("code => code.scrollHeight - code.clientHeight") <= 0
    assert page.evaluate("document.documentElement.scrollHeight") > 200 * 15
    page.emulate_media(media="screen")
    expect(whole).to_be_hidden()
    write(page, "entry main = 2\n")
    expect(pane(page)).to_contain_text("2 -- fused")
    page.emulate_media(media="print")
    expect(whole).to_be_hidden()
    expect(source(page)).to_contain_text("entry main = 2")


def test_the_page_itself_is_printed_with_all_that_its_panes_show(page: Page, site: str) -> None:
    """Below each other and each as long as it is, without what only a pointer can use."""
    write(page, "entry main = 1\n" + "-- and so on\n" * 200 + "-- the last line")
    expect(pane(page)).to_contain_text("-- fused")
    page.emulate_media(media="print")
    expect(source(page)).to_contain_text("the last line")
    source_box, stage_box = page.evaluate(
        "() => ['.source', '.stage-pane'].map(place => document.querySelector(place))"
        ".map(pane => pane.getBoundingClientRect().toJSON())"
    )
    assert source_box["height"] > 200 * 15
    assert stage_box["top"] >= source_box["bottom"]
    for gone in ("Share", "Run", "Format"):
        expect(page.get_by_role("button", name=gone)).to_have_count(0)
    cut = """() => [...document.querySelectorAll("#app *")].filter(one =>
      getComputedStyle(one).overflowY !== "visible" && one.clientHeight
        && one.scrollHeight > one.clientHeight + 2 && one.matches(".pane :not(.visually-hidden)"))
      .map(one => one.className)"""
    assert page.evaluate(cut) == []


def test_on_paper_proofs_are_unfolded(page: Page, old_site: str) -> None:
    page.goto(f"{old_site}/z/{OLD_REAL}")
    expect(pane(page)).to_contain_text("map [n_")
    page.emulate_media(media="print")
    folded = page.locator("#attempts details:not([open]) > :not(summary)")
    assert folded.count() > 0
    assert folded.evaluate_all("all => all.every(one => one.checkVisibility())")


def test_nothing_moves_where_somebody_has_asked_for_that(page: Page, site: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(site)
    expect(pane(page)).to_contain_text("-- fused")
    source(page).click()  # its cursor would blink
    page.get_by_role("button", name="Next").click()
    page.keyboard.press("Control+Enter")
    moving = """() => [...document.querySelectorAll("*")].flatMap(one => ["", "::before", "::after"]
      .map(part => getComputedStyle(one, part || null))
      .filter(({ animationName, transitionDuration }) =>
        animationName !== "none" || transitionDuration !== "0s")
      .map(() => one.className))"""
    assert page.evaluate(moving) == []
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) != []


def test_a_link_of_ones_own_is_deleted_from_the_box_that_shows_it(page: Page, site: str) -> None:
    write(page, "-- Mine\nentry main (xs: []i64) = map (+3) xs\n")
    page.get_by_role("button", name="Share").click()
    url = page.get_by_label("Link", exact=True).input_value()
    page.reload()
    write(page, "-- Another\nentry main = 1\n")
    page.get_by_role("button", name="Share").click()
    page.get_by_text("Links made in this browser: 2").click()
    own = page.locator(".own-links li")
    expect(own.get_by_role("link")).to_have_text(["Another", "Mine"])
    assert page.request.get(url).ok
    own.get_by_role("button", name="Delete the link Mine").click()
    expect(page.locator(".own-links [role=status]")).to_contain_text("The link is deleted.")
    expect(own.get_by_role("link")).to_have_text(["Another"])
    assert page.request.get(url).status == 404


def test_a_link_that_is_gone_goes_from_the_list(browser: Browser, site: str) -> None:
    with visiting(browser, known=("404",)) as page:
        page.goto(site)
        compiled(page)
        write(page, "-- Mine\nentry main = 2\n")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("Links made in this browser: 1").click()
        kept = page.evaluate("JSON.parse(localStorage['stridescope.links'])[0]")
        page.request.post(f"{site}/api/forget", data={"id": kept["id"], "key": kept["key"]})
        own = page.locator(".own-links li")
        own.get_by_role("button", name="Delete the link Mine").click()
        expect(page.locator(".own-links [role=status]")).to_contain_text("already deleted")
        expect(own).to_have_count(0)
        assert page.evaluate("localStorage['stridescope.links']") == "[]"


def test_a_link_is_deleted_without_javascript(browser: Browser, site: str) -> None:
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    source = {"source": "-- Plain\nentry main = 3\n"}
    made = page.request.post(f"{site}/api/share", data=source).json()
    page.goto(made["url"])
    page.get_by_text("Delete this link").click()
    page.get_by_label("The key that you got").fill("wrong")
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("There is no link with this id and this key.")).to_be_visible()
    page.goto(made["url"])
    page.get_by_text("Delete this link").click()
    page.get_by_label("The key that you got").fill(f" {made['key']} ")
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("heading", name="The link is deleted")).to_be_visible()
    assert page.request.get(made["url"]).status == 404
    plain.close()
