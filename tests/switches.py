"""All combinations of switches: whatever is switched off, programs mean the same.

    python -m tests.switches [NAME ..]

tries every example and every program of `tests/storage/programs.py` with each pass and each rule
of the memory passes on and off, in the heap semantics with its race check and on C, on small and
on large inputs, and prints a summary. `tests/driver/test_switches.py` does the same on small ones.

Most combinations give a program that another one has given already, up to the tags of names: each
is run once. What stands before the memory passes is shared by all combinations of their switches;
and where a rule is not applied, it makes no difference that it is off, with whatever else.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from compiler.algebra.disjoint import Verdict, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx, Options
from compiler.base.deadline import within
from compiler.base.errors import CompileError, Limitation, RuntimeError_, UsageError
from compiler.base.names import NameSource
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.codegen.c import program as c
from compiler.codegen.to_imp import to_imp
from compiler.driver import switches
from compiler.driver.pipeline import STAGES, Compilation, stage_named, verify
from compiler.driver.targets import target_named
from compiler.explain import validity
from compiler.ir import random_values
from compiler.ir.nodes import Function, Prog, Scalar
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.values import Value
from compiler.runtime import runner
from compiler.semantics import interp
from compiler.storage.allocate import allocate
from compiler.storage.expand import expand
from compiler.storage.merge import merge
from compiler.storage.short_circuit import assumptions, short_circuit
from compiler.testing.compare import same
from testing import blocks
from testing.attempts import versions
from testing.compiling import begun, branch
from tests.storage import programs
from tests.storage.helpers import arguments

EXAMPLES = sorted((Path(__file__).parent.parent / "app" / "examples").glob("*.fut"))
PASSES = ("simplify", "fuse", "flatten")
"""Passes before memory: switched as a whole."""
LATE = {p.id for stage in STAGES[STAGES.index(stage_named("simplified")) :] for p in stage.passes}
"""Passes whose switches nothing asks about up to `soa`."""
MEMORY = tuple(r.id for p in switches.PASSES if p.id == "shortcircuit" for r in p.switches)
FRESH = 1 << 30
SMALL = 400
"""Elements of input, up to which the heap semantics takes little time."""
SMALL_NUMBERS = 6
SECONDS = 60
RANDOM = 10
"""Random sets of rules before memory, for each program."""
Off = frozenset[str]
Case = tuple[str, list[Value]]
"""An entry point and its arguments."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program: `meaning` goes by values, `funmem` is made with some passes switched off."""

    name: str
    meaning: Prog
    passes: tuple[str, ...]
    funmem: Callable[[Off], Prog]
    cases: list[Case]
    large: list[Case] = field(default_factory=list)
    checks: bool = True
    """Whether wrong arguments are refused; what is written as IR need not do that."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program that some combination gives; `off` is the first one that does."""

    off: Off
    short: Prog
    merged: Prog | None


@dataclass(slots=True)
class Tried:
    """What was tried, and what went wrong, in sentences."""

    combinations: int = 0
    different: int = 0
    heap_runs: int = 0
    c_texts: int = 0
    c_runs: int = 0
    problems: list[str] = field(default_factory=list)


def subsets(names: Sequence[str]) -> Iterator[Off]:
    """All subsets, small ones first."""
    for count in range(len(names) + 1):
        for chosen in combinations(names, count):
            yield frozenset(chosen)


# --- programs --------------------------------------------------------------------------------


def example(path: Path, target: str = "c") -> Subject:
    """An example, on its own small inputs and on some random ones."""
    source = path.read_text("utf-8")
    work = begun(source, Options(target=target, verify=True), "soa")
    meaning: Prog = work.result("soa").prog
    small: list[Case] = []
    large: list[Case] = []
    for case in blocks.read(path):
        args = blocks.arguments(case, entry(meaning, case.entry))
        little = sum(np.asarray(a).size for a in args) <= SMALL
        (small if little and case.output is not None else large).append((case.entry, args))
    for name in dict.fromkeys(name for name, _ in small):
        small += [(name, few(entry(meaning, name), seed)) for seed in range(3)]

    def funmem(off: Off) -> Prog:
        prog: Prog = without(work, off).result("funmem").prog
        return prog

    return Subject(path.stem, meaning, PASSES, funmem, small, large)


def without(work: Compilation, off: Off) -> Compilation:
    """A program that has come to `soa`, with these switched off."""
    options = replace(work.options, disabled=off)
    if {name.partition("/")[0] for name in off} <= LATE:
        return branch(work, options)
    return Compilation(work.source, options)


def entry(prog: Prog, name: str) -> Function:
    """The entry point of that name."""
    return next(fun for fun in prog.funs if fun.name == name)


def few(fun: Function, seed: int) -> list[Value]:
    """Random arguments with small sizes and numbers."""
    rng = random.Random(seed)
    shape = {name: rng.randrange(SMALL_NUMBERS) for name in sorted(_names(fun))}
    return random_values.inputs(fun, shape, seed).values


