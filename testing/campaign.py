"""Run random programs about memory at every stage and in C, and compare the results.

What fails at one stage has to fail at all, and for the same kind of reason.

Programs are compiled in batches, each with an entry point of its own. Batches differ in what is
switched off, in which code versions are taken and in how hard the C compiler tries, all by their
number: a seed range means the same every time. `bench/campaign.py` runs them by the thousand.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from compiler.base.context import Options
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, Limitation, RuntimeError_
from compiler.base.text import plain
from compiler.codegen.imp.nodes import ImpProg
from compiler.codegen.kernels.block_sizes import POINTS as MANY_BLOCKS
from compiler.codegen.kernels.large_tiles import BUSY as MANY_TILES
from compiler.codegen.kernels.look_back import LOOK_BACK
from compiler.codegen.kernels.thread_rows import MANY as MANY_ROWS
from compiler.codegen.kernels.wide import MANY as MANY_WIDE
from compiler.driver.pipeline import STAGES, Compilation
from compiler.driver.switches import PASSES
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, show
from compiler.runtime import imp_interp, runner
from compiler.runtime.observer.build import why_not
from compiler.runtime.observer.records import ORDERS
from compiler.runtime.runner import Crash
from compiler.semantics import heap, interp, value
from testing import c_runs
from testing.attempts import always, attempts
from testing.c_runs import Stopped, outcomes
from testing.compiling import SHARED, at_line, begun, branch, changed
from testing.generators import buffers, extremes, guards, mixed, payloads, points, programs, storage
from testing.generators.mixed import BATCH, KERNELS
from testing.generators.storage import Generated
from testing.kernels import VERSIONS, alike, thresholds, watched, with_tiny_indices
from testing.kernels import Difference as KernelDifference
from testing.outcomes import Outcome, is_limit, kind, outcome

P = TypeVar("P", Prog, ImpProg)
STATEMENTS = 6
SHARES = (8, 8, 4, 2, 1, 1)
"""For programs of 1 to 6 statements, in `short`: time grows with the length."""
SECONDS = 60.0
"""Time limit of one run in C."""
SMALL = 2000
"""Elements of input, up to which a program is also evaluated one point after the other."""
EXTREME_SECONDS = 3.0
EXTREME_BYTES = 1 << 28
"""Memory limit of a run in C, low enough that many of these runs are refused."""
IR = [stage.id for stage in STAGES if stage.kind == "ir"]


def _of_all_kinds(seed: int, name: str = "main") -> Generated:
    """A program of statements of all kinds, whose definitions begin with its name."""
    made = programs.program(seed, STATEMENTS)
    source = re.sub(r"\bf(?=\d+\b)(?!16\b|32\b|64\b)", f"{name}_f", made.source)
    source = source.replace("entry main ", f"entry {name} ", 1)
    return Generated(seed, name, source, [made.inputs])


def _short(seed: int, name: str = "main") -> Generated:
    """A program as by `storage`, mostly of one or two statements; sizes are 0 and 1 as well."""
    rng = random.Random(f"short {seed}")
    statements = rng.choices((1, 2, 3, 4, 5, 6), SHARES)[0]
    return storage.program(seed, name, statements, tiny=rng.random() < 0.5)


GENERATORS: dict[str, mixed.Make] = {
    "storage": storage.program,
    "short": _short,
    "buffers": buffers.program,
    "extremes": extremes.program,
    "guards": guards.program,
    "nests": mixed.NESTS,
    "parted": mixed.PARTED,
    "payloads": payloads.program,
    "points": points.program,
    "programs": _of_all_kinds,
    "results": mixed.RESULTS,
    "stencils": mixed.STENCILS,
}
MIXED = mixed.Mixed(
    GENERATORS,
    {"short": 44, "points": 40, "buffers": 6, "guards": 6, "payloads": 3, "results": 1},
    {
        "short": 30,
        "points": 37,
        "results": 14,
        "buffers": 8,
        "guards": 5,
        "payloads": 2,
        "parted": 2,
        "nests": 1,
        "stencils": 1,
    },
)
GENERATORS["mixed"] = MIXED
TEXT = "CUDA's text"
"""Where kernels differ."""
MEMORY = ("funmem", "shortcircuit", "expanded", "merged")
LIMITS = tuple(one.id for one in (MANY_WIDE, MANY_ROWS, MANY_BLOCKS, MANY_TILES))
"""Points from which on a kernel takes another form: at 0 those of small programs do as well."""
SWITCHES = [name for p in PASSES for name in (p.id, *(rule.id for rule in p.switches))]


@dataclass(frozen=True)
class Manner:
    """The settings of a batch: passes that are switched off, and the C compiler's `effort`.

    `verified`: with checks after every pass. `versions`: always the most parallel version of the
    code. `kernels`: in that version the text of CUDA is run as well, under the observer.
    `counted`: attempts are counted.
    `limits` and `enabled`: forms of kernels that are for many points only, or asked for.
    `sanitized`: C runs under sanitisers. `again`: each run of C is done twice, in one process.
    `generator`: which one makes the programs.
    """

    disabled: frozenset[str] = frozenset()
    effort: str = "-O0"
    verified: bool = False
    versions: bool = False
    kernels: str = ""
    counted: bool = False
    sanitized: bool = False
    again: bool = False
    limits: tuple[tuple[str, int], ...] = ()
    enabled: frozenset[str] = frozenset()
    generator: str = "storage"

    @property
    def extreme(self) -> bool:
        """True if many runs are refused for their use of memory or time."""
        return self.generator == "extremes"

    @staticmethod
    def of(batch: int, sanitized: bool | None = False, generator: str = "storage") -> Manner:
        """Return the manner of a batch, by its number. `sanitized`: None for every other four."""
        rng = random.Random(f"manner {batch}")
        is_extreme = generator == "extremes"
        off: list[str] = []
        if batch % 4 == 3:
            names = [s for s in SWITCHES if s.startswith(("shortcircuit", "merge"))]
            off = rng.sample(names if rng.random() < 0.6 else SWITCHES, rng.randint(1, 4))
        return Manner(
            frozenset(off),
            "-O3" if batch % 24 == 0 else "-O0",
            verified=batch % 5 == 0,
            versions=batch % 4 == 1,
            kernels=VERSIONS[batch // 4 % len(VERSIONS)] if batch % 4 == KERNELS else "",
            counted=batch % 8 == 0 and generator == "storage",
            sanitized=batch // 4 % 2 == 1 if sanitized is None else sanitized or is_extreme,
            again=batch % 3 == 0,
            limits=tuple((name, 0) for name in LIMITS if rng.random() < 0.5),
            enabled=frozenset((LOOK_BACK.id,) if rng.random() < 0.5 else ()),
            generator=generator,
        )

    def program(self, seed: int, name: str = "main") -> Generated:
        """The program of that seed."""
        return GENERATORS[self.generator](seed, name)

    @property
    def settings(self) -> runner.Settings:
        """The settings that C is compiled and run with."""
        effort = "-O1" if self.sanitized and self.effort == "-O3" else self.effort
        usual = runner.Settings(flags=(effort,), sanitized=self.sanitized)
        return replace(usual, memory_bytes=EXTREME_BYTES, cores=1) if self.extreme else usual

    @property
    def quick(self) -> tuple[str, ...]:
        """The flags to run C with in one process; sanitisers only stop a run then."""
        return (*c_runs.QUICK, *self.settings.flags) if self.sanitized else self.settings.flags


@dataclass
class Report:
    """Results: `differences` has (seed, where, what), `counts` everything countable."""

    differences: list[tuple[int, str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Add the results of another report."""
        self.differences += other.differences
        self.counts += other.counts


