"""The pane of warps in a browser: what a request asks for, drawn, as a table, and in a run."""

import re

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import (
    MARKS,
    PATIENCE,
    all_stages,
    compiled,
    details,
    operations,
    serving,
    visiting,
    write,
)
from tests.runtime.cuda_on_cpu import needs_cxx

pytestmark = MARKS

ROWS = (
    "entry main [n][m] (a: [n][m]f32): [n]f32 ="
    " map (\\r -> loop s = 0 for i < (m + 1) / 2 do s + r[i * 2]) a"
)
"""Half of each row: too little for a copy in another order."""


def fill(page: Page, names: str) -> None:
    """Two warps for each of these sizes, chosen in the page's bar."""
    for name in names:
        page.get_by_label(f"Size {name}").fill("64")
        expect(page.locator(".warps").get_by_label(name, exact=True)).to_have_value("64")


@pytest.fixture
def warps(browser: Browser, real_app: Flask) -> Page:
    """The pane, open on a program with half a row for each thread."""
    real_app.test_client().get("/api/manifest")
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    with serving(real_app) as address:
        page.goto(address)
        compiled(page)
        write(page, ROWS)
        details(page, "Warps")
        expect(page.locator(".warps [role=status]")).to_contain_text(
            "2 accesses of 1 kernel of the entry point main, "
        )
        shown = page.get_by_label("Size n")
        for field in (shown, page.locator(".warps").get_by_label("n", exact=True)):
            expect(field).to_have_value("100")  # the same in the bar and in the pane
        fill(page, "nm")
        yield page
    context.close()


def test_the_worst_access_is_drawn_and_told(warps: Page) -> None:
    first = warps.locator(".warp-access").first
    expect(first).to_contain_text("32 lanes fetch 32 sectors, 12 % used; 4 would do")
    expect(first).to_contain_text("a_mem")
    expect(first.locator("svg .lane")).to_have_count(32)
    expect(first.locator("svg .sector")).to_have_count(32)
    expect(first.locator("svg .thread")).to_have_count(32)
    expect(warps.locator(".warps")).to_contain_text("32 threads in step, the lanes of a warp")
    numbers = first.locator("svg.warp > text")
    expect(numbers).to_have_text([str(k) for k in range(0, 32, 4)])
    assert all(one.bounding_box()["height"] >= 10 for one in numbers.all())  # type: ignore[index]
    table = warps.get_by_role("table", name="All accesses")
    expect(table.locator("tbody tr").first).to_contain_text("2,048")
    assert "m_" in table.locator("tbody th code").first.inner_text().split("\n")[0]
    expect(first.locator("svg .sector .used").nth(3)).to_be_visible()
    first.get_by_text("As a table").click()
    rows = first.get_by_role("table", name="Lanes of warp 0").get_by_role("row")
    expect(rows).to_have_count(33)
    expect(rows.nth(2)).to_have_text("1 256 8".replace(" ", ""))
    first.get_by_role("combobox").select_option("warp 1, request 2")
    expect(first.get_by_role("img")).to_be_visible()
    stride = first.locator("summary .stride-fault").first
    expect(stride).to_have_text(re.compile(r"m_\d+"))
    expect(first).to_contain_text("Neighbouring lanes are 256 bytes apart: m elements of 4 bytes.")
    missed = first.get_by_role("list", name="What the compiler did about it")
    expect(missed).to_contain_text("They read only a part of it")
    first.locator("summary").first.hover()
    expect(warps.locator(".source .stride-fault").first).to_contain_text("r[i * 2]")
    all_stages(warps)
    warps.locator(".rail").get_by_text("CUDA").click()
    first.locator("summary").first.hover()
    expect(warps.locator(".stage-pane .stride-fault").first).to_have_text(re.compile(r"m_\d+"))


def test_sizes_are_typed_and_ask_anew(warps: Page) -> None:
    warps.get_by_role("spinbutton", name="m", exact=True).fill("1")
    first = warps.locator(".warp-access").first
    expect(first).to_contain_text("32 lanes fetch 4 sectors, 100 % used")
    expect(first.locator("svg .sector")).to_have_count(4)
    loops = warps.get_by_role("list", name="Accesses of C loops by the lines that they touch")
    strided = loops.get_by_role("listitem").first
    expect(strided).to_contain_text(
        "16 iterations touch 2 lines of 64 bytes, 50 % used; 1 would do"
    )
    strided.locator("summary").first.click()
    expect(strided.locator("svg .sector")).to_have_count(2)
    expect(strided.locator("svg .lane")).to_have_count(16)
    rows = warps.get_by_role("table", name="Accesses of C loops").get_by_role("row")
    expect(rows).to_have_count(4)  # its head; a short row in order and one in lanes; the result


