"""Compare mutants of programs with Futhark's compiler: on our C, and as CUDA text observed.

Mutants of one program are made and compiled together, each a module with an entry point of its own,
ours for C and for CUDA in two code versions, and by Futhark's compiler for C. What one of the two
accepts and the other does not is a difference as well. `bench/mutated.py` runs them by the
thousand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from compiler.base.context import Options
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, Limitation, RuntimeError_
from compiler.base.text import plain
from compiler.driver.disk import read_program
from compiler.driver.pipeline import Compilation
from compiler.frontend import typed
from compiler.ir.nodes import Scatter
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.lower.external_values import outside
from compiler.runtime.observer.records import LATE
from compiler.runtime.runner import Crash, Settings, run_c
from compiler.semantics import interp
from compiler.testing import blocks, inputs, suite
from compiler.testing.compare import difference
from testing import compiling, futhark, kernels
from testing.generators import mutated
from testing.generators.mutated import Mutant, Subject
from testing.outcomes import Outcome, is_limit, outcome

BATCH = 20
"""Mutants of one program that are compiled together."""
INPUTS = 2
"""For each mutant: one from the program's tests, if there are any, and random ones."""
SECONDS = 2.0
"""For one run."""
OBSERVED_SECONDS = 60.0
"""For one run under the observer, with the compilation of all kernels of a batch."""
BYTES = 1 << 30
"""Memory limit of a run."""
LARGEST_TEXT = 2500
LARGEST_FILES = 12_000
LARGEST_INPUT = 400
"""Characters of a program and of what it imports, and elements of its inputs."""
ASKED = 2
"""Every how many seeds Futhark's checker is asked about a mutant that ours refuses."""
_LEFT_OUT = ("unsafe", "#[param", "scratch", "opaque", "#[trace", "#[break", "vjp", "jvp")
"""Words of programs of which no mutants are made: a wrong index is not found there, for example."""


@dataclass
class Result:
    """The result of a seed: one of OUTCOMES, and of the other attempts on the way."""

    seed: int
    program: str
    changes: tuple[str, ...] = ()
    outcome: str = "refused"
    says: str = ""
    refused_by_both: int = 0
    differences: list[str] = field(default_factory=list)
    """Further ones, and those in what is accepted, of mutants that were not run."""


OUTCOMES = ("agrees", "fails", "limit", "refused", "difference")
"""All inputs give the same; all fail with both; some need too much; none is accepted; no."""


@dataclass
class Trial:
    """A mutant of a seed, with its entry point and inputs."""

    result: Result
    name: str
    made: Mutant
    entry: typed.Def
    inputs: list[list[Value]]

    @property
    def declared(self) -> str:
        """Its text."""
        return self.made.declared(self.name)


def difference_of(trial: Trial, says: str) -> None:
    """Note a difference, behind those that are known already."""
    if trial.result.outcome == "difference":
        trial.result.differences.append(says)
    else:
        trial.result.outcome, trial.result.says = "difference", says


# --- programs ----------------------------------------------------------------------------------


def programs(folders: Sequence[str]) -> list[Path]:
    """All programs in folders that mutants can be made of as far as their text tells."""
    return [path for path in suite.programs(folders) if _is_fit(path)]


def _is_fit(path: Path) -> bool:
    text = path.read_text("utf-8", errors="replace")
    has_entry = "entry" in text or "main" in text
    return has_entry and len(text) <= LARGEST_TEXT and not any(word in text for word in _LEFT_OUT)


def subject(path: Path, rng: random.Random) -> Subject | None:
    """A program with an entry point by chance, None if it has none that takes plain values.

    None as well if we do not compile it as it is.
    """
    try:
        if any(case.kind == "refused" for case in blocks.read(path.read_text("utf-8")).cases):
            return None
        read = Subject(read_program(path), "")
        if sum(map(len, read.program.files.values())) > LARGEST_FILES:
            return None
        found = [d for d in read.compiled.defs if d.is_entry and mutated.is_plain(d)]
        if found:
            read.work.result("imp")
    except CompileError:
        return None
    return replace(read, entry=rng.choice(found).source_name) if found else None


