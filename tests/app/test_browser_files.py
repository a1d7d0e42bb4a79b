"""A program of several files in the page, with the compiler behind it."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import (
    MARKS,
    THEMES,
    compiled,
    details,
    pane,
    source,
    text,
    violations,
    working,
    write,
)

pytestmark = MARKS

MAIN = 'import "lib/sums"\n\nentry main (xs: []f32) : f32 = total (map (* 2) xs)\n'
SUMS = 'import "base"\n\ndef total [n] (ys: [n]f32) : f32 =\n  reduce (+) 0 (map more ys)\n'
BASE = "def more (y: f32) : f32 = y + 1\n"
PROGRAM = {"main.fut": MAIN, "lib/sums.fut": SUMS, "lib/base.fut": BASE}
SAVED = {"source": MAIN, "main": "main.fut", "files": {"lib/sums.fut": SUMS, "lib/base.fut": BASE}}


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A first visit. What the browser complains of fails the test."""
    with working(browser, address) as opened:
        yield opened


def shown(page: Page, name: str) -> str:
    """The text of a file."""
    tab(page, name).click()
    opened(page, name)
    return text(page)


def tabs(page: Page) -> Locator:
    return page.get_by_role("tablist", name="Files").get_by_role("tab")


def tab(page: Page, name: str) -> Locator:
    return page.locator(f"[data-file={json.dumps(name, ensure_ascii=False)}]")


def names(page: Page) -> list[str]:
    return [str(one.get_attribute("data-file")) for one in tabs(page).all()]


def opened(page: Page, name: str) -> None:
    expect(tab(page, name)).to_have_attribute("aria-selected", "true")


DROP = """async ([files, place]) => {
  const transfer = new DataTransfer();
  for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
  const element = document.querySelector(place);
  for (const type of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
    if (element.dispatchEvent(event) && type !== "dragenter") throw new Error("it would be opened");
  }
}"""


def drop(page: Page, files: dict[str, bytes | str], place: str = ".source .cm-content") -> None:
    as_bytes = {k: v.encode() if isinstance(v, str) else v for k, v in files.items()}
    page.evaluate(DROP, [[[name, list(data)] for name, data in as_bytes.items()], place])


