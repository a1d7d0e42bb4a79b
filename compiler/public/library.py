"""The functions of the public interface, built on the worker's requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError as Error
from compiler.driver import checking, explanations
from compiler.driver.pipeline import STAGES
from compiler.ir.values import Value
from compiler.protocol.kinds import OfProgram
from compiler.protocol.polynomials import reason
from compiler.protocol.programs import CheckRequest
from compiler.protocol.proofs import ProveRequest
from compiler.public.given import deep
from compiler.public.program import CompiledProgram, EntryPoint, run_here

__all__ = ["CompiledProgram", "EntryPoint", "Error", "Value"]
_NO_FILES: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class EntryDescription:
    """An entry point as its author wrote it: names and types of parameters, types of results."""

    name: str
    names: tuple[str, ...]
    params: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without errors: its entry points, and its warnings as text with line and column."""

    entries: tuple[EntryDescription, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageDescription:
    """A stage of the pipeline: the id that `text` of a program takes, title, description."""

    id: str
    title: str
    explain: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on two sets of cells: `disjoint`, `overlap` or `unknown`, with the reason.

    `reason` is empty for `disjoint`. `witness` has values of names for which both contain `cell`.
    """

    verdict: str
    reason: str
    witness: dict[str, int] | None
    cell: int | None


def check(source: str, *, files: Mapping[str, str] = _NO_FILES) -> CheckedProgram:
    """Parse and type-check a Futhark program.

    `files` maps the paths that it may import to their texts. Raises `Error` for an invalid program;
    its `others` holds the further errors.

    >>> check("entry main [n] (xs: [n]f32) = f32.sum xs").entries[0].results
    ('f32',)
    >>> check("entry main (x: i32) = y")
    Traceback (most recent call last):
        ...
    compiler.base.errors.TypeError_: Unknown name `y`.
    """
    answer = deep(lambda: checking.check(CheckRequest(source, files=dict(files))))
    entries = tuple(
        EntryDescription(
            one["name"], tuple(one["names"]), tuple(one["params"]), tuple(one["results"])
        )
        for one in answer["entries"]
    )
    return CheckedProgram(entries, tuple(one["rendered"] for one in answer["warnings"]))


def stages() -> tuple[StageDescription, ...]:
    """Return the stages of the pipeline, in order.

    >>> [stage.id for stage in stages()][:4]
    ['ast', 'typed', 'mono', 'soa']
    """
    return tuple(StageDescription(s.id, s.title, s.explain) for s in STAGES)


def compile(
    source: str,
    *,
    target: str = "",
    disable: Sequence[str] = (),
    files: Mapping[str, str] = _NO_FILES,
) -> CompiledProgram:
    """Compile a Futhark program; its entry points are methods of the result.

    They take NumPy arrays, and arrays on a GPU in place. `target` selects the back end: `c`,
    `cuda`, or `ref` for the interpreter; by default `cuda` if an argument lies on a GPU and `c`
    otherwise. `disable` switches off passes and rules, such as `fuse` or `fuse/map-map`. Raises
    `Error` for an invalid program, and for unknown names.

    >>> program = compile("entry dot [n] (xs: [n]f64) (ys: [n]f64) = f64.sum (map2 (*) xs ys)")
    >>> program.dot([1, 2, 3], [4, 5, 6])
    np.float64(32.0)
    >>> print(compile("entry main (x: i32) = x + 1").text("fused"), end="")
    entry main (x_3: i32) : (res_5: i32) =
      in (x_3 + 1i32)
    """
    return deep(lambda: CompiledProgram(source, target, disable, files))


def run(
    source: str,
    *args: Any,
    entry: str = "",
    backend: str = "c",
    files: Mapping[str, str] = _NO_FILES,
    seconds: float = 60.0,
) -> tuple[Value, ...]:
    """Run an entry point (`main`, or the only one), and return its results as NumPy values.

    Arguments: for each parameter a NumPy array or scalar of exactly its type, or numbers, booleans
    and nested lists of them (whole numbers have to fit, others are rounded), of the shape of its
    type. `backend`: `c`, `cuda`, or `ref` for the interpreter. The run is a process of its own,
    without access to files and network, which ends after so many `seconds`. Raises `Error` for an
    invalid program or argument, a run that fails or takes too long, and for parameters and results
    other than numbers and arrays of them.

    >>> run("entry main [n] (xs: [n]f64) (k: i64) = xs[k]", [0.5, 1.5], 1, backend="ref")
    (np.float64(1.5),)
    """
    asked = OfProgram(source, files=dict(files))
    return deep(lambda: run_here(asked, entry, args, backend, seconds))


def prove(a: str, b: str, *, assumptions: Mapping[str, Any] | None = None) -> Verdict:
    """Decide whether two LMADs, sets of memory cells, ever share a cell.

    An LMAD is `offset + {(size : stride), ..}`; `assumptions` are facts about its names, in the
    notation of `docs/proving.md`. Raises `Error` for a malformed LMAD, and for a problem that takes
    too long.

    >>> prove("{(n : 2)}", "1 + {(n : 2)}", assumptions={"nonnegative": ["n"]}).verdict
    'disjoint'
    >>> prove("{(n : 1)}", "n - 1 + {(2 : 1)}", assumptions={"nonnegative": ["n - 1"]}).verdict
    'overlap'
    """
    asked = ProveRequest(assumptions=None if assumptions is None else dict(assumptions), a=a, b=b)
    answer = deep(lambda: explanations.prove(asked))
    witness = answer["witness"]
    return Verdict(
        answer["verdict"],
        reason(answer) if answer["verdict"] != "disjoint" else "",
        dict(witness["values"]) if witness else None,
        witness["cell"] if witness else None,
    )
