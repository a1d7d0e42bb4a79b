"""Apply directives of authors: parallelism to leave unused, versions to leave out.

    #[sequential]         the operator and all inside of it become loops
    #[sequential_outer]   the operator becomes a loop, what is inside stays parallel
    #[sequential_inner]   operators inside the operator become loops

The first three are rewrites that go before flattening. The others choose versions, alone or inside
`incremental_flattening(..)` or `flattening(..)`; `versions.py` asks for `version_directives`:

    no_outer     no version with one thread per element of the map
    no_intra     no version with one block of threads per element (CUDA)
    only_inner   only the version that uses all parallelism
    only_intra   only the version with one block of threads per element, if there can be one
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir.nodes import Exp, Stm
from compiler.ir.walk import NESTED, map_stms
from compiler.parallel.sequentialise import SOACS, outer_loop, sequentialise

ATTRIBUTE = Rule("flatten/attribute", "Follows an attribute.", optional=False)

SEQUENTIAL = {
    "sequential": "As the author requested, this operator and everything inside it become loops.",
    "sequential_outer": (
        "As the author requested, this operator becomes a loop around its inner parallelism."
    ),
    "sequential_inner": "As the author requested, everything inside this operator becomes loops.",
}
VERSIONS = {
    "no_outer": "As the author requested, every version uses the inner parallelism.",
    "no_intra": "As the author requested, no version uses blocks of threads.",
    "only_inner": "As the author requested, the only version uses all parallelism.",
    "only_intra": "As the author requested, the only version uses blocks of threads.",
}


def apply_directives(stms: tuple[Stm, ...], ctx: Ctx) -> tuple[Stm, ...]:
    """Turn operators into loops where attributes ask for it."""
    if not any(SEQUENTIAL.keys() & words for words in ctx.source.attributes.values()):
        return stms
    return _apply(stms, ctx)


def _apply(stms: tuple[Stm, ...], ctx: Ctx) -> tuple[Stm, ...]:
    out: list[Stm] = []
    for stm in stms:
        out.extend(_one(stm, ctx))
    if len(out) == len(stms) and all(a is b for a, b in zip(out, stms, strict=True)):
        return stms
    return tuple(out)


def _one(stm: Stm, ctx: Ctx) -> tuple[Stm, ...]:
    if type(stm.exp) not in NESTED:
        return (stm,)
    asked = ctx.asked(stm.prov) if type(stm.exp) in SOACS else frozenset()
    for word, because in SEQUENTIAL.items():
        if word in asked:
            _tell(ctx, because, stm.prov)
            return _sequential(word, stm, ctx)
    exp = map_stms(stm.exp, lambda inner: _apply(inner, ctx))
    return (stm if exp is stm.exp else Stm(stm.pat, exp, stm.prov),)


def _sequential(word: str, stm: Stm, ctx: Ctx) -> tuple[Stm, ...]:
    if word == "sequential":
        return sequentialise((stm,), ctx.fresh)
    if word == "sequential_inner":
        exp: Exp = map_stms(stm.exp, lambda inner: sequentialise(inner, ctx.fresh))
        return (Stm(stm.pat, exp, stm.prov),)
    exp = map_stms(stm.exp, lambda inner: _apply(inner, ctx))
    return tuple(outer_loop(Stm(stm.pat, exp, stm.prov), ctx.fresh))


def version_directives(ctx: Ctx, prov: Prov) -> frozenset[str]:
    """Return an author's directives about the versions of an operator, with a remark."""
    asked = ctx.asked(prov) & VERSIONS.keys()
    for word in sorted(asked):
        _tell(ctx, VERSIONS[word], prov)
    return asked


def _tell(ctx: Ctx, because: str, prov: Prov) -> None:
    ctx.tell("applied", ATTRIBUTE, prov, because)
