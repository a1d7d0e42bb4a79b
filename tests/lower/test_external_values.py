"""Values of records, tuples and sums, as entry points take and give them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.base.prim import PRIMS, int_range
from compiler.driver import api, worker
from compiler.frontend.types import Array, PrimT, Record, SizeConst, Sum, Type, tuple_type
from compiler.ir.nodes import Body, Function
from compiler.ir.values import Value, to_binary
from compiler.lower.components import PayloadSize, components
from compiler.lower.external_values import Outside, comparable, possible, show
from compiler.lower.read_external import results
from compiler.protocol.kinds import OfProgram
from compiler.testing.compare import difference

TYPES = """
type s2 = #q i32 | #r
type s = #a i32 | #b s2 | #c (i32, i32) | #d [2]i32 | #e {x: i32} | #f i32 s2 f32
type o [n] = #none | #some [n]i32
type q = {a: i32, b: [1]f64}
type r = {a: i32, b: [2]f64}
module m : { type t val mk : i32 -> t } = { type t = {a: i32} def mk a = {a} }
"""


def run(types: str, body: str, text: str, **more: Any) -> dict[str, Any]:
    """What comes of `text` for an entry point whose parameters and body are these."""
    program = {"source": f"{TYPES}\nentry main {types} = {body}", "backend": "ref", **more}
    return worker.answer({"op": "run", "input": text, **program})


@pytest.mark.parametrize(
    ("kind", "made", "shown"),
    [  # as `futhark run` prints them, without its line breaks
        ("s", "#b (#q 3)", "#b (#q 3i32)"),
        ("s", "#c (1, 2)", "#c (1i32, 2i32)"),
        ("s", "#f 1 #r (-3)", "#f 1i32 (#r) -3.0f32"),
        ("s", "#f 1 (#q (-1)) (-f32.inf)", "#f 1i32 (#q -1i32) -f32.inf"),
        ("s", "#e {x = 4}", "#e {x = 4i32}"),
        ("s", "#d [1, 2]", "#d [1i32, 2i32]"),
        ("{a: (i64, bool)}", "{a = (1, true)}", "{a = (1i64, true)}"),
        ("{0: i32, 1: i32, a: i32}", "{0=1, 1=2, a=3}", "{0 = 1i32, 1 = 2i32, a = 3i32}"),
        ("{1: i32, 2: i32}", "{1=1, 2=2}", "{1 = 1i32, 2 = 2i32}"),
        ("[](i32, bool)", "replicate 0 (1, true)", "empty([0](i32, bool))"),
        ("[][]s2", "replicate 0 (replicate 3 #r)", "empty([0][3]#q i32 | #r)"),
        ("[][]s2", "replicate 1 (replicate 3 #r)", "[[#r, #r, #r]]"),
        ("[](i8, [1]i8)", "replicate 2 (1, [2])", "[(1i8, [2i8]), (1i8, [2i8])]"),
        ("[]()", "replicate 2 ()", "[(), ()]"),
        ("((), i64)", "((), 1)", "()\n1i64"),
        ("(i32, {a: i32})", "(1, {a = 2})", "1i32\n{a = 2i32}"),
        ("m.t", "m.mk 2", "{a = 2i32}"),
        ("()", "()", ""),
        # here an array without elements keeps its shape inside of others, too
        ("{a: [][]f32}", "{a = replicate 2 []}", "{a = empty([2][0]f32)}"),
        ("[]{k: u64}", "[{k = u64.highest}]", "[{k = 18446744073709551615u64}]"),
        ("{z: f64, n: f32}", "{n = f32.nan, z = -0.0}", "{n = f32.nan, z = -0.0f64}"),
        ("{i: i64}", "{i = i64.lowest}", "{i = -9223372036854775808i64}"),
    ],
)  # fmt: skip
def test_results_are_shown_and_taken_as_values(kind: str, made: str, shown: str) -> None:
    answer = run(f": {kind}", made, "")
    assert answer["output"] == shown
    if kind != "((), i64)" and kind[0] != "(":
        assert run(f"(x: {kind}) : {kind}", "x", shown)["output"] == shown
        assert run(f"(x: {kind}) : {kind}", "x", f"-- so\n {shown} ")["output"] == shown


@pytest.mark.parametrize(
    ("types", "texts", "output"),
    [
        ("(x: q)", ["{a = 1, b = [2]}", "{b=[2.0],a=1i32}", "1 [2]"], "{a = 1i32, b = [2.0f64]}"),
        ("(x: (i32, f32))", ["(1, 2)", "1 2", "( 1i32,2e0f32 )"], "1i32\n2.0f32"),
        ("(x: s2)", ["#q 3", "(#q 3)", "((#q 3i32))", "0i8 3"], "#q 3i32"),
        ("(x: s2)", ["#r", "(#r)", "1i8 0", "1 7"], "#r"),
        ("(x: []s2)", ["[#r, #q 3]", "[(#r),#q 3]", "[1, 0] [0, 3]"], "[#r, #q 3i32]"),
        ("(x: [](i32, bool))", ["[(1, true)]", "[1] [true]"], "[(1i32, true)]"),
        ("(x: []())", ["empty([0]())", "empty([0]bool)"], "empty([0]())"),
        ("(x: [](i8, i8))", ["empty([0](i8,i8))", "empty([0]i8)" * 2], "empty([0](i8, i8))"),
        ("(x: [][]s2)", ["empty([2][0]#q i32 | #r)"], "empty([2][0]#q i32 | #r)"),
        ("(x: [][]s2)", ["empty([2][0](#q i32|#r))"], "empty([2][0]#q i32 | #r)"),
        ("(_: ()) (x: (i32, i32))", ["() (1, 2)", "(1, 2)", "1 2"], "1i32\n2i32"),
        ("(x: [](i32, bool)) (_: i32)", ["[(1, true)] 5", "[1] [true] 5"], "[(1i32, true)]"),
    ],
)  # fmt: skip
def test_values_are_written_in_several_ways(types: str, texts: list[str], output: str) -> None:
    for text in texts:
        assert run(types, "x", text).get("output") == output, text


def test_what_a_variant_leaves_unused_has_the_sizes_of_the_other_arguments() -> None:
    given = "[n] (x: o [n]) (ys: [n]i32)"
    body = "match x case #some xs -> map2 (+) xs ys case #none -> ys"
    for text, output in (
        ("#some [1, 2] [10, 20]", "[11i32, 22i32]"),
        ("#none [10, 20]", "[10i32, 20i32]"),
        ("#none empty([0]i32)", "empty([0]i32)"),
    ):
        assert run(given, body, text).get("output") == output, text
    said = "`#some` holds an array of shape [1] where its type has [2]."
    assert run(given, body, "#some [1] [1, 2]")["error"]["message"] == said
    alone = "match x case #some xs -> xs case #none -> replicate n 7"
    assert run("[n] (x: o [n]) : [n]i32", alone, "#none")["output"] == "empty([0]i32)"


@pytest.mark.parametrize(
    ("types", "text", "says", "place"),
    [
        ("(x: s)", "6i8 0 0 0 [1,2] 0", "tag 6 is not a tag of the 6 variants", "1:1"),
        ("(x: s)", "#zz 1", "`#zz` is not a variant of", "1:1"),
        ("(x: s2)", "2i8\n 1", "tag 2 is not a tag of the 2 variants of `#q i32 | #r`", "1:1"),
        ("(x: s2)", "-1i8 1", "tag -1 is not", "1:1"),
        ("(_: i32) (xs: []s2)", "1\n [0, 1, 9] [1, 2, 3]", "tag 9 is not", "2:2"),
        ("(x: {a: i32, z: s2})", "1 3i8 4", "tag 3 is not", "1:3"),
        ("(x: s2)", "#q true", "Expected a value of type i32, found bool", "1:4"),
        ("(x: s2)", "#q", "Expected a value, found the end", "1:3"),
        ("(x: r)", "{a = 1, c = 2}", "`c` is not a field of {a: i32, b: [2]f64}", "1:9"),
        ("(x: r)", "{a = 1, a = 2}", "`a` is there twice", "1:9"),
        ("(x: r)", "{a = 1}", "The field `b` is missing", "1:7"),
        ("(x: r)", "{a = 1", "Expected `}`, found the end of the input", "1:7"),
        ("(x: [](i32, bool))", "[(1, true), (2)]", "Expected `,`, found `)`", "1:15"),
        ("(x: [](i32, bool))", "[]", "`empty([0](i32, bool))`", "1:1"),
        ("(x: [](i32, bool))", "empty([0](i32, i32))", "Expected `bool`, found `i32`", "1:16"),
        ("(x: [](i32, bool))", "empty([2](i32, bool))", "needs a size of 0", "1:1"),
        ("(x: [](i32, bool))", "empty([0][0](i32, bool))", "Expected 1 size", "1:7"),
        ("[n] (xs: [](o [n]))", "[#some [1], #some [1, 2]]", "not regular", "1:13"),
        ("(x: r) (_: i32)", "{a = 1, b = [1, 2]}", "ends before `main` has all", ""),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused_at_its_place(
    types: str, text: str, says: str, place: str
) -> None:
    source = f"{TYPES}\nentry main {types} = true"
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        api.inputs(OfProgram(source), "main", text)
    assert not place or caught.value.span.position == f"input:{place}"


def test_what_is_wrong_with_a_value_tells_whose_it_is() -> None:
    """Values follow each other: without a name, who has several fields looks for the wrong one."""
    source = f"{TYPES}\nentry main [n] (xs: [n]i32) (k: i64) (p: (i32, bool)) (b: bool) = (k, p, b)"
    for text, whose in (
        ("[1, 2\n3 (1, true) true", "the value of `xs`"),
        ("[1, 2]\nthree", "the value of `k`"),
        ("[1, 2] 3 (1, 2) true", "argument 3"),
        ("[1, 2] 3 (1, true)\nTrue", "the value of `b`"),
    ):
        with pytest.raises(InputError) as caught:
            api.inputs(OfProgram(source), "main", text)
        assert caught.value.hint == f"This is in {whose}.", text


def test_a_comma_may_stand_behind_the_last_element() -> None:
    asked = OfProgram(f"{TYPES}\nentry main (k: i32) (xs: []s2) = (k, xs)")
    for text in ("7 [#q 1, #r, ]", "7 [#q 1, #r,]"):
        assert [list(map(int, np.atleast_1d(one))) for one in api.inputs(asked, "main", text)] == [
            [7], [0, 1], [1, 0]
        ]  # fmt: skip
    with pytest.raises(InputError, match="Expected `#`, found `,`"):
        api.inputs(asked, "main", "7 [#q 1,,]")


def test_a_tag_in_the_binary_format_is_checked_too() -> None:
    asked = OfProgram(f"{TYPES}\nentry main (k: i32) (xs: []s2) = (k, xs)")
    wrong: list[Value] = [np.int32(1), np.array([0, 5], np.int8), np.array([1, 2], np.int32)]
    with pytest.raises(InputError, match="The tag 5 is not a tag of the 2 variants") as caught:
        api.inputs(asked, "main", to_binary(wrong))
    assert caught.value.message.startswith("Value 2: ")
    wrong[1] = np.array([0, 1], np.int8)
    assert len(api.inputs(asked, "main", to_binary(wrong))) == 3


def test_random_inputs_have_variants_and_can_be_given_as_they_are_shown() -> None:
    source = f"{TYPES}\nentry main (xs: []s) (x: {{y: s, z: [](i32, s2)}}) = (xs, x)"
    seen = set()
    for seed in range(4):
        made = worker.answer({"op": "generate", "source": source, "sizes": {}, "seed": seed})
        seen |= {name for name in "abcdef" if f"#{name} " in made["input"]}
        asked = {"op": "run", "source": source, "backend": "ref"}
        random = worker.answer({**asked, "sizes": {}, "seed": seed})
        typed = worker.answer({**asked, "input": made["input"]})
        assert random["output"] == typed["output"] == made["input"]
    assert seen == set("abcdef")


def test_long_results_are_cut() -> None:
    source = "entry main (n: i64) = tabulate n (\\i -> {a = i, b = replicate 3 (i, true)})"
    asked = {"op": "run", "source": source, "backend": "ref", "input": "1000"}
    whole = worker.answer(asked)["output"]
    cut = worker.answer({**asked, "longest": 300})["output"]
    assert len(cut) <= 300
    assert cut.startswith(whole[:40])
    assert "and 9" in cut


def test_of_a_difference_the_field_and_the_element_are_told() -> None:
    source = f"""{TYPES}
