"""What became of an expression: a sentence, its occurrences, a place in the address."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from compiler.driver import api
from compiler.protocol.programs import ShowRequest
from tests.app.browsing import MARKS, all_stages, choose, details, pane, working, write

pytestmark = MARKS

FUSED = """entry main [n] (xs: [n]f32) (ys: [n]f32): f32 =
  let zs = map2 (\\x y -> x * y) xs ys
  let b = 2
  in reduce (+) 0 zs + b
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        all_stages(opened)
        write(opened, FUSED)
        expect(pane(opened)).to_contain_text("map \\(x")
        details(opened, "Selection")
        yield opened


def test_a_fusion_tells_of_its_producer_and_of_its_reader() -> None:
    (remark,) = api.show(ShowRequest(FUSED, stages=["fused"]))["remarks"]
    assert remark["src"][:2] == [[4, 6, 4, 21], [2, 12, 2, 38]]
    assert remark["fused"] == [[[4, 6, 4, 21]], [[2, 12, 2, 38]]]
    assert remark["numbers"] == [["bytes not written", "4*n"]]


def test_the_headline_says_what_a_map_was_fused_into(page: Page) -> None:
    choose(page, "let zs", "map2")
    headline = page.locator(".headline")
    expect(headline).to_contain_text(
        "Fused into the reduce of line 4 by fuse/map-reduce: 4·n bytes never written."
    )
    headline.get_by_role("button").click()
    choose(page, "in reduce", "reduce")
    expect(headline).to_contain_text(
        "The map of line 2 is fused into it by fuse/map-reduce: 4·n bytes never written."
    )
    choose(page, "let b = 2", "2")
    expect(headline).to_have_count(0)


def test_what_is_selected_is_in_the_address(page: Page) -> None:
    choose(page, "let zs", "map2")
    page.wait_for_function("() => location.hash === '#2.12-2.38'")
    page.wait_for_function("text => localStorage['stridescope.work']?.includes('let zs')", arg="")
    page.reload()
    expect(page.locator(".source .lit-place").first).to_contain_text("map2")
    expect(page.locator(".headline")).to_contain_text("Fused into the reduce of line 4")
    page.keyboard.press("Escape")
    page.wait_for_function("() => location.hash === ''")
    for wrong in ("#9999.1-9999.2", "#x", "#1.1-1.2:%E0%A4%A", "#2.12-2.38:gone.fut"):
        page.evaluate("hash => history.replaceState(history.state, '', hash)", wrong)
        page.reload()
        expect(pane(page)).to_contain_text("map \\(x")
        expect(page.locator(".source .lit-place")).to_have_count(0)


def test_f4_goes_from_occurrence_to_occurrence(page: Page) -> None:
    page.locator("[data-stage='fused']").click()
    choose(page, "in reduce", "reduce")
    announced = page.locator("#announcer")
    page.keyboard.press("F4")
    expect(announced).to_have_text("Fused, line 2: 1 of 1")
    page.get_by_role("button", name="Previous occurrence").click()
    expect(announced).to_have_text("Fused, line 2: 1 of 1")
    page.locator("[data-stage='ast']").click()
    page.keyboard.press("F4")
    expect(announced).not_to_contain_text("Fused")


@pytest.mark.parametrize("stage", ["kernels", "imp", "c", "cuda"])
def test_an_operation_lights_its_line_inside_the_fused_kernel(page: Page, stage: str) -> None:
    page.locator(f"[data-stage='{stage}']").click()
    expect(pane(page)).to_contain_text("reduce")
    choose(page, "let zs", "*")
    fused = stage in ("kernels", "cuda")  # the sum's line, which rounds once, is the product's too
    lit = pane(page).locator(".cm-line.lit-weak" if fused else ".cm-line.lit")
    expect(lit).not_to_have_count(0)
    assert all(
        (" <- fma(" if stage == "kernels" else " = fmaf(" if fused else " * ") in line
        for line in lit.all_text_contents()
    )
    choose(page, "let zs", "map2")
    expect(pane(page).locator(".cm-line.lit, .cm-line.lit-weak").nth(5)).to_be_attached()


CHAIN = """entry main [n] (xs: [n]f32): f64 =
  let ys = map (\\x -> x * x) xs
  let zs = map f64.f32 ys
  in reduce (+) 0 zs
"""


def test_the_bytes_are_those_of_the_array_that_went(page: Page) -> None:
    """Of two maps fused one after the other into a reduction, each saves an array of its own."""
    write(page, CHAIN)
    expect(pane(page)).to_contain_text("f64.f32")
    choose(page, "let ys", "*")
    expect(page.locator(".headline")).to_contain_text(
        "Fused into the reduce of line 4 by fuse/map-map and fuse/map-reduce: "
        "4·n bytes never written."
    )
    choose(page, "let zs", "map")
    expect(page.locator(".headline")).to_contain_text(
        "Fused into the reduce of line 4 by fuse/map-reduce: 8·n bytes never written."
    )
