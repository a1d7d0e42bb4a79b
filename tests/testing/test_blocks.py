"""What test blocks say, and what is said of those that are malformed."""

from __future__ import annotations

import pytest

from compiler.base.errors import InputError
from compiler.testing.blocks import read

WHOLE = """\
-- What it is.
-- ==
-- tags { slow no_cuda }
-- entry: main other
-- input { 1i32 "a}b" } output { 2i32 }
-- "named" compiled notest input @ data/x.in.gz
-- auto output
-- nobench random input { [3]i32
--   f32 } error: Index \\[.*\\]
-- script input { f {x = 1} }
-- warning: unused
-- structure gpu { SegMap 1 /SegRed 2 }

entry main = 1
-- no block
-- ==
-- input {}

-- ==
-- property: holds too
"""


def test_a_block_is_read_whole() -> None:
    spec = read(WHOLE)
    assert spec.tags == {"slow", "no_cuda"}
    found = [(case.kind, case.entry, case.name) for case in spec.cases]
    runs = ['#0 ("1i32 "a}b"")', "named", "[3]i32 f32", "f {x = 1}"]
    assert found == [
        *(("run", entry, name) for name in runs for entry in ("main", "other")),
        ("warning", "main", "warns"),
        ("structure", "main", "structure gpu"),
        ("run", "main", '#0 ("")'),
        ("property", "holds", "holds"),
        ("property", "too", "holds"),
    ]
    first, _, named, _, drawn, _, script, *_ = spec.cases
    assert first.input is not None
    assert first.output is not None
    assert (first.input.form, first.output.text.strip()) == ("values", "2i32")
    assert named.input is not None
    assert (named.input.form, named.input.text, named.auto) == ("file", "data/x.in.gz", True)
    assert named.tags == {"compiled", "notest"}
    assert drawn.input is not None
    assert (drawn.input.form, drawn.error, drawn.regex) == ("random", True, r"Index \[.*\]")
    assert drawn.tags == {"nobench"}
    assert script.input is not None
    assert (script.input.form, script.error, script.output) == ("script", False, None)
    assert spec.cases[9].counts == (("SegMap", 1), ("/SegRed", 2))
    assert first.span[:2] == (5, 4)


def test_a_program_that_must_be_refused_has_one_test() -> None:
    (case,) = read("-- ==\n-- error: some.*thing\n\nlet x =").cases
    assert (case.kind, case.error, case.regex) == ("refused", True, "some.*thing")


def test_a_block_without_data_says_that_the_program_compiles() -> None:
    assert [case.kind for case in read("-- ==\n\nentry main = 1").cases] == ["compiles"]
    assert read("-- Nothing to test.\nentry main = 1\n-- ===== no block").cases == ()


def test_blocks_may_have_tests_of_one_name() -> None:
    block = '-- ==\n-- "a" input { 1 } output { 2 }\n'
    found = read(f"{block}\n{block}\nentry main x = x + 1").cases
    assert [case.name for case in found] == ["a", "a"]


@pytest.mark.parametrize(
    ("block", "place", "says", "hint"),
    [
        ("-- input { 1", (2, 10), "has no `}`", "put `--` before"),
        ("-- input 1", (2, 10), "Expected `{` with values, found `1`", "{ .. }"),
        ("-- output { 1 }", (2, 4), "`output` has no input", "input { .. }"),
        ("-- auto output", (2, 4), "`auto output` has no input", "input { .. }"),
        ("-- input {} error", (2, 13), "Expected `error:`", "colon"),
        ("-- input {} auto", (2, 17), "after `auto`, found the end", "auto output"),
        ("-- input {}\n-- some words", (3, 4), "Expected a test, found `some`", "empty line"),
        ("-- input {} error: (", (2, 19), "no regular expression", "signs"),
        ("-- random input @ x", (2, 18), "told by their types", "random input {"),
        ("-- input @", (2, 11), "name of the file", "behind `@`"),
        ("-- entry:\n-- input {}", (2, 10), "Which entry point", "entry: main"),
        ("-- structure { Map }", (2, 14), "kinds of nodes with numbers", "structure { Map 1"),
        ("-- error: x\n-- input {}", (3, 4), "no other tests", "file of its own"),
        ("-- input {}\n-- input {} output {}\n-- error: x", (4, 10), "no input before", "input"),
        ('-- "a" input {1}\n-- "a" input {2}', (3, 4), "two tests called `a`", "another name"),
    ],
)
def test_a_malformed_block_is_an_error_with_its_place_and_a_way_out(
    block: str, place: tuple[int, int], says: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(f"-- ==\n{block}\n\nentry main = 1\n")
    assert says in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.span[:2] == place


def test_a_block_may_begin_on_the_line_of_its_sign() -> None:
    source = "-- == entry: double\n-- input { [1, 2] }\n-- output { [2, 5] }\n-- == input { 3 }\n"
    assert [(case.kind, case.entry) for case in read(source).cases] == [
        ("run", "double"),
        ("run", "main"),
    ]
