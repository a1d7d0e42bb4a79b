"""Stridescope's compiler: a guided tour. This package holds no code of its own.

    base/      spans, errors, remarks, names, fuel: what knows nothing about programs
    codes/     every error and warning by its code, with a wrong and a mended program
    protocol/  what may be asked and what is answered, each operation declared once
    algebra/   polynomials, LMADs, proofs that two of them never meet, and the checker of proofs
    frontend/  text -> syntax tree -> typed program; the prelude, in Futhark
    dialect/   languages as tables: printers and parsers made of one line for each node
    ir/        the core language: nodes, text form, checks
    semantics/ what its programs mean: interpreters over values and over memory
    analysis/  what holds at a place of a program: integer facts, arithmetic that cannot wrap
    lower/     typed program -> core: one version per type, no functions as values, no tuples
    optimise/  simplify, fuse
    derive/    derivatives of programs, forward and reverse
    parallel/  nested parallelism -> kernels; code versions under thresholds
    storage/   every array gets a block and an index function; kernels allocate no device memory
    codegen/   IMP, the imperative IR, and from it C and CUDA
    sandbox/   walls around processes that handle what strangers wrote
    runtime/   the processes and devices that run programs
    explain/   what the page shows beyond a stage's text: cells, lifetimes, accesses, bounds
    driver/    the pipeline, the targets, and every question that programs are asked
    testing/   the tests of programs: their blocks, their values, what differs, many at a time
    notebooks/ literate programs: their directives, and the pages that come of them
    classroom/ lessons and puzzles, whose numbers are measured
    editor/    what editors ask about a text: types, declarations, uses, other names, completions
    command_line/  `stridescope COMMAND`: a file for each command
    public/    what `import stridescope` offers

The folders from `frontend/` to `codegen/` are listed in the order of the pipeline, and each folder
imports only itself and those before it. In `driver/`, `targets.py` lists the back ends, one line
each. `pipeline.py` is the order of stages and passes, and the only place that knows it. A pass and
its rules are values beside their code; what can be switched off is read off them. `api.py` is what
the rest of the world imports, `explanations.py` what it asks beside texts, `texts.py` what stands
where in them; `checking.py` answers `check`, for which it needs the front end alone; `worker.py`
speaks JSON over them. A worker imports what few requests need when the first of them comes
(`protocol/answering.py`). `expressions.py` evaluates over a program's definitions, `streaming.py`
goes through files larger than memory, `rulebook.py` shows rules at work on tiny programs,
`profile.py` tells what runs take, `flows.py` what every statement of a stage gives.
`testing/cases.py` runs the tests in a program's comments, `testing/suite.py` those of many
programs, in the processes of `testing/testers.py`; `notebooks/literate.py` runs directives, for
which `notebooks/exposing.py` makes entry points of what they call. `__main__.py` starts the
command line.

Three things hold at every stage: a program is an immutable value; it has one text form that reads
back; and it can be run. `ir/forms.py` says which nodes may occur in which form, and
`ir/verify.py` checks.

Abbreviations used throughout: ir, soac (second-order array combinator), soa (structure of arrays),
lmad (linear memory access descriptor), imp, exp, stm, prov (provenance), ctx, SE (scalar
expression).
"""
