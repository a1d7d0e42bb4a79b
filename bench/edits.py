"""Measure the time of `check` after a key: in a small program, a long one, one of many files.

    python -m bench.edits

Each edit makes a text that no answer before had, most by another definition; times are the
process's, as a worker that lives on answers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.machine import save, words
from compiler.base.stack import seldom_look_for_garbage, with_deep_stack
from compiler.driver.worker import answer

FILES, LINES, EDITS = 20, 100, 9

Edited = Callable[[str], tuple[str, Mapping[str, str]]]
"""The main program and its files after an edit, which may add that definition."""
Cases = dict[str, tuple[int, Edited]]
"""The lines that there are, and the edits."""


def functions(prefix: str, lines: int) -> str:
    """Definitions that each use the one before, of five lines each."""
    last = "map2 (\\a b -> if a > b then a else b) zs ys"
    text = []
    for k in range(lines // 5):
        text.append(
            f"def {prefix}_{k} [n] (xs: [n]i32) (c: i32): [n]i32 =\n"
            f"  let ys = map (\\x -> x * c + {k}) xs\n"
            "  let total = reduce (+) 0 ys\n"
            "  let zs = scan (+) 0 (map2 (\\x y -> x + y * total) xs ys)\n"
            f"  in {last}\n"
        )
        last = f"{prefix}_{k} zs total"
    return "".join(text)


def program(files: int, lines: int) -> tuple[str, dict[str, str]]:
    """A main program that calls a function of each of so many files, and these."""
    texts = {
        f"f{k}.fut": (f'import "f{k - 1}"\n' if k % 2 else "") + functions(f"g{k}", lines)
        for k in range(files)
    }
    main = "".join(f'import "f{k}"\n' for k in range(files))
    calls = "".join(f"  let xs = g{k}_3 xs {k}\n" for k in range(files))
    return f"{main}entry main [n] (xs: [n]i32): [n]i32 =\n{calls}  in xs\n", texts


KEYS = """module type key = {
  type t
  val less : t -> t -> bool
  val zero : t
}
module int_key = {
  type t = i32
  def less (x: t) (y: t) = x < y
  def zero = 0i32
}
"""


def with_parameters(name: str, lines: int) -> str:
    """A module with a parameter, as in a package of sorts, whose functions have four lines each."""
    text = [f"module {name} (key: key) = {{\n  type t = key.t\n"]
    last = "xs"
    for k in range(lines // 4):
        text.append(
            f"  def f_{k} [n] (xs: [n]t) (c: t): [n]t =\n"
            f"    let ys = {last}\n"
            "    let best = reduce (\\a b -> if key.less a b then b else a) key.zero ys\n"
            "    in map (\\x -> if key.less x c then best else x) ys\n"
        )
        last = f"f_{k} xs c"
    return "".join([*text, "}\n"])


def parametric_program(files: int, lines: int, applications: int) -> tuple[str, dict[str, str]]:
    """A main program, and files of a module with parameters each, which it and they apply.

    All import the first file. The one in the middle is applied so many times more.
    """
    texts = {"keys.fut": KEYS}
    for k in range(1, files):
        upper = f'import "m{k - 1}"\n' if k > 1 else ""
        applied = f"module of_upper = mk_{k - 1} int_key\n" if k > 1 else ""
        made = with_parameters(f"mk_{k}", lines - 10)
        texts[f"m{k}.fut"] = f'import "keys"\n{upper}{applied}{made}'
    main = "".join(f'import "m{k}"\n' for k in range(1, files)) + 'import "keys"\n'
    main += "".join(f"module a{k} = mk_{k} int_key\n" for k in range(1, files))
    main += "".join(f"module more{k} = mk_{files // 2} int_key\n" for k in range(applications))
    calls = "".join(f"  let xs = a{k}.f_1 xs {k}\n" for k in range(1, files))
    return f"{main}entry main [n] (xs: [n]i32): [n]i32 =\n{calls}  in xs\n", texts


def measure() -> dict[str, dict[str, float]]:
    """Lines of each case, and the median and longest milliseconds of its answers."""
    main, files = program(FILES, LINES)
    small, long = functions("f", 50), functions("f", FILES * LINES)
    middle = f"x * c + {FILES * LINES // 10}"
    indented = "".join(f"  {line}" for line in long.splitlines(True))
    module = f"module m = {{\n{indented}}}\n"
    user = 'import "long"\n' + functions("g", LINES) + "entry main (xs: []i32) = f_3 xs 1\n"

    def in_a_file(added: str) -> tuple[str, Mapping[str, str]]:
        return main, {**files, "f10.fut": files["f10.fut"] + added}

    def above(added: str) -> tuple[str, Mapping[str, str]]:
        return main, {**files, "f10.fut": f"-- {added}{files['f10.fut']}"}

    def within(added: str) -> tuple[str, Mapping[str, str]]:
        inside = f"  let ys = map (+ {added.rpartition(' ')[2].strip()}) ys\n  let total"
        return main, {**files, "f10.fut": files["f10.fut"].replace("  let total", inside, 1)}

    cases: Cases = {
        "a program of 50 lines": (_lines(small), lambda added: (small + added, {})),
        f"the main of {FILES} files": (
            _lines(main, *files.values()),
            lambda added: (main + added, files),
        ),
        f"the 11th of {FILES} files": (_lines(main, *files.values()), in_a_file),
        "its first line": (_lines(main, *files.values()), above),
        "its first function": (_lines(main, *files.values()), within),
        "one long file": (_lines(long), lambda added: (long + added, {})),
        "lines above it": (
            _lines(long),
            lambda added: ("\n" * int(added.split()[-1]) + long, {}),
        ),
        "a function in its middle": (
            _lines(long),
            lambda added: (long.replace(middle, f"{added.split()[-1]} + {middle}"), {}),
        ),
        "a function in a module": (
            _lines(module),
            lambda added: (module.replace(middle, f"{added.split()[-1]} + {middle}"), {}),
        ),
        "lines above all in it": (
            _lines(module),
            lambda added: (module.replace("{\n", "{\n" + "\n" * int(added.split()[-1]), 1), {}),
        ),
        "a function in an imported file": (
            _lines(long, user),
            lambda added: (
                user,
                {"long.fut": long.replace(middle, f"{added.split()[-1]} + {middle}")},
            ),
        ),
        "a new one in it": (_lines(long, user), lambda added: (user, {"long.fut": long + added})),
    }
    cases |= _with_parameters()
    return {name: {"lines": lines, **_times(edited)} for name, (lines, edited) in cases.items()}


def _with_parameters() -> Cases:
    """Edits in a program of modules with parameters."""
    main, files = parametric_program(FILES, LINES, 0)
    often, _ = parametric_program(FILES, LINES, FILES)
    half, first = f"m{FILES // 2}.fut", "    let ys"
    last = f"    let ys = f_{(LINES - 10) // 4 - 2}"

    def number(added: str) -> str:
        return added.split()[-1]

    def within(place: str, source: str, added: str) -> tuple[str, Mapping[str, str]]:
        inside = f"    let c = (\\_ -> c) {number(added)}i32\n{place}"
        return source, {**files, half: files[half].replace(place, inside, 1)}

    def above(path: str, added: str) -> tuple[str, Mapping[str, str]]:
        return main, {**files, path: "\n" * int(number(added)) + files[path]}

    def argument(added: str) -> tuple[str, Mapping[str, str]]:
        return main, {**files, "keys.fut": KEYS.replace("x < y", f"x < y + {number(added)}")}

    def application(added: str) -> tuple[str, Mapping[str, str]]:
        other = f"{{ open int_key def zero = {number(added)}i32 }}"
        return main.replace("= mk_3 int_key", f"= mk_3 {other}"), files

    lines = _lines(main, *files.values())
    return {
        "a module with parameters": (lines, lambda added: within(first, main, added)),
        "the last function in it": (lines, lambda added: within(last, main, added)),
        "lines above all of it": (lines, lambda added: above(half, added)),
        f"it, applied {FILES + 2} times": (
            _lines(often, *files.values()),
            lambda added: within(first, often, added),
        ),
        "what all are applied to": (lines, argument),
        "lines above that": (lines, lambda added: above("keys.fut", added)),
        "an application": (lines, application),
    }


def _lines(*texts: str) -> int:
    return sum(text.count("\n") for text in texts)


def _times(edited: Edited) -> dict[str, float]:
    times = []
    for number in range(EDITS + 1):
        source, files = edited(f"entry e{number} (x: i32) = x + {number}\n")
        start = time.process_time()
        answered = answer({"op": "check", "source": source, "files": files})
        times.append((time.process_time() - start) * 1000)
        if not answered["ok"]:
            raise RuntimeError(answered["error"]["rendered"])
    after_the_first = times[1:]
    return {
        "first_ms": round(times[0], 1),
        "median_ms": round(statistics.median(after_the_first), 1),
        "longest_ms": round(max(after_the_first), 1),
    }


def main() -> None:
    """The command line."""
    words(__doc__)
    seldom_look_for_garbage()
    figures: list[dict[str, Any]] = []
    with_deep_stack(lambda: figures.append(measure()))
    print(save("edits", "python -m bench.edits", figures[0]))


if __name__ == "__main__":
    main()