def test_sizes_that_cannot_be_are_not_asked_for_and_what_fails_keeps_the_fields(
    warps: Page,
) -> None:
    size = warps.get_by_role("spinbutton", name="m", exact=True)
    first = warps.locator(".warp-access").first
    asked: list[str] = []
    warps.on("request", lambda request: asked.extend(operations(request)))
    size.fill("-5")
    assert size.evaluate("field => !field.validity.valid")
    size.fill("1")
    expect(first).to_contain_text("32 lanes fetch 4 sectors, 100 % used")
    assert asked.count("accesses") == 1
    broken = {"ok": False, "error": {"kind": "internal", "message": "Broken.", "span": None}}
    warps.route("**/api/batch", lambda route: route.fulfill(status=500, json=broken))
    size.fill("2")
    expect(warps.locator(".warps .problem-text")).to_contain_text("Broken.")
    warps.unroute("**/api/batch")
    size.fill("1")
    expect(first).to_contain_text("32 lanes fetch 4 sectors, 100 % used")
    expect(warps.locator(".warps .problem-text")).to_have_count(0)


def test_what_is_switched_off_is_told_and_the_figures_are_in_sight(warps: Page) -> None:
    write(warps, "entry main [n][m] (xss: [n][m]f32): [m][n]f32 = transpose xss\n")
    first = warps.locator(".warp-access").first
    expect(first).to_contain_text("squares of 32 x 32")
    details(warps, "Compare")
    warps.locator("summary", has_text="Passes and rules").click()
    switch = warps.locator("[data-switch='kernels/squares']")
    warps.locator(".switch", has=switch).locator("summary").click()
    switch.click()
    compiled(warps)
    details(warps, "Warps")
    expect(first).to_contain_text("32 lanes fetch 32 sectors, 12 % used; 4 would do")
    expect(first).to_contain_text("Switched off, so not tried here: kernels/squares.")
    expect(first).not_to_contain_text("The compiler has no remark")
    first.get_by_role("button", name="Switch it on again").click()
    expect(first).to_contain_text("32 lanes fetch 4 sectors, 100 % used")
    expect(first.locator("summary").first).to_be_focused()
    first.get_by_role("button", name="kernels/squares", exact=True).click()
    expect(first).to_contain_text("32 lanes fetch 32 sectors, 12 % used; 4 would do")
    expect(first.locator("summary").first).to_be_focused()
    edge = warps.locator("#panel-warps").bounding_box()
    assert edge is not None
    for name in ("All requests", "All accesses"):
        fewest = warps.get_by_role("table", name=name).first.locator("th", has_text="ewest").first
        box = fewest.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= edge["x"] + edge["width"], name


def test_sizes_of_no_array_are_refused_in_sight_of_their_fields(warps: Page) -> None:
    for name in ("n", "m"):
        warps.get_by_role("spinbutton", name=name, exact=True).fill(str(2**53 - 1))
    expect(warps.locator(".warps")).to_contain_text("no array has more than 9,223,372,036")
    field = warps.get_by_role("spinbutton", name="n", exact=True)
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth")
    field.fill("4")
    first = warps.locator(".warp-access").first
    expect(first).to_contain_text("4 lanes fetch")
    expect(first).to_contain_text("Not drawn: these addresses have more than 53 bits.")


@needs_cxx
def test_a_run_is_observed(warps: Page) -> None:
    warps.get_by_role("button", name="Observe a run").click()
    expect(warps.get_by_role("button", name="Observing…")).to_be_disabled()
    expect(warps.locator(".warps [role=status]")).to_contain_text("seen in a run")
    counts = warps.locator(".warp-access").first.get_by_role("table", name="All requests")
    cells = [row.inner_text().split("\t")[1:] for row in counts.get_by_role("row").all()]
    assert cells[0] == ["predicted", "seen"]
    assert len(cells) == 6
    assert all(predicted == seen for predicted, seen in cells[1:])
    expect(warps.get_by_role("button", name="Observe a run")).to_be_enabled()


