"""The fields for a run's inputs: they follow the types, and keep what was typed."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.app.browsing import MARKS, PATIENCE, pane, run, visiting, working, write

pytestmark = MARKS


def fields(page: Page) -> list[str]:
    found: list[str] = page.locator(".run-field textarea").evaluate_all(
        "all => all.map(x => x.value)"
    )
    return found


def program(page: Page, params: str, more: str = "") -> None:
    """Write a program with these parameters, and wait until it was checked."""
    write(page, f"{more}entry main {params} = 1 -- {abs(hash(params + more))}\n")
    expect(pane(page)).to_contain_text(str(abs(hash(params + more))))


def test_a_field_without_a_value_is_named(page: Page) -> None:
    program(page, "(k: i64) (xs: [n]i64)", "-- FAILS\n")
    page.locator("#run-value-1").fill(" ")
    run(page)
    expect(page.locator(".run-result")).to_contain_text("xs has no value: type one")
    expect(page.locator(".run-result")).not_to_contain_text("k has no value")


def test_what_was_typed_is_kept_by_name_and_type(page: Page) -> None:
    program(page, "(xs: [n]i64)")
    page.locator("#run-value-0").fill("[7i64, 8i64]")
    program(page, "(k: i64) (xs: [n]i64) (ys: [n]i64)")
    assert fields(page) == ["3i64", "[7i64, 8i64]", "[1i64, 2i64]"]
    program(page, "(xs: [n]f64)")
    assert fields(page) == ["[1.0f64, 2.0f64, 3.0f64, 4.0f64]"]
    program(page, "(xs: [n]i64)")
    assert fields(page) == ["[7i64, 8i64]"]
    page.wait_for_timeout(400)
    page.reload()
    expect(page.locator("#run-value-0")).to_have_value("[7i64, 8i64]")
    page.get_by_label("Example").select_option("second")
    expect(pane(page)).to_contain_text("entry main = 1 -- fused")
    assert fields(page) == ["[1i64, 2i64, 3i64, 4i64]"]
    page.locator("#run-value-0").fill("[5i64]")
    earlier = page.get_by_label("Example").locator("option", has_text="entry main (xs: [n]i64)")
    page.get_by_label("Example").select_option(earlier.get_attribute("value"))
    expect(page.locator("#run-value-0")).to_have_value("[7i64, 8i64]")
    page.get_by_label("Example").select_option("second")
    expect(page.locator("#run-value-0")).to_have_value("[5i64]")


def test_a_program_of_ones_own_runs_on_what_its_fields_show(browser: Browser, address: str) -> None:
    """The inputs of the example before are for that example alone."""
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/examples/matrix_multiplication")
    expect(page.locator("#run-value-1")).to_have_value(
        "[[1.0f32, 0.0f32, 2.0f32], [0.0f32, 1.0f32, 3.0f32]]"
    )
    page.get_by_label("Back end").select_option("ref")
    for text, result in OWN.items():
        write(page, text)
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_have_text(result)
    page.context.close()


def test_traced_values_stand_behind_their_lines_and_below_the_result(
    browser: Browser, address: str
) -> None:
    with visiting(browser) as page:
        page.goto(f"{address}/examples/matrix_multiplication")
        expect(page.locator("#run-value-1")).to_have_value(re.compile("1.0f32"))
        page.get_by_label("Back end").select_option("ref")
        write(page, TRACED)
        field = page.get_by_role("textbox", name="n: i64")
        field.fill("6i64")
        page.keyboard.press("Control+Enter")
        behind = page.locator(".source .cm-line").nth(1).locator(".traced")
        values = [f"({k}i64, #at {k}i64)" for k in range(6)]
        expect(behind).to_have_text(", ".join(values[:4]) + ", … (6)")
        expect(page.locator(".traced")).to_have_count(1)
        below = page.get_by_label("Traced values")
        expect(below.locator("li")).to_have_text(f"line 2 trace {', '.join(values)}")
        field.fill("0i64")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".run-result .value")).to_have_text(re.compile("empty"))
        expect(page.locator(".traced")).to_have_count(0)
        write(page, "entry main (n: i64) = let xs = trace [n] in xs[trace 2]\n")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".source .traced")).to_have_text("[0i64] · 2i32")
        expect(below.locator("li")).to_have_count(2)


TRACED = """def f (x: i64) =
  trace (x, #at x : #at i64)
entry main (n: i64) = map f (iota n)
"""
OWN = {
    "entry main (a: [][]f32) (k: i64) = a[0, 0] + f32.i64 k\n": "4.0f32",
    "entry main [n] (xs: [n]i64) (is: [n]i64) = map (\\i -> xs[i - 1]) is\n": (
        "[1i64, 2i64, 3i64, 4i64]"
    ),
    "entry main (k: i64) (ps: [k](i64, bool)) = map (.0) ps\n": "[1i64, 3i64, 5i64, 7i64]",
}


def test_sizes_may_be_called_as_what_every_object_has(browser: Browser, address: str) -> None:
    with working(browser, address) as page:
        write(
            page,
            "entry constructor [toString] [valueOf] (xss: [toString][valueOf]i32) (isPrototypeOf: "
            "[valueOf]i32) = (map (map (+ 1)) xss, isPrototypeOf)",
        )
        expect(page.get_by_label("Entry")).to_have_value("constructor")
        for given in page.locator(".run-inputs :is(textarea, input[type=text])").all():
            assert re.fullmatch(r"[\[\]\d, ]+", given.input_value())
        page.get_by_label("random", exact=True).check()
        for name, value in (("toString", "1000"), ("valueOf", "1000")):
            expect(page.locator(f"#run-size-{name}")).to_have_value(value)
        page.locator("#run-size-toString").fill("3")
        page.locator("#run-size-valueOf").fill("4")
        run(page)
        expect(page.locator(".run-result")).to_contain_text("[3][4]i32")
