"""Stridescope's compiler: a guided tour. This package holds no code of its own.

    base/      places, errors, remarks, names, fuel: what knows nothing about programs
    frontend/  text -> syntax tree -> typed program; the prelude, in Futhark
    ir/        the core language: nodes, text form, checks, reference interpreter
    prove/     inequalities over sizes, and whether two LMADs meet, with certificates
    analysis/  what holds at a place of a program: integer facts, arithmetic that cannot wrap
    lower/     typed program -> core: one version per type, no functions as values, no tuples
    optimise/  simplify, fuse
    parallel/  nested parallelism -> kernels; code versions under thresholds
    sandbox/   walls around processes that handle what strangers wrote
    storage/   every array gets a block and an index function; kernels allocate no device memory
    target/    IMP, C, CUDA, and the processes that run them

The folders are listed in pipeline order (but for the sandbox, which is about processes), and a
folder imports only itself and those before it.
`pipeline.py` is the order of the passes, and the only place that knows it. `switches.py` lists the
passes and rules that can be switched off. `api.py` is what the rest of the world imports;
`worker.py` speaks JSON over it, `__main__.py` is the command line.

Three things hold at every stage: a program is an immutable value; it has one text form that reads
back; and it can be run. `ir/stages.py` says which nodes may occur where, and `ir/verify.py` checks.

Abbreviations used throughout: ir, soac (second-order array combinator), soa (structure of arrays),
lmad (linear memory access descriptor), imp, exp, stm, prov (provenance), ctx, SE (scalar
expression).
"""
