"""Forge certificates: each claims something false, with a plausible proof.

    python -m testing.forged > testing/forged.json

Some are written by hand, of each kind that there is; the others are claims of examples, and of one
for each rule and step, with one thing changed. That a claim is false is shown by a witness: values
of its names, found by trying or by Z3, which are kept with it. Nothing of the checker is asked.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from compiler.driver import worker
from testing import meaning
from testing.claims import by_rules, genuine
from testing.meaning import Json

KEPT = Path(__file__).with_name("forged.json")
ROOT = Path(__file__).parents[1]
TRIED: tuple[int, ...] = (
    0,
    1,
    2,
    3,
    5,
    9,
    -1,
    -2,
    -9,
    255,
    256,
    1 << 31,
    1 << 32,
    (1 << 62) + 1,
    -(1 << 63),
)
TRIED += ((1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64)
MOST = 8
"""So many of one kind are kept that one of the makers makes."""
Forgery = tuple[str, str]
"""The change, and the claim as text, which may be no JSON of plain data."""


def lenient(text: str) -> Json:
    """The claim as a reader has it that takes all that is nearly JSON."""
    found: Json = json.loads(text)
    return found


def witness(claim: Json, rng: random.Random) -> dict[str, int] | None:
    """Values for which a claim is false, if some are found soon."""
    try:
        names = meaning.names(claim)
        if len(names) <= 3:
            points = list(product(TRIED, repeat=len(names)))
            rng.shuffle(points)
            for point in points:
                env = dict(zip(names, point, strict=True))
                if meaning.refutes(claim, env):
                    return env
        for values in (range(-3, 12), TRIED):
            for _ in range(300):
                drawn = meaning.drawn(claim, rng, values)
                if drawn is not None and meaning.refutes(claim, drawn):
                    return drawn
    except (OverflowError, TypeError, ValueError, KeyError, AttributeError):
        return None
    return None


# --- changed claims ---


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a claim, but for what it says that it is about."""
    parts = data.items() if isinstance(data, dict) else enumerate(data)
    for at, part in parts:
        if at != "about":
            yield (*path, at)
            if isinstance(part, dict | list):
                yield from places(part, (*path, at))


def at(data: Any, path: Sequence[Any]) -> Any:
    """Return the part of nested data at a path."""
    for step in path:
        data = data[step]
    return data


def put(claim: Json, path: Sequence[Any], new: Any) -> Json:
    """The claim with something else at a path; None: without it."""
    made: Json = json.loads(json.dumps(claim))
    owner = at(made, path[:-1])
    if new is None:
        del owner[path[-1]]
    else:
        owner[path[-1]] = new
    return made


Changes = Iterator[tuple[str, Json]]
TYPES = ("u64", "u8", "i8", "i32", "i64")
OPERATIONS = ("<", "<=", ">", ">=", "==", "!=", "min", "max", "either", "/", "//", "%")


def changed(claim: Json) -> Changes:
    """One thing in what a claim says, or in its proof as well, is another."""
    names = sorted({name for name, _ in claim["types"]} | set(meaning.names(claim)))
    for path in places(claim):
        match path[0]:
            case "types" | "nonnegative" | "equal":
                yield from _other_assumptions(claim, path)
            case "given" if len(path) > 1:
                yield from _other_given(claim, path, names)
            case "a" | "b":
                yield from _other_cells(claim, path)
            case "polynomials" if len(path) == 2:
                yield from _more_claimed(claim, path)
        if path[0] not in ("lines", "proof"):
            yield from _other_words(claim, path, names)
    for k, line in enumerate(claim["lines"]):
        for other in range(len(claim["given"])):
            if line.get("of") not in (None, other):
                yield "a fact from another statement", put(claim, ("lines", k, "of"), other)


def _other_assumptions(claim: Json, path: Sequence[Any]) -> Changes:
    match path:
        case ("types", int()):
            yield "a type dropped", put(claim, path, None)
            for prim in TYPES:
                yield "a type changed", put(claim, path, [at(claim, path)[0], prim])
        case ("nonnegative", int()):
            yield "a fact dropped", put(claim, path, None)
        case ("equal", int()):
            yield "an equality dropped", put(claim, path, None)


