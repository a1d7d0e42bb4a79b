"""Times on devices that are not at hand: what they are bound by, how they grow, how far off."""

import json
from pathlib import Path
from typing import Any

import pytest

from compiler.base.text import plain
from compiler.driver import api
from compiler.driver.explanations import accesses
from compiler.explain import instructions, kernel_times, predictions
from compiler.explain.device_sheets import BY_ID, SHEETS
from compiler.explain.predicted_times import HOW_FAR
from compiler.explain.predictions import Prediction, kernels_of
from compiler.protocol.accesses import AccessesRequest
from compiler.protocol.kinds import OfProgram

RESULTS = Path(__file__).parents[2] / "bench" / "results"
H200 = BY_ID["h200"]
COPY = "entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) xs"
PRODUCT = (
    "entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 ="
    " map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a"
)
SERIES = (
    "entry main [n] (xs: [n]f32): [n]f32 ="
    " map (\\x -> loop s = x for _i < 1000i32 do f32.exp s * f32.sqrt s + 1) xs"
)


def predict(source: str, *shapes: Any) -> Prediction:
    options: Any = {"target": "cuda"}
    made = api.compilation(OfProgram(source, options))
    prog, text = made.result("kernels").prog, made.result("cuda").text
    return predictions.predict(prog, text, "main", shapes, [None] * len(shapes))


def seconds(source: str, *shapes: Any) -> float:
    return kernel_times.of_run(predict(source, *shapes), H200)[0]


def bounds(source: str, *shapes: Any) -> set[str]:
    _, times = kernel_times.of_run(predict(source, *shapes), H200)
    return {time.bound for time in times.values()}


def test_what_a_kernel_is_bound_by() -> None:
    assert bounds(COPY, (10**8,)) == {"memory"}
    assert bounds(COPY, (100,)) == {"launches"}
    assert bounds(SERIES, (10**7,)) == {"instructions"}


def test_ten_times_the_elements_take_ten_times_as_long() -> None:
    least = seconds(COPY, (1,))
    for source in (COPY, SERIES):
        some, more = (seconds(source, (n,)) - least for n in (10**7, 10**8))
        assert more / some == pytest.approx(10, rel=0.2)


def test_no_device_is_faster_than_its_data_sheet() -> None:
    found = predict(COPY, (10**8,))
    for sheet in SHEETS:
        assert kernel_times.of_run(found, sheet)[0] > 8 * 10**8 / sheet.memory


def test_what_fits_the_second_cache_is_not_read_from_memory_again() -> None:
    """The last kernel of a scan reads what the first one has read, and writes its result."""
    part = {}
    for n in (10**6, 10**8):
        works = predict("entry main [n] (xs: [n]f32) = scan (+) 0 xs", (n,)).works
        (third,) = (work for name, work in works.items() if name.endswith("_third"))
        part[n] = kernel_times.of_kernel(third, H200).parts["memory"] / n
    assert part[10**6] == pytest.approx(part[10**8] / 2, rel=0.1)


def test_a_product_of_matrices_takes_an_instruction_for_each_product() -> None:
    (work,) = predict(PRODUCT, (256, 256), (256, 256)).works.values()
    plain_, whole, double, special = work.spent.instructions
    assert plain_ == pytest.approx(256**3 / 32, rel=0.01)
    assert whole < plain_  # addresses in registers and constants are none
    assert double == 0
    assert special < plain_ / 100


def test_what_does_not_change_in_a_loop_is_computed_in_front_of_it() -> None:
    same = "map (\\x -> loop s = x for i < 1000i64 do s + f32.exp x) xs"
    other = "map (\\x -> loop s = x for i < 1000i64 do s + f32.exp s) xs"
    spent = [
        sum(
            float(work.spent.instructions[0])
            for work in predict(f"entry main [n] (xs: [n]f32) = {body}", (1024,)).works.values()
        )
        for body in (same, other)
    ]
    assert spent[0] < spent[1] / 5


def test_each_statement_is_counted_once() -> None:
    """Twice as many statements are twice as many numbers."""
    sizes = []
    for n in (50, 100):
        body = " ".join(f"let x = f32.exp x * {k}f32" for k in range(n))
        made = api.compilation(
            OfProgram(f"entry main (xs: []f32) = map (\\x -> {body} in x) xs", {"target": "cuda"})
        )
        prog, text = made.result("kernels").prog, made.result("cuda").text
        ((kernel, _),) = kernels_of(prog, text).values()
        sizes.append(sum(float(one.sum()) for one in instructions.taken(kernel).values()))
        assert plain(text).count("expf(") >= n
    assert sizes[1] / sizes[0] == pytest.approx(2, rel=0.1)


def test_data_that_decides_how_often_is_told() -> None:
    collatz = (
        "entry main [n] (xs: [n]i32) = map (\\x -> (loop (x, k) = (x, 0) while x > 1 do"
        " (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)).1) xs"
    )
    asked: Any = {"source": collatz, "sizes": {"n": 1000}}
    assert "depends on data" in api_accesses(asked)["unsure"]
    asked = {"source": COPY, "sizes": {"n": 1000}}
    answer = api_accesses(asked)
    assert not answer["unsure"]
    assert [one["device"] for one in answer["foretold"]] == [sheet.name for sheet in SHEETS]
    assert [one["device"] for one in answer["foretold"] if one["measured"]] == ["H200"]


def api_accesses(fields: Any) -> Any:
    return accesses(AccessesRequest(**fields))


def test_how_far_off_times_are_is_what_was_measured() -> None:
    """The sentence that stands beside a time holds for the programs that were not fitted."""
    figures = json.loads((RESULTS / "foretold.json").read_text())["figures"]
    assert HOW_FAR == "within a factor of 2 for 9 of 10 measured programs"
    assert figures["not fitted"]["within 2"] >= 0.9
    assert figures["not fitted"]["programs"] >= 20
    assert figures["blind"]["within 2"] >= 0.9
    assert figures["blind"]["programs"] >= 20
