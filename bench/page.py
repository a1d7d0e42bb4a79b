"""Measure the latency of the page in chromium, with the real server.

    python -m bench.page [--remark "what the machine did beside this"]

A first visit: what is transferred, and when the first picture stands. After a key: when the error
is below the text, and when the stage that is shown is that of the new text, for a program of 50
lines, for keys one by one and for the last of ten that follow each other. Of a program of 500
lines: the longest task of the page's thread while each pane is opened and its text is edited. A
stage of 5,000 lines, scrolled from end to end. Tasks are those of the browser's own trace; they are
judged by the processor's time, since by the clock they take as long as other programs let them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.classroom import serving
from bench.compile import program_of
from bench.machine import save
from testing.chromium import CHROMIUM, FLAGS

VISITS, KEYS, ROUNDS = 7, 12, 3
SMALL, LARGE, LONG = 50, 500, 5000
GOALS = {"kB": 330.0, "picture": 1000.0, "error": 150.0, "stage": 200.0, "task": 50.0}
CALM = 1500
"""Milliseconds after which a page has done what an action made it do."""
PATIENCE = 120_000
TRACED = ["-*", "disabled-by-default-devtools.timeline"]
SOURCE = ".source .cm-content"

WATCH = """
window.when = (holds, from) => new Promise((done) => {
  const look = () => holds() ? done(performance.now() - from) : requestAnimationFrame(look);
  look();
});
window.picture = window.when(() => document.querySelector("svg.lanes")?.clientWidth, 0);
window.shown = () => document.querySelector(".stage-pane .cm-content").cmTile.root.view.state.doc;
window.afterKey = (holds) => new Promise((done) => addEventListener("keydown", (event) => {
  void window.when(holds, event.timeStamp).then(done);
}, { once: true, capture: true }));
"""
PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  document.querySelector("SOURCE").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}""".replace("SOURCE", SOURCE)
BEGIN = {
    "error": "() => { window.seen = window.afterKey("
    "() => document.querySelector('.source .problem-text')); }",
    "stage": "() => { const before = window.shown();"
    " window.seen = window.afterKey(() => window.shown() !== before); }",
}


@contextmanager
def visit(browser: Browser) -> Iterator[tuple[BrowserContext, Page]]:
    """A first visit: nothing is in the browser's cache."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script(WATCH)
    yield context, page
    context.close()


def first_visit(browser: Browser, port: int) -> dict[str, float]:
    """Measure a first visit: kB transferred, and ms until its picture stands."""
    with visit(browser) as (context, page):
        kinds: dict[str, str] = {}
        transferred = {"files": 0.0, "data": 0.0}
        network = context.new_cdp_session(page)
        network.send("Network.enable")
        network.on(
            "Network.responseReceived",
            lambda e: kinds.update({e["requestId"]: e["response"]["url"]}),
        )

        def count(e: dict[str, Any]) -> None:
            kind = "data" if "/api/" in kinds.get(e["requestId"], "") else "files"
            transferred[kind] += e["encodedDataLength"] / 1000

        network.on("Network.loadingFinished", count)
        page.goto(f"http://127.0.0.1:{port}/")
        picture: float = page.evaluate("window.picture")
        page.wait_for_timeout(CALM)
        return {"picture": picture, **transferred}


def put(page: Page, text: str) -> None:
    """Replace the program, and wait for what is compiled of it."""
    page.focus(SOURCE)
    page.keyboard.press("Control+a")
    page.evaluate(PASTE, text)
    compiled(page)


def compiled(page: Page) -> None:
    """Wait until all is compiled and drawn."""
    page.wait_for_timeout(400)
    page.wait_for_function(
        "() => /^compiled in/.test(document.querySelector('.status').textContent)"
    )
    page.wait_for_timeout(CALM)


def to_number(page: Page) -> None:
    """The cursor behind the number that the second line of each function ends with."""
    page.focus(SOURCE)
    for key in ("Control+Home", "ArrowDown", "End", *("ArrowLeft",) * 4):
        page.keyboard.press(key)


def after_key(page: Page, what: str, keys: str) -> float:
    """Milliseconds from the last of these keys to what is seen of it."""
    for key in keys[:-1]:
        page.keyboard.press(key)
        page.wait_for_timeout(110)
    page.evaluate(BEGIN[what])
    page.keyboard.press(keys[-1])
    found: float = page.evaluate("window.seen")
    return found


def answers(page: Page) -> dict[str, list[float]]:
    """Measure the ms until errors and stages appear after a key."""
    put(page, program_of(SMALL))
    found: dict[str, list[float]] = {"stage": [], "error": [], "error, typing": []}
    for _ in range(KEYS):
        to_number(page)
        found["stage"].append(after_key(page, "stage", "7"))
        compiled(page)
        page.keyboard.press("Backspace")
        compiled(page)
    for kind, keys in (("error", "?"), ("error, typing", "0123456789?")):
        for _ in range(KEYS):
            to_number(page)
            found[kind].append(after_key(page, "error", keys))
            for _ in keys:
                page.keyboard.press("Backspace")
            compiled(page)
    return found


def longest(trace: bytes) -> dict[str, float]:
    """The longest task of the page's thread in a trace: in the processor's ms, and the clock's."""
    found: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
    threads = set()
    for event in json.loads(trace)["traceEvents"]:
        thread = (event["pid"], event["tid"])
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain":
            threads.add(thread)
        if event["name"] == "RunTask" and "tdur" in event:
            found[thread].append({"cpu": event["tdur"] / 1000, "clock": event["dur"] / 1000})
    mine = max((found[thread] for thread in threads), key=len)  # others wait for a next page
    return {by: max(task[by] for task in mine) for by in ("cpu", "clock")}