def zipped(files: dict[str, bytes | str], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return found.getvalue()


def load(page: Page, files: dict[str, bytes | str] | None = None) -> None:
    """Drop a program on the example: it takes its place."""
    drop(page, {"program.zip": zipped(files or dict(PROGRAM))})
    expect(tabs(page)).to_have_count(len(files or PROGRAM))
    compiled(page)


OVER = """() => [...document.querySelectorAll(".source .cm-content, .cm-line")].flatMap((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  const [from, to] = [left + 3, Math.min(right, innerWidth) - 3];
  return [[from, top + 3], [to, top + 3], [from, bottom - 3], [to, bottom - 3]]
    .map(([x, y]) => document.elementFromPoint(x, y))
    .filter((found) => !found.closest(".cm-editor")).map((found) => found.className);
})"""
"""What lies over the corners of the source's text and lines."""


def test_nothing_lies_over_the_text_and_a_row_above_it_has_all_that_is_done_with_it(
    page: Page,
) -> None:
    row = page.locator(".files")
    expect(row.locator(".file-name")).to_have_text("main.fut")
    for name in ("New", "Format", "Outline"):
        expect(row.get_by_role("button", name=name, exact=True)).to_be_visible()
    expect(row.locator("summary")).to_have_text("Files")
    assert page.evaluate(OVER) == []
    write(page, "entry main (xs: []i64) =   map (* 2) xs -- " + "x" * 300)
    row.get_by_role("button", name="Format", exact=True).click()
    expect(page.locator(".source .cm-line").first).to_contain_text("= map (* 2) xs --")
    assert page.evaluate(OVER) == []


def test_a_new_program_is_one_click_away_and_the_one_before_is_kept(page: Page) -> None:
    write(page, "entry main = 5i64 -- mine\n")
    compiled(page)
    page.locator(".files").get_by_role("button", name="New", exact=True).click()
    assert text(page) == "entry main (x: i64) = x + 1\n"
    page.keyboard.insert_text("entry main = 6i64\n")  # it is selected
    assert text(page) == "entry main = 6i64\n"
    compiled(page)
    examples = page.get_by_label("Example")
    examples.select_option("dot_product")
    compiled(page)
    examples.select_option(label="Your program")
    assert text(page) == "entry main = 6i64\n"
    earlier = examples.locator("option", has_text="entry main = 5i64")
    examples.select_option(earlier.first.get_attribute("value"))
    assert text(page) == "entry main = 5i64 -- mine\n"


def test_one_file_has_no_strip_and_the_first_other_one_brings_it(page: Page) -> None:
    expect(tabs(page)).to_have_count(0)
    expect(page.get_by_role("tablist", name="Files")).to_be_hidden()
    before = text(page)
    page.locator(".file-menu summary").click()
    field = page.get_by_label("New file")
    for wrong, why in {
        "": "A file needs a name.",
        "main": "There is a file",
        "MAIN.fut": "differ in case only",
        "../up": "needs a name",
        "a//b": "needs a name",
        'a"b': "cannot name a file",
        "a\u202eb": "invisible characters",
        "x" * 300: "at most 200 characters",
    }.items():
        field.fill(wrong)
        page.keyboard.press("Enter")
        expect(page.locator(".refusal").first).to_contain_text(why)
    field.fill("lib/sums")
    page.keyboard.press("Enter")
    assert names(page) == ["main.fut", "lib/sums.fut"]
    opened(page, "lib/sums.fut")
    expect(source(page)).to_be_focused()
    page.keyboard.insert_text("def twice (x: i64) = x * 2\n")
    tab(page, "main.fut").click()
    assert text(page) == before
    write(page, 'import "lib/sums"\nentry main (x: i64) = twice x\n')
    compiled(page)
    expect(pane(page)).to_contain_text("x_")


def test_each_file_has_its_own_undo_and_its_own_place(page: Page) -> None:
    long = BASE + "".join(f"def f{k} = {k}i32\n" for k in range(200))
    load(page, {**PROGRAM, "lib/base.fut": long})
    tab(page, "lib/base.fut").click()
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("-- at the end")
    scroller = page.locator(".source .cm-scroller")
    page.wait_for_function("() => document.querySelector('.source .cm-scroller').scrollTop > 500")
    top = scroller.evaluate("scroller => scroller.scrollTop")
    tab(page, "main.fut").click()
    write(page, MAIN + "-- main\n")
    page.keyboard.press("Control+z")
    assert text(page) == MAIN
    tab(page, "lib/base.fut").click()
    page.wait_for_function(
        f"() => Math.abs(document.querySelector('.source .cm-scroller').scrollTop - {top}) < 5"
    )
    source(page).focus()
    assert text(page).endswith("-- at the end")
    page.keyboard.press("Control+z")
    assert text(page) == long
    page.keyboard.press("Control+z")
    assert text(page) == long


def test_a_zip_takes_the_place_of_an_example_and_goes_back(page: Page) -> None:
    before = text(page)
    files: dict[str, bytes | str] = {
        "prog/a/entries.fut": 'import "../lib/x"\nentry go = x\n',
        "./prog/lib/x.fut": "def x = 3i32\n",
        "prog/README.md": "read",
        "prog/.git/y.fut": "def y = 1",
        "__MACOSX/z.fut": "\0",
        "./prog/lib/../w.fut": "def w = 1",
    }
    for how in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        drop(page, {"p.zip": zipped(files, how)})
        expect(tabs(page)).to_have_count(2)
        assert names(page) == ["a/entries.fut", "lib/x.fut"]
        compiled(page)
        note = page.locator(".file-note")
        expect(note).to_contain_text("Added 2 files. 1 that is no program")
        expect(note).to_contain_text("prog/lib/../w.fut is left out. A folder between")
        expect(pane(page)).to_contain_text("entry go")
        page.go_back()
        expect(tabs(page)).to_have_count(0)
        assert text(page) == before
    page.go_forward()
    expect(tabs(page)).to_have_count(2)


def test_a_folder_is_taken_with_the_paths_of_its_files(page: Page, tmp_path: Path) -> None:
    top = tmp_path / "project"
    for name, content in {**PROGRAM, "notes.txt": "read"}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(content)
    page.locator(".file-menu summary").click()
    page.get_by_label("A folder…").set_input_files(top)
    expect(tabs(page)).to_have_count(3)
    assert names(page) == ["main.fut", "lib/base.fut", "lib/sums.fut"]
    expect(page.locator(".file-note")).to_contain_text("Added 3 files. 1 that is no program")
    compiled(page)


def test_of_several_programs_in_a_folder_one_with_an_entry_point_is_main_and_others_are_offered(
    page: Page,
) -> None:
    """Not the library that nobody imports; a test that imports the program is another program."""
    files: dict[str, bytes | str] = {
        "a_library.fut": "def unused (x: i32) = x\n",
        "sums.fut": "entry main (x: i32) = x + 1\n",
        "sums_test.fut": 'import "sums"\nentry test (x: i32) = x + 2\n',
    }
    load(page, files)
    note = page.locator(".file-note")
    choice = note.get_by_label("Main program")
    expect(note).to_contain_text("The main program, of 2 with an entry point: ")
    expect(choice.locator("option")).to_have_text(["sums_test.fut", "sums.fut"])
    opened(page, "sums_test.fut")
    choice.select_option("sums.fut")
    opened(page, "sums.fut")
    expect(tab(page, "sums.fut")).to_contain_text("the main program")
    compiled(page)
    page.locator(".file-menu summary").click()
    inside = page.locator(".file-menu").get_by_label("Main program")
    expect(inside).to_have_value("sums.fut")


def test_a_program_has_so_many_files(page: Page) -> None:
    files: dict[str, bytes | str] = {f"f{k:03}.fut": f"def a{k} = {k}i32\n" for k in range(502)}
    drop(page, {"many.zip": zipped({"main.fut": "entry main = 1i32\n", **files})})
    expect(page.locator(".file-note")).to_contain_text("Added 500 files.")
    expect(page.locator(".file-note li")).to_have_count(3)
    expect(page.locator(".file-note")).to_contain_text("at most 500 files")
    expect(tabs(page)).to_have_count(500)
    compiled(page)
    drop(page, {"more.fut": "def b = 1i32\n"})
    expect(page.locator(".file-note")).to_contain_text("No file was added.")
    expect(tabs(page)).to_have_count(500)


def drag(page: Page, path: Path) -> None:
    """Drop a file or a folder of the disk on the editor, as from a file manager."""
    devtools = page.context.new_cdp_session(page)
    at = {"x": 250, "y": 300}
    what = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, **at, "data": what})


