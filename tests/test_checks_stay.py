"""No switch removes a check: whatever is off, a program that must fail fails, in the same words.

Each program of `FAILING` fails for the inputs beside it. It is compiled with every pass and every
rule switched off, alone and together, and with rewriting stopped early, and each different C text
is run. A check that had gone would show as a result, as a crash of the process, or in other words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver import switches
from compiler.driver.pipeline import Compilation
from compiler.ir import entry, values
from compiler.runtime import imp_interp, runner
from compiler.semantics import interp
from testing.compiling import SHARED, branch

PASSES = [p.id for p in switches.PASSES]
FUEL = (0, 1, 2, 3, 5, 8, 13, 21)
SECONDS = 60

FAILING: dict[str, tuple[str, tuple[str, ...]]] = {
    "division": (
        "entry main (x: i64) (y: i64): i64 = x / y",
        ("10i64 0i64",),
    ),
    "remainder in a map": (
        r"entry main (xs: []i64) (y: i64): []i64 = map (\x -> y % x) xs",
        ("[1i64,0] 5i64",),
    ),
    "division in a loop": (
        "entry main (xs: []i64) (y: i64): i64 = loop a = 1 for x in xs do a + y / x",
        ("[1i64,0] 5i64",),
    ),
    "division in a reduction": (
        r"entry main (xs: []i64): i64 = reduce (\a b -> a / b) 1 xs",
        ("[1i64,0]",),
    ),
    "division in a scan": (
        r"entry main (xs: []i64): []i64 = scan (\a b -> a / b) 1 xs",
        ("[1i64,0]",),
    ),
    "division in a histogram": (
        r"""
entry main (xs: []i64): []i64 =
  reduce_by_index (replicate 3 1) (\a b -> a / (b - b)) 1 (map (% 3) xs) xs
""",
        ("[1i64,0]",),
    ),
    "index": (
        "entry main (xs: []i64) (i: i64): i64 = xs[i]",
        (
            "[1i64,0] 5i64",
            "[1i64] -1i64",
        ),
    ),
    "index in a map": (
        r"entry main (xs: []i64) (is: []i64): []i64 = map (\i -> xs[i]) is",
        ("[1i64,0] [0i64,5]",),
    ),
    "update": (
        "entry main (xs: *[]i64) (i: i64): []i64 = xs with [i] = 2",
        ("[1i64,0] 5i64",),
    ),
    "update in a loop": (
        "entry main (xs: *[]i64) (i: i64): []i64 = loop xs for j < i do xs with [j] = 2",
        ("[1i64,0] 5i64",),
    ),
    "slice": (
        "entry main (xs: []i64) (i: i64) (j: i64): []i64 = map (+1) xs[i:j]",
        (
            "[1i64,0] 1i64 5i64",
            "[1i64,2] 2i64 1i64",
        ),
    ),
    "update of a slice": (
        "entry main (xs: *[]i64) (i: i64) (j: i64): []i64 = xs with [i:j] = replicate (j - i) 0",
        (
            "[1i64,0] 1i64 5i64",
            "[1i64,2] 2i64 1i64",
        ),
    ),
    "negative iota": (
        "entry main (n: i64): []i64 = iota n",
        ("-1i64",),
    ),
    "negative replicate": (
        "entry main (n: i64): []i64 = map (+1) (replicate n 1)",
        ("-1i64",),
    ),
    "inner size that a pass moves outside": (
        r"""
entry main (m: i64) (xs: []i64): ([]i64, i64) =
  let sums = reduce (map2 (+)) (replicate m 0) (map (\x -> map (+ x) (iota m)) xs)
  in (sums, length (replicate m 2))
""",
        ("-5i64 empty([0]i64)",),
    ),
    "assertion": (
        "entry main (n: i64): i64 = assert (n > 0) (n * 2)",
        ("-1i64",),
    ),
    "assertion whose result is not used": (
        "entry main (n: i64): i64 = let x = assert (n > 0) (n * 2) in n",
        ("-1i64",),
    ),
    "size coercion": (
        "entry main [n] (xs: [n]i64) (m: i64): i64 = let ys = xs :> [m]i64 in ys[m-1]",
        ("[1i64,2] 3i64",),
    ),
    "size that a division in a kernel gives": (
        r"""
