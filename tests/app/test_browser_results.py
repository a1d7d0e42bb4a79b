"""Results as pictures and tables, and inputs from files, with the compiler behind the page."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.browsing import MARKS, details, text, violations, working, write

pytestmark = MARKS

PICTURES = """\
entry main (n: i64) (m: i64) =
  ( tabulate_2d n m (\\i j -> f32.i64 (i * m + j))
  , tabulate_3d n m 3 (\\i j c -> u8.i64 (if c == 0 then i else j))
  , tabulate n (\\i -> f64.i64 (i * i))
  , tabulate n (\\i -> i == 3))
"""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with working(browser, address) as opened:
        yield opened


def run(page: Page, program: str, inputs: list[str]) -> Locator:
    """What a program gives for typed inputs."""
    write(page, program)
    params = re.findall(r"\((\w+: [^()]*)\)", program.partition(" =")[0])
    expect(page.locator(".run-field label")).to_have_text(params)
    for number, value in enumerate(inputs):
        page.locator(f"#run-value-{number}").fill(value)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .facts")).to_be_visible()
    return page.locator(".values > div")


def view(result: Locator, name: str) -> None:
    result.get_by_role("button", name=name, exact=True).click()


def pixel(canvas: Locator, x: float, y: float) -> list[int]:
    """The colour at a place, given in parts of the width and height."""
    found: list[int] = canvas.evaluate(
        "(c, [x, y]) => [...c.getContext('2d').getImageData(x * c.width, y * c.height, 1, 1).data]",
        [x, y],
    )
    return found[:3]


def test_each_type_has_its_picture_and_a_table_of_the_same_numbers(page: Page) -> None:
    results = run(page, PICTURES, ["200i64", "30i64"])
    heat, image, line, bools = (results.nth(k) for k in range(4))
    canvas = heat.locator("canvas")
    expect(heat.locator(".readout")).to_have_text("[0][0] = 0.0f32")
    expect(heat.locator(".legend-row")).to_contain_text("5999.0f32")
    assert pixel(canvas, 0.01, 0.001) == [68, 1, 84]
    assert pixel(canvas, 0.99, 0.999) == [253, 231, 37]
    canvas.press("ArrowDown")
    canvas.press("ArrowRight")
    expect(heat.locator(".readout")).to_have_text("[1][1] = 31.0f32")
    canvas.press("+")
    expect(heat).to_contain_text("Rows 0 to 99, columns 0 to 14.")
    view(heat, "table")
    expect(heat.locator("tbody tr").nth(1).locator("td").nth(1)).to_have_text("31.0")
    expect(image.locator(".readout")).to_have_text("[0][0] = [0u8, 0u8, 0u8]")
    assert pixel(image.locator("canvas"), 0.99, 0.999) == [199, 29, 29]
    expect(line.locator("path.series")).to_have_count(1)
    expect(line).to_contain_text("0.0f64 to 39601.0f64")
    view(line, "histogram")
    line.locator("summary").click()
    counts = line.locator("tbody td:last-child").all_inner_texts()
    assert sum(map(int, counts)) == 200
    expect(bools.locator("table")).to_be_visible()
    assert violations(page) == []


def test_a_table_fetches_the_rows_that_are_scrolled_to(page: Page) -> None:
    program = "entry main (n: i64) = map (\\i -> 18446744073709551615u64 - u64.i64 i) (iota n)\n"
    result = run(page, program, ["500000i64"]).first
    view(result, "table")
    expect(result.locator("tbody td").first).to_have_text("18446744073709551615")
    result.locator(".table-scroll").evaluate("e => e.scrollTop = e.scrollHeight")
    expect(result.locator("tbody tr").last).to_contain_text("499999")
    expect(result.locator("tbody tr").last.locator("td")).to_have_text("18446744073709051616")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .busy")).to_have_count(0)
    expect(result.locator("tbody tr").last).to_contain_text("499999")


ODD = {
    "[[f32.nan, f32.inf], [-f32.inf, 2.5f32]]": ["all 2.5f32", "1 NaN", "1 +inf", "1 −inf"],
    "[[1.5f32, 1.5f32]]": ["all 1.5f32"],
    "empty([0][3]f32)": [],
    "[[7.0f32]]": ["all 7.0f32"],
}


def test_what_is_no_number_is_told_apart_and_what_is_empty_says_so(page: Page) -> None:
    for value, said in ODD.items():
        result = run(page, "entry main (xs: [][]f32) = map (map (+ 0)) xs\n", [value]).first
        view(result, "heat map")
        if not said:
            expect(result).to_contain_text("It has no elements.")
        for words in said:
            expect(result.locator(".legend-row")).to_contain_text(words)
    extreme = "[-9223372036854775808i64, 9223372036854775807i64, 0i64]"
    result = run(page, "entry main (xs: []i64) = map (+ 0) xs\n", [extreme]).first
    view(result, "line")
    expect(result).to_contain_text("-9223372036854775808i64 to 9223372036854775807i64")
    view(result, "table")
    expect(result.locator("tbody td")).to_have_text(
        ["-9223372036854775808", "9223372036854775807", "0"]
    )


def test_repeated_runs_have_a_median_and_compiling_stands_apart(page: Page) -> None:
    page.get_by_label("How often").select_option("10")
    run(page, "entry main (n: i64) = i64.sum (iota n)\n", ["1000i64"])
    facts = page.locator(".run-result .facts")
    expect(facts).to_contain_text("Median of 10 runs")
    expect(facts).to_contain_text("Compiling")
    expect(facts.locator(".strokes line")).to_have_count(11)


def test_random_inputs_follow_the_distribution_that_is_chosen(page: Page) -> None:
    write(page, "entry main [n] (xs: [n]u8) = (u8.minimum xs, u8.maximum xs, n)\n")
    expect(page.locator(".run-field label")).to_have_text(["xs: [n]u8"])
    page.get_by_label("random").check()
    page.get_by_label("Distribution").select_option("borders")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".value").nth(1)).to_have_text("255u8")


def csv(folder: Path) -> Path:
    path = folder / "xs.csv"
    path.write_text("a,b\n1,2.5\n-3,nan\n")
    return path


def npy(folder: Path) -> Path:
    path = folder / "xs.npy"
    np.save(path, np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)))
    return path


def binary(folder: Path) -> Path:
    path = folder / "xs.bin"
    head = b"b" + bytes([2, 2]) + b" f64" + struct.pack("<2Q", 1, 2)
    path.write_bytes(head + struct.pack("<2d", 0.1, -2))
    return path


FILES = {
    csv: "[[1f64, 2.5f64], [-3f64, f64.nan]]",
    npy: "[[0.0f64, 1.0f64, 2.0f64], [3.0f64, 4.0f64, 5.0f64]]",
    binary: "[[0.1f64, -2.0f64]]",
}


def test_inputs_come_out_of_files_and_are_kept_with_the_program(page: Page, tmp_path: Path) -> None:
    write(page, "entry main (xs: [][]f64) = map (map (* 2)) xs\n")
    expect(page.locator(".run-field label").first).to_have_text("xs: [][]f64")
    for make, value in FILES.items():
        page.locator(".run-field input[type=file]").set_input_files(make(tmp_path))
        expect(page.locator("#run-value-0")).to_have_value(value)
    wrong = tmp_path / "w.npy"
    np.save(wrong, np.zeros(3, np.int8))
    page.locator(".run-field input[type=file]").set_input_files(wrong)
    expect(page.locator(".run-fields .said")).to_have_text(
        "The file holds []i8, but the parameter takes [][]f64."
    )
    page.get_by_role("button", name="Keep in the program").click()
    expect(page.locator(".source")).to_contain_text("[[0.1f64, -2.0f64]] }")
    assert text(page).count("-- ==\n-- entry: main\n") == 1
    page.locator("#run-value-0").fill("[[9f64]]")
    page.get_by_label("Data set").select_option("set 1")
    expect(page.locator("#run-value-0")).to_have_value("[[0.1f64, -2.0f64]]")
    details(page, "Tests")
    page.get_by_role("button", name="Run all").click()
    expect(page.locator(".trials-top [role=status]")).to_contain_text("passed")


def test_a_picture_is_an_array_and_a_long_value_is_not_put_into_a_field(page: Page) -> None:
    write(page, "entry main [h][w] (xs: [h][w][3]u8) = map (map (map (255 -))) xs\n")
    expect(page.locator(".run-field label").first).to_have_text("xs: [h][w][3]u8")
    drawn = page.evaluate(
        """async () => {
          const canvas = new OffscreenCanvas(120, 80), context = canvas.getContext("2d");
          context.fillStyle = "rgb(250,10,20)";
          context.fillRect(0, 0, 120, 80);
          const buffer = await (await canvas.convertToBlob()).arrayBuffer();
          return [...new Uint8Array(buffer)];
        }"""
    )
    given = {"name": "red.png", "mimeType": "image/png", "buffer": bytes(drawn)}
    page.locator(".run-field input[type=file]").set_input_files(given)
    expect(page.locator(".run-field")).to_contain_text("red.png: [80][120][3]u8, 28.8 kB")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".run-result .readout")).to_have_text("[0][0] = [5u8, 245u8, 235u8]")
    page.get_by_role("button", name="Take it out").click()
    expect(page.locator("#run-value-0")).to_be_visible()


def test_copies_are_counted_by_kind(page: Page) -> None:
    facts = page.locator(".run-result .facts")
    run(page, "entry main [n] (a: [n][n]i64): [n][n]i64 = copy (transpose a)", ["[[1, 2], [3, 4]]"])
    expect(facts).to_contain_text("1 × transposition (32 B)")
    run(page, "entry main [n] (a: [n]i64): [n]i64 = map (+ 1) a", ["[1, 2]"])
    expect(facts).not_to_contain_text("Copies")
