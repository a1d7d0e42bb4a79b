"""The order of the stages: one tuple, and the only place that knows it.

`Compilation` runs them for one program, each when it is first asked for. Stages up to `fused` are
the same for every target. Behind them the layout of memory and the thresholds differ, so that
the `c` text always comes from a chain for C and the `cuda` text from one for CUDA, whichever
target the panes between them show.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError, CompilerBug, UsageError
from compiler.base.fuel import Fuel
from compiler.base.names import NameSource
from compiler.base.remarks import Fate, Remark
from compiler.base.text import Text
from compiler.codegen.c import program as c
from compiler.codegen.cuda import program as cuda
from compiler.codegen.imp.printer import show as show_imp
from compiler.codegen.imp.verify import verify as verify_imp
from compiler.codegen.to_imp import to_imp
from compiler.frontend import show_ast, show_typed
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir import printer
from compiler.ir.counts import counts
from compiler.ir.verify import verify
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from compiler.optimise.fuse import fuse
from compiler.optimise.simplify import simplify
from compiler.parallel.flatten import flatten
from compiler.storage.allocate import allocate
from compiler.storage.expand import expand
from compiler.storage.merge import merge
from compiler.storage.short_circuit import short_circuit

Kind = Literal["syntax", "typed", "ir", "imp", "text"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: how its program is made from the one before it (`after`), and how it is shown."""

    id: str
    title: str
    explain: str
    kind: Kind
    after: str
    make: Callable[[Any, Ctx], Any]
    show: Callable[[Any], Text]


def _fused(prog: Any, ctx: Ctx) -> Any:
    """Fusing exposes index arithmetic and common subexpressions: simplify again."""
    fused = fuse(prog, ctx)
    return prog if fused is prog else simplify(fused, ctx)


def _flat(prog: Any, ctx: Ctx) -> Any:
    """Distribution recomputes cheap scalars: simplify again."""
    return simplify(flatten(prog, ctx), ctx)


def _itself(text: Text) -> Text:
    return text


STAGES: tuple[Stage, ...] = (
    Stage(
        "ast",
        "Syntax",
        "The program as it was written, as a tree.",
        "syntax",
        "",
        lambda source, ctx: parse(source),
        show_ast.show,
    ),
    Stage(
        "typed",
        "Types",
        "Every expression with its type, sizes and uniqueness; inferred types filled in.",
        "typed",
        "ast",
        check,
        show_typed.show,
    ),
    Stage(
        "mono",
        "Monomorphic",
        "One version of each function per type; no function is a value any more.",
        "typed",
        "typed",
        monomorphise,
        show_typed.show,
    ),
    Stage(
        "soa",
        "FUN",
        "The core language: tuples and records are gone, an array of tuples is several arrays.",
        "ir",
        "mono",
        soa,
        printer.show,
    ),
    Stage(
        "simplified",
        "Simplified",
        "Functions inlined, constants folded, common expressions shared, loops freed of what "
        "does not change.",
        "ir",
        "soa",
        simplify,
        printer.show,
    ),
    Stage(
        "fused",
        "Fused",
        "Producers joined with their consumers, neighbours over the same arrays with each other.",
        "ir",
        "simplified",
        _fused,
        printer.show,
    ),
    Stage(
        "flat",
        "Flattened",
        "Nested parallelism as kernels; where there is a choice, versions under thresholds.",
        "ir",
        "fused",
        _flat,
        printer.show,
    ),
    Stage(
        "funmem",
        "FUNMEM",
        "Memory: every array lives in a block, and an LMAD says where each element lies.",
        "ir",
        "flat",
        allocate,
        printer.show,
    ),
    Stage(
        "shortcircuit",
        "Short-circuited",
        "Arrays are built where they end up, where that is proved to be safe.",
        "ir",
        "funmem",
        short_circuit,
        printer.show,
    ),
    Stage(
        "expanded",
        "Expanded",
        "What threads need for themselves is one block, allocated before; on the CPU a thread "
        "makes what only it knows the size of.",
        "ir",
        "shortcircuit",
        expand,
        printer.show,
    ),
    Stage(
        "merged",
        "Merged",
        "Blocks that are never needed at the same time are one block.",
        "ir",
        "expanded",
        merge,
        printer.show,
    ),
    Stage(
        "imp",
        "IMP",
        "Imperative: statements of the host, and kernels over flat blocks.",
        "imp",
        "merged",
        to_imp,
        show_imp,
    ),
    Stage(
        "c",
        "C",
        "C with OpenMP, as it is compiled for this machine.",
        "text",
        "imp",
        c.emit,
        _itself,
    ),
    Stage(
        "cuda",
        "CUDA",
        "CUDA kernels, and the host program that launches them.",
        "text",
        "imp",
        cuda.emit,
        _itself,
    ),
)