def given(of: Subject, path: Path) -> list[list[Value]]:
    """The small inputs that a program's tests give to its entry point."""
    work, found = of.work, list[list[Value]]()
    try:
        fun = next(f for f in work.result("soa").prog.funs if f.name == of.entry and f.entry)
        taken = outside(work.result("mono").prog, fun)
    except CompileError:
        return []
    for case in blocks.read(of.program.source).cases:
        if case.kind != "run" or case.entry != of.entry or case.input is None:
            continue
        if case.input.form not in ("values", "random"):
            continue
        try:
            values = inputs.given(case, taken, suite.beside(path))
        except CompileError:
            continue
        if sum(value.size for value in values) <= LARGEST_INPUT:
            found.append(values)
    return found


# --- a batch -----------------------------------------------------------------------------------


@dataclass
class Batch:
    """The mutants of a row of seeds."""

    number: int
    seeds: Sequence[int]
    path: Path
    of: Subject
    oracle: futhark.Futhark | None

    @cached_property
    def rng(self) -> random.Random:
        """Chance for what all mutants share."""
        return random.Random(f"mutated batch {self.number}")

    def results(self) -> list[Result]:
        """Run all seeds and return the result of each."""
        found = [Result(seed, self.path.name) for seed in self.seeds]
        trials = [trial for one in found if (trial := self.trial(one)) is not None]
        self.judge(trials)
        return found

    def judge(self, trials: list[Trial]) -> None:
        """Compile mutants together, and run them."""
        binary = None
        if self.oracle is not None and trials:
            trials, binary = self.accepted(trials)
        trials = list(self.compiled(trials))
        for trial in trials:
            self.compare(trial, binary, trials)
        compiling.forget()

    def trial(self, result: Result) -> Trial | None:
        """The mutant of a seed."""
        rng = random.Random(f"mutated {result.seed}")
        name = f"e{result.seed}"

        def refused(made: Mutant, error: CompileError) -> None:
            tried = result.refused_by_both + len(result.differences)
            if result.seed % ASKED == 0 and not tried:
                self.refused(made, name, error, result)

        found = mutated.chosen(self.of, name, rng, refused)
        if found is None:
            return None
        made, entry = found
        result.changes, result.outcome = made.changes, "agrees"
        before = mutated.definition(self.of.compiled, self.of.entry)
        ready = [mutated.fitted(values, entry, before) for values in self.inputs]
        tried = [values for values in ready if values is not None][:1]
        tried += [mutated.random_inputs(entry, rng) for _ in range(INPUTS - len(tried))]
        return Trial(result, name, made, entry, tried)

    @cached_property
    def inputs(self) -> list[list[Value]]:
        """Those of the program's tests."""
        found = given(self.of, self.path)
        return self.rng.sample(found, min(1, len(found)))

    def refused(self, made: Mutant, name: str, error: CompileError, result: Result) -> None:
        """Ask Futhark's checker about what ours refuses."""
        if isinstance(error, CompilerBug | Limitation):
            result.differences.append(f"check: {type(error).__name__}: {error.message}")
        elif self.oracle is not None:
            try:
                self.oracle.check(self.write(made.declared(name)))
            except futhark.Refusal:
                result.refused_by_both += 1
                return
            says = f"accepted by Futhark only: {error.message} [{'; '.join(made.changes)}]"
            result.differences.append(says)

    def write(self, text: str) -> Path:
        """A text where Futhark's compiler finds it."""
        assert self.oracle is not None
        return self.oracle.write(self.of.program.files, self.of.program.main, text)

    def accepted(self, trials: list[Trial]) -> tuple[list[Trial], Path | None]:
        """Those that Futhark accepts, and their executable."""
        assert self.oracle is not None
        while trials:
            try:
                return trials, self.oracle.compiled(self.write(_together(trials)))
            except futhark.Refusal as refusal:
                wrong = _wrong(trials, refusal.line) if refusal.is_the_users else None
                if wrong is None:
                    return (self.left_out if refusal.is_late else self.one_by_one)(trials)
                changes = "; ".join(wrong.made.changes)
                difference_of(wrong, f"accepted by us only: {refusal.says} [{changes}]")
                trials = [trial for trial in trials if trial is not wrong]
        return [], None

    def one_by_one(self, trials: list[Trial]) -> tuple[list[Trial], Path | None]:
        """Those that Futhark's compiler can compile by themselves, and their executable."""
        assert self.oracle is not None
        left: list[Trial] = []
        for trial in trials:
            try:
                self.oracle.compiled(self.write(trial.declared))
                left.append(trial)
            except futhark.Refusal as refusal:
                if refusal.is_late:
                    trial.result.outcome = "limit"
                else:
                    difference_of(trial, f"Futhark's compiler fails: {refusal.says}")
        try:
            return left, self.oracle.compiled(self.write(_together(left))) if left else None
        except futhark.Refusal:
            return self.left_out(left)

    def left_out(self, trials: list[Trial]) -> tuple[list[Trial], Path | None]:
        """Mark all trials as beyond the limits of Futhark's compiler; none is run."""
        for trial in trials:
            trial.result.outcome = "limit"
        return [], None

    # --- ours ----------------------------------------------------------------------------------

    @cached_property
    def versions(self) -> tuple[str, str]:
        """The code versions for CUDA: what is chosen by itself, and another."""
        return kernels.VERSIONS[0], self.rng.choice(kernels.VERSIONS[1:])

    @cached_property
    def effort(self) -> str:
        """The optimisation level of the C compiler."""
        return "-O3" if self.number % 16 == 0 else "-O0"

    def compiled(self, trials: list[Trial]) -> Iterator[Trial]:
        """Those that we compile."""
        try:
            self.texts(_together(trials))
            yield from trials
        except CompileError:
            for trial in trials:
                try:
                    self.texts(trial.declared)
                    yield trial
                except CompileError as error:
                    difference_of(trial, f"compile: {type(error).__name__}: {error.message}")

    def texts(self, source: str) -> None:
        """Compile a text for all that is run of it."""
        Compilation(source, self.of.options)
        compiling.compiled(source, self.of.options).result("c")
        for version in self.versions:
            self.cuda(source, version).result("cuda")

    def cuda(self, source: str, version: str) -> Compilation:
        """A text for CUDA in one of its code versions."""
        options = replace(self.of.options, target="cuda")
        chosen_ = kernels.thresholds(compiling.compiled(source, options), version)
        return compiling.compiled(source, replace(options, thresholds=chosen_))

    def compare(self, trial: Trial, binary: Path | None, trials: list[Trial]) -> None:
        """Run a mutant on its inputs; one that reaches a limit tells nothing."""
        source = _together(trials)
        ended = [self.on_input(source, trial, args, binary) for args in trial.inputs]
        if trial.result.outcome != "difference":
            order = ("agrees", "fails", "limit")
            trial.result.outcome = next(end for end in order if end in ended)

    def on_input(self, source: str, trial: Trial, args: list[Value], binary: Path | None) -> str:
        """Run a mutant on an input in all ways; return the common outcome."""
        wanted, end = None, "limit"
        if binary is not None:
            wanted = futhark.run(binary, trial.name, args, SECONDS, BYTES)
        for where, run in self.runs(source, trial, args):
            found = _tried(run) if wanted is None or not is_limit(wanted) else wanted
            wanted = found if wanted is None else wanted
            end, says = alike(where, found, wanted)
            if says:
                if where == "c" and self.is_witnessed(trial, args, found):
                    wanted, says = found, says + WITNESS
                says += ", and it scatters" * self.scatters(trial)
                shown = " ".join(" ".join(map(str, args)).split())[:300]
                difference_of(trial, f"{says} [{shown}]")
            if end == "limit":
                break
        return end

    def is_witnessed(self, trial: Trial, args: list[Value], found: Outcome) -> bool:
        """Return True if Futhark's interpreter agrees with our result, where its C does not."""
        if self.oracle is None or isinstance(found, Wrong):
            return False
        path = self.write(trial.declared)
        other = self.oracle.interpreted(path, trial.name, args, OBSERVED_SECONDS)
        return alike("", found, other)[0] in ("agrees", "fails")

    def scatters(self, trial: Trial) -> bool:
        """Return True if the program of a mutant has a scatter, by any name."""
        work = compiling.compiled(trial.declared, self.of.options)
        funs = work.result("soa").prog.funs
        return any(isinstance(s.exp, Scatter) for fun in funs for s in all_stms(fun.body.stms))

    def runs(
        self, source: str, trial: Trial, args: list[Value]
    ) -> Iterator[tuple[str, Callable[[], list[Value]]]]:
        """Our back ends, each with what it does with an input."""
        code = plain(compiling.compiled(source, self.of.options).result("c").text)
        settings = Settings(memory_bytes=BYTES, cores=1, flags=(self.effort,))
        yield "c", lambda: run_c(code, trial.name, args, SECONDS, settings).values
        for version in self.versions:
            work, order = self.cuda(source, version), self.rng.choice(kernels.ORDERS)
            run = partial(kernels.observed, work, trial.name, args, order, SECONDS / 2)
            yield f"cuda {version}", partial(within, OBSERVED_SECONDS, run)