def _other_given(claim: Json, path: Sequence[Any], names: Sequence[str]) -> Changes:
    given = claim["given"][path[1]]
    match path[2:]:
        case ("type",):
            for prim in TYPES:
                yield "computed in another type", put(claim, path, prim)
        case ("reads",):
            for prim, bare in product(
                ("natural", "u64", "i32", "u8"), (claim, {**claim, "types": []})
            ):
                reads = [[given[side], prim] for side in ("left", "right")]
                yield "read as another type", put(bare, path, reads)
        case ("op",):
            for op in OPERATIONS:
                yield "another operation", put(claim, path, op)
        case ("right",) if given["op"] in ("/", "//", "%", "%%"):
            for number in (-1, 0, 1, 2, 3, -2):
                yield "a wrong divisor", put(claim, path, [[number]] if number else [])
        case () if "right" in given:
            swapped = {**given, "left": given["right"], "right": given["left"]}
            yield "sides exchanged", put(claim, path, swapped)
        case ("name",):
            for name in names:
                yield "a fact from another name", put(claim, path, name)


def _other_cells(claim: Json, path: Sequence[Any]) -> Changes:
    here = at(claim, path)
    match path[1:]:
        case ("dims", int()):
            yield "size and stride exchanged", put(claim, path, here[::-1])
            yield "a dimension dropped", put(claim, path, None)
            yield "a dimension twice", put(claim, path[:-1], [*at(claim, path[:-1]), here])
        case ("dims", int(), int() as which):
            what = "a stride" if which else "a size"
            for number in (-1, 1, 2):
                yield f"{what} changed", put(claim, path, _more(here, number))
            yield f"{what} of 1", put(claim, path, [[1]])
        case ("offset",):
            for number in (-2, -1, 1, 2, 1 << 64):
                yield "an offset changed", put(claim, path, _more(here, number))


def _more_claimed(claim: Json, path: Sequence[Any]) -> Changes:
    here = at(claim, path)
    for number in (1, 2, 1 << 64):
        less = _more(here, -number)
        made = put(claim, path, less)
        yield "more is claimed", made
        for k, line in enumerate(claim["lines"]):
            if line["claim"] == here:
                yield "more is claimed and concluded", put(made, ("lines", k, "claim"), less)


def _other_words(claim: Json, path: Sequence[Any], names: Sequence[str]) -> Changes:
    here = at(claim, path)
    if isinstance(here, str) and here in names:
        for name in names:
            if name != here and _sorted(claim, path, name):
                yield "another name", put(claim, path, name)
    if type(here) is int:
        for number in (-here, here + 1, here - 1, 1 << 64, 1 << 5000):
            if number:
                yield "another number", put(claim, path, number)


def _sorted(claim: Json, path: Sequence[Any], name: str) -> bool:
    term = [*at(claim, path[:-1])]
    if not isinstance(at(claim, path[:-1]), list) or type(term[0]) is not int:
        return True
    term[path[-1]] = name
    return term[1:] == sorted(term[1:])


def _more(poly: list[Any], number: int) -> list[Any]:
    """A polynomial and a number."""
    rest = [term for term in poly if len(term) > 1]
    total = number + sum(term[0] for term in poly if len(term) == 1)
    return [*rest, [total]] if total else rest


# --- written by hand ---

FALSE = """{"claim": "nonnegative", "about": "", "types": [],
 "nonnegative": [[[1, "k"]], [[1, "n"]]], "equal": [], "given": [],
 "lines": [%s], "polynomials": [[[1, "k"], [-1, "n"]]]}"""
"""That `k - n` is not negative, if neither `k` nor `n` is."""
GAP = '[[1, "k"], [-1, "n"]]'
NUMBERS = {
    "0": "0", "less than 0": "-1", "0.0": "0.0", "-0.0": "-0.0", "almost 0": "1e-400",
    "no number": "NaN", "infinite": "Infinity", "less than all": "-Infinity", "too large": "1e999",
    "false": "false", "true": "true", "nothing": "null", "text": '"1"', "a list": "[1]",
    "an object": '{"number": 1}', "a float": "1.0", "with an exponent": "1E0", "a half": "0.5",
    "of many digits": "1" * 4000, "of many bits": str(1 << 4097),
}  # fmt: skip


def written() -> Iterator[Forgery]:
    """All that is written by hand."""
    yield from _numbers()
    yield from _doubled()
    yield from _nested()
    yield from _shadows()
    yield from _wrapped()
    yield from _cells()