def test_a_dropped_folder_of_thousands_is_gone_through_by_level(page: Page, tmp_path: Path) -> None:
    for k in range(3000):
        file = tmp_path / "many" / f"d{k % 3}" / f"f{k}.fut"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def a{k} = {k}i32\n")
    (tmp_path / "many" / "main.fut").write_text('import "d0/f0"\nentry main = a0\n')
    drag(page, tmp_path / "many")
    expect(tabs(page)).to_have_count(500)
    assert names(page)[0] == "main.fut"
    compiled(page)


PACKAGES = {
    "main.fut": 'import "lib/github.com/me/sums/sums"\nentry main (x: i64) = x\n',
    "futhark.pkg": "require {\n  github.com/me/sums 1.2.0\n}\n",
}


def test_the_list_of_packages_comes_along_and_errors_name_its_line(page: Page) -> None:
    drop(page, {"p.zip": zipped(dict(PACKAGES))})
    expect(tabs(page)).to_have_count(2)
    assert names(page) == ["main.fut", "futhark.pkg"]
    expect(page.locator(".file-note")).to_have_text(re.compile("^Added 2 files."))
    wrong = page.locator(".source .problem-text")
    expect(wrong).to_contain_text("line 2 of futhark.pkg requires in version 1.2.0")
    page.get_by_role("button", name="Format").wait_for()
    tab(page, "futhark.pkg").click()
    expect(page.get_by_role("button", name="Format")).to_be_hidden()
    write(page, PACKAGES["futhark.pkg"].replace("1.2.0", "1.3.0"))
    tab(page, "main.fut").click()
    expect(wrong).to_contain_text("requires in version 1.3.0")
    tab(page, "futhark.pkg").click()
    page.locator(".file-menu summary").click()
    expect(page.get_by_role("button", name="Make main")).to_be_disabled()
    page.keyboard.press("Escape")
    tab(page, "futhark.pkg").press("Delete")
    expect(tabs(page)).to_have_count(0)
    expect(wrong).not_to_contain_text("requires")
    page.locator(".file-note").get_by_role("button", name="Undo").click()
    assert text(page) == PACKAGES["futhark.pkg"].replace("1.2.0", "1.3.0")