entry main (ks: []i64): []i64 =
  map (\k -> let m = 10 / k
             let a = loop a = replicate m k for j < m do a with [j] = a[(j * 7) % m] + j
             in i64.sum a) ks
""",
        ("[1i64,0,3]",),
    ),
    "size that a slice in a kernel gives": (
        r"""
entry main (s: []i64) (bs: [][2]i64) =
  map (\b -> let xs = s[b[0]:b[1]]
             let ys = filter (> 1) xs
             let zs = filter (< 4) (map (* 2) ys)
             in i64.sum (scan (+) 0 zs)) bs
""",
        ("[1i64, 2i64, 3i64, 4i64] [[0i64, -1i64], [1i64, 3i64]]",),
    ),
    "division in a branch": (
        r"entry main (xs: []i64) (c: bool) (d: i64): []i64 = map (\x -> if c then x / d else x) xs",
        ("[1i64] true 0i64",),
    ),
    "division in a while loop": (
        "entry main (x: i64) (d: i64): i64 = loop x while x > 0 do x / d - 1",
        ("5i64 0i64",),
    ),
    "division that is the same for all points": (
        r"entry main (xs: []i64) (d: i64): []i64 = map (\x -> x + 100 / d) xs",
        ("[1i64] 0i64",),
    ),
    "division that is the same in every turn": (
        r"""
entry main (xs: *[]i64) (d: i64) (m: i64): []i64 =
  loop xs for i < m do xs with [i % 2] = 100 / d
""",
        ("[1i64,2] 0i64 3i64",),
    ),
    "negative power": (
        "entry main (x: i64) (y: i64): i64 = x ** y",
        ("2i64 -1i64",),
    ),
    "unflatten": (
        r"""
entry main (xs: []i64) (n: i64) (m: i64): [][]i64 =
  map (map (+1)) (unflatten (xs :> [n*m]i64))
""",
        ("[1i64,2,3] 2i64 2i64",),
    ),
    "size of a part of a concatenation": (
        "entry main (xs: []i64) (n: i64): []i64 = xs ++ replicate (10 / n) 1",
        ("[1i64] 0i64",),
    ),
    "update of a row": (
        r"""
entry main [m] (xss: *[][m]i64) (i: i64) (n: i64): [][]i64 =
  xss with [i] = map (\j -> j / n) (iota m)
""",
        (
            "[[1i64,2]] 0i64 0i64",
            "[[1i64,2]] 1i64 1i64",
        ),
    ),
    "size of an array that is not made": (
        r"""
entry main (n: i64) (d: i64): i64 =
  let m = n / d
  let xs = map (\i -> i % m) (iota m)
  in i64.sum xs
""",
        ("5i64 0i64",),
    ),
    "size that a function promises": (
        r"""
def f (n: i64) (d: i64): [n / d]i64 = replicate (n / d) 1
entry main (n: i64) (d: i64): i64 = i64.sum (f n d)
""",
        ("5i64 0i64",),
    ),
    "division in nested maps": (
        r"""
entry main [n] (xss: [n][]i64) (ds: []i64): [][]i64 =
  map2 (\xs d -> map (\x -> x / d) xs) xss (ds :> [n]i64)
""",
        ("[[1i64,2],[3,4]] [1i64,0]",),
    ),
    "size in nested maps": (
        r"""
entry main (ds: []i64): []i64 =
  map (\d -> i64.sum (map (\x -> x / d) (iota (10 / d)))) ds
""",
        ("[1i64,0]",),
    ),
    "division in what is scattered": (
        r"""
entry main (xs: *[]i64) (is: []i64) (d: i64): []i64 =
  scatter xs is (map (\i -> i / d) is)
