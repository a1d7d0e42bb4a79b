"""What a pane shows is copied and saved; a link has a title and notes."""

import csv
import json
import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import (
    HOLDING,
    MARKS,
    details,
    hold,
    is_held,
    pane,
    release,
    violations,
    working,
    write,
)

pytestmark = MARKS
PICTURED = {"Memory", "Proof", "Warps", "Graph"}
AWAY = """() => {
  const picture = document.querySelector(".warps svg");
  const place = picture.parentNode;
  window.again = () => place.append(picture);
  picture.remove();
}"""
"""The picture of the warps goes away; `again` brings it back."""


def open_menu(of: Locator) -> Locator:
    outer = of.locator(".pane-menu:not(.take-menu) > summary")
    if outer.count():
        outer.first.click()
    of.locator(".take-menu > summary").first.click()
    menu = of.locator(".take")
    expect(menu).to_be_visible()
    return menu


def saved(page: Page, menu: Locator, button: str | re.Pattern[str]) -> tuple[str, bytes]:
    """The name and the content of the file that a button makes."""
    with page.expect_download() as download:
        menu.get_by_role("button", name=button).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_stage_is_copied_and_saved_whole(page: Page) -> None:
    write(page, "-- First steps\nentry main (xs: []i64) = map (+1) xs\n")
    expect(pane(page)).to_contain_text("= map (+1) xs -- fused")
    menu = open_menu(pane(page))
    name, text = saved(page, menu, "Save text")
    assert name == "fused.txt"
    lines = text.decode().split("\n")
    assert "map (+1) xs -- fused" in text.decode()
    name, data = saved(page, menu, "Save data")
    assert name == "fused.json"
    told = json.loads(data)
    assert told["id"] == "fused"
    assert [line["text"] for line in told["lines"]] == lines[:-1]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu.get_by_role("button", name="Copy text").click()
    expect(menu.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == text.decode()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def test_tables_and_pictures_are_saved(page: Page) -> None:
    details(page, "Warps")
    expect(page.locator(".warps svg")).to_be_visible()
    side = page.locator(".side")
    menu = open_menu(side)
    name, table = saved(page, menu, "Save All accesses")
    assert name == "warps-all-accesses.csv"
    rows = list(csv.reader(table.decode().splitlines()))
    assert [row[0] for row in rows] == ["Access", "reads xs_mem_3[16 * i_4]"]
    counts = dict(zip(rows[0], rows[1], strict=True))
    assert (counts["Sectors"], counts["Bytes"]) == ("64", "4096")
    assert "32 lanes fetch 32 sectors, 12 % used; 4 would do" in rows[1]
    name, drawing = saved(page, menu, re.compile("Save 32 lanes.* as .svg"))
    assert name == "warps.svg"
    root = ElementTree.fromstring(drawing.decode())
    boxes = root.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) > 64
    assert all(one.get("fill", "").startswith(("rgb", "none", "url")) for one in boxes)
    assert not [one for one in root.iter() if one.get("class")]
    # Panes draw anew what changes: the file is of what is seen.
    page.locator(".warps svg").evaluate_all(
        "all => all.map((one) => one.replaceWith(one.cloneNode(true)))"
    )
    name, picture = saved(page, menu, re.compile("Save 32 lanes.* as .png"))
    assert name == "warps.png"
    width, height = struct.unpack(">II", picture[16:24])
    assert picture[:4] == b"\x89PNG"
    assert width > 2 * height > 100
    told = json.loads(saved(page, menu, "Save data")[1])
    assert told["accesses"][0]["array"] == "xs_mem_3"


