"""The pictures of README and of the walks, made anew by a browser and the real compiler.

    make screenshots                                # all of them
    .venv/bin/python -m docs.screenshots page.png   # those whose names end so

Each picture is one visit: a first look at the page, steps that the text beside the picture tells,
and what has to be seen at the end, without which there is no picture. `docs/walks/README.md` says
which pictures of walks are not made here.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from app import create_app
from app.context import EXTENSION
from testing.chromium import CHROMIUM, FLAGS
from tests.app.browsing import PATIENCE, choose, details, pane, serving, write

HERE = Path(__file__).parent

EXCHANGED = """\
entry read_later [n] [m] (xss: *[n][m]i32): (*[n][m]i32, i32) =
  let old = i32.sum xss[0]
  let row = map (+ 1) xss[1]
  in (xss with [0] = row, old)
"""
TRANSPOSED = "entry main (xss: [][]f32) = transpose xss\n"
SUMS = f"""{TRANSPOSED}
entry rows (xss: [][]f32) = map f32.sum xss

entry columns (xss: [][]f32) = map f32.sum (transpose xss)
"""
LESSON = """\
---
title: Sums of columns
order: 1
stage: cuda
target: cuda
select: map f32.sum (transpose xss)
tab: warps
sizes: n = 64, m = 64
question: The sum of each column takes one pass. How many sectors are read and written?
measure: sectors
choices: 512, 536, 1600, 4096
answer: 536
---
Neighbouring lanes of a warp should find their numbers
beside each other. In a column they lie a row apart.

Look at *Warps*.

```futhark
entry main [n] [m] (xss: [n][m]f32): [m]f32 = map f32.sum (transpose xss)
```

{= sectors} sectors, of which {= sectors of reads}
are read, in {= launches} kernels: neighbouring threads
take neighbouring columns, and each block a range of rows.
The second kernel adds up what the blocks have found.
"""
FRAME = """\
<title>Slides</title>
<h1>An update in place</h1>
<p>The proof is in the frame.</p>
<iframe src="{}" width="1200" height="560"></iframe>
"""


def compiled(page: Page) -> None:
    """Until the page has its program's stages."""
    expect(page.locator(".status")).to_contain_text("compiled in")


def drawn(page: Page) -> None:
    """Until the sets of the pair are on their grid."""
    expect(page.get_by_role("img", name="Cells of the block")).to_be_visible()


def followed(page: Page, step: str) -> None:
    """Click a step of the example's story; the proof that it leads to is there."""
    compiled(page)
    page.locator(".story").get_by_role("button", name=step).click()
    expect(page.locator(".outcome")).to_be_visible()


def written(page: Page, text: str, target: str, entry: str = "main") -> None:
    """A program of one's own for a target, with stages, and `entry` chosen in the run pane."""
    compiled(page)
    page.get_by_label("Target", exact=True).select_option(target)
    write(page, text)
    expect(pane(page)).to_contain_text("xss")  # which the example of the start has not
    page.get_by_label("Entry", exact=True).select_option(entry)
    compiled(page)


def without(page: Page, rule: str) -> None:
    """Switch a pass or a rule off, against the program as it was."""
    details(page, "Compare")
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.get_by_role("button", name="Pin as A").click()
    panel.locator("summary", has_text="Passes and rules").click()
    if "/" in rule:
        rules = panel.locator("details", has=page.locator(f"[data-switch='{rule}']")).last
        rules.locator("summary").click()
    panel.locator(f"[data-switch='{rule}']").click()


def warps(page: Page, first: str) -> None:
    """Open the warps at 64 by 64, at whose top a request of 32 lanes is told in these words."""
    for size in "n", "m":
        page.locator(".answer-sizes").get_by_label(f"Size {size}").fill("64")
    details(page, "Warps")
    seen(page, first)


def seen(page: Page, first: str) -> None:
    """Until the warps are there, the first request in these words."""
    expect(page.locator(".warp-access summary").first).to_contain_text(first)
    expect(page.locator(".warp-access svg .lane").first).to_be_visible()


def shared(page: Page) -> str:
    """The address of a link to what is shown."""
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link", exact=True)
    expect(link).to_have_value(re.compile("/z/"))
    return link.input_value()


