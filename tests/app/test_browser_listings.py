"""Assembly, PTX and SASS in a browser: asked for when a pane shows them, linked, kept by a link."""

from flask import Flask
from playwright.sync_api import Browser, expect

from tests.app.browsing import (
    MARKS,
    PATIENCE,
    choose,
    compiled,
    operations,
    serving,
    source,
    write,
)
from tests.codegen.helpers import needs_nvrtc

pytestmark = MARKS

PROGRAM = "entry main [n] (xs: [n]f32) =\n  map (\\x ->\n    f32.sqrt x) xs"


@needs_nvrtc
def test_sass_is_a_pane_of_its_own(browser: Browser, real_app: Flask) -> None:
    real_app.test_client().get("/api/manifest")
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.set_default_timeout(PATIENCE)
    asked: list[str] = []
    page.on("request", lambda request: asked.extend(operations(request)))
    with serving(real_app) as address:
        page.goto(address)
        write(page, PROGRAM)
        compiled(page)
        assert "listing" not in asked
        pane = page.locator(".stage-pane")
        pane.get_by_label("Stage", exact=True).select_option("SASS")
        pane.get_by_text("regs  spilled").wait_for()
        expect(pane.locator(".pane-note")).to_contain_text("The instructions that a GPU runs")
        # What is selected is gone to when the text is there, which takes a while.
        choose(page, "f32.sqrt", "sqrt")
        pane.get_by_label("Stage", exact=True).select_option("Assembly")
        expect(pane.locator(".cm-line.lit, .cm-line.lit-weak").first).to_be_in_viewport()
        pane.get_by_label("Stage", exact=True).select_option("SASS")
        root = pane.locator(".cm-line", has_text="MUFU.RSQ").first
        root.click()
        expect(page.locator(".source .lit-place")).to_contain_text("f32.sqrt x")
        source(page).click()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        expect(pane.locator(".pane-note")).to_have_text("There is no program yet.")
        write(page, "entry main = nothing")
        expect(pane.locator(".pane-note")).to_contain_text("see the error in the source")
        write(page, PROGRAM)
        expect(pane.get_by_text("regs  spilled")).to_be_visible()
        made = asked.count("listing")
        page.get_by_role("button", name="Share", exact=True).click()
        link = page.get_by_label("Link", exact=True).input_value()
        page.goto(link)
        expect(pane.get_by_text("regs  spilled")).to_be_visible()
        assert asked.count("listing") == made
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(link)
        expect(plain.get_by_role("heading", name="SASS")).to_be_visible()
        expect(plain.get_by_text("MUFU.RSQ").first).to_be_attached()
        plain.context.close()
    page.context.close()
