"""The bounds report says of every access what the compiled program does."""

from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.codegen.imp.nodes import Assert
from compiler.driver import api, explanations, worker
from compiler.frontend import ast
from compiler.frontend.parser import parse
from compiler.lower.arrays import OUT_OF_BOUNDS
from compiler.protocol.kinds import OfProgram
from compiler.protocol.proofs import BoundsRequest

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
LINES = """entry main [n] (xs: [n]i32) (is: [n]i64) (k: i64): (i32, [n]i32) =
  let sum = loop s = 0 for i < n do s + xs[i]
  let fixed = loop s = 0 for i < n do s + xs[k] * i32.i64 i
  let read = map (\\i -> xs[i]) is
  in (sum + fixed, read)
"""


def accesses(source: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explanations.bounds(BoundsRequest(source, options))["accesses"]
    return found


def nodes(node: object, found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The places of indices, slices and updates in a syntax tree."""
    if isinstance(node, tuple | list):
        for part in node:
            nodes(part, found)
    elif hasattr(type(node), "__dataclass_fields__"):
        if isinstance(node, ast.Index | ast.Update):
            found.append(tuple(node.span[:4]))
        for name in type(node).__dataclass_fields__:
            nodes(getattr(node, name), found)
    return found


def checked(source: str) -> set[tuple[int, ...]]:
    """The accesses for which IMP has a check."""
    prog = api.compilation(OfProgram(source)).result("imp").prog
    found: set[tuple[int, ...]] = set()
    stack: list[Any] = [prog]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple | list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
        elif hasattr(type(node), "__dataclass_fields__"):
            if isinstance(node, Assert) and str(node.message[0]).startswith(OUT_OF_BOUNDS):
                found.add(tuple(node.prov[0][:4]))
            stack.extend(getattr(node, name) for name in type(node).__dataclass_fields__)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_access_of_an_example_is_told_once_and_as_it_is(path: Path) -> None:
    source = path.read_text("utf-8")
    found = accesses(source)
    places = [tuple(access["src"]) for access in found]
    assert len(set(places)) == len(places)
    written = {place for place in nodes(parse(source), []) if place[0]}
    assert written <= set(places)
    left = checked(source)
    for access in found:
        assert (access["state"] in ("kept", "hoisted")) == (tuple(access["src"]) in left), access
        assert bool(access["missing"]) == (access["state"] in ("kept", "hoisted"))
        assert access["because"]


def test_dropped_hoisted_and_kept() -> None:
    by_line = {access["src"][0]: access for access in accesses(LINES)}
    assert [by_line[line]["state"] for line in (2, 3, 4)] == ["dropped", "hoisted", "kept"]
    (claim,) = by_line[2]["claims"]
    assert claim == {"says": "0 <= i < n", "facts": ["i runs from 0 to n - 1"]}
    assert "loop" in by_line[3]["because"]
    assert any("k < n" in part for part in by_line[3]["missing"])
    assert by_line[4]["missing"] == ["i >= 0", "i < n"]


def test_what_is_checked_already_is_a_fact() -> None:
    source = "entry main [n] (xs: [n]i32) (k: i64): i32 = xs[k] + xs[k]"
    first, second = accesses(source)
    assert first["state"] == "kept"
    assert second["state"] == "dropped"
    assert "k < n holds here" in [fact for claim in second["claims"] for fact in claim["facts"]]


def test_a_slice_and_an_update_have_kinds_and_places() -> None:
    source = "entry main [n] (xs: *[n]i32) (a: i64): [n]i32 = xs with [a : a + 1] = copy xs[:1]"
    update, part = accesses(source)
    assert (update["kind"], part["kind"]) == ("update", "slice")
    text = source[update["at"][1] - 1 : update["at"][3] - 1]
    assert text == "a : a + 1"


def test_what_no_program_is_made_of_is_unused() -> None:
    source = "def unused (xs: []i32): i32 = xs[3]\nentry main (x: i32): i32 = x"
    assert [access["state"] for access in accesses(source)] == ["unused"]


def test_a_rule_that_is_switched_off_keeps_its_checks() -> None:
    off = ["soa/bounds", "simplify"]
    states = {access["state"] for access in accesses(LINES, disable=off)}
    assert states == {"kept"}


def test_the_worker_and_the_command_line_tell_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = worker.answer({"op": "bounds", "source": LINES})
    assert answer == {"ok": True, "accesses": accesses(LINES)}
    path = tmp_path / "lines.fut"
    path.write_text(LINES, "utf-8")
    assert main(["bounds", str(path)]) == 0
    said = capsys.readouterr().out
    assert "2:41: index dropped" in said
    assert "i runs from 0 to n - 1" in said
    assert "is not proved" in said


def test_a_program_without_accesses_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.fut"
    path.write_text("entry main (xs: []i32): []i32 = map (+ 1) xs\n")
    assert main(["bounds", str(path)]) == 0
    assert capsys.readouterr().out.startswith("The program has no index, slice or update")


def test_a_condition_is_told_as_it_is_checked() -> None:
    """Not by what the proof calls its parts."""
    source = """
entry main (xs: []i64) (n: i64): i64 =
  if 0 <= n - 1 && n - 1 < length xs then xs[n - 1] else 0
"""
    (access,) = explanations.bounds(BoundsRequest(source, {}))["accesses"]
    facts = {fact for claim in access["claims"] for fact in claim["facts"]}
    assert access["state"] == "dropped"
    assert any(fact.endswith("<= n - 1 holds here") for fact in facts), facts


UNNAMED = """
entry main [n] [m] (xs: [n]i32) (ys: [m]i32) (k: i64): i32 =
  let i = i64.max 0 (i64.min k (i64.min (n - 1) (m - 1)))
  in if n > 0 && m > 0 then xs[i64.min (n - 1) (i64.min i (m - 1))] + ys[k % m] else 0
"""


def test_what_has_no_name_is_spelt_as_what_it_is() -> None:
    accesses = explanations.bounds(BoundsRequest(UNNAMED, {}))["accesses"]
    told = [claim for one in accesses for claim in one["claims"]]
    texts = [text for claim in told for text in (claim["says"], *claim["facts"])]
    assert any("k % m" in text for text in texts)
    assert not any("?" in text for text in texts)


DEEP = """
entry main [n] (xs: [n]i32) (j: u8) (k: i64) (m: i64): i32 =
  xs[((((k / m) / m + 1) / m) / m + 2) / m % n] + xs[i64.u8 (j * 3) % n]
  + xs[(if k * k > m then k + 1 else m / 7) % n]
"""


def test_operators_within_operators_are_spelt_as_the_author_wrote_them() -> None:
    found = explanations.bounds(BoundsRequest(DEEP, {}))["accesses"]
    told = [claim["says"] for one in found for claim in one["claims"]]
    assert told == [
        "0 <= (((((((k / m) / m) + 1) / m) / m) + 2) / m) % n < n",
        "0 <= i64.u8(3*j) % n < n",
        "0 <= (if k * k > m then (k + 1) else (m / 7)) % n < n",
    ]


def test_what_is_too_deep_has_no_name_of_the_compilers() -> None:
    index = "k"
    for _ in range(40):
        index = f"(({index} + 1) / m)"
    source = f"entry main [n] (xs: [n]i32) (k: i64) (m: i64): i32 = xs[{index} % n]"
    (access,) = explanations.bounds(BoundsRequest(source, {}))["accesses"]
    (claim,) = access["claims"]
    assert "(a number made of k and m) + 1) / m" in claim["says"]
    assert "?" not in str(claim)


def test_two_numbers_that_are_too_deep_are_told_apart_and_name_what_they_are_made_of() -> None:
    deep = [f"{a} + {b} * {c}" for a, b, c in ("kab", "jab")]
    for _ in range(40):
        deep = [f"(({index}) / m + 1)" for index in deep]
    params = "(k: i64) (j: i64) (a: i64) (b: i64) (m: i64)"
    source = f"entry main [n] (xs: [n]i32) {params}: i32 = xs[({deep[0]} * {deep[1]}) % n]"
    (access,) = explanations.bounds(BoundsRequest(source, {}))["accesses"]
    (claim,) = access["claims"]
    assert "(a number made of a, b, k and more)" in claim["says"]
    assert "(a number made of a, b, j and more)" in claim["says"]


COMPUTED = """
entry main [n_1] (map': [n_1]i32) (is: [9]i64) (k: i32): [n_1][9]i32 =
  map (\\a -> map (\\b -> map'[(a - is[b]) % n_1] + map'[i64.i32 (k * 3) % n_1])
                 (iota 9)) (iota n_1)
"""


def test_what_nothing_is_known_of_is_spelt_with_the_authors_names() -> None:
    found = explanations.bounds(BoundsRequest(COMPUTED, {}))["accesses"]
    told = [claim["says"] for one in found for claim in one["claims"]]
    assert "0 <= (a - is[b]) % n_1 < n_1" in told
    assert "0 <= i64.i32(3*k) % n_1 < n_1" in told


ASKED = "#[warn(safety_checks)]"


@pytest.mark.parametrize(
    ("source", "places"),
    [
        (f"entry f (xs: []i32) (i: i64) = {ASKED} xs[i]", [(1, 55)]),
        (f"entry f [n] (xs: [n]i32) = {ASKED} map (\\i -> xs[i] + xs[n - 1 - i]) (iota n)", []),
        (f"entry f (xs: []i32) (is: []i64) = {ASKED} map (\\i -> xs[i] + xs[length xs - 1]) is",
         [(1, 69)]),
        (f"def g (xs: []i32) (i: i64) = xs[i]\ndef h xs i = 2 * g xs i\n"
         f"entry f (xs: []i32) (is: []i64) = {ASKED} map (h xs) is", [(1, 30)]),
        (f"def g (xs: []i32) (i: i64) = xs[i]\n"
         f"entry f (xs: []i32) (i: i64) = ({ASKED} (i + 1), g xs i)", []),
        (f"entry f (xs: *[]i32) (i: i64) = {ASKED} (xs with [i] = xs[i + 1])",
         [(1, 57), (1, 71)]),
        (f"entry f (xs: []i32) (i: i64) = {ASKED} #[unsafe] xs[i]", [(1, 65)]),
        (f"entry f (x: f32) = {ASKED} vjp (\\y -> y * y) x 1", []),
        (f"def f (xs: []i32) (i: i64) = {ASKED} xs[i]", []),
    ],
    ids=str,
)  # fmt: skip
def test_checks_that_are_left_are_warned_of_where_the_program_asks(
    source: str, places: list[tuple[int, int]]
) -> None:
    told = worker.answer({"op": "check", "source": source})
    assert told["ok"]
    found = [one for one in told["warnings"] if one["code"] == "W016"]
    assert [tuple(one["span"][:2]) for one in found] == places
    assert all(one["message"].startswith("Safety check required") for one in found)


WITHIN = """entry main (z: [52]i16) =
  loop s = 0i16 for i < 7i32 do let k = 4 + 6 * i let j: i8 = i8.i32 k in s + z[k] + z[k + 1] + z[j]
"""
BEYOND = """entry main (z: [40]i16) =
  loop s = 0i16 for i < 64i32 do let j: i8 = i8.i32 (i * 3) in if j >= 0 then s + z[j] else s
"""


def test_a_number_of_fewer_bits_is_what_it_is_bound_to_where_that_fits() -> None:
    """And where it does not, the check stays: 3 * 43 is no i8, and 3 * 42 no index."""
    assert {one["state"] for one in accesses(WITHIN)} == {"dropped"}
    assert {one["state"] for one in accesses(BEYOND)} == {"kept"}


SMALL = [
    "(k: i32) = z[k & 15]",
    "(k: i64) = z[15 & k]",
    "(k: i64) = z[(k >> 3) & 15]",
    "(k: u32) = z[i64.u32 (k >> 28)]",
    "(k: u64) = z[i64.u64 (k >> 60)]",
    "(k: u64) = z[i64.u64 (k % 16)]",
    "(k: i8) = z[k % 16]",
    "(k: u32) = z[i64.u32 (k %% 16)]",
    "(k: i32) = z[i32.min 15 (i32.max 0 k)]",
    "(k: i64) = z[i64.i32 (i32.i64 (k % 5)) << 1]",
    "(k: i32) = z[i64.i32 (k & 15) / 2]",
    "(k: u32) = z[i64.i32 (i32.u32 (k >> 29)) + 1]",
    "(k: bool) = z[i64.bool k]",
    "(k: i32) = z[if k > 3 then 3 else 5i32]",
]
LARGE = [
    "(k: i32) = z[k & 31]",
    "(k: i32) = z[k & -16]",
    "(k: i32) = z[k >> 28]",
    "(k: u32) = z[i64.u32 (k >> 27)]",
    "(k: i64) = z[k %% 16]",
    "(k: u8) = z[i8.u8 (k % 200)]",
    "(k: i8) = z[i8.min 15 (i8.abs k)]",
    "(k: i8) = z[(k & 63) << 1]",
]


@pytest.mark.parametrize("source", SMALL)
def test_masks_shifts_and_clamps_of_all_types_stay_inside(source: str) -> None:
    (access,) = accesses("entry main (z: [16]i16) " + source)
    assert access["state"] == "dropped"


@pytest.mark.parametrize("source", LARGE)
def test_masks_shifts_and_clamps_that_may_lead_outside_are_checked(source: str) -> None:
    (access,) = accesses("entry main (z: [16]i16) " + source)
    assert access["state"] == "kept"
