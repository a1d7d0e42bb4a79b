"""The page over the example programs, with the compiler behind it: one server and one visit."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from app.gallery import Example, load
from app.paths import EXAMPLES
from tests.app.browsing import (
    HOLDING,
    MARKS,
    PATIENCE,
    RELEASE,
    TEXT,
    all_stages,
    compiled,
    details,
    hold,
    is_held,
    pane,
    release,
    source,
    visiting,
    working,
    write,
)

pytestmark = MARKS

ALL = {example.name: example for example in load(EXAMPLES)}
IN_SIGHT = """() => [
  ...document.querySelectorAll(".stage-pane .lit, .stage-pane .lit-weak")
].some(line => {
  const [at, frame] = [line, line.closest('.cm-scroller')].map(e => e.getBoundingClientRect());
  return at.bottom > frame.top && at.top < frame.bottom;
})"""
CUT = """() => [...document.querySelectorAll("svg.lanes text")].filter(one =>
  one.getBoundingClientRect().right > one.closest("svg").getBoundingClientRect().right
).map(one => one.textContent)"""
"""Labels of lanes that do not end in their drawing."""
LIT = """code => [...document.querySelectorAll(".source .lit-place")]
  .map(place => place.textContent).join("").replaceAll(" ", "") === code"""
NAMES = "() => document.querySelector('.stage-pane .cm-content').innerText.match(/n_\\d+/)?.[0]"
SHOWN = {
    "layouts": ".layouts li",
    "selection": ".fate tbody tr",
    "memory": ".lanes-function svg.lanes:visible, .memory svg.cells:visible",
    "proof": ".attempt[aria-pressed='true']",
    "versions": ".tree li",
}
"""What a tab shows of a program."""
TO_END = "scroller => scroller.scrollTop = scroller.scrollHeight"


@pytest.fixture(scope="module")
def visit(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """A page of a server with the compiler behind it, and what the browser complained of."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    compiled(page)
    yield page, complaints
    context.close()


@pytest.fixture
def page(visit: tuple[Page, list[str]]) -> Iterator[Page]:
    page, complaints = visit
    yield page
    if page.evaluate("'held' in window"):
        page.evaluate(RELEASE)  # also where the test failed: the page is everybody's
    assert complaints == []


def choose(page: Page, example: Example) -> None:
    """Open an example, and wait for its stages."""
    page.get_by_label("Example").select_option(example.name)
    expect(page.locator(".story .point")).to_be_visible()
    compiled(page)


def stages(page: Page, example: Example) -> dict[str, Any]:
    """What the API answers about it."""
    data = {"source": example.source, "main": example.main, "options": {}}
    answer = page.request.post(f"{home(page)}/api/show", data=data)
    found: dict[str, Any] = answer.json()["stages"]
    return found


@pytest.mark.parametrize("name", ["wavefront", "mapscan", "blocked_lu"])
def test_each_pane_shows_the_text_of_the_stage_that_it_names(page: Page, name: str) -> None:
    choose(page, ALL[name])
    all_stages(page)
    texts = {stage: shown["text"] for stage, shown in stages(page, ALL[name]).items()}
    longest = max(texts, key=lambda stage: len(texts[stage]))
    for stage, text in texts.items():
        for opened in (longest, stage):
            page.locator(f"[data-stage='{opened}']").click()
            expect(pane(page).get_by_label("Stage", exact=True)).to_have_value(opened)
            expect(pane(page)).not_to_contain_text("It is being computed.")
        shown = pane(page).evaluate(TEXT)
        assert shown == text.removesuffix("\n"), stage
        visible = pane(page).locator(".cm-line:not(:has(.folded))").all_text_contents()
        assert set(visible) <= set(text.split("\n")), stage
        pane(page).locator(".cm-scroller").evaluate(TO_END)
    page.locator(f"[data-stage='{longest}']").click()


