"""Specialise every definition per type instance, and eliminate functional values.

Needs: a checked program. Keeps: results, and the place of every expression; code of the prelude
that is inlined has the place of the user's call. Result: monomorphic first-order definitions, each
after those it refers to; lambdas occur only as arguments of intrinsics.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.errors import RuntimeError_, UsageError
from compiler.frontend.typed import Def, TypedProg
from compiler.lower.naming import Specialiser, fresh_sizes, pattern, type_of
from compiler.lower.specialise import RULES, VALUES
from compiler.lower.static import Env
from compiler.lower.traced import with_calls


def monomorphise(prog: TypedProg, ctx: Ctx) -> TypedProg:
    """Specialise the part of `prog` that its entry points (or `ctx.options.entry`) need.

    Errors: `UsageError` for an unknown entry point, `RuntimeError_` for a program without any.
    """
    wanted = ctx.options.entry
    entries = tuple(e for e in prog.entries if not wanted or e.name == wanted)
    if wanted and not entries:
        known = ", ".join(e.name for e in prog.entries) or "none"
        raise UsageError(f"There is no entry point `{wanted}`.", hint=f"Entry points: {known}.")
    if not entries:
        raise RuntimeError_(
            "The program has no entry point.",
            hint="Mark a function with `entry`, or call it `main`.",
        )
    if ctx.options.traced:
        prog = with_calls(prog)
    sp = Specialiser({d.name: d for d in prog.defs}, ctx, RULES, VALUES)
    names = {e.name for e in entries}
    for code in prog.defs:
        if code.is_entry and code.source_name in names:
            _entry(sp, code)
    return TypedProg(tuple(sp.done), entries)


def _entry(sp: Specialiser, code: Def) -> None:
    env = Env()
    sizes = fresh_sizes(sp, code.size_params, env)
    params = tuple(pattern(sp, p, env) for p in code.params)
    ext = fresh_sizes(sp, code.ext, env)
    body = sp.ev(code.body, env)
    ret = type_of(sp, code.ret, env)
    name = sp.ctx.fresh(code.name)
    sp.done.append(
        replace(
            code,
            name=name,
            type_params=(),
            size_params=sizes,
            params=params,
            ret=ret,
            ext=ext,
            body=body,
        )
    )