class Difference(Exception):
    """A stage gives another result than the value semantics."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where, self.what = where, what


class Late(Exception):
    """A compiler was not done in its time, which says nothing about the program."""


# --- one program -----------------------------------------------------------------------------


def same(found: Sequence[Any], expected: Sequence[Value], where: str) -> None:
    """Raise Difference unless the results are equal."""
    if len(found) != len(expected):
        raise Difference(where, f"{len(found)} results instead of {len(expected)}")
    for k, (got, want) in enumerate(zip(found, expected, strict=True)):
        got = np.asarray(got)[()]
        floats = want.dtype.kind == "f"
        equal = got.dtype == want.dtype and np.array_equal(got, want, equal_nan=floats)
        if equal and floats:
            zeros = want == 0
            equal = np.array_equal(np.signbit(got) & zeros, np.signbit(want) & zeros)
        if not equal:
            raise Difference(where, f"result {k} is {show(got)} and should be {show(want)}")


@dataclass
class Joint:
    """Programs that were compiled at once in one manner; what all of them need is made once."""

    early: Compilation
    """As far as it is the same for all targets."""
    manner: Manner
    made: Sequence[Generated]

    @cached_property
    def work(self) -> Compilation:
        """The compilation for C."""
        return branch(self.early, self.early.options)

    @cached_property
    def code(self) -> str:
        """The text of C."""
        return plain(self.work.result("c").text)

    def only(self, prog: P, name: str) -> P:
        """Select the functions of a program from all those of a stage."""
        others = {one.name for one in self.made} - {name}
        return replace(prog, funs=tuple(fun for fun in prog.funs if fun.name not in others))

    @cached_property
    def in_c(self) -> dict[tuple[str, int], Outcome | Stopped]:
        """The results of C in one process for all programs, by name and number of the input."""
        places = [(one.name, at) for one in self.made for at in range(len(one.inputs))]
        calls = [(one.name, args) for one in self.made for args in one.inputs]
        manner = self.manner
        found = outcomes(self.code, calls, manner.quick, manner.sanitized, manner.again, SECONDS)
        return dict(zip(places, found, strict=True))

    @cached_property
    def changed(self) -> list[tuple[str, Prog, frozenset[str]]]:
        """Stages after `soa`, and the functions that each has changed."""
        return list(changed(self.work, IR[0], IR[1:]))

    @cached_property
    def kernels(self) -> Compilation:
        """The same for CUDA, in the code version that is asked for."""
        options = replace(self.early.options, target="cuda", enabled=self.manner.enabled)
        chosen = thresholds(branch(self.early, options), self.manner.kernels)
        return branch(self.early, replace(options, thresholds=chosen))

    @cached_property
    def kernel_text(self) -> str:
        """The text of CUDA, for the observer."""
        return with_tiny_indices(self.kernels)


def runs(joint: Joint, made: Generated) -> Iterator[tuple[str, int, Any]]:
    """Where, number of the input, a function that gives the results: all but C and kernels."""
    args, work = made.inputs[0], joint.work
    for stage, whole, names in joint.changed:
        if made.name not in names:
            continue
        prog = joint.only(whole, made.name)
        chosen = always(prog) if joint.manner.versions else {}
        yield stage, 0, lambda p=prog, t=chosen: interp.run(p, made.name, args, thresholds=t)
        if stage in MEMORY:
            yield (
                f"heap {stage}",
                0,
                lambda p=prog, t=chosen: heap.run(p, made.name, args, thresholds=t)[0],
            )
    imp = joint.only(work.result("imp").prog, made.name)
    yield "imp", 0, lambda: imp_interp.run(imp, made.name, args)
    merged = joint.only(work.result("merged").prog, made.name)
    for at, more in enumerate(made.inputs[1:], 1):
        yield "heap merged", at, lambda a=more: heap.run(merged, made.name, a)[0]
    if joint.manner.kernels:
        prog = joint.only(joint.kernels.result("merged").prog, made.name)
        yield "heap merged, cuda", 0, lambda: heap.run(prog, made.name, args)[0]


def check(joint: Joint, made: Generated) -> Counter[str]:
    """Raise Difference if a stage, C or kernels differ from the value semantics at `soa`.

    That of small inputs is found twice: fast, and by the letter. Counts `failing` programs, what
    says that another check fails first, and `kernels`: programs whose kernels were observed.
    """
    if joint.manner.extreme:
        return check_extremes(joint, made)
    soa = joint.only(joint.work.result("soa").prog, made.name)
    counts: Counter[str] = Counter()
    expected = []
    for args in made.inputs:
        expected.append(tried(partial(interp.run, soa, made.name, args), "soa"))
        if sum(np.size(arg) for arg in args) <= SMALL:
            by_letter = tried(partial(value.run, soa, made.name, args), "by the letter")
            counts += agree(by_letter, expected[-1], "by the letter")
    for where, at, run in runs(joint, made):
        counts += agree(tried(run, where), expected[at], where)
    where = "sanitised c" if joint.manner.sanitized else "c"
    try:
        told = joint.in_c
    except Limitation as error:
        raise Late(error.message) from error
    except CompilerBug as error:
        raise Difference(where, error.message) from error
    for at, (args, want) in enumerate(zip(made.inputs, expected, strict=True)):
        found = told[made.name, at]
        if isinstance(found, Stopped):
            run = partial(in_c, joint.code, made.name, args, joint.manner.settings, SECONDS)
            counts += agree(tried(run, where), want, where)
            if found is Stopped.DIED:
                raise Difference(where, "it crashes behind other programs, and not by itself")
        else:
            counts += agree(found, want, where)
    if joint.manner.kernels and not why_not():
        counts["kernels"] += 1
        for args, want in zip(made.inputs, expected, strict=True):
            in_kernels(joint, made, args, want)
    return counts + how_it_fails(expected)


def in_kernels(joint: Joint, made: Generated, args: list[Value], want: Outcome) -> None:
    """Raise Difference if CUDA's text under the observer gives something else, or is faulty."""
    order = random.Random(f"order {made.seed}").choice(ORDERS)
    run = partial(watched, joint.kernel_text, made.name, args, order, SECONDS)
    found = tried(run, TEXT)
    try:
        alike(found, want, f"{joint.manner.kernels}, {order}")
    except KernelDifference as different:
        raise Difference(TEXT, str(different)) from different
    if not isinstance(found, RuntimeError_) and not isinstance(want, RuntimeError_):
        same(found, want, TEXT)