def test_what_is_wrong_with_a_program_as_a_whole_is_not_told_of_a_run(page: Page) -> None:
    write(page, "def helper (x: i64) = x\n")
    wrong = page.locator(".placeless .problem-text")
    expect(wrong).to_contain_text("The program has no entry point.")
    expect(wrong.locator(".problem-kind")).to_have_text("Program")


def test_files_beside_ones_own_program_are_added_and_nothing_is_lost(page: Page) -> None:
    own = "entry main = 5i32 -- mine\n"
    write(page, own)
    compiled(page)
    drop(page, {"other.fut": "def a = 1i32\n"}, "header")
    expect(tabs(page)).to_have_count(2)
    opened(page, "other.fut")
    drop(page, {"main.fut": "entry main = 6i32\n"})
    expect(page.locator(".file-note")).to_contain_text("you can restore")
    opened(page, "main.fut")
    assert text(page) == "entry main = 6i32\n"
    page.locator(".file-menu summary").click()
    page.get_by_role("button", name="Bring back main.fut").click()
    opened(page, "main_2.fut")
    assert text(page) == own


def test_delete_can_be_undone_also_after_a_reload_and_for_the_main_file(page: Page) -> None:
    load(page)
    tab(page, "lib/sums.fut").click()
    tab(page, "lib/sums.fut").press("Delete")
    expect(tabs(page)).to_have_count(2)
    expect(page.locator(".status")).to_contain_text("1 error")
    undo = page.locator(".file-note").get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    opened(page, "lib/sums.fut")
    assert text(page) == SUMS
    compiled(page)
    tab(page, "main.fut").click()
    page.locator(".file-menu summary").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    assert sorted(names(page)) == ["lib/base.fut", "lib/sums.fut"]
    undo.click()
    assert names(page)[0] == "main.fut"
    compiled(page)
    tab(page, "lib/base.fut").click()
    tab(page, "lib/base.fut").press("Delete")
    expect(tabs(page)).to_have_count(2)
    page.wait_for_timeout(400)
    page.reload()
    expect(tabs(page)).to_have_count(2)
    page.locator(".file-menu summary").click()
    page.get_by_role("button", name="Bring back lib/base.fut").click()
    assert text(page) == BASE
    compiled(page)


def test_rename_and_make_main(page: Page) -> None:
    load(page)
    tab(page, "lib/base.fut").click()
    tab(page, "lib/base.fut").press("F2")
    field = page.get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    field.fill("lib/sums.fut")
    page.keyboard.press("Enter")
    expect(page.locator(".refusal").nth(1)).to_contain_text("There is a file")
    field.fill("deep/ground")
    page.keyboard.press("Enter")
    assert names(page) == ["main.fut", "deep/ground.fut", "lib/sums.fut"]
    expect(tab(page, "deep/ground.fut")).to_be_focused()
    assert text(page) == BASE
    expect(page.locator(".status")).to_contain_text("1 error")
    expect(page.locator(".source")).to_contain_text("1 import leads nowhere now.")
    page.get_by_role("button", name="Change it").click()
    compiled(page)
    assert shown(page, "lib/sums.fut") == SUMS.replace('"base"', '"../deep/ground"')
    write(page, SUMS.replace('"base"', '"../deep/ground"') + "entry other = total [1, 2]\n")
    page.locator(".file-menu summary").click()
    page.get_by_role("button", name="Make main").click()
    assert names(page)[0] == "lib/sums.fut"
    compiled(page)
    expect(pane(page)).to_contain_text("entry other")
    expect(page.get_by_label("Entry")).to_have_value("other")