def _names(fun: Function) -> set[str]:
    params = [p.name for p in fun.params if isinstance(p.type, Scalar)]
    return {re.sub(r"_\d+$", "", name) for name in params}


def storage_program(name: str, target: str = "c") -> Subject:
    """A program of the memory tests, which begin at stage `flat`."""
    text = getattr(programs, name)
    prog = parse(text)

    def funmem(off: Off) -> Prog:
        ctx = Ctx(Options(disabled=off), NameSource(FRESH >> 1), target=target_named(target))
        return allocate(prog, ctx)

    # By value, but in the order of additions that memory makes necessary.
    meaning = funmem(frozenset())
    cases = [("main", arguments(prog, seed)) for seed in range(4)]
    return Subject(name, meaning, (), funmem, cases, checks=False)


STORAGE = [name for name in vars(programs) if name.isupper()]


# --- combinations ----------------------------------------------------------------------------


def canonical(prog: Prog) -> str:
    """The text, with tags of names counted in order."""
    seen: dict[str, str] = {}
    return re.sub(r"(?<=_)\d+\b", lambda m: seen.setdefault(m[0], str(len(seen))), show_text(prog))


@contextmanager
def remembering() -> Iterator[None]:
    """Ask each question about two LMADs once: combinations differ in few of them."""
    verdicts: dict[Any, Verdict] = {}

    def asked(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> Verdict:
        key = (first, second, facts.bounds, tuple(facts.equalities.items()))
        if key not in verdicts:
            verdicts[key] = disjoint(first, second, facts)
        return verdicts[key]

    with patch.object(assumptions, "disjoint", asked):
        yield


def variants(subject: Subject, tried: Tried, fronts: Iterable[Off] | None = None) -> list[Variant]:
    """The different programs that all combinations of switches give."""
    before: set[str] = set()
    shorts: dict[str, tuple[Off, Prog]] = {}
    for front in subsets(subject.passes) if fronts is None else fronts:
        tried.combinations += 2 << len(MEMORY)
        funmem = subject.funmem(front)
        text = canonical(funmem)
        if text in before:
            continue
        before.add(text)
        with remembering():
            for off, short in shortened(funmem, front):
                shorts.setdefault(canonical(short), (off, short))
    found: dict[str, Variant] = {}
    for off, short in shorts.values():
        verify(short, "shortcircuit")
        for more in (off, off | {"merge"}):
            merged = _merged(short, more)
            key = canonical(short if merged is None else merged)
            found.setdefault(key, Variant(more, short, merged))
    tried.different += len(found)
    return list(found.values())


def shortened(funmem: Prog, front: Off) -> Iterator[tuple[Off, Prog]]:
    """The program that each combination of rules gives, but for those that must give the same.

    A rule that is refused what it would have applied may change everything after it; one that
    applied nothing is only asked in vain.
    """
    todo: list[Off] = [frozenset()]
    for rules in todo:
        ctx = Ctx(Options(disabled=front | rules), NameSource(FRESH))
        yield front | rules, short_circuit(funmem, ctx)
        used = {remark.rule for remark in ctx.remarks if remark.kind == "applied"}
        more = [rules | {rule} for rule in MEMORY if rule in used]
        todo.extend(off for off in more if off not in todo)


def shortened_each(funmem: Prog, front: Off) -> Iterator[tuple[Off, Prog]]:
    """The program that each combination of rules gives, all of them."""
    for rules in subsets(MEMORY):
        ctx = Ctx(Options(disabled=front | rules), NameSource(FRESH))
        yield front | rules, short_circuit(funmem, ctx)


def _merged(short: Prog, off: Off) -> Prog | None:
    """After `expanded` and `merged`; None where a kernel must allocate what cannot be expanded."""
    ctx = Ctx(Options(disabled=off), NameSource(FRESH << 1))
    try:
        expanded = expand(short, ctx)
    except Limitation:
        return None
    verify(expanded, "expanded")
    merged = merge(expanded, ctx)
    verify(merged, "merged")
    return merged


# --- runs ------------------------------------------------------------------------------------


def meanings(prog: Prog, cases: Sequence[Case]) -> list[list[Value] | None]:
    """The results of each case by value, None where the run has to fail."""
    found: list[list[Value] | None] = []
    for name, args in cases:
        try:
            found.append(within(SECONDS, lambda a=args, f=name: interp.run(prog, f, a)))
        except RuntimeError_:
            found.append(None)
    return found


def on_heap(subject: Subject, made: list[Variant], tried: Tried) -> None:
    """Every variant in the heap semantics, after short-circuiting and after merging.

    Two may have the same program after short-circuiting; one without versions of code runs once.
    """
    expected = meanings(subject.meaning, subject.cases)
    run: list[Prog] = []
    for variant in made:
        for prog in (variant.short, variant.merged):
            if prog is None or any(prog is one for one in run):
                continue
            run.append(prog)
            for (name, args), want in zip(subject.cases, expected, strict=True):
                for thresholds in versions(prog):
                    tried.heap_runs += 1
                    _compare_on_heap(prog, name, args, want, thresholds, variant, tried)


def _compare_on_heap(
    prog: Prog,
    name: str,
    args: list[Value],
    want: list[Value] | None,
    thresholds: dict[str, int],
    variant: Variant,
    tried: Tried,
) -> None:
    def judged() -> validity.Validity:
        if want is None:
            return validity.check(prog, name, args, thresholds)
        return validity.against(prog, name, args, want, thresholds)

    outcome = within(SECONDS, judged)
    if outcome.verdict != "valid":
        tried.problems.append(f"{_off(variant.off)}: {outcome.verdict}: {outcome.because}")


def on_c(
    subject: Subject, made: list[Variant], cases: Sequence[Case], tried: Tried, *flags: str
) -> None:
    """Every variant compiled, with these flags, and run."""
    expected = meanings(subject.meaning, cases)
    for variant in made:
        if variant.merged is None:
            continue
        ctx = Ctx(Options(disabled=variant.off), NameSource(FRESH << 2))
        code = plain(c.emit(to_imp(variant.merged, ctx), ctx))
        tried.c_texts += 1
        for (name, args), want in zip(cases, expected, strict=True):
            tried.c_runs += 1
            found: list[Any] | None
            if want is None and not subject.checks:
                continue
            try:
                found = runner.run_c(
                    code, name, args, SECONDS, settings=runner.Settings(flags=flags)
                ).values
            except UsageError:
                if subject.checks:
                    raise
                break  # The runner cannot tell sizes such as 2*n from shapes.
            except RuntimeError_ as error:
                found = None
                if error.kind == "timeout" or "crashed" in error.message:
                    tried.problems.append(f"{_off(variant.off)}: C: {error.message}")
                    continue
            if (found is None) != (want is None):
                tried.problems.append(f"{_off(variant.off)}: C fails, or should and does not")
            elif found is not None and want is not None and not same(found, want):
                tried.problems.append(f"{_off(variant.off)}: C gives {found} and not {want}")


def _off(off: Off) -> str:
    return f"without {', '.join(sorted(off))}" if off else "with everything"


# --- everything ------------------------------------------------------------------------------


def fronts(rng: random.Random, more: int) -> list[Off]:
    """All combinations of passes, every rule before memory alone, and random ones of all rules."""
    rules = [rule for rule in switches.RULES if rule not in MEMORY and not rule.startswith("merge")]
    found = [*subsets((*PASSES, "soa")), *(frozenset((rule,)) for rule in rules)]
    found += [frozenset(r for r in rules if rng.random() < 0.5) for _ in range(more)]
    return list(dict.fromkeys(found))


def everything(names: Sequence[str], targets: Sequence[str] = ("c", "cuda")) -> int:
    """Print what was tried for each program; the number of problems."""
    rng = random.Random(1)
    total = Tried()
    for target in targets:
        subjects = [example(p, target) for p in EXAMPLES if not names or p.stem in names]
        subjects += [storage_program(n, target) for n in STORAGE if not names or n in names]
        for subject in subjects:
            start = time.perf_counter()
            tried = Tried()
            try:
                every = subject.passes and target == "c"
                made = variants(subject, tried, fronts(rng, RANDOM) if every else None)
                on_heap(subject, made, tried)
                if target == "c":
                    on_c(subject, made, subject.cases + subject.large, tried)
            except CompileError as error:
                tried.problems.append(error.message)
            _add(total, tried)
            _report(f"{subject.name} ({target})", tried, time.perf_counter() - start)
    _report("all", total, 0)
    return len(total.problems)


def _add(total: Tried, tried: Tried) -> None:
    total.combinations += tried.combinations
    total.different += tried.different
    total.heap_runs += tried.heap_runs
    total.c_texts += tried.c_texts
    total.c_runs += tried.c_runs
    total.problems += tried.problems


def _report(name: str, tried: Tried, seconds: float) -> None:
    print(
        f"{name:32} {tried.combinations:7} combinations {tried.different:5} programs "
        f"{tried.heap_runs:6} heap runs {tried.c_texts:5} C texts {tried.c_runs:5} C runs "
        f"{len(tried.problems):3} problems {seconds:6.1f} s",
        flush=True,
    )
    for problem in list(dict.fromkeys(tried.problems))[:10]:
        print(f"    {problem[:300]}", flush=True)


def main() -> None:
    """The command line."""
    failed: list[int] = []
    with_deep_stack(lambda: failed.append(everything(sys.argv[1:])))
    runner.close_runners()
    sys.exit(1 if failed != [0] else 0)


if __name__ == "__main__":
    main()
