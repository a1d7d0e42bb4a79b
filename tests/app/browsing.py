"""What all tests in a browser need: a server in a thread, parts of the page."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, expect
from werkzeug.serving import make_server

from app.paths import static_folder
from testing.chromium import FOR_TESTS

PATIENCE = 60_000
"""Milliseconds: longer than anything takes on a loaded machine. Who waits, waits for a state."""
expect.set_options(timeout=PATIENCE)
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
BUILT = static_folder() / "dist" / "main.js"

HOLDING = """() => {
  const fetched = window.fetch;
  window.held = [];
  window.holding = "";
  window.fetch = async (path, options) => {
    const answer = await fetched(path, options);
    if (window.holding && String(path).includes(window.holding)) {
      await new Promise((resume) => window.held.push(resume));
    }
    return answer;
  };
}"""
"""From here on answers of the path `holding` wait in `held`."""
RELEASE = "() => { window.holding = ''; for (const resume of window.held.splice(0)) resume(); }"

COLOURS = ("color-contrast", "link-in-text-block")
"""Axe's rules about colours: they take most of its time, since each element is asked."""
FEWER = """(colours) => {
  for (const rule of axe._audit.rules.filter(({ id }) => colours.includes(id))) {
    const { matches } = rule;
    rule.matches = (node, ...more) =>
      (!window.chosen || window.chosen.has(node)) && matches.call(rule, node, ...more);
  }
}"""
"""From here on the rules about colours ask no elements but those that are `chosen`."""
OF_EACH_COLOUR = """(places) => {
  const kept = new Map([[null, ""]]);
  const behind = (element) => {
    if (!kept.has(element)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      const rest = behind(element.parentElement);
      kept.set(element, own === "rgba(0, 0, 0, 0) none 1" ? rest : `${own}; ${rest}`);
    }
    return kept.get(element);
  };
  const found = new Map();
  const inside = (places.length ? places : ["body"]).map((place) => `${place}, ${place} *`);
  for (const element of document.querySelectorAll(inside.join())) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says && !element.matches("a, input, select, textarea")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight, textShadow, textDecoration } = getComputedStyle(element);
    const around = element.matches("a") ? getComputedStyle(element.parentElement).color : "";
    const own = [color, fontSize, fontWeight, textShadow, textDecoration, around].join();
    const kind = `${own} on ${behind(element)}`;
    found.set(kind, [...(found.get(kind) ?? []), element].slice(-3));
  }
  window.chosen = new Set([...found.values()].flat());
}"""
"""Choose three texts of each colour, size and weight on each of the colours that hold it."""
LOOKING = f"""async ([themes, places, every]) => {{
  const found = [];
  const choice = document.querySelector("select.theme");
  const turn = (theme) => {{
    choice.value = theme;
    choice.dispatchEvent(new Event("change"));
  }};
  const choose = {OF_EACH_COLOUR};
  const before = choice?.value;
  const sizes = new Set();
  for (const theme of themes.length ? themes : [null]) {{
    if (theme !== null) turn(theme);
    const where = places.length ? {{ include: places }} : document;
    // A theme with the sizes of one before differs from it in colours alone.
    const size = getComputedStyle(document.documentElement).getPropertyValue("--size-2");
    const rules = sizes.has(size) ? {{ runOnly: {list(COLOURS)} }} : {{}};
    if (every && !sizes.size) window.chosen = null;
    else choose(places);
    sizes.add(size);
    const {{ violations }} = await axe.run(where, {{ resultTypes: ["violations"], ...rules }});
    for (const {{ id, nodes }} of violations) for (const {{ target, failureSummary }} of nodes) {{
      found.push(`${{theme ? `${{theme}}: ` : ""}}${{id}}: ${{target}}: ${{failureSummary}}`);
    }}
  }}
  if (themes.length) turn(before);
  return found;
}}"""

THEMES = ("light", "dark", "contrast", "projector", "lecture")

MIDDLE = """(line, word) => {
  const nodes = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  for (let node; (node = nodes.nextNode()); ) {
    const at = node.data.indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    const { left, top, width, height } = range.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }
}"""

TEXT = "element => element.querySelector('.cm-content').cmTile.root.view.state.doc.toString()"

MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(FOR_TESTS is None, reason="there is no chromium on this machine"),
    pytest.mark.skipif(not BUILT.exists(), reason="the page is not built: run `make setup`"),
]


