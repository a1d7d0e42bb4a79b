"""What goes wrong and is not the program's fault, in a browser: said as that, and tried again."""

import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.context import EXTENSION, Parts
from testing.waiting import until
from tests.app.browsing import (
    MARKS,
    PATIENCE,
    compiled,
    details,
    operations,
    pane,
    serving,
    source,
    visiting,
    write,
)
from tests.app.conftest import SOURCE, MakeApp

pytestmark = MARKS


@pytest.fixture
def guest(browser: Browser, site: str) -> Iterator[Page]:
    """A page at the site's address, not yet opened; what its scripts raise fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=site)
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    raised: list[str] = []
    opened.on("pageerror", lambda error: raised.append(str(error)))
    yield opened
    context.close()
    assert raised == []


def answering(status: int, body: str, **headers: str) -> Any:
    """What answers every question of the page in the server's place."""

    def answer(route: Route) -> None:
        kind = "application/json" if body.startswith("{") else "text/html"
        route.fulfill(status=status, body=body, headers={"Content-Type": kind, **headers})

    return answer


def failure(kind: str, message: str, **more: Any) -> str:
    error = {"kind": kind, "message": message, "hint": "", "span": None, **more}
    return json.dumps({"ok": False, "error": error})


def trouble(page: Page) -> Any:
    return page.locator(".strips > .trouble")


FAILURES = {
    "429": (
        answering(429, failure("busy", "Too many.", hint="Wait.", retry=40)),
        "Too many.",
        r"(40|3\d) s",
    ),
    "429 of a proxy": (
        answering(429, "<h1>Slow down</h1>", **{"Retry-After": "50"}),
        "Too many requests.",
        r"(50|4\d) s",
    ),
    "503": (answering(503, failure("busy", "The queue is full.")), "queue is full", r"\d s"),
    "502 of a proxy": (answering(502, "<h1>Bad gateway</h1>"), "status 502", r"\d s"),
    "a timeout": (
        answering(504, failure("timeout", "It took too long.")),
        "took too long",
        "Retry",
    ),
    "a crash": (
        answering(500, failure("internal", "The process ended.")),
        "process ended",
        "Retry",
    ),
    "no server": (lambda route: route.abort(), "does not answer", r"\d s"),
}