def _numbers() -> Iterator[Forgery]:
    for what, number in NUMBERS.items():
        for scale, terms, said in (
            (number, "", GAP),
            (number, f'[{number}, [[[1, "k"]]]]', GAP),
            ("1", f'[1, [[[1, "k"]]]], [{number}, [[[1, "n"]]]]', GAP),
            ("1", '[1, [[[1, "k"]]]]', f'[[1, "k"], [{number}, "n"]]'),
        ):
            line = f'{{"claim": {said}, "scale": {scale}, "terms": [{terms}]}}'
            yield f"a number that is {what}", FALSE % line
        about = f'{{"rule": "round", "of": null, "numbers": [{number}, {number}], "claim": {GAP}}}'
        yield f"a number that is {what}", FALSE % about


def _doubled() -> Iterator[Forgery]:
    line = '{"claim": [[1, "k"]], "scale": 1, "terms": [[1, [[[1, "k"]]]]]}'
    true = FALSE % line
    for key, first in {
        '"polynomials": [[[1, "k"], [-1, "n"]]]': '"polynomials": [[[1, "k"]]]',
        '"nonnegative": [[[1, "k"]], [[1, "n"]]]': f'"nonnegative": [{GAP}]',
        '"equal": []': '"equal": [["k", [[1, "n"]]]]',
        '"lines": [': f'"lines": [{line.replace("[[1, ", "[[1, ")}], "lines": [',
        '"claim": "nonnegative"': '"claim": "disjoint"',
        '"types": []': '"types": [["k", "u8"]]',
    }.items():
        yield "a key twice", true.replace(key, f"{first}, {key}")
    for key in ('"scale": 1', '"terms": ', '"claim": [[1, "k"]]'):
        yield "a key twice", FALSE % line.replace(key, f'"scale": 1, {key}')
        yield "a key twice", FALSE % line.replace(key, f'"claim": {GAP}, {key}')


def _nested() -> Iterator[Forgery]:
    for inner in ('{"k": 1}', '["k"]', '[["k"]]', '{"claim": "k"}', "null", "1", '""', '"k\\n"'):
        line = f'{{"claim": {GAP}, "scale": 1, "terms": [[1, [[[1, {inner}]]]]]}}'
        yield "something else where a name belongs", FALSE % line
    for inner in ("{}", "[[]]", "[[[]]]", '"0"', "0", "null", '{"0": [1]}', "[" * 90 + "]" * 90):
        line = f'{{"claim": {inner}, "scale": 1, "terms": []}}'
        yield "something else where a polynomial belongs", FALSE % line
    sums = f'{{"claim": {GAP}, "scale": 1, "terms": [[1, [{GAP}]]]}}'
    for line in (sums, f"[{sums}]", f'{{"lines": [{sums}]}}', f'{{"rule": "given", **: {sums}}}'):
        yield "a line that rests on itself", FALSE % line


def _shadows() -> Iterator[Forgery]:
    alike = ("n", "ｎ"), ("a", "а"), ("é", "é"), ("n", "n "), ("n", "N"), ("x", '"x"'), ("ﬁ", "fi")
    for one, other in (*alike, ("K", "K"), ("n", "ո"), ("?0", "?O"), ("n_1", "n_l"), ("0", "O")):
        for number in (0, 1):
            known, said = [[1, one], *[[-1]] * number], [[1, other], *[[-1]] * number]
            line = {"claim": said, "scale": 1, "terms": [[1, [known]]]}
            made = _claim(nonnegative=[known], lines=[line], polynomials=[said])
            yield "a name that looks like another", json.dumps(made)


def _claim(**parts: Any) -> Json:
    common = {"claim": "nonnegative", "about": "", "types": [], "nonnegative": [], "equal": []}
    return {**common, "given": [], "lines": [], "polynomials": [], **parts}