-- ==
-- input {{ 1 }} output {{ {{k = [(1, #q 2), (1, #q 3)], z = 3}} }}
-- input {{ 1 }} output {{ {{k = [(1, #q 2), (1, #r)], z = 1}} }}
-- input {{ 1 }} output {{ [1, 1] [0i8, 1] [2, 77] 1 }}
-- input {{ 1 }} output {{ {{k = [(1, #r), (1, #r)], z = 1}} }}
entry main (x: i32) = {{k = [(x, #q 2 : s2), (x, #r)], z = x}}"""
    made = [
        worker.answer({"op": "test", "source": source, "case": k, "backend": "ref"})["tested"]
        for k in range(4)
    ]
    assert [one["because"] for one in made] == [
        "`.k` of the result at [1] should be (1i32, #q 3i32) and is (1i32, #r)."
        " 1 of 2 elements differ.",
        "",
        "",
        "`.k` of the result at [0] should be (1i32, #r) and is (1i32, #q 2i32)."
        " 1 of 2 elements differ.",
    ]


# --- any types -------------------------------------------------------------------------------

_SCALARS = st.sampled_from(PRIMS).map(PrimT)
_NAMES = st.lists(st.sampled_from(["a", "b", "c1", "d'"]), min_size=1, max_size=3, unique=True)


def _larger(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    def array(dims: list[int], elem: Type) -> Type:
        own = tuple(map(SizeConst, dims))
        return Array((*own, *elem.dims), elem.elem) if isinstance(elem, Array) else Array(own, elem)

    def record(names: list[str], fields: list[Type]) -> Type:
        return Record(tuple(zip(sorted(names), fields, strict=False)))

    def variants(names: list[str], payloads: list[list[Type]]) -> Type:
        both = zip(sorted(names), map(tuple, payloads), strict=False)
        return Sum(tuple((name, payload) for name, payload in both))

    several = st.lists(inner, min_size=3, max_size=3)
    return st.one_of(
        st.builds(array, st.lists(st.integers(0, 3), min_size=1, max_size=2), inner),
        st.builds(record, _NAMES, several),
        st.lists(inner, min_size=1, max_size=3).map(lambda of: tuple_type(tuple(of))),
        st.builds(variants, _NAMES, st.lists(st.lists(inner, max_size=3), min_size=3, max_size=3)),
    )


def _component(kind: tuple[Any, ...], rng: np.random.Generator) -> Value:
    prim, dims, _ = kind
    shape = tuple((d.size if isinstance(d, PayloadSize) else d).value for d in dims)
    if prim == "bool":
        return np.asarray(rng.integers(0, 2, shape) == 1)[()]
    if prim[0] == "f":
        chosen = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -3e-5, 6e4], shape)
        return np.asarray(chosen).astype(DTYPE[prim])[()]
    low, high = int_range(prim)
    drawn = rng.choice(np.array([low, high, 0, 1, 2, 7], DTYPE[prim]), shape)
    return np.asarray(drawn)[()]


UNUSED = Sum(
    (("a", ()), ("c", (Array((SizeConst(3),), Sum((("b", (PrimT("f64"),)), ("d", ())))),)))
)
"""A sum whose second variant holds an array of sums."""


@example(kinds=[UNUSED], seed=1).via("an array of sums in a variant that no value is of")
@given(
    kinds=st.lists(st.recursive(_SCALARS, _larger, max_leaves=8), max_size=3),
    seed=st.integers(0, 99),
)
@settings(max_examples=300, deadline=None)
def test_every_value_reads_back(kinds: list[Type], seed: int) -> None:
    rng = np.random.default_rng(seed)
    flat = [_component(one, rng) for kind in kinds for one in components(kind)]
    flat = possible(kinds, flat)
    outside = Outside(Function("main", (), (), Body((), ()), True), (), tuple(kinds))
    found = results(outside, "\n".join(show(kinds, flat)))
    expected = comparable(kinds, flat)
    assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]
    assert [one.shape for one in found] == [one.shape for one in expected]
    assert difference(found, flat, kinds) is None