def wavefront(page: Page) -> None:
    """README: a program, one of its stages, and the proof that its blocks are built in place."""
    followed(page, "blocks written into the table")
    expect(page.locator(".outcome")).to_contain_text("Built in place")
    expect(page.locator(".pair-verdict")).to_contain_text("never share a cell")
    drawn(page)


def remark(page: Page) -> None:
    """The remarks of the example of the start, the second one's rule among them."""
    compiled(page)
    details(page, "Remarks")
    expect(page.get_by_role("tabpanel", name="Remarks")).to_contain_text("fuse/side-by-side")


def hops(page: Page) -> None:
    """The pair of accesses that was proved apart, beside the index functions of FUNMEM."""
    followed(page, "one block is left")
    page.locator(".rail").get_by_text("FUNMEM").click()
    page.locator(".attempt", has_text="map_16").click()
    expect(page.locator(".pair-verdict")).to_contain_text("never share a cell")
    expect(pane(page)).to_contain_text("concat(")
    drawn(page)


def copied(page: Page) -> None:
    """Why the array of line 22 is copied."""
    followed(page, "five attempts that fail")
    expect(page.locator(".outcome")).to_contain_text("new would overwrite cell 0")
    drawn(page)


def mended(page: Page) -> None:
    """With two lines exchanged the row is built in place."""
    written(page, EXCHANGED, "c", "read_later")
    page.locator(".rail").get_by_text("FUNMEM").click()
    details(page, "Proof")
    expect(page.locator(".outcome")).to_contain_text("Built in place")


def columns(page: Page) -> None:
    """Sums of columns without the pass that turns the matrix."""
    written(page, SUMS, "cuda", "columns")
    without(page, "coalesce")
    warps(page, "32 lanes fetch 32 sectors, 12 % used; 4 would do")


def turned(page: Page) -> None:
    """And with it."""
    written(page, SUMS, "cuda", "columns")
    warps(page, "32 lanes fetch 4 sectors, 100 % used")


def underlined(page: Page) -> None:
    """A transposition without squares: which factor sets the lanes apart."""
    written(page, TRANSPOSED, "c")
    without(page, "kernels/squares")
    warps(page, "32 lanes fetch 32 sectors, 12 % used; 4 would do")
    expect(page.locator(".warp-access .stride-fault").first).to_be_visible()


def lesson(page: Page) -> None:
    """A lesson's file in the page, what it makes of it around it."""
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="The lesson's file").fill(LESSON)
    expect(page.locator(".lesson h2")).to_have_text("Sums of columns")
    expect(page.locator(".lesson-told")).to_contain_text("sectors: the compiler says 536.")
    page.get_by_role("button", name="Show me").click()  # what decides was covered until now
    expect(pane(page)).to_contain_text("__global__")
    seen(page, "32 lanes fetch 4 sectors, 100 % used")


def answered(page: Page) -> None:
    """A wrong answer, and what the compiler counts."""
    lesson(page)
    page.get_by_role("radio", name="512", exact=True).check()
    page.get_by_role("button", name="Reveal").click()
    verdict = page.locator(".lesson-verdict")
    expect(verdict).to_contain_text("536, not 512.")
    verdict.scroll_into_view_if_needed()


def unscripted(page: Page) -> None:
    """The proof of a link, without JavaScript."""
    with apart(page, scripts=True) as visitor:
        visitor.goto(page.url)
        followed(visitor, "they are written to their cells")
        link = shared(visitor)
    page.goto(link)
    page.locator("summary", has_text="Pair 1 of").click()
    page.goto(f"{link}#attempts")
    expect(page.get_by_text("is written, o is used").first).to_be_in_viewport()