def test_imports_of_a_file_that_moves_lead_where_they_led(page: Page) -> None:
    load(page)
    tab(page, "lib/sums.fut").click()
    for to, says, main, own in (
        ("sums", "2 imports lead nowhere now.", '"sums"', '"lib/base"'),
        ("lib/deep/sums", "2 imports lead nowhere now.", '"lib/deep/sums"', '"../base"'),
        ("lib/deep/other", "1 import leads nowhere now.", '"lib/deep/other"', '"../base"'),
    ):
        page.keyboard.press("F2")
        page.get_by_label("Name", exact=True).fill(to)
        page.keyboard.press("Enter")
        expect(page.locator(".source")).to_contain_text(says)
        page.get_by_role("button", name=re.compile("Change")).click()
        expect(tab(page, f"{to}.fut")).to_be_focused()
        compiled(page)
        assert text(page) == SUMS.replace('"base"', own)
        assert shown(page, "main.fut") == MAIN.replace('"lib/sums"', main)
        tab(page, f"{to}.fut").click()
    source(page).click()
    page.keyboard.press("Control+z")
    assert text(page) == SUMS.replace('"base"', '"lib/base"')


def test_errors_and_warnings_stand_in_their_files_and_lead_there(page: Page) -> None:
    load(page)
    tab(page, "lib/base.fut").click()
    write(page, "def more (y: f32) : f32 = y + true\n")
    mark = tab(page, "lib/base.fut").locator(".file-mark.error")
    expect(mark).to_have_text(re.compile("1 error"))
    expect(page.locator(".source .wavy")).to_have_count(1)
    tab(page, "main.fut").click()
    expect(page.locator(".source .wavy")).to_have_count(0)
    message = page.locator(".placeless .problem-text")
    expect(message).to_have_count(1)
    message.get_by_role("button", name="line 1").first.click()
    opened(page, "lib/base.fut")
    expect(source(page)).to_be_focused()
    expect(page.locator(".source .wavy")).to_have_count(1)
    page.go_back()
    opened(page, "main.fut")
    tab(page, "lib/base.fut").click()
    write(page, BASE)
    compiled(page)
    expect(tabs(page).locator(".file-mark")).to_have_count(0)
    tab(page, "main.fut").click()
    write(page, f"{MAIN}def nothing (x: i32) = let unused = x in 1i32\n")
    expect(page.locator(".status")).to_contain_text("warning")
    expect(tab(page, "main.fut").locator(".file-mark.warning")).to_contain_text("warning")
    expect(tabs(page).locator(".file-mark")).to_have_count(1)


def test_what_is_selected_in_any_file_lights_stages_and_the_other_way_round(page: Page) -> None:
    load(page)
    tab(page, "lib/sums.fut").click()
    page.locator(".source .cm-line").get_by_text("reduce").click()
    lit = pane(page).locator(".cm-line.lit, .cm-line.lit-weak")
    expect(lit.filter(has_text="reduce").first).to_be_visible()
    details(page, "Selection")
    expect(page.locator(".subject")).to_have_text("reduce (+) 0 (map more ys)")
    expect(page.locator(".selection")).to_contain_text("line 4 of \u2068lib/sums.fut\u2069")
    for stage in ("Types", "Fused", "Flattened", "IMP"):
        row = page.locator(".fate tr", has=page.get_by_role("button", name=stage, exact=True))
        expect(row.locator(".amount")).to_have_text(re.compile(r"^\d+$"))
    tab(page, "main.fut").click()
    page.locator(".selection").get_by_role("button", name="line 4").first.click()
    opened(page, "lib/sums.fut")
    tab(page, "main.fut").click()
    page.keyboard.press("Escape")
    expect(page.locator(".lit-place")).to_have_count(0)
    pane(page).locator(".cm-line", has_text="reduce").first.click()
    opened(page, "lib/sums.fut")
    expect(page.locator(".source .lit-place").first).to_be_visible()
    assert "reduce" in "".join(page.locator(".source .lit-place").all_text_contents())


