"""Pages of other sites in a real browser: what they send to the server makes nothing run."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, Playwright, expect
from playwright.sync_api import Request as BrowserRequest

from app.clients import TOKEN_HEADER
from testing.chromium import FLAGS, FOR_TESTS
from tests.app.browsing import MARKS, PATIENCE, operations, pane, serving, write
from tests.app.conftest import SOURCE, MakeApp
from tests.app.test_origin_check import jobs_done

pytestmark = MARKS

EVIL = "evil.test"
"""A name that the browser takes for this machine's, as its owner could make every browser do."""

ASKING = {
    "plain text": "{mode: 'no-cors', headers: {'Content-Type': 'text/plain'}}",
    "plain text, with leave": "{headers: {'Content-Type': 'text/plain'}}",
    "no type": "{mode: 'no-cors', headers: {'Content-Type': ''}}",
    "a form": "{mode: 'no-cors', headers: {'Content-Type': 'application/x-www-form-urlencoded'}}",
    "json": "{headers: {'Content-Type': 'application/json'}}",
    "json, without leave": "{mode: 'no-cors', headers: {'Content-Type': 'application/json'}}",
}
FETCH = """async ([url, body]) => {
  try {
    const answer = await fetch(url, {method: 'POST', body, ...%s});
    return answer.type + ' ' + answer.status;
  } catch (error) {
    return 'refused';
  }
}"""
BODY = f'{{"source": {SOURCE!r}, "input": "[1i64]"}}'.replace("'", '"')
FORM = """([url, body]) => {
  const [name, value] = [body.slice(0, 5), body.slice(5)];
  document.body.innerHTML = `<form method=post enctype=text/plain><input></form>`;
  const form = document.querySelector('form');
  form.action = url;
  form.firstChild.name = name;
  form.firstChild.value = value;
  form.submit();
}"""


class Blank(BaseHTTPRequestHandler):
    """Some other site: an empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Other</title><body></body>")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def misled(playwright: Playwright) -> Iterator[Browser]:
    """A browser that takes `evil.test` for this machine."""
    flags = [*FLAGS, f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"]
    opened = playwright.chromium.launch(executable_path=FOR_TESTS, args=flags)
    yield opened
    opened.close()


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of another site on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    return make_app()


@pytest.fixture
def target(app: Flask) -> Iterator[str]:
    with serving(app) as address:
        yield address


@pytest.fixture
def other(misled: Browser) -> Iterator[Page]:
    context = misled.new_context()
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def test_the_servers_own_page_runs_it(app: Flask, target: str, other: Page) -> None:
    """What the other tests send is a run, if its own page sends it."""
    other.goto(f"{target}/api/")
    ask = FETCH % ASKING["json"]
    assert other.evaluate(ask, [f"{target}/api/run", BODY]) == "basic 200"
    assert jobs_done(app) == 1


@pytest.mark.parametrize("site", ["127.0.0.1", "localhost", EVIL])
def test_pages_of_other_origins_make_nothing_run(
    app: Flask, target: str, elsewhere: int, other: Page, site: str
) -> None:
    other.goto(f"http://{site}:{elsewhere}/")
    for name, how in ASKING.items():
        found = other.evaluate(FETCH % how, [f"{target}/api/run", BODY])
        assert found in ("opaque 0", "refused"), name
    other.evaluate("([url, body]) => navigator.sendBeacon(url, body)", [f"{target}/api/run", BODY])
    with other.expect_navigation():
        other.evaluate(FORM, [f"{target}/api/run", BODY.replace("{", '{"a=":1,', 1)])
    assert "another site" in other.content()
    assert jobs_done(app) == 0


def test_a_page_without_an_origin_makes_nothing_run(
    app: Flask, target: str, elsewhere: int, other: Page
) -> None:
    """A frame in a sandbox has the origin `null`."""
    other.goto(f"http://{EVIL}:{elsewhere}/")
    other.evaluate("document.body.innerHTML = '<iframe sandbox=allow-scripts srcdoc=x></iframe>'")
    frame = other.wait_for_selector("iframe").content_frame()
    assert frame is not None
    for name, how in ASKING.items():
        found = frame.evaluate(FETCH % how, [f"{target}/api/run", BODY])
        assert found in ("opaque 0", "refused"), name
    assert jobs_done(app) == 0


def test_a_name_that_moves_to_this_machine_reads_nothing(
    app: Flask, target: str, other: Page
) -> None:
    """A page that came from elsewhere under a name that now leads here has this origin."""
    port = urlsplit(target).port
    evil = f"http://{EVIL}:{port}"
    answer = other.goto(f"{evil}/")
    assert answer is not None
    assert answer.status == 421
    for name, how in ASKING.items():
        found = other.evaluate(FETCH % how, [f"{evil}/api/run", BODY])
        assert found == "basic 421", name
    read = "async url => (await fetch(url)).status"
    for path in ("/", "/metrics", "/z/abc.json", "/api/examples"):
        assert other.evaluate(read, f"{evil}{path}") == 421
    assert jobs_done(app) == 0


def test_each_page_says_that_it_is_itself(target: str, misled: Browser) -> None:
    """Two pages of one browser send two tokens, each one with all of its requests.

    What is the same for all pages is asked for before a page has a token (`_early.html`).
    """
    context = misled.new_context()
    tokens: list[set[str]] = []
    for _ in range(2):
        sent: set[str] = set()
        opened = context.new_page()
        opened.on("request", lambda one, sent=sent: sent.update(token_of(one)))
        opened.goto(target)
        expect(opened.locator("[role=status]").first).to_contain_text("Compiled")
        tokens.append(sent)
    context.close()
    first, second = tokens
    assert len(first) == len(second) == 1
    assert first != second
    assert "" not in first | second


def token_of(one: BrowserRequest) -> list[str]:
    """The token that a call of the server carries; none for what is no call of a page's own."""
    token = one.headers.get(TOKEN_HEADER.lower(), "")
    path = urlsplit(one.url).path
    is_early = path in ("/api/manifest", "/api/examples") and not token
    return [token] if path.startswith("/api/") and not is_early else []


def test_the_page_waits_when_it_asked_too_often(make_app: MakeApp, other: Page) -> None:
    """It says so, and asks again by itself when the server takes it."""
    with serving(make_app(LIMIT_CHECK="3 per 20 seconds", LOCAL_FACTOR=1)) as address:
        other.goto(address)
        status = other.locator("[role=status]").first
        refusal = other.get_by_text("one page may ask for 3 checks in 20 seconds")
        asked: list[list[str]] = []
        for k in range(20):
            write(other, f"entry main = {k}\n")
            expect(status).to_contain_text(re.compile("Compiled|Too many"))
            other.wait_for_timeout(300)
            if refusal.count():
                break
        expect(refusal.first).to_be_visible()
        other.on("request", lambda request: asked.append(operations(request)))
        expect(pane(other)).to_contain_text(f"entry main = {k} -- ")
        # The outline is a check as well: both are asked for again, when there is room for two.
        expect(refusal).to_have_count(0)
        assert [ops for ops in asked if {"check", "outline"} & {*ops}] == [
            ["check", "show", "places", "lifetimes", "outline", "costs"]
        ]


def test_the_page_says_that_links_cannot_be_stored(make_app: MakeApp, other: Page) -> None:
    with serving(make_app(DATABASE_URL="sqlite:////nowhere/at/all.sqlite")) as address:
        other.goto(address)
        expect(other.locator("[role=status]").first).to_contain_text("Compiled")
        other.get_by_role("button", name="Share").click()
        expect(other.get_by_text("Links cannot be stored now.").first).to_be_visible()