def test_a_link_keeps_what_was_told_and_is_read_without_javascript(
    warps: Page, browser: Browser
) -> None:
    warps.get_by_role("spinbutton", name="m", exact=True).fill("2")
    first = warps.locator(".warp-access").first
    expect(first).to_contain_text("32 lanes fetch 8 sectors, 50 % used; 4 would do")
    expect(first.locator("svg .ghost")).to_have_count(4)
    expect(first).to_contain_text("Neighbouring lanes are 8 bytes apart: m elements")
    rows = warps.get_by_role("table", name="All accesses").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("50 % used")
    warps.get_by_role("button", name="Share", exact=True).click()
    link = warps.get_by_label("Link", exact=True).input_value()
    asked: list[str] = []
    warps.on("request", lambda request: asked.extend(operations(request)))
    warps.goto(link)
    expect(first).to_contain_text("32 lanes fetch 8 sectors, 50 % used; 4 would do")
    expect(first.locator("svg .sector")).to_have_count(8)
    assert "accesses" not in asked
    warps.get_by_role("spinbutton", name="m", exact=True).fill("1")
    expect(warps.locator(".warps")).to_contain_text("by today's compiler")
    warps.get_by_role("button", name="Make it now").last.click()
    expect(first).to_contain_text("32 lanes fetch 4 sectors, 100 % used")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(link)
    table = plain.get_by_role("table", name="Predicted from index functions, m = 2, n = 64")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_contain_text("32 lanes fetch 8 sectors, 50 % used; 4 would do")
    expect(table.get_by_role("columnheader", name="Passes")).to_have_count(0)  # of no banks
    parts = plain.locator("nav[aria-label=Stages] a").evaluate_all(
        "all => all.map((link) => document.querySelector(link.hash).getBoundingClientRect().top)"
    )
    assert len(parts) > 5
    assert parts == sorted(parts), "links are in the order of what they lead to"
    plain.set_viewport_size({"width": 390, "height": 844})
    sentence = table.get_by_role("cell", name="32 lanes fetch 8 sectors").bounding_box()
    assert sentence is not None
    assert sentence["width"] > 180, "some 25 characters a line, whatever the cells beside it hold"
    context.close()


def test_banks_that_are_asked_several_times_are_drawn_by_passes(
    browser: Browser, address: str
) -> None:
    with visiting(browser) as page:
        page.goto(f"{address}/examples/lattice_boltzmann")
        compiled(page)
        details(page, "Warps")
        fill(page, "nm")
        card = page.locator(".warp-access", has_text="passes over the banks; 1 would do").first
        card.locator("summary").first.click()
        passes = int(re.findall(r"in (\d+) passes", card.inner_text())[0])
        assert passes > 1
        picture = card.locator("svg.warp")
        expect(picture.locator(".bank")).to_have_count(32 * passes)
        expect(picture.locator(".bank-number")).to_have_text(
            [str(bank) for bank in range(0, 32, 4)]
        )
        rows = picture.locator(".sector .used").evaluate_all(
            "all => new Set(all.map((one) => one.getAttribute('y'))).size"
        )
        assert rows == passes
        lanes = picture.locator(".lane:not(.rests)").count()
        first = picture.locator(".sector").evaluate_all(
            "all => new Set(all.map((one) => one.lastChild.getAttribute('x'))).size"
        )
        expect(picture.locator(".thread.later")).to_have_count(lanes - first)
        expect(card).to_contain_text("dashed lines wait for a later pass")


def test_what_a_picture_hatches_is_told_only_where_it_is_there(warps: Page) -> None:
    write(warps, "entry main [n] (ps: [n][12]f64): [n]f64 = map (\\p -> p[3]) ps")
    loops = warps.locator("[aria-label^='Accesses of C loops by'] > li")
    expect(loops.first.locator("summary").first).to_contain_text("16 lines of 64 bytes")
    for card, wasted in ((loops.first, 1), (loops.last, 0)):
        card.locator("summary").first.click()
        told = card.locator("p.quiet").first
        expect(told).to_contain_text("Each iteration is")
        text = told.inner_text()
        assert (text.count("Hatched"), text.count("Dashed")) == (wasted, wasted)
        assert bool(card.locator(".sector .unused").count()) == bool(wasted)
