"""The order of stages and their passes, in one tuple.

Switches, checks of `verify`, and the lists of the page and the documents are read
off it. A pass and its rules are values that stand beside their code.

`Compilation` runs the stages for one program, each when it is first asked for. Stages up to `fused`
are the same for every target. Behind them the layout of memory and the thresholds may differ, so
that the text of each target (`targets.py`) comes from a chain made for it, whichever target the
panes between them show. A chain begins with those stages of the shown target whose passes have
asked nothing that this target answers otherwise (`AskedTarget`): for most programs all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from compiler.algebra.gate import forget
from compiler.base.context import Ctx, Options
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, CompilerBug, UsageError
from compiler.base.fuel import Fuel
from compiler.base.names import Mark, NameSource
from compiler.base.remarks import Fate, Remark
from compiler.base.rules import Pass
from compiler.base.spans import EXPRESSION
from compiler.base.target import AskedTarget
from compiler.base.text import Text
from compiler.codegen.imp.nodes import Kernel
from compiler.codegen.imp.parts import statements
from compiler.codegen.imp.printer import show as show_imp
from compiler.codegen.imp.verify import verify as verify_imp
from compiler.codegen.kernels.lower import KERNELS
from compiler.codegen.kernels.nodes import Launch
from compiler.codegen.kernels.printer import show as show_kernels
from compiler.codegen.kernels.verify import verify as verify_kernels
from compiler.codegen.to_imp import to_imp
from compiler.derive.stage import DERIVE, has_derivatives
from compiler.driver import edited
from compiler.driver.targets import BACK_ENDS, target_named
from compiler.explain.occurrences import Index
from compiler.frontend import decs, flatpack, show_ast, show_typed
from compiler.frontend.check import check
from compiler.frontend.files import FLATPACK
from compiler.frontend.flatpack.laws import PASS as LAWS
from compiler.frontend.flatpack.repack import PASS as REPACK
from compiler.frontend.flatpack.windows import PASS as WINDOWS
from compiler.frontend.parser import parse, parse_expression
from compiler.frontend.shown import shown
from compiler.ir import forms, printer
from compiler.ir.counts import counts
from compiler.ir.forms import Form
from compiler.ir.memory import check as check_memory
from compiler.ir.verify import verify as verify_form
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import SOA
from compiler.optimise.fuse import FUSE
from compiler.optimise.inline import INLINE
from compiler.optimise.simplify import SIMPLIFY
from compiler.parallel.flatten import FLATTEN
from compiler.parallel.recursion import RECURSION, unroll_calls
from compiler.parallel.wide_indices import WIDEN
from compiler.storage.allocate import ALLOCATE
from compiler.storage.calls import LOOK_INSIDE
from compiler.storage.coalesce import COALESCE
from compiler.storage.expand import EXPAND
from compiler.storage.merge import MERGE
from compiler.storage.short_circuit import SHORT_CIRCUIT

Kind = Literal["syntax", "typed", "ir", "imp", "kernels", "text"]
CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its passes, which transform the previous stage's program, and its printer.

    Back ends (their programs are texts) continue from the last stage that is no text. `form` is
    the form that `verify` checks. `target`: the id of the target that the program is for; CHOSEN if
    the options decide, "" if it is the same for all. `blocks`: the stage exists only
    for targets whose threads work in blocks. `machine`: the hardware that runs a text.
    """

    id: str
    title: str
    explain: str
    kind: Kind
    show: Callable[[Any], Text]
    passes: tuple[Pass, ...]
    form: Form | None = None
    target: str = ""
    blocks: bool = False
    machine: str = ""

    def is_for(self, target: str) -> bool:
        """Return True if the stage exists for the target with that id."""
        return not self.blocks or target_named(target).has_blocks


def _parse(source: str, ctx: Ctx) -> Any:
    options = ctx.options
    if options.main.endswith(FLATPACK):
        if not options.expression:
            return flatpack.read(source)
        return flatpack.over(source, options.expression).meaning
    return _with_expression(_exposing(parse(source), ctx), ctx)


