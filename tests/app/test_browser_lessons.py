"""Lessons in a browser, with the compiler: predict, reveal, edit; and without JavaScript."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from app.lesson_files import load
from app.paths import LESSONS
from tests.app.browsing import (
    MARKS,
    PATIENCE,
    THEMES,
    pane,
    source,
    text,
    theme,
    violations,
    visiting,
    write,
)

pytestmark = MARKS
COURSE = load(LESSONS)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with visiting(browser) as opened:
        yield opened


def predict(page: Page, number: str) -> None:
    page.get_by_role("radio", name=number, exact=True).check()
    page.get_by_role("button", name="Reveal").click()


def test_a_lesson_leads_the_eye_asks_and_tells(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/coalescing")
    lesson = page.get_by_role("region", name="Lesson")
    expect(lesson.get_by_role("heading")).to_have_text("Coalescing")
    assert "xs[::8]" in text(page)
    expect(pane(page).get_by_role("combobox").first).to_have_value("cuda")
    expect(page.get_by_role("tab", name="Warps")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".warps summary strong").first).to_have_text(
        "32 lanes fetch 32 sectors, 12 % used; 4 would do"
    )
    expect(lesson.get_by_role("button", name="Reveal")).to_be_disabled()
    assert "{=" not in lesson.inner_text()
    assert seen(page) == ["", "", ""]
    predict(page, "8")
    expect(lesson.locator(".lesson-verdict")).to_contain_text("32, not 8.")
    stage, details, chips = seen(page)
    assert "main" in stage
    assert "32 sectors" in details
    assert "lines" in chips
    page.reload()
    expect(lesson.locator(".lesson-verdict")).to_contain_text("32, not 8.")
    lesson.get_by_role("button", name="Ask me again").click()
    predict(page, "32")
    expect(lesson.locator(".lesson-verdict")).to_contain_text("32, as you said.")
    lesson.get_by_role("link", name="Next").click()
    expect(lesson.get_by_role("heading")).to_have_text("In-place updates")
    page.go_back()
    expect(lesson.get_by_role("heading")).to_have_text("Coalescing")


SEEN = """() => [".stage-pane .pane-body", ".panel > .scroll", ".chip-note"].map((place) => {
  const found = [];
  for (const part of document.querySelectorAll(place)) {
    const words = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    for (let node; (node = words.nextNode()); ) {
      const isSeen = node.parentElement.checkVisibility({ visibilityProperty: true });
      if (isSeen) found.push(node.data);
    }
  }
  return found.join(" ").trim();
})"""


def seen(page: Page) -> list[str]:
    """What is seen of stages, of details and of what chips tell."""
    found: list[str] = page.evaluate(SEEN)
    return found


def test_what_decides_is_covered_until_the_answer_in_all_lessons(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/fusion")
    expect(page.locator(".status")).to_contain_text("compiled in")
    page.get_by_role("button", name="Edit").click()
    asking = [one for one in COURSE if not one.file.is_puzzle]
    assert len(asking) >= 12
    for lesson in asking:
        page.get_by_label("The lesson's file").fill(lesson.text)
        expect(page.locator(".lesson h2")).to_have_text(lesson.file.title)
        expect(page.locator(".lesson-told")).to_contain_text("the compiler says")
        assert seen(page) == ["", "", ""], lesson.name
    titles = page.locator(".chip").evaluate_all("all => all.map((one) => one.title).join()")
    assert "Changes" not in titles
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Show me").click()
    page.wait_for_function(f"() => ({SEEN})().slice(0, 2).every(Boolean)")
    expect(page.get_by_role("button", name="Reveal")).to_be_disabled()  # still to be answered


def test_a_puzzle_keeps_its_sizes_and_an_old_score_is_marked(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/interleave")
    size = page.locator("#panel-warps").get_by_label("n", exact=True)
    expect(size).to_have_value("64")
    assert all(seen(page))  # nothing is asked
    page.get_by_role("button", name="Score").click()
    outcome = page.locator(".lesson-score")
    expect(outcome).to_contain_text("the goal is 30")
    assert "`" not in outcome.inner_text()
    stale = page.locator(".lesson-stale")
    expect(stale).to_be_hidden()
    write(page, "entry main [n] (xs: [n]i32): []i32 = tabulate (2 * n) (\\i -> xs[i / 2])\n")
    expect(stale).to_be_visible()
    expect(page.locator(".status")).to_contain_text("compiled in")
    expect(page.locator("#panel-warps .outdated")).to_have_count(0)
    expect(size).to_have_value("64")
    page.get_by_role("button", name="Score").click()
    expect(outcome).to_contain_text("The results differ.")
    expect(stale).to_be_hidden()
    assert "`" not in outcome.inner_text()


def test_what_a_student_tries_stays_in_the_lesson(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    expect(page.locator(".status")).to_contain_text("compiled")
    write(page, "entry mine (x: i64) = x + 41\n")
    expect(page.locator(".status")).to_contain_text("compiled")
    page.wait_for_function("() => (localStorage['stridescope.work'] ?? '').includes('mine')")
    page.goto(f"{address}/lessons/fusion")
    expect(page.locator(".lesson h2")).to_have_text("Fusion")
    write(page, "entry tried (x: i64) = x + 42\n")
    page.wait_for_function(
        "() => (localStorage['stridescope.lesson.fusion.work'] ?? '').includes('tried')"
    )
    assert page.url.endswith("/lessons/fusion")
    page.goto(f"{address}/")
    expect(source(page)).to_contain_text("mine")
    page.goto(f"{address}/lessons/fusion")
    expect(source(page)).to_contain_text("tried")
    page.get_by_role("button", name="Start again").click()
    expect(source(page)).to_contain_text("squares")


def test_a_teacher_edits_a_lesson_and_loses_nothing(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/fusion")
    page.get_by_role("button", name="Edit").click()
    field = page.get_by_role("textbox", name="The lesson's file")
    expect(page.locator(".lesson-told")).to_contain_text("the compiler says 0")
    file = field.input_value()
    assert field.evaluate("field => [field.scrollTop, field.selectionStart]") == [0, 0]
    edited = file.replace("title: Fusion", "title: My own").replace("in reduce (+)", "in scan (+)")
    field.fill(edited.replace("[n]i32): i32", "[n]i32): [n]i32"))
    expect(page.locator(".lesson h2")).to_have_text("My own")
    expect(page.locator(".lesson-told")).to_contain_text(
        "The answer is given as 0; the compiler says 4000."
    )
    expect(pane(page)).to_contain_text("scan")
    field.fill(field.input_value().replace("stage: fused", "stage: fusd"))
    expect(page.locator(".lesson-told")).to_contain_text("There is no stage")
    own = page.get_by_text("This is your own text instead of the lesson.")
    page.reload()
    expect(page.locator(".lesson")).to_contain_text("There is no stage")
    expect(own).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    assert "My own" in field.input_value()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    assert waiting.value.suggested_filename == "fusion.md"
    assert waiting.value.path().read_text("utf-8") == field.input_value()
    mine = field.input_value()
    page.get_by_role("button", name="As it was", exact=True).click()
    expect(page.locator(".lesson h2")).to_have_text("Fusion")
    assert field.input_value() == file
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".lesson-told")).to_contain_text("There is no stage")
    assert field.input_value() == mine
    page.get_by_role("button", name="As it was", exact=True).click()
    expect(page.locator(".lesson h2")).to_have_text("Fusion")
    expect(own).to_be_hidden()
    # A file from elsewhere says that it is not the lesson, and can be taken back. It selects
    # nothing, and leads to its stage and its tab.
    mended = re.sub(r"(?m)^(select|tab):.*\n", "", file.replace("title: Fusion", "title: My own"))
    mended = mended.replace("stage: fused", "stage: simplified\ntab: remarks")
    written = {"name": "mine.md", "mimeType": "text/markdown", "buffer": mended.encode()}
    page.get_by_label("Open a lesson's file").set_input_files([written])
    expect(page.locator(".lesson h2")).to_have_text("My own")
    expect(own).to_be_visible()
    expect(pane(page).get_by_role("combobox").first).to_have_value("simplified")
    expect(page.get_by_role("tab", name="Remarks")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Show the lesson as it was").click()
    expect(page.locator(".lesson h2")).to_have_text("Fusion")
    expect(own).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="Edit").click()
    assert field.input_value() == file


def test_axe_finds_nothing_in_a_lesson(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/fusion")
    expect(page.locator(".status")).to_contain_text("compiled")
    predict(page, "4,000")
    page.get_by_role("button", name="Edit").click()
    assert violations(page, THEMES) == []
    page.goto(f"{address}/lessons/")
    assert violations(page) == []


def test_a_phone_shows_all_of_a_lesson(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/lessons/proofs")
    expect(page.locator(".status")).to_contain_text("compiled")
    # It begins with its title, though what it is about lies below the screen.
    expect(page.locator(".attempt")).to_have_count(2)
    expect(page.locator(".lesson h2")).to_be_in_viewport(ratio=1)
    predict(page, "0")
    expect(page.locator(".lesson-verdict")).to_be_visible()
    page.get_by_role("button", name="Ask me again").scroll_into_view_if_needed()
    expect(page.locator(".lesson").get_by_role("link", name="Next")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_drawn_has_the_sizes_of_the_lesson(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/short_circuiting")
    expect(page.locator(".lanes-view")).to_contain_text("5 blocks, at most 16.0 kB at once")
    predict(page, "4,000")
    expect(page.locator(".lesson-outcome")).to_contain_text("now there are 8,000 in 1. Both maps")
    expect(page.get_by_role("button", name="Ask me again")).to_be_in_viewport()
    expect(page.locator(".lesson").get_by_role("link", name="Next")).to_be_in_viewport(ratio=1)
    page.get_by_label("Size n").fill("10")
    expect(page.locator(".lanes-view")).to_contain_text("5 blocks, at most 160 B at once")


def test_a_puzzle_is_scored_by_the_compiler(page: Page, address: str) -> None:
    page.goto(f"{address}/lessons/count_only")
    expect(page.locator(".status")).to_contain_text("compiled")
    score = page.get_by_role("button", name="Score")
    verdict = page.locator(".lesson-verdict")
    score.click()
    expect(verdict).to_contain_text("8,000: the goal is 0.")
    write(page, "entry main (xs: []i32): i64 = 3\n")
    score.click()
    expect(verdict).to_contain_text("The results differ.")
    expect(page.locator(".lesson").get_by_text("Your best: 8,000.")).to_be_visible()
    write(page, "entry main (xs: []i32): i64 = true\n")
    score.click()
    expect(page.locator(".lesson-outcome")).to_contain_text("i64")
    file = next(one.file for one in COURSE if one.name == "count_only")
    write(page, file.solution)
    score.click()
    expect(verdict).to_contain_text("0: par.")
    page.locator(".lesson").get_by_text("Hint 1").click()
    expect(page.locator(".lesson").get_by_text("Who looks at them?")).to_be_visible()
    assert violations(page) == []
    page.reload()
    expect(page.locator(".lesson").get_by_text("Your best: 0.")).to_be_visible()
    expect(source(page)).to_contain_text("i64.sum")


def test_without_javascript_all_is_there_and_the_answer_is_folded(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(f"{address}/lessons/")
    for one in COURSE:
        expect(opened.get_by_role("link", name=one.file.title, exact=True)).to_be_visible()
    opened.goto(f"{address}/lessons/coalescing")
    expect(opened.get_by_role("heading", name="Coalescing")).to_be_visible()
    expect(opened.get_by_role("region", name="CUDA")).to_contain_text("__global__")
    answer = opened.get_by_text("says the compiler")
    expect(answer).to_be_hidden()
    opened.get_by_text("Reveal").click()
    expect(answer).to_contain_text("32, says the compiler")
    opened.get_by_role("link", name="Next").click()
    expect(opened.get_by_role("heading", name="In-place updates")).to_be_visible()
    opened.goto(f"{address}/lessons/one_pass")
    expect(opened.get_by_text("par is 2")).to_be_visible()
    solution = opened.get_by_text("i32.i64 n * most - i32.sum xs")
    expect(solution).to_be_hidden()
    opened.get_by_text("A solution").click()
    expect(solution).to_be_visible()
    context.close()


def test_what_a_lesson_speaks_of_is_there_without_javascript(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    manifest = opened.request.get(f"{address}/api/manifest").json()["stages"]
    titles = {one["id"]: one["title"] for one in manifest}
    for one in COURSE:
        opened.goto(f"{address}/lessons/{one.name}")
        named = [title for title in titles.values() if f"*{title}*" in one.file.text]
        for title in {titles.get(one.file.stage), *named} - {None}:
            assert opened.get_by_role("region", name=title, exact=True).count() == 1, one.name
        if one.file.tab:
            folded = opened.locator("details", has_text=f"pane {one.file.tab.capitalize()} shows")
            folded.first.locator("> summary").click()
            expect(folded.first.locator("table, svg, .tree li, .remarks li").first).to_be_visible()
    opened.goto(f"{address}/lessons/tuning")
    opened.locator("summary", has_text="Versions").click()
    leaves = opened.locator(".tree strong").all_text_contents()
    assert leaves == [f"V{number}" for number in range(1, len(leaves) + 1)]
    assert len(leaves) >= 3
    expect(opened.locator(".tree")).to_contain_text("n ≥ suff_outer_0 (32)")
    context.close()


HEIGHTS = """() => ['.rail .chip', '.source .cm-line:last-child', '.pane svg text'].map(
  one => document.querySelector(one).getBoundingClientRect().height)"""
"""Of a line of source it is the last: a long line takes two where its pane is narrow."""


def test_the_lecture_theme_scales_text_and_drawings_alike(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{address}/lessons/index_functions")
    page.get_by_role("button", name="Show me").click()
    expect(page.get_by_text("the cell of each element")).to_be_visible()
    size = page.get_by_role("slider", name="Size of text and drawings")
    expect(size).to_be_hidden()
    theme(page, "lecture")
    page.locator(".top summary", has_text="View").click()
    size.fill("16")
    small = page.evaluate(HEIGHTS)
    size.fill("28")
    large = page.evaluate(HEIGHTS)
    assert [big / one for one, big in zip(small, large, strict=True)] == pytest.approx(
        [28 / 16] * 3, rel=0.05
    )
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("button", name="Show me").click()
    expect(page.get_by_text("the cell of each element")).to_be_attached()
    expect(page.locator("[aria-label='Size of text and drawings']")).to_have_value("28")
    assert page.evaluate(HEIGHTS) == pytest.approx(large, rel=0.05)
    # What is pointed at is what is meant, however large it is.
    page.locator(".kinds [data-kind=Stages]").click()
    shown = page.locator('.stage-pane[data-shows="funmem"]')
    shown.locator(".cm-line", has_text="rearrange").click()
    expect(page.locator(".source .lit-place").first).to_have_text("transpose xss")
    page.set_viewport_size({"width": 1366, "height": 768})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    assert page.evaluate("document.documentElement.scrollHeight") <= 768