def _wrapped() -> Iterator[Forgery]:
    """Sums and products that wrap around, read as if they were what is computed."""
    n, k = [1, "n"], [1, "k"]
    sides: dict[str, list[Any]] = {
        "a sum": [n, k],
        "a multiple": [[2, "n"]],
        "a product": [[1, "k", "n"]],
    }
    for (what, side), prim, typed in product(sides.items(), ("natural", "u64"), (True, False)):
        less = [[-c, *names] for c, *names in side]
        facts = [side, [[1 << 64], *less]] if prim == "u64" else [side]
        types = [["n", "u64"], ["k", "u64"]] if typed else []
        made_of: list[tuple[Json, str, list[Any]]] = [
            ({"given": "compare", "op": "==", "left": side, "right": []}, "given", less),
            ({"given": "compare", "op": "<", "left": side, "right": [[9]]}, "given", [[8], *less]),
            ({"given": "choice", "name": "x", "op": "/", "left": side, "right": [[2]]}, "quotient",
             [[1, "x"]]),
            ({"given": "choice", "name": "x", "op": "min", "left": side, "right": []}, "given",
             [*side, [-1, "x"]]),
            ({"given": "choice", "name": "x", "op": "%", "left": side, "right": [[3]]}, "remainder",
             [*side, [-1, "x"]]),
            ({"given": "compare", "op": "!=", "left": side, "right": [[1]]}, "unlike",
             [*side, [-2]]),
        ]  # fmt: skip
        for given, rule, said in made_of:
            read: Json = {**given, "type": "i64", "reads": [[side, prim]]}
            line = {"rule": rule, "of": 0, "numbers": [], "claim": said}
            more = [[*side, [-1]]] if rule == "unlike" else []
            made = _claim(
                types=types, nonnegative=[*facts, *more], given=[read], lines=[line],
                polynomials=[said],
            )  # fmt: skip
            yield f"{what} that wraps", json.dumps(made)


def _cells() -> Iterator[Forgery]:
    """Two LMADs that meet in one cell, or are empty only if they are."""
    one = {"claim": [[1]], "scale": 1, "terms": [[1, []]]}
    known = {"claim": [[1, "n"], [-2]], "scale": 1, "terms": [[1, [[[1, "n"], [-2]]]]]}
    for size, offset, because in product(
        ([[1, "n"]], [[1]], [[1, "n"], [1]]), ([], [[1, "n"], [-1]]), (one, known)
    ):
        claim = _claim(claim="disjoint", a={"offset": [], "dims": [[size, [[1]]]]})
        del claim["polynomials"]
        for side, signs in product((1, -1), ([], [[1, one]], [[-1, one]])):
            proof: Json = {"step": "apart", "side": side, "signs": signs, "because": because}
            made = {**claim, "b": {"offset": offset, "dims": []}, "proof": proof}
            yield "cells that are there only if there are any", json.dumps(made)
        made = {**claim, "b": {"offset": offset, "dims": []}}
        absurd = {**because, "claim": [[-1]]}
        proofs: list[Json] = [{"step": "absurd", "because": absurd}, {"step": "numbers"}]
        for proof in proofs:
            yield "cells that are said to be none", json.dumps({**made, "proof": proof})


# --- all of them ---


def sources() -> Iterator[Json]:
    """Claims that are true, of the examples."""
    for path in sorted((ROOT / "app" / "examples").glob("*.fut")):
        answer = worker.answer({"op": "certificate", "path": str(path)})
        if answer.get("ok"):
            yield from answer["certificate"]["claims"]


def made(true: Sequence[Json], rng: random.Random, most: int = MOST) -> Iterator[Json]:
    """Forgeries with their witnesses, of each kind a few; `true` are claims to change."""
    count: Counter[str] = Counter()
    forgeries = list(written())
    rng.shuffle(forgeries)
    some = [claim for claim in true if len(json.dumps(claim)) < 2000]
    for claim in rng.sample(some, min(len(some), 150)):
        options = list(changed(claim))
        for what, data in rng.sample(options, min(len(options), 40)):
            forgeries.append((what, json.dumps(data)))
    for what, text in forgeries:
        if count[what] >= most:
            continue
        try:
            values = witness(lenient(text), rng)
        except (ValueError, RecursionError):
            continue
        if values is not None:
            count[what] += 1
            yield {"what": what, "claim": text, "witness": values}


def main() -> None:
    """Writes them."""
    true = [*genuine().values(), *by_rules().values()] * 2 + list(sources())
    kept = list(made(true, random.Random(33)))
    lines = ",\n".join(json.dumps(one) for one in kept)
    sys.stdout.write(f"[\n{lines}\n]\n")
    sys.stderr.write(f"{Counter(one['what'] for one in kept)} {len(kept)}\n")


if __name__ == "__main__":
    main()
