"""The pane of formulas in a browser: what functions and statements cost."""

from playwright.sync_api import Page, expect

from tests.app.browsing import MARKS, details

pytestmark = MARKS


def test_costs_of_functions_and_statements_are_told(page: Page) -> None:
    details(page, "Formulas")
    table = page.get_by_role("group", name="Costs of main")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(2)
    for row in rows.all():
        assert [cell.inner_text() for cell in row.locator("td").all()] == ["2*n", "2", "8*n", "4*n"]
    expect(rows.last.get_by_role("button")).to_have_text("ys")
    expect(page.locator("#panel-formulas .cost-part code")).to_have_text(
        ["work", "span", "moved", "made"]
    )