BY_ID: dict[str, Stage] = {stage.id: stage for stage in STAGES}
_SHARED = frozenset(("ast", "typed", "mono", "soa", "simplified", "fused"))
_TARGET_OF = {"c": "c", "cuda": "cuda"}


def stage_named(name: str) -> Stage:
    """The stage with that id. Raises UsageError, which lists them all."""
    if name not in BY_ID:
        known = ", ".join(BY_ID)
        raise UsageError(f"There is no stage `{name}`.", hint=f"The stages are {known}.")
    return BY_ID[name]


@dataclass(slots=True)
class Result:
    """A stage's program, and its text, made when first asked for; `ms` is making, not showing."""

    stage: Stage
    prog: Any
    ms: float
    _text: Text | None = None

    @property
    def text(self) -> Text:
        """The text form, line by line."""
        if self._text is None:
            self._text = self.stage.show(self.prog)
        return self._text

    @property
    def counts(self) -> dict[str, int]:
        """How many of each construct there are; empty outside the core language."""
        return counts(self.prog) if self.stage.kind == "ir" else {}


@dataclass(slots=True)
class Compilation:
    """One program on its way through the stages. Errors are raised by `result`, and kept."""

    source: str
    options: Options = field(default_factory=Options)
    _results: dict[tuple[str, str], Result | CompileError] = field(default_factory=dict)
    _ctx: dict[str, Ctx] = field(default_factory=dict)

    def result(self, name: str, target: str = "") -> Result:
        """The stage's result, for `target` (default: the options', or the one of a back end)."""
        stage = stage_named(name)
        target = _TARGET_OF.get(name, target or self.options.target)
        key = (name, "" if name in _SHARED else target)
        if key not in self._results:
            self._results[key] = self._make(stage, target)
        found = self._results[key]
        if isinstance(found, CompileError):
            raise found
        return found

    def names(self) -> NameSource:
        """Who is called what, behind all stages that have run."""
        found = self._ctx.get(self.options.target) or self._ctx.get("")
        return found.names if found is not None else NameSource(authors={})

    def remarks(self) -> list[Remark]:
        """All remarks of the stages that were made for the shown target."""
        shown = [self._ctx[t] for t in ("", self.options.target) if t in self._ctx]
        return [remark for ctx in shown for remark in ctx.remarks]

    def fates(self) -> list[Fate]:
        """What became of the checks of accesses, in the stages made for the shown target."""
        shown = [self._ctx[t] for t in ("", self.options.target) if t in self._ctx]
        return [fate for ctx in shown for fate in ctx.fates]

    def _make(self, stage: Stage, target: str) -> Result | CompileError:
        try:
            before = self.result(stage.after, target).prog if stage.after else self.source
            ctx = self._context(stage, target)
            start = time.perf_counter()
            prog = stage.make(before, ctx)
            ms = (time.perf_counter() - start) * 1000
            if self.options.verify:
                if stage.kind == "ir":
                    verify(prog, stage.id)
                elif stage.kind == "imp":
                    verify_imp(prog)
            return Result(stage, prog, ms)
        except CompileError as error:
            return error
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            text = f"{type(error).__name__} in stage `{stage.id}`: {error}"
            bug = CompilerBug(text, hint="This is a defect of Stridescope, not of the program.")
            bug.__cause__ = error
            return bug

    def _context(self, stage: Stage, target: str) -> Ctx:
        key = "" if stage.id in _SHARED else target
        if key not in self._ctx:
            options = replace(self.options, target=target)
            shared = self._ctx.get("")
            names = shared.names.fork() if shared else NameSource(authors={})
            ctx = Ctx(options, names, shared.fuel.fork() if shared else Fuel(options.fuel))
            if shared:
                ctx.attributes = shared.attributes
            self._ctx[key] = ctx
        self._ctx[key].stage = stage.id
        return self._ctx[key]