def _translate(program: Any, ctx: Ctx) -> Any:
    if isinstance(program, decs.Program):
        return program
    return flatpack.to_futhark(program)


def _exposing(program: decs.Program, ctx: Ctx) -> decs.Program:
    """Make the definitions in `Options.exposed` entry points."""
    exposed = ctx.options.exposed
    if not exposed:
        return program
    own = (
        replace(one, kind="entry") if isinstance(one, decs.ValDec) and one.name in exposed else one
        for one in program.decs
    )
    return replace(program, decs=tuple(own))


def _with_expression(program: decs.Program, ctx: Ctx) -> decs.Program:
    """Append the definition for `Options.expression`."""
    text = ctx.options.expression
    if not text:
        return program
    exp, name = parse_expression(text, EXPRESSION), ctx.options.entry
    it = decs.ValDec(
        exp.span,
        "entry" if name else "def",
        name or EXPRESSION,
        exp.span,
        (),
        (),
        None,
        exp,
        "",
        (),
    )
    return decs.Program((*program.decs, it))


def _itself(text: Text) -> Text:
    return text


def _texts(blocks: bool) -> Iterator[Stage]:
    """Yield the texts of back ends with blocks of threads, or of the others."""
    for one in BACK_ENDS:
        to = one.target
        if to.has_blocks == blocks:
            yield Stage(
                to.id,
                to.title,
                to.explain,
                "text",
                _itself,
                one.passes,
                target=to.id,
                machine=to.machine,
            )


_TIDY = replace(SIMPLIFY, cleans=True)
"""Fusion exposes index arithmetic and common subexpressions; distribution computes cheap scalars
again."""