@contextmanager
def serving(app: Flask) -> Iterator[str]:
    """Serve an application in a thread; its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join(5)


@contextmanager
def visiting(browser: Browser, known: tuple[str, ...] = ()) -> Iterator[Page]:
    """A first visit, before a page is opened. What the browser complains of fails the test.

    Errors with words of `known` are what a test makes happen.
    """
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and not any(words in message.text for words in known):
            complaints.append(message.text)

    opened.on("console", on_console)
    try:
        yield opened
    except Exception as error:
        if complaints:
            error.add_note(f"The browser complained: {complaints}")
        raise
    finally:
        context.close()
    assert complaints == [], complaints


def compiled(page: Page) -> None:
    """Wait until the program that is shown is compiled."""
    expect(page.locator(".status")).to_contain_text("compiled in")


@contextmanager
def working(browser: Browser, address: str) -> Iterator[Page]:
    """A first visit of a server with the compiler behind it, whose example is compiled."""
    with visiting(browser) as opened:
        opened.goto(address)
        compiled(opened)
        yield opened


def violations(
    page: Page, themes: Sequence[str] = (), places: Sequence[str] = (), every: bool = False
) -> list[str]:
    """What axe finds wrong with the page as it is; skips the test where axe is not installed.

    In each of the themes, where some are given, and in these places alone. Colours are looked at
    in three texts of each kind; with `every`, in the first theme, in all texts: also in those that
    lie on an element that does not hold them.
    """
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run `make setup`")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
        page.evaluate(FEWER, COLOURS)
    found: list[str] = page.evaluate(LOOKING, [list(themes), list(places), every])
    return found


def pane(page: Page, number: int = 0) -> Locator:
    return page.locator(".stage-pane").nth(number)


KINDS = {
    **dict.fromkeys(("Selection", "Proof", "Remarks", "Index functions", "Graph"), "Why"),
    **dict.fromkeys(("Warps", "Bounds", "Versions", "Formulas"), "Cost"),
    **dict.fromkeys(("Tests", "Bench", "Notebook"), "Run"),
}
"""Of panes of the details; others are the only ones of their kind, which has their name."""


def details(page: Page, title: str) -> None:
    """Open a pane of the details: its kind, then its tab, if it has one of its own."""
    tab = page.get_by_role("tab", name=title, exact=True)
    kind = KINDS.get(title, title)
    kinds = page.locator(f".kinds:visible [data-kind='{kind}']")
    expect(kinds.or_(tab).first).to_be_visible()
    if kinds.count():
        kinds.first.click()
    rest = page.locator(".more-tabs:visible", has=page.locator("option", has_text=title))
    if rest.count():
        rest.first.select_option(label=title)
    elif tab.count():
        tab.click()


def all_stages(page: Page) -> None:
    """Show a chip for each stage, not only for those that changed something."""
    button = page.locator(".rail-more")
    if button.get_attribute("aria-expanded") == "false":
        button.click()


def more(place: Page | Locator, choice: str) -> None:
    """Choose something in the menu of a pane."""
    button = place.get_by_role("button", name=choice)
    if not button.count():
        menus = place.locator(".pane-menu:visible", has_text=choice).locator("> summary")
        menus.first.click()
    button.first.click()


def run(page: Page) -> None:
    """Run the program as it is set up."""
    page.locator("header.top").get_by_role("button", name="Run", exact=True).click()


def against(page: Page, stage: str) -> None:
    """Compare the first pane with another stage: its id, `@A`, or nothing."""
    menu = pane(page).locator(".pane-menu").first
    menu.locator("> summary").click()
    pane(page).get_by_label("Compare with").select_option(stage)
    page.keyboard.press("Escape")


def theme(page: Page, name: str) -> None:
    """Choose a theme."""
    field = page.get_by_label("Theme")
    if not field.is_visible():
        page.locator(".top summary", has_text="View").click()
    field.select_option(name)
    page.keyboard.press("Escape")


def source(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source")


def text(page: Page) -> str:
    """What the editor holds."""
    found: str = page.locator(".source").evaluate(TEXT)
    return found


def write(page: Page, text: str) -> None:
    source(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def choose(page: Page, line: str, word: str) -> None:
    """Click a word of a line of the source.

    The mouse comes from below the text: the type of what it was on, or soon would have been, is
    shown above that, perhaps over this line.
    """
    below: list[float] = page.locator(".source .cm-scroller").evaluate(
        "shown => { const box = shown.getBoundingClientRect(); return [box.right, box.bottom]; }"
    )
    page.mouse.move(below[0] - 30, below[1] - 30)
    found = page.locator(".source .cm-line", has_text=line).first
    page.mouse.click(*found.evaluate(MIDDLE, word))


def operations(request: Request) -> list[str]:
    """What a request asks the compiler for; those of a batch one by one."""
    if request.method != "POST" or "/api/" not in request.url:
        return []
    name = request.url.rpartition("/")[2]
    body = json.loads(request.post_data or "{}")
    return [one["op"] for one in body["requests"]] if name == "batch" else [name]


def hold(page: Page, path: str) -> None:
    page.evaluate("path => { window.holding = path; }", path)


def is_held(page: Page) -> None:
    page.wait_for_function("() => window.held.length > 0")


def release(page: Page) -> None:
    page.evaluate(RELEASE)
