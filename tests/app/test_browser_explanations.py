"""From a message to what it means, in a browser."""

from playwright.sync_api import Browser, expect

from tests.app.browsing import MARKS, violations

pytestmark = MARKS


def test_the_message_leads_to_what_it_means_and_to_both_places(
    browser: Browser, address: str
) -> None:
    """From the wrong program's message by the keyboard to the explanation; nothing for axe."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.goto(f"{address}/explain/U001")
    assert violations(page) == []
    page.get_by_role("link", name="Open it as a program").click()
    message = page.locator(".source .problem-text")
    expect(message).to_contain_text("was consumed")
    expect(message.locator(".problem-related")).to_contain_text("line 2: xs is consumed here.")
    assert violations(page) == []
    message.get_by_role("button", name="line 2").press("Enter")
    selected = page.evaluate(
        "getSelection().anchorNode.parentElement.closest('.cm-line').innerText"
    )
    assert "with [0] = 5" in selected
    with context.expect_page() as opened:
        message.get_by_role("link", name="U001").press("Enter")
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("after it was consumed")
    context.close()
