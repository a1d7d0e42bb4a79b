"""An application with the fake worker, for all tests of the server."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from app import create_app
from app.context import EXTENSION, Parts
from app.pool import Pool
from app.settings import from_environment
from app.sheet_pool import pool_of
from testing.chromium import FLAGS, FOR_TESTS
from tests.app.browsing import serving, visiting
from tests.app.fake_worker import MANIFEST

FAKE = Path(__file__).parent / "fake_worker.py"
SOURCE = "-- A test\nentry main (xs: []i64) = map (+1) xs\n"

MakeApp = Callable[..., Flask]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a browser's test that fails once again: what passes then is listed under RERUN.

    Such a line is a race to be found, in the test or in the page.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="package")
def makers() -> Iterator[Pool]:
    """The process that makes what readers of links get, one for all applications."""
    pool = pool_of({**from_environment({}), "QUEUE_SECONDS": 60.0})
    yield pool
    pool.close()


@pytest.fixture
def make_app(tmp_path: Path, makers: Pool) -> Iterator[MakeApp]:
    """Makes applications with settings of their own, and stops their workers."""
    made: list[Flask] = []

    def make(**config: Any) -> Flask:
        settings = {
            "DATA": str(tmp_path / "data"),
            "WORKER_COMMAND": [sys.executable, str(FAKE)],
            "MANIFEST": MANIFEST,
            "MAKERS": makers,
            "COMPILE_WORKERS": 1,
            "WARM": False,
            "COMPILE_SECONDS": 20.0,
            **config,
        }
        app = create_app(settings)
        made.append(app)
        return app

    yield make
    for app in made:
        parts: Parts = app.extensions[EXTENSION]
        parts.close()


NOW = time.time() // 60 * 60 + 30


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still in the middle of a minute: at its turn, one request more would pass."""
    monkeypatch.setattr(time, "time", lambda: NOW)


@pytest.fixture(scope="package")
def real_app(tmp_path_factory: pytest.TempPathFactory, makers: Pool) -> Iterator[Flask]:
    """An application whose workers are the compiler, for tests of all files: they start slowly."""
    settings = {"COMPILE_WORKERS": 1, "COMPILE_SECONDS": 60.0, "MAKERS": makers}
    app = create_app({"DATA": str(tmp_path_factory.mktemp("data")), **settings})
    yield app
    parts: Parts = app.extensions[EXTENSION]
    parts.close()


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    """A client of an application with ordinary settings."""
    return make_app().test_client()


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """What drives browsers; no more than one can be there at a time."""
    with sync_playwright() as opened:
        yield opened


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """One browser for all tests: each has a context of its own in it."""
    opened = playwright.chromium.launch(executable_path=FOR_TESTS, args=FLAGS)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser, in which pages that a file's tests leave open are closed at the file's end."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="package")
def address(real_app: Flask) -> Iterator[str]:
    """The address of a running server with the compiler behind it."""
    with serving(real_app) as found:
        yield found


@pytest.fixture
def site(make_app: MakeApp, tmp_path: Path) -> Iterator[str]:
    """A running server with two examples; its address."""
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "first.fut").write_text(
        "-- First steps\n-- A map over an array.\n-- order: 1\n"
        "-- look: funmem {map (+1) xs}: where it lies\n"
        "-- ==\n\nentry main (xs: []i64) =\n  map (+1) xs\n"
    )
    (folder / "second.fut").write_text("-- Second\n-- Another.\n-- order: 2\n\nentry main = 1\n")
    with serving(make_app(EXAMPLES=folder, FRONT_EXAMPLE="first")) as address:
        yield address


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A first visit. What the browser complains of fails the test."""
    with visiting(browser, known=("net::ERR_FAILED",)) as opened:
        opened.goto(site)
        # Until then the page is still being laid out, and a click may miss what it aims at.
        expect(opened.locator("[role=status]").first).to_contain_text("Compiled")
        yield opened
