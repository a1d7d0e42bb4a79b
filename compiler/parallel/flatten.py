"""The pass `flatten`: nested parallelism becomes kernels and code versions (stage `flat`)."""

from __future__ import annotations

from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.rules import Pass
from compiler.ir.nodes import Function, Prog
from compiler.parallel.analyse import INNER_RULES
from compiler.parallel.attributes import ATTRIBUTE, apply_directives
from compiler.parallel.distribute import DISTRIBUTE, NEST, host_body
from compiler.parallel.flat_views import FLAT_VIEWS, flat_views
from compiler.parallel.growing import GROWING, loops_around_growth
from compiler.parallel.nest import FlatteningScope
from compiler.parallel.operators import ELEMENTS, INTERCHANGE_REDUCE, SEGMENTED
from compiler.parallel.sequentialise import ONE_LOOP
from compiler.parallel.streams import STREAM
from compiler.parallel.versions import INTRA_BLOCK, VERSIONS, WHOLE_ROWS


def flatten(prog: Prog, ctx: Ctx) -> Prog:
    """Turn every parallel operator into kernels, and make versions of nested ones.

    Needs: fused core language, unique names, no calls inside parallel operators. Keeps: the value
    of every function, all assertions, provenance. Afterwards there is no map, reduction, scan,
    scatter or histogram left: only `seg..` operators, and loops inside them.
    """
    numbers = [0]
    return Prog(tuple(_function(fun, ctx, numbers) for fun in prog.funs))


def _function(fun: Function, ctx: Ctx, numbers: list[int]) -> Function:
    sc = FlatteningScope(ctx, numbers=numbers)
    sc.bind(fun.params)
    stms = loops_around_growth(apply_directives(fun.body.stms, ctx), ctx)
    body = replace(fun.body, stms=stms)
    return flat_views(replace(fun, body=host_body(sc, body)), ctx)


FLATTEN = Pass(
    "flatten",
    "Turns nested parallelism into kernels; without its rules, each thread runs inner "
    "parallelism sequentially.",
    flatten,
    (
        *(ATTRIBUTE, ELEMENTS, FLAT_VIEWS, GROWING, *INNER_RULES, INTERCHANGE_REDUCE),
        *(DISTRIBUTE, INTRA_BLOCK, NEST, ONE_LOOP, SEGMENTED, STREAM, VERSIONS, WHOLE_ROWS),
    ),
)