_LOOPS = replace(
    RECURSION, run=lambda prog, ctx: unroll_calls(prog, ctx) if has_derivatives(prog) else prog
)
"""Derivatives contain no calls; other programs keep recursive functions for now."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "ast",
        "Syntax",
        "The program as a syntax tree.",
        "syntax",
        show_ast.show,
        (
            Pass("parse", "Reads the text.", _parse),
            LAWS,
            REPACK,
            WINDOWS,
            Pass("translate", "Writes a FlatPack program as a Futhark program.", _translate),
        ),
    ),
    Stage(
        "typed",
        "Types",
        "Every expression with its type, sizes and uniqueness; inferred types are filled in.",
        "typed",
        show_typed.show,
        (Pass("check", "Infers types and sizes, and checks which arrays are consumed.", check),),
    ),
    Stage(
        "mono",
        "Monomorphic",
        "One version of each function per type; functions are no longer values.",
        "typed",
        show_typed.show,
        (Pass("monomorphise", "Makes a version of each function per type.", monomorphise),),
    ),
    Stage(
        "soa",
        "Structure of arrays",
        "The core language: tuples and records are separate values, and an array of "
        "tuples is several arrays.",
        "ir",
        printer.show,
        (SOA,),
        forms.DERIVATIVES,
    ),
    Stage(
        "ad",
        "Derived",
        "Derivatives as programs: forward mode computes tangents next to values, "
        "reverse mode adjoints from the results back.",
        "ir",
        printer.show,
        (_LOOPS, DERIVE),
        forms.CALLS,
    ),
    Stage(
        "simplified",
        "Simplified",
        "Functions are inlined, constants folded, common expressions shared, and "
        "invariants moved out of loops.",
        "ir",
        printer.show,
        (RECURSION, INLINE, SIMPLIFY),
        forms.NESTED,
    ),
    Stage(
        "fused",
        "Fused",
        "Producers are fused with their consumers, and operators that read the same "
        "arrays with each other.",
        "ir",
        printer.show,
        (FUSE, _TIDY),
        forms.NESTED,
    ),
    Stage(
        "flat",
        "Flattened",
        "Nested parallelism as kernels; if there is a choice, several versions are "
        "selected by thresholds.",
        "ir",
        printer.show,
        (FLATTEN, WIDEN, _TIDY),
        forms.FLAT,
        CHOSEN,
    ),
    Stage(
        "funmem",
        "FUNMEM",
        "Memory: every array lies in a block, and an LMAD says where each element is.",
        "ir",
        printer.show,
        (LOOK_INSIDE, ALLOCATE),
        forms.MEMORY,
        CHOSEN,
    ),
    Stage(
        "shortcircuit",
        "Short-circuited",
        "Arrays are built directly in their destination, if that is proved to be safe.",
        "ir",
        printer.show,
        (SHORT_CIRCUIT,),
        forms.MEMORY,
        CHOSEN,
    ),
    Stage(
        "expanded",
        "Expanded",
        "The private memory of all threads is one block, allocated before the kernel; "
        "on a CPU a thread allocates memory whose size only it knows.",
        "ir",
        printer.show,
        (EXPAND, COALESCE),
        forms.EXPANDED,
        CHOSEN,
    ),
    Stage(
        "merged",
        "Merged",
        "Memory blocks that are never live at the same time are merged.",
        "ir",
        printer.show,
        (MERGE,),
        forms.EXPANDED,
        CHOSEN,
    ),
    Stage(
        "imp",
        "IMP",
        "Imperative code: statements of the host, and kernels over flat memory blocks.",
        "imp",
        show_imp,
        (Pass("imp", "Lowers to statements over flat memory blocks.", to_imp),),
        target=CHOSEN,
    ),
    *_texts(blocks=False),
    Stage(
        "kernels",
        "Kernels",
        "The launches of the host and the code of each thread: barriers, shared "
        "memory, atomic operations. For machines whose threads work in blocks.",
        "kernels",
        show_kernels,
        (KERNELS,),
        target=CHOSEN,
        blocks=True,
    ),
    *_texts(blocks=True),
)

BY_ID: dict[str, Stage] = {stage.id: stage for stage in STAGES}
PASSES: tuple[Pass, ...] = tuple(
    {p.id: p for s in STAGES for p in s.passes if not p.cleans}.values()
)
"""Every pass once, in the order of its first run."""
MEMORY_STAGES = tuple(s.id for s in STAGES if s.form is not None and s.form.memory)


def verify(prog: Any, stage: str, target: str = "", *, memory: bool = True) -> None:
    """Raise `CompilerBug`, naming what and where, unless `prog` is a program of that stage.

    Syntax trees and texts are not checked; the target decides what fits into a kernel. The
    soundness of memory (arrays keep their values) is checked if `memory` is set.
    """
    found = BY_ID[stage]
    if found.form is not None:
        verify_form(prog, found.form, stage)
        if found.form.memory and memory:
            check_memory(prog, stage)
    elif found.kind == "imp":
        verify_imp(prog)
    elif found.kind == "kernels":
        verify_kernels(prog, target_named(_target(found, target)))


def _before(stage: Stage, target: str) -> Stage | None:
    """Return the stage that a stage is made from, for a target."""
    earlier = STAGES[: STAGES.index(stage)]
    return next((s for s in reversed(earlier) if s.kind != "text" and s.is_for(target)), None)


def stage_named(name: str) -> Stage:
    """Return the stage with that id. Raises UsageError, which lists them all."""
    if name not in BY_ID:
        known = ", ".join(BY_ID)
        raise UsageError(f"There is no stage `{name}`.", hint=f"The stages are {known}.")
    return BY_ID[name]


def _target(stage: Stage, chosen: str) -> str:
    """Return the target that a stage is made for; "" for all.

    If the stage does not exist for the chosen target, it is the first one that has it.
    """
    if stage.target != CHOSEN:
        return stage.target
    targets = (chosen, *(one.target.id for one in BACK_ENDS))
    return next(target for target in targets if stage.is_for(target))


def run(stage: Stage, before: Any, ctx: Ctx) -> Any:
    """Run a stage's passes, without those that are switched off.

    With `Options.verify` memory is checked between passes; after the last by `verify`.
    """
    prog = before
    options = ctx.options
    checked = options.verify and not options.edited and stage.form and stage.form.memory
    for step in stage.passes:
        if (step.optional and ctx.options.is_off(step)) or (step.cleans and prog is before):
            continue
        made = step.run(prog, ctx, before) if step.cleans else step.run(prog, ctx)
        if checked and step is not stage.passes[-1] and made is not prog:
            check_memory(made, f"{stage.id}, behind `{step.id}`")
        prog = made
    return prog


@dataclass(slots=True)
class StageResult:
    """A stage's program; `ms` is the time of making it, not of showing it."""

    stage: Stage
    prog: Any
    ms: float
    answers: Mapping[str, Any]
    """Attributes of the target that its passes have read."""
    names: Mark
    spent: int
    """Fuel spent up to its end."""

    def is_as(self, prog: Any, names: Mark, spent: int) -> bool:
        """Return True if another target's passes gave the same program, names and fuel."""
        return prog is self.prog and names == self.names and spent == self.spent

    @property
    def text(self) -> Text:
        """Print the text form: each time anew, since it is longer than the program."""
        return self.stage.show(self.prog)

    @property
    def counts(self) -> dict[str, int]:
        """Count statements by kind; for trees definitions, for texts lines.

        Works without making the text.
        """
        match self.stage.kind:
            case "ir":
                return counts(self.prog)
            case "syntax":
                return {"definition": len(self.prog.decs)}
            case "typed":
                return {"definition": len(shown(self.prog))}
            case "imp" | "kernels":
                made = [stm for fun in self.prog.funs for stm in statements(fun.body)]
                return {"kernel": sum(isinstance(stm, Kernel | Launch) for stm in made)}
        return {"line": len(self.prog)}