def framed(page: Page) -> None:
    """Source, a stage and proofs of a link in a frame of another page."""
    followed(page, "they are written to their cells")
    link = shared(page).replace("/z/", "/embed/")
    text = FRAME.format(f"{link}?stages=source,proofs,funmem&amp;theme=light")
    page.route("**/slides", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{link.partition('/embed/')[0]}/slides")
    for part in ("FUNMEM", "Built in place"):
        expect(page.frame_locator("iframe").get_by_role("heading", name=part).first).to_be_visible()


def told(page: Page) -> None:
    """The page as a stranger finds it: what the program costs, stages that changed something."""
    compiled(page)
    expect(page.locator(".answer")).to_contain_text("built in place: 400 B never copied")
    expect(page.locator("svg.lanes .bar").first).to_be_visible()


def clicked(page: Page) -> None:
    """One click on an expression: it is copied, and why."""
    compiled(page)
    choose(page, "(xss with", "xss")
    expect(page.locator(".answer")).to_contain_text("copied: 400 B")


def slow(page: Page) -> None:
    """A second click, on what the line says, leads to the access that wastes most."""
    written(
        page, "entry main [n] (xss: [n][n]f32): [n]f32 = map (\\i -> xss[i, 0]) (iota n)\n", "c"
    )
    page.locator(".answer").get_by_role("button", name="fetches 32 sectors").click()
    seen(page, "lanes fetch")


def film(page: Page) -> None:
    """All stages that changed something, side by side at the same part of the source."""
    compiled(page)
    page.locator(".top summary", has_text="View").click()
    page.get_by_role("button", name="Filmstrip").click()
    scroller = page.locator(".stage-pane .cm-scroller").nth(1)
    scroller.hover()
    page.mouse.wheel(0, 300)
    expect(page.locator(".stage-pane")).not_to_have_count(1)
    page.wait_for_timeout(500)


def examples(page: Page) -> None:
    """The gallery, until its first pictures are there."""
    page.wait_for_function(
        "() => [...document.images].slice(0, 4).every((one) => one.complete && one.naturalWidth)"
    )


@dataclass(frozen=True)
class Picture:
    """A picture's file below `docs`, how it comes about, and for which screen.

    The mouse rests on the first element that `under` names.
    """

    file: str
    steps: Callable[[Page], None]
    address: str = "/"
    width: int = 1366
    height: int = 768
    theme: str = "light"
    scripts: bool = True
    under: str = ""


PICTURES = (
    Picture("page.png", wavefront, "/examples/blocked_wavefront", width=1600, height=1100),
    Picture("walks/stranger-first.png", told),
    Picture("walks/stranger-copied.png", clicked, "/examples/copies_that_stay"),
    Picture("walks/stranger-slow.png", slow),
    Picture("walks/stranger-film.png", film, "/examples/blocked_wavefront", 1920, 1080),
    Picture("walks/stranger-examples.png", examples, "/examples/"),
    Picture("walks/newcomer-remark.png", remark),
    Picture("walks/newcomer-proof.png", hops),
    Picture("walks/student-copy.png", copied, "/examples/copies_that_stay"),
    Picture("walks/student-mended.png", mended),
    Picture("walks/student-columns.png", columns),
    Picture("walks/student-turned.png", turned),
    Picture("walks/student-underlined.png", underlined, under=".warp-access"),
    Picture("walks/teacher-file.png", lesson, "/lessons/fusion"),
    Picture("walks/teacher-answer.png", answered, "/lessons/fusion"),
    Picture("walks/researcher-proof.png", unscripted, "/examples/anti_diagonal", scripts=False),
    Picture("walks/researcher-frame.png", framed, "/examples/anti_diagonal"),
)


@contextmanager
def apart(page: Page, scripts: bool) -> Iterator[Page]:
    """Another visitor with the same browser."""
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(java_script_enabled=scripts)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def take(browser: Browser, address: str, picture: Picture, folder: Path) -> None:
    """Make one picture in a folder, by a first visit."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.theme == "dark" else "light",
        reduced_motion="reduce",
        java_script_enabled=picture.scripts,
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address + picture.address)
    picture.steps(page)
    if picture.under:
        page.locator(picture.under).first.hover()
    else:
        page.mouse.move(1, picture.height - 1)  # nothing lies there
    page.screenshot(path=folder / picture.file, animations="disabled")
    context.close()


def main(wanted: list[str]) -> int:
    """Make the pictures whose files end in one of these names, or all; 2 if there is none."""
    chosen = [one for one in PICTURES if not wanted or one.file.endswith(tuple(wanted))]
    if not chosen:
        sys.stderr.write(f"There are {', '.join(one.file for one in PICTURES)}.\n")
        return 2
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        app = create_app({"DATA": data, "COMPILE_WORKERS": 1})
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            with serving(app) as address:
                for picture in chosen:
                    take(browser, address, picture, HERE)
                    sys.stdout.write(f"docs/{picture.file}\n")
        finally:
            browser.close()
            app.extensions[EXTENSION].jobs.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
