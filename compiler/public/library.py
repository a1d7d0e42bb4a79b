"""The functions of the public interface, over the requests that the worker answers as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError as Error
from compiler.base.errors import InputError, UsageError
from compiler.base.names import base_of
from compiler.base.stack import with_deep_stack
from compiler.driver import api, checking, explanations
from compiler.driver.answers import as_error
from compiler.driver.pipeline import STAGES
from compiler.ir.entry import external
from compiler.ir.nodes import Param
from compiler.ir.values import Value
from compiler.lower.external_values import is_plain
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.polynomials import reason
from compiler.protocol.programs import CheckRequest, ShowRequest
from compiler.protocol.proofs import ProveRequest

__all__ = ["Error", "Value"]
T = TypeVar("T")
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
    """A stage of the pipeline: the id that `compile` takes, its title, and what it shows."""

    id: str
    title: str
    explain: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two sets of cells meet: `disjoint`, `overlap` or `unknown`, and why.

    `reason` is empty for `disjoint`. `witness` has values of names for which both hold `cell`.
    """

    verdict: str
    reason: str
    witness: dict[str, int] | None
    cell: int | None


def check(source: str, *, files: Mapping[str, str] = _NO_FILES) -> CheckedProgram:
    """Parse and type-check a Futhark program.

    `files` maps the paths that it may import to their texts. Raises `Error` for a program that is
    wrong; `others` of it holds the further errors.

    >>> check("entry main [n] (xs: [n]f32) = f32.sum xs").entries[0].results
    ('f32',)
    >>> check("entry main (x: i32) = y")
    Traceback (most recent call last):
        ...
    compiler.base.errors.TypeError_: Unknown name `y`.
    """
    answer = _deep(lambda: checking.check(CheckRequest(source, files=dict(files))))
    entries = tuple(
        EntryDescription(
            one["name"], tuple(one["names"]), tuple(one["params"]), tuple(one["results"])
        )
        for one in answer["entries"]
    )
    return CheckedProgram(entries, tuple(one["rendered"] for one in answer["warnings"]))


def stages() -> tuple[StageDescription, ...]:
    """The stages of the pipeline, in order.

    >>> [stage.id for stage in stages()][:4]
    ['ast', 'typed', 'mono', 'soa']
    """
    return tuple(StageDescription(s.id, s.title, s.explain) for s in STAGES)


def compile(
    source: str,
    *,
    stage: str = "c",
    target: str = "c",
    disable: Sequence[str] = (),
    files: Mapping[str, str] = _NO_FILES,
) -> str:
    """Compile a Futhark program, and return its text at a stage: one of `stages()`.

    The stages from `flat` to `imp` are made for `target`, `c` or `cuda`. `disable` switches off
    passes and rules, such as `fuse` or `fuse/map-map`. Raises `Error` for a program that is wrong,
    and for names that are none.

    >>> print(compile("entry main (x: i32) = x + 1", stage="fused"), end="")
    entry main (x_3: i32) : (res_5: i32) =
      in (x_3 + 1i32)
    """
    options: Options = {"target": target, "disable": list(disable)}
    asked = ShowRequest(source, options, dict(files), stages=[stage])
    shown = _deep(lambda: api.show(asked))["stages"][stage]
    return shown["text"] or ""


def run(
    source: str,
    *args: Any,
    entry: str = "",
    backend: str = "c",
    files: Mapping[str, str] = _NO_FILES,
    seconds: float = 60.0,
) -> tuple[Value, ...]:
    """Run an entry point (`main`, or the only one), and return its results as NumPy values.

    An argument for each parameter: a NumPy array or scalar of exactly the parameter's type, or
    numbers, booleans and nested lists of them, of which whole numbers have to fit and others are
    rounded. Its shape is that of the parameter's type. `backend`: `c`, `cuda`, or `ref` for the
    interpreter. The run is a process of its own, which reaches no file and no network, and ends
    after so many `seconds`. Raises `Error` for a program or an argument that is wrong, a run that
    fails or takes too long, and for parameters and results that are no numbers or arrays of them.

    >>> run("entry main [n] (xs: [n]f64) (k: i64) = xs[k]", [0.5, 1.5], 1, backend="ref")
    (np.float64(1.5),)
    """

    def work() -> tuple[Value, ...]:
        asked = OfProgram(source, files=dict(files))
        found = api.outside(asked, entry)
        if not all(map(is_plain, (*found.params, *found.results))):
            raise UsageError(
                "Only numbers, booleans and arrays of them can be given and returned here.",
                hint="Write an entry point that takes and gives the parts one by one.",
            )
        params = external(found.fun)
        given = [_value(*pair) for pair in zip(params, args, strict=False)]
        rest = [np.asarray(arg) for arg in args[len(params) :]]
        return tuple(api.run_values(asked, entry, [*given, *rest], backend, "", seconds)["values"])

    return _deep(work)


def prove(a: str, b: str, *, assumptions: Mapping[str, Any] | None = None) -> Verdict:
    """Find out whether two LMADs, sets of cells of memory, ever share a cell.

    An LMAD is `offset + {(size : stride), ..}`; `assumptions` say what is known of its names, in
    the notation of `docs/proving.md`. Raises `Error` for what is no LMAD, and for too hard ones.

    >>> prove("{(n : 2)}", "1 + {(n : 2)}", assumptions={"nonnegative": ["n"]}).verdict
    'disjoint'
    >>> prove("{(n : 1)}", "n - 1 + {(2 : 1)}", assumptions={"nonnegative": ["n - 1"]}).verdict
    'overlap'
    """
    asked = ProveRequest(assumptions=None if assumptions is None else dict(assumptions), a=a, b=b)
    answer = _deep(lambda: explanations.prove(asked))
    witness = answer["witness"]
    return Verdict(
        answer["verdict"],
        reason(answer) if answer["verdict"] != "disjoint" else "",
        dict(witness["values"]) if witness else None,
        witness["cell"] if witness else None,
    )


def _deep(work: Callable[[], T]) -> T:
    """Call `work` where programs may nest deeply. Raises what goes wrong as `Error`."""
    found: list[T] = []
    try:
        with_deep_stack(lambda: found.append(work()))
    except Exception as problem:
        raise as_error(problem) from None
    return found[0]


def _value(param: Param, arg: Any) -> Value:
    """An argument as a NumPy value of the parameter's type. Raises InputError if it is none."""
    if isinstance(arg, np.ndarray | np.generic):
        return np.ascontiguousarray(arg) if arg.ndim else arg.dtype.type(arg)
    prim = param.type.prim
    name = base_of(param.name)
    try:
        plain = np.asarray(arg)
        with np.errstate(over="ignore"):
            made = plain.astype(DTYPE[prim])
    except (ValueError, TypeError, OverflowError) as problem:
        raise InputError(f"`{name}` is given no value: {problem}.") from None
    exact = prim[0] == "f" and plain.dtype.kind in "iuf"
    kind = "b" if prim == "bool" else "iu"
    fits = plain.dtype.kind in kind and bool((made == plain).all())
    if plain.size and not exact and not fits:
        raise InputError(f"`{name}` is of type {prim}, which cannot hold what is given.")
    return made if made.ndim else made.dtype.type(made)
