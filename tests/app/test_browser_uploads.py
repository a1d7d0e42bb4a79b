"""Files of inputs in a browser: the server stores it, nothing typed is lost."""

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from app.bodies import PIECE
from tests.app.browsing import MARKS, compiled, run, source, violations, visiting, write

pytestmark = MARKS

PROGRAM = """entry main [n] (factor: f32) (xs: [n]f32): (i64, f32) =
  (n, factor * f32.maximum xs)
"""
NUMBERS = np.linspace(0, 1, 600_000, dtype=np.float32)


def npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with visiting(browser, known=("500 (Internal",)) as opened:
        opened.goto(address)
        compiled(opened)
        source(opened).click()
        write(opened, PROGRAM)
        opened.locator(".run-brief").click()
        expect(field(opened, "factor")).to_be_visible()
        compiled(opened)
        yield opened


def field(page: Page, name: str) -> Locator:
    return page.locator(".run-field", has_text=f"{name}: ")


def give(page: Page, name: str, file: str, data: bytes) -> None:
    given = {"name": file, "mimeType": "application/octet-stream", "buffer": data}
    field(page, name).locator("input[type=file]").set_input_files(given)  # type: ignore[arg-type]


def test_an_array_is_sent_told_and_read_by_runs(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if "/api/uploads/" in one.url else None)
    field(page, "factor").locator("textarea").fill("3f32")
    give(page, "xs", "many.npy", npy(NUMBERS))
    told = field(page, "xs")
    expect(told).to_contain_text("many.npy: [600000]f32, 2.40 MB: 0.0, 0.0000016666694, ")
    expect(told).to_contain_text("the server stores it")
    assert [int(url.partition("=")[2]) for url in sent] == [0, PIECE, 2 * PIECE]
    told.get_by_text("Contents").click()
    expect(told.get_by_role("group", name="Shown as")).to_be_visible()
    assert violations(page, places=[".run"]) == []
    run(page)
    expect(page.get_by_role("region", name="Result")).to_contain_text("600000i64")
    expect(page.get_by_role("region", name="Result")).to_contain_text("3.0f32")
    page.get_by_role("button", name="Share").click()
    page.goto(page.get_by_label("Link", exact=True).input_value())
    expect(page.get_by_role("region", name="Result")).to_contain_text("600000i64")
    assert "\x02" not in page.locator(".run").inner_text()


def test_what_breaks_off_is_taken_up_again_and_nothing_typed_is_lost(page: Page) -> None:
    field(page, "factor").locator("textarea").fill("5f32")
    failing = [True]

    def refuse(route: Route) -> None:
        if failing[0] and f"offset={PIECE}" in route.request.url:
            body = '{"ok": false, "error": {"kind": "internal", "message": "No.", "hint": ""}}'
            route.fulfill(status=500, content_type="application/json", body=body)
        else:
            route.continue_()

    page.route("**/api/uploads/**", refuse)
    give(page, "xs", "many.npy", npy(NUMBERS))
    told = field(page, "xs")
    expect(told).to_contain_text("many.npy was not sent: No.")
    expect(field(page, "factor").locator("textarea")).to_have_value("5f32")
    run(page)
    expect(page.locator(".run")).to_contain_text("many.npy was not sent")
    failing[0] = False
    told.get_by_role("button", name="Try again").click()
    expect(told).to_contain_text("the server stores it")
    run(page)
    expect(page.get_by_role("region", name="Result")).to_contain_text("5.0f32")
    page.reload()
    compiled(page)
    expect(field(page, "factor").locator("textarea")).to_have_value("5f32")
    expect(source(page)).to_contain_text("factor * f32.maximum xs")


def test_what_is_taken_out_leaves_the_field_as_it_was(page: Page) -> None:
    field(page, "xs").locator("textarea").fill("[1f32, 2f32]")
    with page.expect_response(
        lambda one: one.request.method == "DELETE" and "/api/uploads/" in one.url
    ):
        give(page, "xs", "many.npy", npy(NUMBERS))
        expect(field(page, "xs")).to_contain_text("the server stores it")
        field(page, "xs").get_by_role("button", name="Take it out").click()
    expect(field(page, "xs").locator("textarea")).to_have_value("[1f32, 2f32]")
    give(page, "xs", "wrong.npy", npy(np.zeros((2, 2), np.float32)))
    expect(page.locator(".run [role=alert]")).to_contain_text(re.compile(r"holds \[\]\[\]f32"))
    expect(field(page, "xs").locator("textarea")).to_have_value("[1f32, 2f32]")