def test_every_link_of_every_story_leads_where_it_says(page: Page) -> None:
    for example in ALL.values():
        choose(page, example)
        links = page.locator(".looks button")
        expect(links).to_have_count(len(example.looks))
        page.mouse.move(5, 5)  # what lies under the pointer is lit
        for number, look in enumerate(example.looks):
            name = f"{example.name}: {look.text}"
            page.keyboard.press("Escape")
            expect(page.locator(".lit, .lit-weak, .lit-place")).to_have_count(0)
            if number:
                page.get_by_role("button", name="Next", exact=True).click()
            else:
                links.nth(number).click()
            expect(links.nth(number)).to_have_attribute("aria-current", "step")
            current = page.locator(".stage-pane")
            expect(current.get_by_label("Stage", exact=True)).to_have_value(look.stage)
            assert page.wait_for_function(IN_SIGHT), name
            assert page.wait_for_function(LIT, arg=squeezed(look.code)), name
            line = page.locator(".source .cm-line", has=page.locator(".lit-place")).first
            expected = next(one for one in example.source.split("\n") if look.code in one)
            expect(line, name).to_have_text(expected)
            tab = page.locator(f"[data-tab='{look.tab or 'selection'}']")
            expect(tab).to_have_attribute("aria-selected", "true")
            expect(page.locator(SHOWN[look.tab or "selection"]).first, name).to_be_visible()
            ring = page.locator(".ring")
            expect(ring).to_have_count(1)
            wanted = f"panel-{look.tab}" if look.tab else None
            assert ring.get_attribute("id") == wanted, name
            assert ring.get_attribute("data-shows") == (None if look.tab else look.stage), name
            # What it is around holds what the step is about.
            lit = ".lit, .lit-weak" if not look.tab else SHOWN[look.tab]
            expect(ring.locator(lit).first, name).to_be_visible()
            if look.object:
                chosen = page.get_by_label("Array", exact=True)
                expect(chosen).to_have_value(re.compile(rf"^{look.object}_\d+$"))
                at = page.get_by_label("Memory stage")
                expect(at).to_have_value(look.stage)


def test_a_step_to_the_proofs_opens_one_with_a_drawing(browser: Browser, address: str) -> None:
    with visiting(browser) as page:
        page.goto(address)
        page.locator(".looks button", has_text="a proof that this is safe").click()
        expect(page.locator(".pair-verdict")).to_contain_text("never share a cell")


def test_steps_go_back_and_forth_and_the_ring_goes_with_another_choice(page: Page) -> None:
    example = ALL["concatenation"]
    choose(page, example)
    links = page.locator(".looks button")
    steps = page.get_by_role("group", name="Steps")
    back, after = (steps.get_by_role("button", name=name) for name in ("Back", "Next"))
    expect(back).to_have_count(0)
    for number in range(len(example.looks)):
        after.focus()
        page.keyboard.press("Enter")
        expect(links.nth(number)).to_have_attribute("aria-current", "step")
        expect(page.locator(".ring")).to_have_count(1)
    expect(after).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Enter")
    expect(links.last).to_have_attribute("aria-current", "step")
    back.click()
    expect(links.nth(len(example.looks) - 2)).to_have_attribute("aria-current", "step")
    page.keyboard.press("Escape")
    expect(page.locator(".ring")).to_have_count(0)
    write(page, example.source.replace("map (+ 1) xs", "map (+ 3) xs"))
    expect(links.nth(1)).to_be_disabled()
    expect(after).to_have_attribute("aria-disabled", "true")
    expect(back).to_have_attribute("aria-disabled", "false")
    compiled(page)