def test_a_failure_that_is_not_the_programs_has_a_banner_and_a_retry(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    for number, (answer, said, when) in enumerate(FAILURES.values()):
        guest.route("**/api/*", answer)
        write(guest, f"entry main = {number}\n")
        expect(trouble(guest)).to_contain_text(said)
        expect(trouble(guest)).to_contain_text(re.compile(when))
        expect(guest.locator(".status")).to_have_text("not compiled")
        expect(guest.locator(".source .problem-text")).to_have_count(0)
        expect(pane(guest)).to_contain_text("is not compiled yet")
        expect(guest.locator(".chip.stopped")).to_have_count(0)
        if number == 0:
            guest.get_by_role("button", name="Share").click()
            expect(guest.locator(".share-box")).to_contain_text("Too many. Wait")
            guest.keyboard.press("Escape")
        guest.unroute("**/api/*")
        trouble(guest).get_by_role("button", name="Retry").click()
        expect(pane(guest)).to_contain_text(f"entry main = {number} -- fused")
        expect(trouble(guest)).to_be_hidden()


def test_the_page_goes_on_by_itself_when_the_connection_is_back(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    guest.context.set_offline(True)
    details(guest, "Bounds")
    panel = guest.get_by_role("tabpanel", name="Bounds")
    message = panel.locator(".problem-text")
    expect(message).to_contain_text("This browser is offline.")
    write(guest, "entry main = 8\n")
    expect(trouble(guest)).to_contain_text(
        "This browser is offline. Your text is kept in this browser."
    )
    outdated = panel.locator(".outdated-note span")
    expect(outdated).to_be_visible()
    expect(message).to_be_visible()
    note, said = outdated.bounding_box(), message.bounding_box()
    assert note is not None
    assert said is not None
    assert said["y"] + said["height"] <= note["y"]
    guest.context.set_offline(False)
    expect(pane(guest)).to_contain_text("entry main = 8 -- fused")
    expect(trouble(guest)).to_be_hidden()


def test_while_the_server_takes_nothing_it_is_not_asked(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    guest.route("**/api/*", answering(429, failure("busy", "Too many.", retry=9)))
    write(guest, "entry main = 1\n")
    expect(trouble(guest)).to_contain_text("Too many.")
    asked: list[str] = []
    guest.on("request", lambda request: asked.append(request.url))
    write(guest, "entry main = 2\n")
    guest.wait_for_timeout(600)
    assert asked == []
    guest.unroute("**/api/*")
    expect(pane(guest)).to_contain_text("entry main = 2 -- fused")


def test_a_visit_that_fails_says_nothing_about_a_program(guest: Page) -> None:
    guest.route("**/api/examples", answering(503, failure("busy", "The queue is full.")))
    guest.goto("/")
    expect(trouble(guest)).to_contain_text("The queue is full.")
    expect(guest.get_by_text("no entry point")).to_have_count(0)
    guest.unroute("**/api/examples")
    expect(pane(guest)).to_contain_text("-- fused")  # by itself
    expect(trouble(guest)).to_be_hidden()


def test_the_entry_points_of_a_program_with_an_error_are_not_known(guest: Page) -> None:
    guest.goto("/")
    write(guest, "entry main = WRONG\n")
    guest.wait_for_timeout(400)  # it is kept
    guest.reload()
    expect(guest.locator(".status")).to_have_text("1 error")
    expect(guest.locator(".run-fields")).to_have_text(re.compile("when the program has no errors"))
    write(guest, "entry main = 1\n")
    expect(guest.locator(".run-fields")).to_contain_text("[]i64")


def test_an_empty_editor_says_what_to_do(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    for text in ("", "-- only words\n\n"):
        write(guest, "entry main = 1\n")
        expect(guest.locator(".status")).to_contain_text("compiled")
        source(guest).click()
        guest.keyboard.press("Control+a")
        guest.keyboard.press("Delete")
        guest.keyboard.insert_text(text)
        for part in (guest.locator(".run-fields"), pane(guest)):
            expect(part).to_contain_text("There is no program yet")
        expect(guest.locator(".status")).to_have_text("")
        expect(guest.locator(".problem-text")).to_have_count(0)
    guest.keyboard.press("Control+a")
    guest.keyboard.press("Delete")
    expect(source(guest)).to_contain_text("Write a program here, or choose an example above.")
    # Panes that were not looked at before have nothing to show, and say why.
    for text, why in (("", "There is no program yet."), ("WRONG", "see the error in the source")):
        guest.keyboard.insert_text(text)
        for name in ("Bounds", "Warps", "Versions"):
            details(guest, name)
            expect(guest.get_by_role("tabpanel", name=name)).to_contain_text(why)
        source(guest).click()


def test_an_error_without_a_place_is_said_below_the_text(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    guest.route("**/api/*", answering(200, failure("limitation", "This is too long for C.")))
    write(guest, "entry main = 1\n")
    expect(guest.locator(".status")).to_have_text("1 error")
    expect(guest.locator(".source .placeless")).to_contain_text("This is too long for C.")
    guest.unroute("**/api/*")
    write(guest, "entry main = 2\n")
    expect(guest.locator(".source .placeless")).to_have_count(0)


def test_what_a_link_lacks_is_asked_for_again_and_nothing_is_compiled(
    guest: Page, site: str
) -> None:
    made = guest.request.post(f"{site}/api/share", data={"source": SOURCE}).json()
    guest.goto(made["url"])
    expect(pane(guest)).to_contain_text("-- fused")
    guest.route("**/api/batch", lambda route: route.abort())
    details(guest, "Proof")
    expect(trouble(guest)).to_contain_text("does not answer")
    guest.unroute("**/api/batch")
    asked: list[str] = []
    guest.on("request", lambda request: asked.extend(operations(request)))
    trouble(guest).get_by_role("button", name="Retry").click()
    expect(guest.locator(".attempt-detail svg").first).to_be_visible()
    expect(trouble(guest)).to_be_hidden()
    expect(guest.locator(".status")).to_contain_text("frozen")
    assert set(asked) == {"cells"}


# --- runs --------------------------------------------------------------------------------------


def run_button(page: Page, name: str) -> Any:
    return page.locator("header.top").get_by_role("button", name=name, exact=True)


def test_a_running_program_is_stopped_and_the_next_one_runs(
    browser: Browser, make_app: MakeApp
) -> None:
    app = make_app(RUN_SECONDS=600.0)
    parts: Parts = app.extensions[EXTENSION]
    page = browser.new_context().new_page()
    with serving(app) as address:
        page.goto(address)
        write(page, "-- ENDLESS\nentry main (xs: []i64) = xs\n")
        expect(pane(page)).to_contain_text("ENDLESS")
        run_button(page, "Run").click()
        expect(page.locator("header").get_by_role("button", name="Stop")).to_be_visible()
        expect(page.locator(".run-result")).to_contain_text("Running")
        page.wait_for_timeout(500)
        assert parts.jobs.run_pool.busy == 1
        run_button(page, "Stop").click()
        expect(page.locator(".run-result")).to_contain_text("Stopped after")
        write(page, "entry main (xs: []i64) = xs\n")
        page.locator("#run-value-0").fill("[7i64]")
        run_button(page, "Run").click()
        expect(page.locator(".run-result .value")).to_have_text("[7i64]")
        assert parts.jobs.run_pool.replaced == 1
    page.context.close()


def test_an_error_of_a_run_marks_its_place(guest: Page) -> None:
    guest.goto("/")
    write(guest, "entry main (xs: []i64) =\n  let y = 1\n  in xs[FAILS]\n")
    expect(pane(guest)).to_contain_text("FAILS")
    run_button(guest, "Run").click()
    expect(guest.locator(".run-result")).to_contain_text("out of bounds")
    expect(guest.locator(".source .wavy.kind-runtime")).to_have_text("FAILS")
    expect(guest.locator(".source .problem-text")).to_contain_text("out of bounds")
    expect(guest.locator(".status")).to_contain_text("compiled")
    guest.locator(".run-result").get_by_role("button", name="line 3").click()
    expect(guest.locator(".source .cm-activeLine")).to_contain_text("FAILS")
    guest.keyboard.press("End")
    guest.keyboard.type(" ")
    expect(guest.locator(".source .wavy")).to_have_count(0)


def test_a_run_that_was_not_made_is_asked_for_again(guest: Page) -> None:
    guest.goto("/")
    expect(pane(guest)).to_contain_text("-- fused")
    guest.route("**/api/run", answering(429, failure("busy", "Too many runs.", retry=30)))
    guest.locator("#run-value-0").fill("[3i64]")
    run_button(guest, "Run").click()
    said = guest.locator(".run-result .trouble")
    expect(said).to_contain_text("Too many runs.")
    expect(said).to_contain_text(re.compile(r"in (30|2\d) s"))
    guest.unroute("**/api/run")
    said.get_by_role("button", name="Retry").click()
    expect(guest.locator(".run-result .value")).to_have_text("[3i64]")


def test_a_run_that_waits_for_others_says_its_place_and_is_answered(
    browser: Browser, make_app: MakeApp
) -> None:
    app = make_app(RUN_WORKERS=1, RUN_SECONDS_SHARED=4.0)
    long = {"source": f"{SOURCE} -- ENDLESS", "input": "1"}
    with serving(app) as address, visiting(browser) as page:
        page.goto(address)
        compiled(page)
        other = threading.Thread(
            target=app.test_client().post, args=("/api/run",), kwargs={"json": long}
        )
        other.start()
        assert until(lambda: app.extensions[EXTENSION].jobs.run_pool.busy == 1)
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result")).to_contain_text("place 1 in the queue")
        expect(page.locator(".run-result .facts")).to_be_visible()
        other.join()


def test_a_part_of_the_page_that_does_not_arrive_is_asked_for_again(guest: Page) -> None:
    guest.route("**/chunks/late-*.js", lambda route: route.abort())
    guest.goto("/")
    guest.locator(".kinds").get_by_role("button", name="Cost").click()
    panel = guest.locator("#panel-bounds")
    expect(panel.get_by_role("alert")).to_contain_text("your text is kept")
    guest.unroute("**/chunks/late-*.js")
    panel.get_by_role("button", name="Try again").click()
    expect(panel.get_by_role("alert")).to_have_count(0)
    expect(panel).to_contain_text("access to arrays")