def test_every_pane_is_saved_and_every_picture_reads_back(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_be_visible()
        side, drawn = page.locator(".side"), set()
        for name in page.locator(".side [role=tab]").all_text_contents():
            page.keyboard.press("Control+k")
            page.keyboard.insert_text(f"details {name}")
            page.keyboard.press("Enter")
            shown = page.get_by_role("tabpanel", name=name)
            expect(shown).to_have_text(re.compile(r"\S"))
            made = shown.get_by_text("It is being computed.").filter(visible=True)
            expect(made).to_have_count(0)  # what it asks for is there
            if name in PICTURED:
                expect(shown.get_by_role("img").first).to_be_visible()
            menu = open_menu(side)
            assert saved(page, menu, "Save text")[1], name
            for save in menu.get_by_role("button", name=re.compile("^Save .* as .svg")).all():
                with page.expect_download() as download:
                    save.click()
                root = ElementTree.fromstring(Path(download.value.path()).read_text())
                assert root.get("style", "").startswith("background: rgb"), name
                drawn.add(name)
            for save in menu.get_by_role("button", name=re.compile("^Save .* as .png")).all():
                with page.expect_download() as download:
                    save.click()
                assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG", name
            page.keyboard.press("Escape")
        assert drawn >= PICTURED


def test_a_picture_is_saved_while_its_pane_is_made_anew(page: Page) -> None:
    details(page, "Warps")
    expect(page.locator(".warps svg")).to_be_visible()
    page.evaluate(HOLDING)
    hold(page, "/api/batch")
    write(page, "-- Another\nentry main (xs: []i64) = map (+1) xs\n")
    is_held(page)
    menu = open_menu(page.locator(".side"))
    for ending, begin in (("svg", b"<svg"), ("png", b"\x89PNG")):
        name, picture = saved(page, menu, re.compile(f"^Save 32 lanes.* as .{ending}"))
        assert name == f"warps.{ending}"
        assert picture.startswith(begin)
    release(page)
    expect(pane(page)).to_contain_text("-- Another -- fused")
    assert saved(page, menu, re.compile("^Save 32 lanes.* as .png"))[1].startswith(b"\x89PNG")


def test_a_picture_that_is_not_there_is_saved_once_it_is(page: Page) -> None:
    details(page, "Warps")
    expect(page.locator(".warps svg")).to_be_visible()
    menu = open_menu(page.locator(".side"))
    png = menu.get_by_role("button", name=re.compile("^Save 32 lanes.* as .png"))
    page.evaluate(AWAY)
    png.click()
    said = menu.get_by_role("status")
    expect(said).to_contain_text("It will be saved when it appears")
    with page.expect_download() as download:
        page.evaluate("window.again()")
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"
    expect(said).to_be_empty()


def test_a_picture_that_comes_after_its_menu_is_closed_is_not_saved(page: Page) -> None:
    details(page, "Warps")
    expect(page.locator(".warps svg")).to_be_visible()
    files: list[str] = []
    page.on("download", lambda download: files.append(download.suggested_filename))
    menu = open_menu(page.locator(".side"))
    page.evaluate(AWAY)
    menu.get_by_role("button", name=re.compile("^Save 32 lanes.* as .png")).click()
    expect(menu.get_by_role("status")).to_contain_text("It will be saved when it appears")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    page.evaluate("window.again()")
    menu = open_menu(page.locator(".side"))
    saved(page, menu, re.compile("^Save 32 lanes.* as .svg"))
    assert files == ["warps.svg"]


@pytest.mark.parametrize(
    "cannot",
    [
        "HTMLCanvasElement.prototype.toBlob = function (told) { told(null); }",
        """Object.defineProperty(HTMLImageElement.prototype, "src", {
          set() { queueMicrotask(() => this.dispatchEvent(new Event("error"))); },
        })""",
    ],
    ids=["no file", "no drawing"],
)
def test_a_picture_that_the_browser_cannot_save_is_told(page: Page, cannot: str) -> None:
    details(page, "Warps")
    expect(page.locator(".warps svg")).to_be_visible()
    menu = open_menu(page.locator(".side"))
    page.evaluate(f"() => {{ {cannot} }}")
    menu.get_by_role("button", name=re.compile("^Save 32 lanes.* as .png")).click()
    expect(menu.get_by_role("status")).to_have_text(
        "This browser cannot save this picture as .png. Save it as .svg."
    )


def test_a_link_has_a_title_and_notes_until_its_text_changes(page: Page, browser: Browser) -> None:
    expect(pane(page)).to_contain_text("-- fused")
    page.get_by_role("button", name="Share", exact=True).click()
    first = page.get_by_label("Link", exact=True).input_value()
    assert violations(page) == []
    page.get_by_label("Title").fill("Why <it> fuses")
    page.get_by_label("Notes").fill("Look at `map`.\n\nThen on.")
    page.get_by_role("button", name="Make a link with these").click()
    field = page.get_by_label("Link", exact=True)
    expect(field).not_to_have_value(first)
    link = field.input_value()
    page.goto(link)
    story = page.locator(".story")
    expect(story).to_contain_text("Why <it> fuses")
    expect(story.locator("code")).to_have_text("map")
    expect(story.locator("p")).to_have_count(3)
    write(page, "entry main = 6\n")
    expect(pane(page)).to_contain_text("entry main = 6 -- fused")
    expect(story).to_be_hidden()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(link)
    expect(plain.get_by_role("heading", level=1)).to_have_text("Why <it> fuses")
    context.close()