class Wrong(RuntimeError_):
    """A run ended as none may: a crash, what the observer reports, a defect."""


def _tried(run: Callable[[], list[Value]]) -> Outcome:
    """The results of a run, or its failure."""
    try:
        return outcome(run)
    except (kernels.Difference, CompilerBug, Crash) as error:
        return Wrong(f"{type(error).__name__}: {getattr(error, 'message', error)}")
    except Exception as error:
        return Wrong(f"{type(error).__name__}: {error}")


WITNESS = ", and so does Futhark's interpreter"


def alike(where: str, found: Outcome, wanted: Outcome) -> tuple[str, str]:
    """Compare a run with the wanted outcome: `agrees`, `fails`, `limit`, `difference`; and why."""
    late = isinstance(found, Wrong) and LATE in found.message
    if late or (not isinstance(found, Wrong) and (is_limit(found) or is_limit(wanted))):
        return "limit", ""
    match found, wanted:
        case Wrong(message=said), _:
            return "difference", f"{where}: {said}"
        case RuntimeError_(message=said), RuntimeError_(message=other):
            crashed = "crashed" in other
            return "fails", f"{where}: {said} not {other}" if crashed else ""
        case RuntimeError_(message=said), _:
            return "difference", f"{where}: it fails: {said}"
        case _, RuntimeError_(message=said):
            return "difference", f"{where}: it does not fail: {said}"
    assert not isinstance(found, RuntimeError_)
    assert not isinstance(wanted, RuntimeError_)
    wrong = difference(found, wanted)
    return ("difference", f"{where}: {wrong['says']}") if wrong else ("agrees", "")