def test_the_map_of_memory_has_all_functions_and_follows_the_entry(page: Page) -> None:
    """Those that have blocks, which are five here, each with its own sizes."""
    choose(page, ALL["copies_that_stay"])
    details(page, "Memory")
    page.get_by_role("button", name="All blocks").click()
    names = page.locator(".lanes-function > h2")
    entries = re.findall(r"^entry (\w+)", ALL["copies_that_stay"].source, re.M)
    expect(names).to_have_text(entries)
    for name in entries:
        part = page.get_by_role("region", name=f"Memory of {name}", exact=True)
        expect(part.locator("svg.lanes").first).to_have_attribute(
            "aria-label", re.compile(f"statements of {name};")
        )
    page.get_by_label("Entry").select_option("threads_meet")
    assert page.evaluate(CUT) == []
    others = [name for name in entries if name != "threads_meet"]
    expect(names).to_have_text(["threads_meet", *others])
    page.get_by_role("button", name="One array").click()
    group = page.get_by_label("Array", exact=True).locator("optgroup:has(option:checked)")
    expect(group).to_have_attribute("label", "threads_meet")
    page.get_by_label("Entry").select_option("does_not_fit")
    expect(group).to_have_attribute("label", "does_not_fit")
    page.get_by_role("button", name="All blocks").click()


def test_large_results_keep_their_shape_and_each_has_its_type(page: Page) -> None:
    choose(page, ALL["matrix_multiplication"])
    page.get_by_label("random").check()
    page.locator(".top").get_by_role("button", name="Run").click()
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("[200][100]f32")
    result.get_by_role("button", name="text").click()
    text = result.locator(".value").inner_text()
    assert len(text) <= 64_000
    assert re.match(r"\[\[[-\d.]+f32, ", text)
    rows = re.findall(r"\[([^\[\]]*), … and (\d+) more\]", text)
    for row, left in rows:
        assert len(row.split(", ")) + int(left) == 100
    end = re.search(r"\], … and (\d+) more\]$", text)
    assert end
    assert len(rows) + int(end[1]) == 200
    page.get_by_label("typed").check()
    choose(page, ALL["strided_update"])
    page.locator(".top").get_by_role("button", name="Run").click()
    expect(result.locator("p > code")).to_have_text(["[20]bool", "i64"])
    expect(result.locator(".value").last).to_have_text("8i64")


def test_a_link_without_javascript_has_the_memory_of_each_function(
    page: Page, browser: Browser
) -> None:
    """Of two functions whose sizes have the same names, each with its own."""
    source = ALL["copies_that_stay"].source
    made = page.request.post(f"{home(page)}/api/share", data={"source": source}).json()
    plain = browser.new_context(java_script_enabled=False)
    reading = plain.new_page()
    reading.goto(made["url"])
    sizes = {
        part.get_attribute("aria-label"): part.locator("p").first.inner_text()
        for part in reading.locator("#memory article").all()
    }
    assert sizes["Memory of threads_meet"] == "In bytes, for n = 100."
    assert len(sizes) == source.count("\nentry ")
    for text in sizes.values():
        names = re.findall(r"(\w+) = ", text)
        assert len(names) == len(set(names)), text
    lines = reading.locator("#source .row .note").all_text_contents()
    assert lines == [str(k + 1) for k in range(len(lines))]
    plain.close()


def home(page: Page) -> str:
    return page.url.split("/examples")[0].rstrip("/")