""",
        ("[1i64,2] [0i64] 0i64",),
    ),
    "range": (
        "entry main (a: i64) (b: i64) (c: i64): []i64 = a..b...c",
        (
            "1i64 1i64 5i64",
            "5i64 6i64 1i64",
        ),
    ),
    "division in a match": (
        "entry main (x: i64) (d: i64): i64 = match x / d case 0 -> 1 / d case y -> y",
        ("5i64 0i64",),
    ),
    "division of bytes": (
        "entry main (xs: []u8) (d: u8): []u8 = map (/ d) xs",
        ("[1u8] 0u8",),
    ),
    "division and remainder": (
        "entry main (x: i64) (y: i64): i64 = x / y + x % y",
        ("1i64 0i64",),
    ),
    "division whose result a branch does not use": (
        r"""
entry main (xs: []i64) (d: i64) (m: i64): i64 =
  let q = xs[0] / d in if m > 0 then q else 0
""",
        ("[1i64] 0i64 0i64",),
    ),
    "division by a literal 0 whose result fills a part of a concatenation": (
        """
entry main [m] (c: i64) (b: i64) (xs: [m]i64) =
  let sums = scan (+) 0 xs let same = replicate c (b % 0) in sums ++ same
""",
        ("2i64 3i64 [1i64]",),
    ),
    "division whose result fills a part of a concatenation": (
        """
entry main [m] (c: i64) (b: i64) (d: i64) (xs: [m]i64) =
  let sums = scan (+) 0 xs let same = replicate c (b / d) in sums ++ same
""",
        ("2i64 3i64 0i64 [1i64]",),
    ),
    "slice by an LMAD": (
        r"""
entry main [n] (xs: *[n]i64) (at: i64): [n]i64 =
  lmad_update_2d xs at (3, 1) [[1, 2], [3, 4]]
""",
        (
            "[1i64,2,3,4,5] 1i64",
            "[1i64,2,3,4,5] -1i64",
        ),
    ),
}


def settings() -> Iterator[Options]:
    """Every pass and rule alone, passes in pairs, all but one, all, and little fuel."""
    yield Options()
    for count in (1, 2, len(PASSES) - 1, len(PASSES)):
        yield from (Options(disabled=frozenset(off)) for off in combinations(PASSES, count))
    yield from (Options(disabled=frozenset((rule,))) for rule in switches.RULES)
    yield Options(disabled=frozenset(switches.RULES))
    yield from (Options(fuel=fuel) for fuel in FUEL)


class Asked(frozenset[str]):
    """A set of ids that remembers which ones somebody looked for, and whether they were there."""

    def __new__(cls, ids: Iterable[str]) -> Asked:
        return super().__new__(cls, ids)

    def __init__(self, ids: Iterable[str]) -> None:
        self.answers: dict[object, bool] = {}

    def __contains__(self, one: object) -> bool:
        return self.answers.setdefault(one, super().__contains__(one))


@dataclass(frozen=True, slots=True)
class Begun:
    """A compilation without a limit of fuel that has come to a stage: what it heard and used."""

    work: Compilation
    heard: dict[object, bool]
    spent: int

    def suits(self, options: Options) -> bool:
        """Whether a compilation with these options comes to the same there."""
        if options.fuel is not None and self.spent:
            return False
        return all((one in options.disabled) == told for one, told in self.heard.items())


def different(source: str, target: str, stage: str) -> Iterator[tuple[Options, Any]]:
    """The stage with each of the settings, but for those that make no difference, and with which.

    A compilation goes by what it hears about the ids that it asks for: a setting that gives the
    same answers to one before compiles to the same, or to the same up to some stage.
    """
    heard: list[dict[object, bool]] = []
    seen: set[str] = set()
    begun: dict[str, list[Begun]] = {name: [] for name in SHARED}
    for options in settings():
        off = Asked(("nothing", *options.disabled))  # nobody looks into an empty set
        if options.fuel is None:
            if any(all((k in off) == told for k, told in one.items()) for one in heard):
                continue
            heard.append(off.answers)
        options = replace(options, disabled=off, target=target)
        work = Compilation(source, options)
        for name in SHARED:
            before = next((one for one in begun[name] if one.suits(options)), None)
            if before is None:
                spent = work.result(name).spent
                if options.fuel is None:
                    begun[name].append(Begun(branch(work, options), dict(off.answers), spent))
            else:
                work = branch(before.work, options)
                off.answers.clear()
                off.answers |= before.heard
        made = work.result(stage)
        if (text := plain(made.text)) not in seen:
            seen.add(text)
            yield options, made


@pytest.mark.parametrize("name", ["update in a loop", "size that a division in a kernel gives"])
def test_settings_that_are_left_out_give_nothing_new(name: str) -> None:
    source, _ = FAILING[name]
    few = [plain(made.text) for _, made in different(source, "c", "c")]
    each = {plain(Compilation(source, options).result("c").text) for options in settings()}
    assert len(few) > 1
    assert {*few} == each


def failures(source: str, inputs: Sequence[str]) -> list[tuple[list[values.Value], str]]:
    """The inputs as values, each with the message that the program's meaning fails with."""
    meaning = Compilation(source).result("soa").prog
    main = entry.find(meaning, "main")
    found = []
    for text in inputs:
        args = values.parse(text, [p.type.prim for p in entry.external(main)])
        with pytest.raises(RuntimeError_) as wrong:
            interp.run(meaning, "main", args)
        found.append((args, wrong.value.message))
    return found


