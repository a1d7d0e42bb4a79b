"""What all tests in a browser need: where chromium is, a server in a thread, parts of the page."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, Request
from werkzeug.serving import make_server

from app.paths import static_folder

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
BUILT = static_folder() / "dist" / "main.js"

MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
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


def pane(page: Page, number: int = 0) -> Locator:
    return page.locator(".stage-pane").nth(number)


def source(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source")


def write(page: Page, text: str) -> None:
    source(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def operations(request: Request) -> list[str]:
    """What a request asks the compiler for; those of a batch one by one."""
    if request.method != "POST" or "/api/" not in request.url:
        return []
    name = request.url.rpartition("/")[2]
    body = json.loads(request.post_data or "{}")
    return [one["op"] for one in body["requests"]] if name == "batch" else [name]