def tasks(browser: Browser, page: Page) -> dict[str, dict[str, float]]:
    """The longest task of the page's thread at each thing that one does: medians of rounds."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)

    def do(name: str, action: Callable[[], None]) -> None:
        found[name].append(traced(browser, page, action))

    def key() -> None:
        page.keyboard.press("7")
        compiled(page)

    page.click(".rail-more")  # a chip for each stage
    chips = page.eval_on_selector_all(
        ".chip[data-stage]", "(all) => all.map((one) => one.dataset.stage)"
    )
    tabs = page.eval_on_selector_all(
        ".side [role=tab]", "(all) => all.map((one) => [one.id, one.textContent])"
    )
    for _ in range(ROUNDS):
        do("a new text", lambda: put(page, program_of(LARGE)))
        to_number(page)
        do("a key", key)
        for stage in chips:
            do(f"stage {stage}", partial(page.click, f".chip[data-stage={stage}]"))
        for tab, name in tabs:
            do(f"tab {name}", partial(page.dispatch_event, f"#{tab}", "click"))
        page.dispatch_event(f"#{tabs[0][0]}", "click")
        page.click(".chip[data-stage=fused]")
    return {
        name: {by: statistics.median(one[by] for one in all) for by in ("cpu", "clock")}
        for name, all in found.items()
    }


def traced(browser: Browser, page: Page, action: Callable[[], None]) -> dict[str, float]:
    """The longest task while something is done."""
    browser.start_tracing(page=page, categories=TRACED)
    action()
    page.wait_for_timeout(CALM)
    return longest(browser.stop_tracing())


def scrolled(browser: Browser, page: Page) -> dict[str, float]:
    """A long stage from its top to its end: its lines, and the longest task on the way."""
    put(page, program_of(LARGE))
    page.click(".chip[data-stage=cuda]")
    page.wait_for_function("least => window.shown().lines > least", arg=LARGE)
    page.wait_for_timeout(CALM)
    lines: int = page.evaluate("window.shown().lines")
    page.hover(".stage-pane .cm-scroller")

    def scroll() -> None:
        for _ in range(80):
            page.mouse.wheel(0, 20 * lines / 80)
            page.wait_for_timeout(30)

    return {"lines": lines, **traced(browser, page, scroll)}


def measure() -> dict[str, Any]:
    """All of it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder) as (port, _),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visits = [first_visit(browser, port) for _ in range(VISITS)]
        with visit(browser) as (_, page):
            page.goto(f"http://127.0.0.1:{port}/")
            page.evaluate("window.picture")
            found = answers(page)
            times = {what: spread(values) for what, values in found.items()}
            tasks_of, scroll = tasks(browser, page), scrolled(browser, page)
        browser.close()
    return {
        "transferred_kb": {kind: round(visits[0][kind], 1) for kind in ("files", "data")},
        "picture_ms": spread([one["picture"] for one in visits]),
        "after_a_key_ms": times,
        "longest_task_ms": {name: rounded(task) for name, task in tasks_of.items()},
        "scroll": rounded(scroll),
    }


def rounded(numbers: dict[str, float]) -> dict[str, int]:
    """Without fractions."""
    return {name: round(value) for name, value in numbers.items()}


def spread(values: list[float]) -> dict[str, float]:
    """The median and the least."""
    return {"median": round(statistics.median(values)), "least": round(min(values))}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--remark", default="", help="what the machine did beside this")
    remark = parser.parse_args().remark
    figures = {"goals": GOALS, "remark": remark, **measure()}
    print(save("page", "python -m bench.page", figures).read_text())


if __name__ == "__main__":
    main()