def test_the_picture_of_threads_has_all_readers_of_a_cell(page: Page) -> None:
    """Of `b`, m by k, cell (l, j) is read by the threads (i, j) for all i, and by no others."""
    choose(page, ALL["matrix_multiplication"])
    page.get_by_role("button", name="is read down its columns").click()
    memory = page.locator(".memory")
    expect(memory.get_by_label("Array", exact=True)).to_have_value(re.compile("^b_"))
    memory.get_by_role("button", name="By thread").click()
    for name, size in {"n": 2, "m": 3, "k": 4}.items():
        field = memory.get_by_label(name, exact=True)
        field.and_(memory.locator("input[type=number]:visible")).fill(str(size))
    chosen = memory.get_by_label("Access")
    reads = chosen.locator("option", has_text=re.compile("segmap .* reads it"))
    chosen.select_option(reads.first.get_attribute("value"))
    memory.get_by_role("button", name="Table").click()
    rows = memory.locator(".cells-table:visible tbody tr")
    expect(rows).to_have_count(12)
    expect(rows.first.locator("td").last).to_have_text("t0 (0, 0), t4 (1, 0)")
    texts = [row.locator("td").all_text_contents() for row in rows.all()]
    readers = {int(text[1]): [int(t) for t in re.findall(r"t(\d+) ", text[2])] for text in texts}
    assert readers == {cell: [cell % 4, 4 + cell % 4] for cell in range(12)}
    memory.get_by_role("button", name="By thread").click()
    block = memory.locator("svg.cells").nth(1)
    expect(block.locator(".cell.shared")).to_have_count(12)
    expect(block.locator(".cell").first).to_contain_text("×2")
    memory.get_by_label("Thread", exact=True).fill("1")
    marked = block.locator(".cell.of-thread")
    expect(marked).to_have_count(3)
    assert [one.get_attribute("data-cell") for one in marked.all()] == ["1", "5", "9"]


def test_threads_that_are_asked_for_while_another_array_comes_are_shown(page: Page) -> None:
    choose(page, ALL["matrix_multiplication"])
    page.get_by_role("button", name="is read down its columns").click()
    memory = page.locator(".memory")
    array = memory.get_by_label("Array", exact=True)
    expect(array).to_have_value(re.compile("^b_"))
    by_thread = memory.get_by_role("button", name="By thread")
    expect(by_thread).to_be_enabled()
    expect(memory.locator(".picture")).to_contain_text("b[i]")
    page.evaluate(HOLDING)
    hold(page, "/api/")
    array.select_option(
        memory.locator("option", has_text=re.compile("^a:")).first.get_attribute("value")
    )
    is_held(page)
    by_thread.click()
    release(page)
    expect(memory.locator(".picture")).to_contain_text("a[i]")
    reads = memory.get_by_label("Access").locator("option", has_text="reads it")
    expect(reads.first).to_be_attached()


def test_the_remarks_say_what_their_rules_do(page: Page) -> None:
    write(page, "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+ 1) xs)\n")
    compiled(page)
    details(page, "Remarks")
    page.get_by_text("What the rules do").click()
    row = page.locator("details tr", has_text="fuse/")
    expect(row).to_have_count(1)
    expect(row.get_by_role("cell").nth(1)).to_have_text("1")
    expect(row.locator("p code").first).to_contain_text("==>")
    write(page, "entry main [n] (xs: [n]i32) = map (+ 1) xs\n")
    compiled(page)
    expect(row).to_have_count(0)