def in_c(
    code: str, entry: str, args: list[Value], settings: runner.Settings, seconds: float
) -> list[Any]:
    """Run an entry point in C and return its results."""
    return runner.run_c(code, entry, args, seconds, settings=settings).values


def how_it_fails(expected: Sequence[Outcome]) -> Counter[str]:
    """Counts a program that fails on some input."""
    said = {kind(one) for one in expected if isinstance(one, RuntimeError_)}
    return Counter({"failing": 1, **{f"failing: {one}": 1 for one in said}} if said else {})


def agree(found: Outcome, expected: Outcome, where: str) -> Counter[str]:
    """Raise Difference unless both fail for a reason of one kind, or give the same.

    Counts what fails first at another check.
    """
    if isinstance(expected, RuntimeError_) and isinstance(found, RuntimeError_):
        first, other = kind(found), kind(expected)
        if found.cause or expected.cause:
            raise Difference(where, f"{shown(found)} and not {shown(expected)}")
        return Counter({f"otherwise: {where}, {first} and not {other}": first != other})
    if isinstance(expected, RuntimeError_) or isinstance(found, RuntimeError_):
        raise Difference(where, f"{shown(found)} and not {shown(expected)}")
    same(found, expected, where)
    return Counter()


def check_extremes(joint: Joint, made: Generated) -> Counter[str]:
    """Raise Difference if something else than a failure happens where the program fails.

    How much memory there is, and how long a run may take, may differ.
    """
    soa, imp = (joint.work.result(stage).prog for stage in ("soa", "imp"))
    few = EXTREME_BYTES >> 8
    counts: Counter[str] = Counter()
    wanted = []

    settings = joint.manner.settings
    for args in made.inputs:
        fast = partial(interp.run, soa, made.name, args, EXTREME_BYTES)
        expected = tried(partial(timed, fast), "soa")
        wanted.append(expected)
        for where, run in (
            ("by the letter", partial(timed, partial(value.run, soa, made.name, args, few))),
            ("imp", partial(timed, partial(imp_interp.run, imp, made.name, args))),
            ("c", partial(in_c, joint.code, made.name, args, settings, EXTREME_SECONDS)),
        ):
            found = tried(run, where)
            if not is_limit(expected) and not is_limit(found):
                counts += agree(found, expected, where)
    return counts + how_it_fails(wanted)