def test_a_run_that_fails_in_an_imported_file_leads_there_and_to_the_call(page: Page) -> None:
    at = "def at [n] (ys: [n]f32) (i: i64) : f32 =\n  ys[i]\n"
    load(page, {"main.fut": 'import "at"\nentry main (xs: []f32) : f32 = at xs 7\n', "at.fut": at})
    page.keyboard.press("Control+Enter")
    result = page.locator(".run-result")
    expect(result).to_contain_text("out of bounds")
    expect(tab(page, "at.fut").locator(".file-mark.error")).to_have_text(re.compile("1 error"))
    result.get_by_role("button", name="line 2 of").click()
    opened(page, "at.fut")
    expect(page.locator(".source .wavy")).to_have_text("ys[i]")
    result.locator(".calls").get_by_role("button", name="line 2").click()
    opened(page, "main.fut")
    write(page, 'import "at"\nentry main (xs: []f32) : f32 = at xs 1\n')
    compiled(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .value")).to_have_text("2.0f32")


def test_remarks_proofs_and_bounds_lead_into_the_file_that_they_are_about(page: Page) -> None:
    parts = """def join [n] [m] (xs: [n]f32) (ys: [m]f32) : []f32 =
  map (+ 1) xs ++ map (* 2) ys

def at [n] (xs: [n]f32) (i: i64) : f32 =
  xs[i]
"""
    main = """import "lib/parts"

entry main (xs: []f32) (ys: []f32) (i: i64) : ([]f32, f32) =
  (join xs ys, at xs i)
"""
    load(page, {"main.fut": main, "lib/parts.fut": parts})
    for name, row, line in (
        ("Remarks", ".remark .link", "line 2"),
        ("Proof", ".attempt", "line 2"),
        ("Bounds", ".access .link", "line 5"),
    ):
        tab(page, "main.fut").click()
        page.keyboard.press("Escape")
        expect(page.locator(".lit-place")).to_have_count(0)
        details(page, name)
        page.locator(row, has_text=f"{line} of \u2068lib/parts.fut\u2069").first.click()
        opened(page, "lib/parts.fut")
        expect(page.locator(".source .lit-place").first).to_be_visible()
    assert page.locator(".source .access-mark").count() == 1
    tab(page, "main.fut").click()
    expect(page.locator(".source .access-mark")).to_have_count(0)
    tab(page, "lib/parts.fut").click()
    page.keyboard.press("Escape")
    details(page, "Remarks")
    page.locator(".remark", has_text="called from").get_by_role(
        "button", name="line 4"
    ).first.click()
    opened(page, "main.fut")
    expect(page.locator(".source .lit-place").first).to_contain_text("join xs ys")


def test_an_earlier_program_comes_back_with_its_files(page: Page) -> None:
    load(page)
    examples = page.get_by_label("Example")
    examples.select_option("dot_product")
    expect(tabs(page)).to_have_count(0)
    compiled(page)
    earlier = examples.locator("option", has_text="(3 files)")
    examples.select_option(earlier.get_attribute("value"))
    expect(tabs(page)).to_have_count(3)
    compiled(page)
    assert {name: shown(page, name) for name in PROGRAM} == PROGRAM


def test_a_click_on_the_string_of_an_import_opens_its_file(page: Page) -> None:
    load(page)
    opened(page, "main.fut")
    page.locator(".import-link").click()
    opened(page, "lib/sums.fut")
    page.locator(".import-link").click()
    opened(page, "lib/base.fut")
    page.go_back()
    opened(page, "lib/sums.fut")
    page.go_back()
    opened(page, "main.fut")
    page.locator(".import-link").click(modifiers=["Alt"])
    opened(page, "main.fut")
    page.keyboard.press("Alt+Enter")
    opened(page, "lib/sums.fut")


def test_a_missing_import_offers_to_create_its_file(page: Page) -> None:
    write(page, 'import "lib/new"\nentry main = fresh\n')
    create = page.locator(".source").get_by_role("button", name="Create lib/new.fut")
    create.click()
    opened(page, "lib/new.fut")
    expect(source(page)).to_be_focused()
    page.keyboard.insert_text("def fresh = 7i32\n")
    compiled(page)
    tab(page, "main.fut").click()
    expect(page.locator(".source .problem-text")).to_have_count(0)


def test_files_are_kept_over_a_reload_and_by_links(page: Page, address: str) -> None:
    load(page)
    tab(page, "lib/base.fut").click()
    page.wait_for_timeout(400)
    page.reload()
    compiled(page)
    assert names(page) == ["main.fut", "lib/base.fut", "lib/sums.fut"]
    opened(page, "lib/base.fut")
    assert text(page) == BASE
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link", exact=True).input_value()
    page.goto(link)
    expect(page.locator(".status")).to_contain_text("frozen")
    assert names(page) == ["main.fut", "lib/base.fut", "lib/sums.fut"]
    opened(page, "lib/base.fut")
    assert text(page) == BASE
    tab(page, "lib/sums.fut").click()
    assert text(page) == SUMS
    write(page, SUMS + "-- more\n")
    compiled(page)
    assert page.url == f"{address}/"
    assert {name: shown(page, name) for name in PROGRAM} == {
        **PROGRAM,
        "lib/sums.fut": SUMS + "-- more\n",
    }
    page.go_back()
    expect(page.locator(".status")).to_contain_text("frozen")
    assert shown(page, "lib/sums.fut") == SUMS
    state: dict[str, Any] = page.request.get(f"{link}.json").json()
    assert {state["main"]: state["source"], **state["files"]} == PROGRAM
    without = page.request.get(link).text()
    for name, content in PROGRAM.items():
        assert name in without
        first = next(
            line for line in content.split("\n") if line.startswith("def") or "entry" in line
        )
        assert first.split()[1] in without


def test_hostile_names_are_shown_as_they_are(page: Page) -> None:
    hostile = ["<script>alert(1)<", "\u05d0\u05d1\u05d2", "n" * 120, "it's & more"]
    files: dict[str, bytes | str] = {"main.fut": MAIN, "lib/sums.fut": SUMS, "lib/base.fut": BASE}
    files |= {f"{name}.fut": f"def a = {k}i32\n" for k, name in enumerate(hostile)}
    files |= {"turned\u202e.fut": "def b = 1i32\n"}
    drop(page, {"program.zip": zipped(files)})
    expect(tabs(page)).to_have_count(len(files) - 1)
    expect(page.locator(".file-note")).to_contain_text("invisible characters")
    for name in hostile:
        one = tab(page, f"{name}.fut")
        expect(one.locator(".file-base")).to_have_text(f"{name}.fut")
        assert one.evaluate("tab => tab.offsetWidth") < 300
        one.click()
        opened(page, f"{name}.fut")
    assert page.locator("script", has_text="alert").count() == 0
    width = page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 1366
    first = tab(page, "main.fut")
    first.click()
    write(page, 'import "<script>alert(1)<"\nentry main = a + true\n')
    expect(page.locator(".status")).to_contain_text("1 error")


def test_axe_finds_nothing_beside_files(page: Page) -> None:
    load(page)
    tab(page, "lib/base.fut").click()
    write(page, "def more (y: f32) : f32 = y + true\n")
    expect(tab(page, "lib/base.fut").locator(".file-mark")).to_be_visible()
    tab(page, "lib/sums.fut").click()
    tab(page, "lib/sums.fut").press("Delete")
    expect(page.locator(".file-note")).to_contain_text("Deleted")
    assert violations(page) == []
    page.locator(".file-menu summary").click()
    expect(page.get_by_label("New file")).to_be_visible()
    assert violations(page) == []
    assert violations(page, THEMES, [".pane"]) == []


def test_on_a_phone_a_file_is_marked_and_the_page_stays_where_it_is(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    load(page, {**PROGRAM, **{f"lib/helper_{k}.fut": f"def h{k} = {k}i32\n" for k in range(12)}})
    tab(page, "lib/helper_9.fut").click()
    strip = page.get_by_role("tablist", name="Files")
    assert strip.evaluate("strip => strip.scrollLeft") > 500
    expect(tab(page, "lib/helper_9.fut")).to_be_in_viewport(ratio=1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    tab(page, "lib/base.fut").click()
    write(page, "def more (y: f32) : f32 = y + true\n")
    page.evaluate("scrollTo(0, 700)")
    expect(strip).not_to_be_in_viewport()
    expect(page.locator(".status")).to_contain_text("1 error")
    expect(tab(page, "lib/base.fut").locator(".file-mark")).to_have_count(1)
    page.wait_for_timeout(200)
    expect(strip).not_to_be_in_viewport()


def test_all_by_keyboard(page: Page) -> None:
    load(page)
    tab(page, "main.fut").focus()
    page.keyboard.press("ArrowRight")
    opened(page, "lib/base.fut")
    expect(tab(page, "lib/base.fut")).to_be_focused()
    page.keyboard.press("End")
    opened(page, "lib/sums.fut")
    page.keyboard.press("ArrowRight")
    opened(page, "main.fut")
    page.keyboard.press("ArrowLeft")
    opened(page, "lib/sums.fut")
    page.keyboard.press("Tab")  # to the menu
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("New file")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".file-menu summary")).to_be_focused()
    for name in ("New", "Format", "Outline", "Close this note"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(source(page)).to_be_focused()


def test_many_files_have_a_tree_in_which_one_is_found(page: Page) -> None:
    """From seven files on; it opens one by its folder, or by a part of its path."""
    tree, menu = page.locator(".file-tree"), page.locator(".file-menu > summary")
    menu.click()
    expect(page.get_by_label("New file")).to_be_visible()
    expect(tree).to_have_count(0)
    page.keyboard.press("Escape")
    helpers = {f"lib/deep/helper_{k}.fut": f"def h{k} = {k}i32\n" for k in range(12)}
    load(page, {**PROGRAM, **helpers})
    menu.click()
    expect(page.locator(".file-menu")).to_contain_text(f"{12 + len(PROGRAM)} files")
    found_one = tree.get_by_role("button", name="helper_7.fut")
    expect(found_one).to_be_hidden()
    tree.locator("summary", has_text="deep").click()
    tree.get_by_role("button", name="helper_7.fut").click()
    opened(page, "lib/deep/helper_7.fut")
    expect(tree).to_be_hidden()
    menu.click()
    expect(tree.locator("[aria-current]")).to_have_text("helper_7.fut")
    tree.get_by_label("Find a file").fill("HELPER_1")
    found = ["helper_1.fut", "helper_10.fut", "helper_11.fut"]
    expect(tree.get_by_role("button")).to_have_text(found)
    assert violations(page, places=[".file-tree"]) == []


def test_what_has_no_entry_point_is_not_offered_as_the_main_program(page: Page) -> None:
    load(page, {**PROGRAM, "other.fut": "entry other (x: i64) = x\n"})
    make_main = page.get_by_role("button", name="Make main")
    for name, offered in (("lib/sums.fut", False), ("other.fut", True)):
        tab(page, name).click()
        page.locator(".file-menu > summary").click()
        expect(make_main).to_be_enabled(enabled=offered)
        mains = page.locator(".file-menu").get_by_label("Main program")
        expect(mains.locator("option")).to_have_text(["main.fut", "other.fut"])
        page.keyboard.press("Escape")