@pytest.mark.skipif(
    not runner.compiler_available(), reason="there is no C compiler on this machine"
)
@pytest.mark.parametrize("name", FAILING)
def test_every_check_stays(name: str) -> None:
    source, inputs = FAILING[name]
    cases = failures(source, inputs)
    for options, made in different(source, "c", "c"):
        code = plain(made.text)
        for args, message in cases:
            with pytest.raises(RuntimeError_) as found:
                runner.run_c(code, "main", args, SECONDS, settings=runner.Settings(flags=("-O0",)))
            assert found.value.message == message, (sorted(options.disabled), options.fuel)


@pytest.mark.parametrize("name", FAILING)
def test_every_check_stays_in_what_is_made_for_a_gpu(name: str) -> None:
    """The imperative program behind the CUDA text, in its interpreter."""
    source, inputs = FAILING[name]
    cases = failures(source, inputs)
    for options, made in different(source, "cuda", "imp"):
        for args, message in cases:
            with pytest.raises(RuntimeError_) as found:
                imp_interp.run(made.prog, "main", args)
            assert found.value.message == message, (sorted(options.disabled), options.fuel)


WITHOUT_ROWS = {
    r"""
entry main (m: i64) (xs: []i64): (i64, i64) =
  let rows = map (\x -> scan (+) 0 (replicate m x)) xs
  let sums = map i64.sum rows
  in (i64.sum sums, length (replicate m 2))
""": "Range 0..1..<-5 is invalid.",
    r"""
entry main (m: i64) (xs: []i64): ([]i64, i64) =
  let columns = transpose (map (\x -> map (* x) (iota m)) xs)
  in (map i64.sum columns, length (replicate m 2))
""": "Array of shape [0][-5] has a size that is too large for an array, or negative.",
}


@pytest.mark.skipif(
    not runner.compiler_available(), reason="there is no C compiler on this machine"
)
@pytest.mark.parametrize("source", WITHOUT_ROWS)
def test_an_array_without_rows_says_nothing_about_its_inner_size(source: str) -> None:
    """The reference interpreter has no array with a negative size, so the words stand here."""
    for _, made in different(source, "c", "c"):
        code = plain(made.text)
        args = values.parse("-5i64 empty([0]i64)", ["i64", "i64"])
        with pytest.raises(RuntimeError_) as found:
            runner.run_c(code, "main", args, SECONDS, settings=runner.Settings(flags=("-O0",)))
        assert found.value.message == WITHOUT_ROWS[source]