def tried(run: Callable[[], list[Any]], where: str) -> Outcome:
    """The results of a run, or its ordinary failure. Raises Difference for any other, or Late."""
    try:
        return outcome(run)
    except Crash as error:
        raise Difference(where, f"crash: {error.message}") from error
    except Limitation as error:
        raise Late(error.message) from error
    except Exception as error:
        text = getattr(error, "message", "") or str(error)
        raise Difference(where, f"{type(error).__name__}: {text}") from error


def timed(run: Callable[[], list[Any]]) -> list[Any]:
    """A run of an interpreter."""
    return within(EXTREME_SECONDS, run)


def shown(found: Outcome) -> str:
    """An outcome in few words."""
    if isinstance(found, RuntimeError_):
        return f"the error `{found.message}`"
    return f"({', '.join(show(np.asarray(v)[()])[:80] for v in found)})"


# --- a batch ---------------------------------------------------------------------------------


def compiled(made: Sequence[Generated], manner: Manner) -> Joint:
    """All stages up to C, and for CUDA where kernels are run.

    Raises Difference for a defect, CompileError for a refusal.
    """
    options = Options(disabled=manner.disabled, verify=manner.verified, limits=manner.limits)
    try:
        source = "\n".join(one.source for one in made)
        joint = Joint(begun(source, options, SHARED[-1]), manner, made)
        for stage in (*IR, "imp", "c"):
            joint.work.result(stage)
        if manner.kernels:
            joint.kernels.result("cuda")
    except CompilerBug as error:
        raise Difference("compile", error.message) from error
    return joint