def test_sizes_that_were_chosen_last_through_an_edit(page: Page) -> None:
    """Names of stages have other numbers afterwards; the program's author knows nothing of that."""
    program = "entry two [n] (xs: [n]i64) = scan (+) 0 (rotate 1 (scan (*) 1 (rotate 2 xs)))"

    def put(text: str) -> None:
        source(page).focus()  # a click would choose the array that is made there
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(text)

    put(program)
    expect(pane(page)).to_contain_text(
        "two"
    )  # else the example's array is shown, and stays by name
    details(page, "Memory")
    memory = page.locator(".memory")
    page.get_by_role("button", name="All blocks").click()
    expect(memory.locator(".lanes-function > h2")).to_have_text(["two"])
    chosen = {"One array": "7", "Sharing": "8", "All blocks": "9"}

    array = memory.get_by_label("Array", exact=True)

    def field(view: str) -> Locator:
        memory.get_by_role("button", name=view).click()
        if view == "One array":
            expect(array).to_have_value(re.compile("^scan_"))
        if view == "All blocks":  # it has the field of the whole page
            return page.get_by_label("Size n")
        numbers = memory.locator("input[type=number]:visible")
        return numbers.and_(memory.get_by_label("n", exact=True))

    memory.get_by_role("button", name="One array").click()  # of the one where the caret is
    array.select_option(array.locator("option", has_text="scan").first.get_attribute("value"))
    for view, size in chosen.items():
        field(view).fill(size)
        for other in chosen:
            expect(field(other)).to_have_value(size)  # `n` is one number in the whole page
    details(page, "Warps")
    expect(page.locator("#panel-warps").get_by_label("n", exact=True)).to_have_value("9")
    page.locator("#panel-warps").get_by_label("n", exact=True).fill("12")
    details(page, "Memory")
    for view in chosen:
        expect(field(view)).to_have_value("12")
    names = page.evaluate(NAMES)
    put("entry first (z: i64) (y: i64) = z * y\n" + program)
    page.wait_for_function(f"names => ({NAMES})() !== names", arg=names)
    compiled(page)
    for view in chosen:
        shown = field(view)
        expect(memory.locator(".outdated:visible")).to_have_count(0)
        expect(shown).to_have_value("12")
    page.wait_for_function('() => /"sizes":{"n":12}/.test(localStorage[\'stridescope.work\'])')
    page.reload()
    compiled(page)
    expect(field("All blocks")).to_have_value("12")


def test_an_array_that_was_chosen_is_shown_after_an_edit(page: Page) -> None:
    """Also where names have other numbers then: in the list it was chosen from, and in a link."""
    program = "entry two [n] (xs: [n]i64) = scan (+) 0 (rotate 1 (map (* 2) xs))"
    write(page, program)
    compiled(page)
    details(page, "Memory")
    page.get_by_role("button", name="One array").click()
    array = page.locator(".memory").get_by_label("Array", exact=True)
    expect(array).to_have_value(re.compile("^(map|scan)_"))
    before = array.input_value()
    given = array.locator("option", has_text="xs").first.get_attribute("value")
    array.select_option(given)
    source(page).focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("entry first (z: i64) (y: i64) = z * y\n")
    compiled(page)
    expect(array).not_to_have_value(given or before)
    expect(array).to_have_value(re.compile("^xs_"))


def squeezed(text: str) -> str:
    return text.replace(" ", "")


def test_the_language_of_a_program_is_chosen(page: Page) -> None:
    choose(page, ALL["flatpack_product"])
    files = page.locator("details.file-menu")

    def switch(language: str) -> None:
        files.locator("summary").click()
        files.get_by_label("Language").select_option(label=language)

    switch("Futhark")
    expect(page.locator(".status")).to_contain_text("error")
    switch("FlatPack")
    compiled(page)
    expect(pane(page).locator(".cm-content")).to_contain_text("entry main")


def test_expressions_are_in_the_language_of_the_program(page: Page) -> None:
    choose(page, ALL["flatpack_product"])
    compiled(page)
    page.locator("#run-backend").select_option("ref")
    box = page.get_by_label("Expression", exact=True)
    expect(box).to_have_attribute("placeholder", "main (Enumerate 0 (+ 1) 3)")
    box.fill("Twist (SubRange 1 2) (Enumerate 0 (+ 1) 9)")
    box.press("Enter")
    first = page.locator(".evaluated > li").first
    expect(first).to_contain_text("2 Of f64")
    expect(first).to_contain_text("[1.0f64, 2.0f64]")
    box.fill("1 + Slice")
    box.press("Enter")
    expect(first.locator("mark")).to_have_count(1)


def test_the_editor_speaks_the_language_of_the_program(page: Page) -> None:
    choose(page, ALL["flatpack_product"])
    compiled(page)
    source = page.locator(".source .cm-content")
    expect(source.locator(".t-fun", has_text="LetMap").first).to_be_visible()
    files = page.locator("details.file-menu")
    files.locator("summary").click()
    files.get_by_label("Language").select_option(label="Futhark")
    expect(page.locator(".status")).to_contain_text("error")
    expect(source.locator(".t-fun", has_text="LetMap")).to_have_count(0)
    files.locator("summary").click()
    files.get_by_label("Language").select_option(label="FlatPack")
    compiled(page)
    expect(source.locator(".t-fun", has_text="LetMap").first).to_be_visible()
    source.locator(".t-fun", has_text="Twist").hover()
    expect(page.locator(".type-tip")).to_contain_text("Twist how a")


