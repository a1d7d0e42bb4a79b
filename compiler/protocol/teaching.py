"""Operations about lessons and puzzles, whose files `docs/lessons.md` describes."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Options, Own, Request, Says, Span


class Puzzle(TypedDict):
    """The task of a puzzle: a program with the same results and a smaller number."""

    goal: int
    """the number at which it is solved"""
    par: int
    """the number that can be reached"""
    hints: list[str]
    """HTML"""
    solution: str
    """a program that reaches par, or empty"""


class LessonAnswer(Answer):
    """A lesson, or a puzzle, with its number."""

    title: str
    html: str
    """the text before"""
    after: str
    """HTML: the text once the answer is known"""
    source: str
    options: Options
    stage: str
    """the stage to look at, or empty"""
    code: str
    """the selected part of the program, or empty"""
    src: Span | None
    """its place"""
    tab: str
    """of the page, or empty"""
    object: str
    """the array that the tab draws, or empty"""
    question: str
    """HTML"""
    choices: list[int]
    answer: int | None
    """the file's number"""
    measure: str
    value: int
    """the compiler's number"""
    sizes: dict[str, int]
    """of the inputs"""
    wrong: str
    """how the two differ, in a sentence, or empty"""
    puzzle: NotRequired[Puzzle]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonRequest(Request):
    """Read the file of a lesson or a puzzle, and measure its number."""

    lesson: Annotated[str, Says("is the text of a lesson")]


EXAMPLE = """\
---
title: Fusion
stage: fused
select: map (+ 1) xs
question: How many maps are left?
measure: count map at fused
choices: 0, 1, 2
answer: 0
---
Look at the stage *Fused*.

```futhark
entry main (xs: []i32): i32 = i32.sum (map (+ 1) xs)
```

The map has become a part of the reduction.
"""
LESSON = Operation(
    "lesson",
    LessonRequest,
    LessonAnswer,
    {"lesson": EXAMPLE},
    limit="show",
    answered_in="compiler.classroom.lessons",
)


class SolveAnswer(Answer):
    """The score of a program."""

    value: int
    same: bool
    """true if its results equal the puzzle's"""
    because: str
    """the input on which they differ, in a sentence; or the number of inputs on which they agree"""
    solved: bool
    """true if the results agree and the score is at most the goal"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRequest(OfProgram):
    """Score a program as the solution of a puzzle, and compare it with the puzzle's own program.

    The puzzle gives the options. Both programs are run by the reference interpreter, on the
    inputs of the puzzle and on generated ones.
    """

    lesson: Annotated[str, Says("is the text of a puzzle")]
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 20.0
    """in seconds: of each run, which takes a tenth of it at most"""


PUZZLE_EXAMPLE = """\
---
title: One array less
stage: fused
select: map (+ 1) xs
measure: bytes at merged
goal: 0
par: 0
hint: What is the last element of `ys`, without `ys`?
input: [3]
---
An array that is used twice is kept.

```futhark
entry main [n] (xs: [n]i32): i32 =
  let ys = map (+ 1) xs
  in i32.sum ys - ys[n - 1]
```

The sum takes each element as it is made.

```futhark solution
entry main [n] (xs: [n]i32): i32 =
  i32.sum (map (+ 1) xs) - (xs[n - 1] + 1)
```
"""
SOLVE = Operation(
    "solve",
    SolveRequest,
    SolveAnswer,
    {
        "source": PUZZLE_EXAMPLE.rpartition("solution\n")[2].removesuffix("```\n"),
        "lesson": PUZZLE_EXAMPLE,
    },
    limit="run",
    runs=True,
    batched=False,
    answered_in="compiler.classroom.puzzles",
)
