"""The browser has nothing to say while one types, pastes, compiles and runs."""

import pytest
from playwright.sync_api import Browser, expect

from tests.app.browsing import MARKS, compiled, pane, source, text, visiting, write

pytestmark = MARKS
PROGRAM = "-- typed\nentry main (xs: []i64) = map (+2) xs\n"


@pytest.mark.parametrize("over", ["insert_text", "type", "paste"])
def test_no_message_appears(browser: Browser, site: str, over: str) -> None:
    with visiting(browser) as page:
        told: list[str] = []
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.goto(site)
        compiled(page)
        write(page, PROGRAM)
        source(page).press("Control+a")
        if over == "paste":
            page.keyboard.press("Control+x")
            assert text(page) == ""
            page.keyboard.press("Control+v")
        else:
            page.keyboard.press("Control+End")
            for _ in range(3):
                page.keyboard.press("Shift+ArrowUp")
            getattr(page.keyboard, over)("x")  # over a selection of some lines
            page.keyboard.press("Control+z")
        expect(pane(page)).to_contain_text("map (+2)")
        page.locator("#run-value-0").fill("[8i64]")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_have_text("[8i64]")
        assert told == []


def test_text_over_a_selection_is_one_step_back(browser: Browser, site: str) -> None:
    with visiting(browser) as page:
        page.goto(site)
        compiled(page)
        write(page, PROGRAM)
        page.keyboard.press("Control+a")
        page.keyboard.type("(")  # which stands around what is selected
        assert text(page) == f"({PROGRAM})"
        page.keyboard.press("Control+z")
        assert text(page) == PROGRAM
        page.keyboard.press("Control+a")
        page.keyboard.type("y")
        assert text(page) == "y"
        page.keyboard.press("Control+z")
        assert text(page) == PROGRAM