def test_the_drawing_of_a_proof_is_seen_without_scrolling(browser: Browser, address: str) -> None:
    drawn: list[str] = []
    with visiting(browser) as page:
        for name in ALL:
            page.goto(f"{address}/examples/{name}")
            details(page, "Proof")
            expect(page.locator(".outcome, .proof-program .empty").first).to_be_visible()
            if not page.locator(".obligation-why").count():
                continue
            cells = page.locator(".picture svg.sets")
            expect(cells).to_be_visible()
            expect(page.locator(".legend li").first).to_be_visible()  # it comes with the drawing
            end = box(cells)["y"] + box(cells)["height"]
            pane_of_it = box(page.locator(".side"))
            assert end < pane_of_it["y"] + pane_of_it["height"], name
            drawn.append(name)
    assert len(drawn) > 15, drawn


def box(part: Locator) -> FloatRect:
    """Where a part of the page is."""
    found = part.bounding_box()
    assert found is not None
    return found


def test_a_visit_by_keyboard_alone(browser: Browser, address: str) -> None:
    """An example, the steps of its story, a pair of its proof, a run, a link, a comparison."""
    with working(browser, address) as page:
        keys, focused = page.keyboard, page.locator(":focus")

        def reach(name: str) -> None:
            wanted = page.get_by_role("button", name=name, exact=True)
            for _ in range(100):
                if wanted.evaluate_all("all => all.includes(document.activeElement)"):
                    return
                keys.press("Tab")
            raise AssertionError(name)

        while focused.count() == 0 or focused.get_attribute("aria-label") != "Example":
            keys.press("Tab")
        # Each letter opens an example, which takes longer than a word may take to be typed.
        for _ in range(20):
            if focused.input_value() == "anti_diagonal":
                break
            keys.press("a")
        expect(source(page)).to_contain_text("Anti-diagonal")
        compiled(page)
        reach("Next")
        keys.press("Enter")
        expect(page.locator(".story [aria-current]")).to_contain_text("memory of their own")
        keys.press("Enter")
        expect(page.locator(".outcome")).to_contain_text("Built in place")
        reach("Pair 2 of 2, proved")
        keys.press("Enter")
        second = page.get_by_role("button", name="Pair 2 of 2, proved")
        expect(second).to_have_attribute("aria-pressed", "true")
        expect(second).to_be_focused()
        keys.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_have_text(re.compile(r"^\[1i32, 2i32, 4i32"))
        keys.press("Control+k")
        keys.type("share")
        keys.press("Enter")
        expect(page.get_by_label("Link", exact=True)).to_be_focused()
        keys.press("Escape")
        expect(page.get_by_role("button", name="Share")).to_be_focused()
        places = {focused.evaluate("one => one.closest('.pane, .rail, .run')?.className ?? ''")}
        for _ in range(5):
            keys.press("F6")
            places.add(focused.evaluate("one => one.closest('.pane, .rail, .run').className"))
        assert len(places) == 6, places
        keys.press("Control+k")
        keys.type("compare")
        keys.press("Enter")
        reach("Pin as A")
        keys.press("Enter")
        while "Source" not in (focused.get_attribute("aria-label") or ""):
            keys.press("F6")
        keys.press("Control+End")
        keys.type("-- more\nentry other = 1\n")
        keys.press("F7")
        expect(pane(page)).to_contain_text("entry other")
        expect(page.get_by_role("tabpanel", name="Compare")).to_contain_text("other text")