@dataclass(slots=True)
class Compilation:
    """The compilation of one program. `result` raises errors, and keeps them."""

    source: str
    options: Options = field(default_factory=Options)
    _results: dict[tuple[str, str], StageResult | CompileError] = field(default_factory=dict)
    _ctx: dict[str, Ctx] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    """Indexes of stages' texts, made on demand."""

    def result(self, name: str, target: str = "") -> StageResult:
        """Return a stage's result for `target` (default: the options', or a back end's)."""
        stage = stage_named(name)
        target = _target(stage, target or self.options.target)
        key = (name, target)
        if key not in self._results:
            self._results[key] = self._shared(stage, target) or self._make(stage, target)
        found = self._results[key]
        if isinstance(found, CompileError):
            raise found
        return found

    def statements(self, stage: Stage) -> StageResult:
        """Return a stage's result; for a text, that of the stage whose statements it prints."""
        earlier = _before(stage, stage.target) if stage.kind == "text" else None
        return self.result((earlier or stage).id, stage.target if earlier else "")

    def is_unchanged(self, name: str) -> bool:
        """Return True if a stage's passes have not changed the program."""
        found = self.result(name)
        earlier = _before(found.stage, _target(found.stage, self.options.target))
        return earlier is not None and self.result(earlier.id).prog is found.prog

    def names(self) -> NameSource:
        """Return the name source after all stages that have run."""
        found = self._ctx.get(self.options.target) or self._ctx.get("")
        return found.names if found is not None else NameSource(authors={})

    def remarks(self) -> list[Remark]:
        """Return all remarks of the stages made for the shown target."""
        shown = [self._ctx[t] for t in ("", self.options.target) if t in self._ctx]
        return [remark for ctx in shown for remark in ctx.remarks]

    def record(self, name: str, of: str = "") -> Any:
        """Return the record that a pass of a stage (default: the last one) has kept.

        Raises UsageError for a stage whose text was written by hand.
        """
        stage = stage_named(name)
        self.result(name)
        if self._written(name) is not None:
            raise UsageError(
                f"The text of `{name}` was written by hand, so no pass reports anything about it.",
                hint="Undo the edit, or choose a stage before it.",
            )
        records = self._ctx[_target(stage, self.options.target)].records
        return records[of or stage.passes[-1].id]

    def fates(self) -> list[Fate]:
        """Return the outcomes of bounds checks, in the stages made for the shown target."""
        shown = [self._ctx[t] for t in ("", self.options.target) if t in self._ctx]
        return [fate for ctx in shown for fate in ctx.fates]

    def proved(self) -> list[tuple[str, list[Any]]]:
        """Return accepted integer facts by stage, for the shown target."""
        shown = [self._ctx[t] for t in ("", self.options.target) if t in self._ctx]
        return [pair for ctx in shown for pair in ctx.proved.items()]

    def _shared(self, stage: Stage, target: str) -> StageResult | None:
        """Return the shown target's result, if it holds for this target too."""
        shown = self._results.get((stage.id, self.options.target))
        earlier = _before(stage, target)
        if stage.target != CHOSEN or not isinstance(shown, StageResult) or earlier is None:
            return None
        before = self.result(earlier.id, self.options.target)
        alike = target_named(target).answers_alike(shown.answers)
        return shown if alike and self.result(earlier.id, target) is before else None

    def _make(self, stage: Stage, target: str) -> StageResult | CompileError:
        try:
            earlier = _before(stage, target)
            made = self.result(earlier.id, target) if earlier else None
            before = made.prog if made else self.source
            ctx = self._context(stage, target, made)
            asked = AskedTarget(target_named(target))
            if stage.target == CHOSEN:
                ctx.target = asked
            start = time.perf_counter()
            prog = run(stage, before, ctx)
            text = self._written(stage.id)
            if text is not None:
                prog = self._read(text, stage, prog, target, ctx)
            ms = (time.perf_counter() - start) * 1000
            forget(ctx.proved.get(stage.id, ()))
            if self.options.verify and text is None:
                verify(prog, stage.id, target, memory=not self.options.edited)
            names, spent = ctx.names.mark(), ctx.fuel.spent
            shown = self._results.get((stage.id, self.options.target))
            if isinstance(shown, StageResult) and shown.is_as(prog, names, spent):
                del self._ctx[target]  # From here on it is what the shown target's passes know.
                return shown
            return StageResult(stage, prog, ms, dict(asked.answers), names, spent)
        except CompilerBug as error:
            written = self._written_before(stage)
            return edited.stuck(written, stage.id, error) if written else error
        except CompileError as error:
            return error
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            if written := self._written_before(stage):
                return edited.stuck(written, stage.id, error)
            text = f"{type(error).__name__} in stage `{stage.id}`: {error}"
            bug = CompilerBug(text, hint="This is a defect of Stridescope, not of the program.")
            bug.__cause__ = error
            return bug

    def _written(self, stage: str) -> str | None:
        """Return the edited text that replaces a stage's program, or None."""
        return dict(self.options.edited).get(stage)

    def _written_before(self, stage: Stage) -> str:
        """Return the last earlier stage whose text was edited, or ""."""
        earlier = [one.id for one in STAGES[: STAGES.index(stage)]]
        return next((one for one in reversed(earlier) if self._written(one) is not None), "")

    def _read(self, text: str, stage: Stage, made: Any, target: str, ctx: Ctx) -> Any:
        """Parse an edited text. It must pass all checks of its stage but those of memory.

        Overwritten arrays and races become remarks, and are compiled all the same.
        """
        prog = edited.read(text, stage.id, stage.kind, made)
        ctx.names.go_past(edited.last_tag(text))
        try:
            verify(prog, stage.id, target, memory=False)
        except CompilerBug as error:
            raise edited.unread(stage.id, error) from error
        try:
            verify(prog, stage.id, target)
        except CompilerBug as error:
            ctx.remark(edited.unsound(stage.id, stage.passes[-1].id, error))
        return prog

    def _context(self, stage: Stage, target: str, before: StageResult | None) -> Ctx:
        """Return the context for a stage's passes, continuing from `before`."""
        ctx = self._ctx.get(target)
        if ctx is None:
            shown = target in ("", self.options.target)
            if before is None:
                ctx = Ctx(self.options, NameSource(authors={}), Fuel(self.options.fuel))
            else:
                of = self._ctx[_target(before.stage, self.options.target)]
                names, fuel = of.names.fork_at(before.names), of.fuel.fork_at(before.spent)
                ctx = Ctx(self.options, names, fuel, is_shown=shown)
                ctx.source = of.source
                ctx.unchanged = of.unchanged
            self._ctx[target] = ctx
        ctx.stage, ctx.target = stage.id, target_named(target)
        return ctx
