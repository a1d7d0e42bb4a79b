"""The pane of index functions in a browser: each generation's form, and what it copies."""

from playwright.sync_api import Page, expect

from tests.app.browsing import MARKS, details

pytestmark = MARKS


def test_a_change_of_layout_is_told_in_three_generations(page: Page) -> None:
    details(page, "Index functions")
    change = page.locator(".layout")
    expect(change).to_have_count(1)
    expect(change).to_contain_text("b, branches")
    rows = change.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("RowMajor(n, n)")
    assert [row.locator("td").last.inner_text() for row in rows.all()] == ["yes", "no", "no"]
    expect(change).to_contain_text("Moved by the cells of 0 + {(n : 1)}")
    status = page.locator("#panel-layouts").get_by_role("status")
    expect(status).to_have_text("Copies: 1 structural, 0 composed, 0 single")
    across = page.locator("#panel-layouts").evaluate("panel => panel.clientWidth")
    table = change.locator(".table-scroll").bounding_box()
    assert table is not None
    assert table["width"] > across / 2
    heads = change.locator("tbody th").evaluate_all("all => all.map((head) => head.clientHeight)")
    assert max(heads) < 40, "words stay whole"
    page.get_by_label("composed").uncheck()
    expect(rows).to_have_count(2)
    expect(status).to_have_text("Copies: 1 structural, 0 single")