def check_batch(batch: int, sanitized: bool | None = False, generator: str = "storage") -> Report:
    """The programs of one batch."""
    manner = Manner.of(batch, sanitized, generator)
    report = Report()
    made = [manner.program(seed, f"p{seed}") for seed in range(batch * BATCH, (batch + 1) * BATCH)]
    made, whole = accepted(made, manner, report)
    for one in made:
        report.counts["programs"] += 1
        if generator == "mixed":
            report.counts[f"of {MIXED.sort(one.seed)}"] += 1
            report.counts[f"of {MIXED.sort(one.seed)}, kernels"] += bool(manner.kernels)
        try:
            report.counts += check(whole or compiled([one], manner), one)
        except Late:
            report.counts["late"] += 1
        except Difference as found:
            report.differences.append((one.seed, found.where, found.what))
        except CompileError as error:
            report.differences.append((one.seed, "compile", f"alone: {error.message}"))
    if manner.counted and whole is not None:
        count_attempts(whole.work, report)
    return report


def accepted(
    made: list[Generated], manner: Manner, report: Report
) -> tuple[list[Generated], Joint | None]:
    """The programs that are not refused, and all of them compiled, if that works out."""
    while made:
        try:
            joint = compiled(made, manner)
            if not manner.extreme:
                _ = joint.in_c
            return made, joint
        except (CompilerBug, Difference):
            break
        except CompileError as error:
            refused = at_line(made, error.span.line, lambda one: one.source)
            if refused is None:
                break
            report.counts["refused"] += 1
            report.counts[f"refused: {type(error).__name__}"] += 1
            made = [one for one in made if one is not refused]
    return [one for one in made if not is_refused(one, manner, report)], None


def is_refused(made: Generated, manner: Manner, report: Report) -> bool:
    """Return True if a program is refused, or reported as one that cannot be compiled.

    Record that.
    """
    try:
        compiled([made], manner)
    except CompileError as error:
        report.counts["refused"] += 1
        report.counts[f"refused: {type(error).__name__}"] += 1
        return True
    except Difference as found:
        report.counts["programs"] += 1
        report.differences.append((made.seed, found.where, found.what))
        return True
    return False


def count_attempts(work: Compilation, report: Report) -> None:
    """Count the attempts of short-circuiting by kind and outcome."""
    funmem = work.result("funmem").prog
    report.counts["counted programs"] += len(funmem.funs)
    for one in attempts(funmem, work.options):
        outcome = "done" if one["done"] else f"condition {one['condition']}"
        report.counts[f"{one['rule'].partition('/')[2]}: {outcome}"] += 1
        report.counts["obligations"] += len(one["obligations"])


def failure(made: Generated, manner: Manner) -> str:
    """Where it differs and how, or "" if nothing differs or the program is refused."""
    try:
        check(compiled([made], manner), made)
    except Late:
        pass
    except Difference as found:
        return str(found)
    except CompileError:
        pass
    return ""
