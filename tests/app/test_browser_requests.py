"""What the page asks of the server: one request for each edit, whatever panes are seen."""

import time

import pytest
from playwright.sync_api import Page, Request, expect

from tests.app.browsing import MARKS, details, operations, pane, write

pytestmark = MARKS


QUIET = 0.8
"""Seconds without a request after which panes have asked what they ask, as the page takes it."""


class Asked:
    """The requests of a page to the API, with their operations."""

    def __init__(self, page: Page) -> None:
        self.ops: list[list[str]] = []
        self._page = page
        self._open: set[Request] = set()
        self._last = time.monotonic()
        page.on("request", self._note)
        for event in ("requestfinished", "requestfailed"):
            page.on(event, self._end)  # type: ignore[call-overload]

    def _note(self, request: Request) -> None:
        if ops := operations(request):
            self.ops.append(ops)
            self._open.add(request)

    def _end(self, request: Request) -> None:
        self._open.discard(request)
        self._last = time.monotonic()

    def settle(self) -> None:
        """Wait until every question is answered, and no other has followed."""
        self._last = time.monotonic()
        while self._open or time.monotonic() < self._last + QUIET:
            self._page.wait_for_timeout(50)


@pytest.fixture
def asked(page: Page) -> Asked:
    asked = Asked(page)
    expect(page.locator("svg.lanes")).to_be_visible()
    asked.settle()
    asked.ops.clear()
    return asked


def edit(page: Page, asked: Asked, number: int) -> list[list[str]]:
    """What one edit asks for."""
    asked.ops.clear()
    write(page, f"-- {number}\nentry main (xs: []i64) =\n  map (+{number}) xs\n")
    expect(pane(page)).to_contain_text(f"map (+{number}) xs -- fused")
    asked.settle()
    return [sorted(ops) for ops in asked.ops]


LOOKS = {
    "All blocks": ["lifetimes"],
    "One array": ["memory", "memory", "memory"],
    "Sharing": ["interference"],
    "Proof": ["attempts", "cells"],
    "Bounds": ["bounds"],
    "Warps": ["accesses"],
    "Formulas": ["formulas"],
    "Index functions": ["index_functions"],
    "Graph": ["fusion"],
    "Versions": ["tuning"],
    "Tests": ["tests"],
    "Remarks": [],
}


DETAILS = [*"Proof Bounds Warps Formulas Graph Versions Tests Remarks".split(), "Index functions"]


def test_an_edit_costs_one_request_whatever_is_seen(page: Page, asked: Asked) -> None:
    for number, (look, ops) in enumerate(LOOKS.items()):
        if look in DETAILS:
            details(page, look)
        else:
            page.get_by_role("button", name=look).click()
        asked.settle()
        assert len(edit(page, asked, 2 * number)) == 1, look
        assert edit(page, asked, 2 * number + 1) == [
            sorted(["check", "costs", "outline", "places", "show", *ops])
        ], look


def test_answers_that_came_with_an_edit_are_those_that_panes_show(page: Page, asked: Asked) -> None:
    page.locator(".lanes-view").get_by_label("n", exact=True).fill("100")
    drawing = page.locator("svg.lanes")
    expect(drawing).to_have_attribute(
        "aria-label", "2 blocks over 4 statements of main; at most 1.60 kB at once"
    )
    assert len(edit(page, asked, 1)) == 1
    expect(drawing).to_have_attribute(
        "aria-label", "2 blocks over 4 statements of main; at most 1.60 kB at once"
    )
    page.locator(".lanes-view").get_by_label("n", exact=True).fill("10")
    expect(drawing).to_have_attribute(
        "aria-label", "2 blocks over 4 statements of main; at most 160 B at once"
    )
    asked.ops.clear()
    details(page, "Proof")
    expect(page.locator(".outcome")).to_contain_text("Built in place")
    details(page, "Memory")
    details(page, "Proof")
    asked.settle()
    assert asked.ops == [["attempts"], ["cells"]]  # and nothing twice


def test_a_text_that_is_left_is_asked_about_no_more(page: Page, asked: Asked) -> None:
    """The request about it is given up, and the next one does not wait for it."""
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(request.url))
    write(page, "-- SLEEP\nentry main = 1\n")
    page.wait_for_timeout(700)
    write(page, "entry main = 2\n")
    expect(pane(page)).to_contain_text("entry main = 2 -- fused")
    assert given_up
    expect(page.locator(".strips > .trouble")).to_be_hidden()


def test_however_one_types_a_minute_has_no_more_requests_than_are_taken(page: Page) -> None:
    page.evaluate("""() => {
      const fetched = window.fetch;
      window.times = [];
      window.fetch = (path, options) => {
        if (JSON.parse(options?.body ?? "{}").requests?.some(({ op }) => op === "show"))
          window.times.push(performance.now());
        return fetched(path, options);
      };
    }""")
    page.get_by_role("textbox", name="Source").press("Control+End")
    page.keyboard.type("-- " + "and so on " * 6, delay=70)
    page.wait_for_timeout(600)
    times: list[float] = page.evaluate("window.times")
    assert times
    for first in range(len(times)):
        for last in range(first, len(times)):
            assert last - first + 1 <= 12 + (times[last] - times[first]) / 210 + 1