def _together(trials: Sequence[Trial]) -> str:
    """One text of several mutants."""
    return "\n".join(trial.declared for trial in trials)


def _wrong(trials: Sequence[Trial], line: int) -> Trial | None:
    """The mutant that has that line when all are put together."""
    return compiling.at_line(trials, line, lambda trial: trial.declared)


def batch(number: int, found: Sequence[Path], oracle: futhark.Futhark | None) -> Batch:
    """The batch of that number, of a program by chance that Futhark accepts as it is."""
    rng = random.Random(f"mutated program {number}")
    for _ in range(200):
        path = rng.choice(found)
        of = subject(path, rng)
        if of is not None and of.places:
            seeds = range(number * BATCH, (number + 1) * BATCH)
            made = Batch(number, seeds, path, of, oracle)
            try:
                if oracle is not None:
                    oracle.check(made.write(of.program.source))
            except futhark.Refusal:
                continue
            return made
    raise SystemExit("No program in these folders has an entry point that takes plain values.")


def meaning(source: str, options: Options, entry: str, args: Sequence[Value]) -> Outcome:
    """Run an entry point by the reference interpreter; return its results or failure."""
    prog = compiling.compiled(source, options).result("soa").prog
    return outcome(partial(interp.run, prog, entry, list(args)))
