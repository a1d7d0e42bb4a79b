"""The type checker: from the syntax tree to the typed program.

    types/       unknowns, sizes as expressions and as polynomials, substitution, unification
    scope/       what names stand for, what is built in, the checker's state, near misses
    definitions/ type expressions, patterns, parameters, results that hide sizes, defaults
    expressions/ a function for each kind of expression, listed in `expressions/table.py`
    modules/     modules are tables of names; their types; what functors make
    consumption/ nothing is used after it was consumed: aliases, freshness, loops
    finish/      a definition whose types are known: no unknowns, no missing case, its entry point

Rooms are listed in the order of imports. `program.py` goes through the declarations, `files.py`
through the files, of which `checked_files.py` keeps what has been checked. Inference
walks an expression, makes unknowns (`types/metas.py`) and unifies (`types/unify.py`,
`types/sizes.py`). A definition is generalised at its end (`definitions/functions.py`) and freed of
unknowns (`finish/zonk.py`); then two walks in the order of evaluation check that sizes are known
before they are used (`finish/causality.py`) and that nothing is used after it was consumed
(`consumption/consume.py`). The prelude is checked once and cached (`prelude.py`).
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.frontend import decs
from compiler.frontend.check.expressions.table import TABLE
from compiler.frontend.check.files import check_program, first_error
from compiler.frontend.check.finish.attributes import attributes
from compiler.frontend.check.prelude import load
from compiler.frontend.check.program import Checked
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.typed import TypedProg

__all__ = ["check"]


def examine(program: decs.Program, ctx: Ctx) -> Checked:
    """Check a program, files that it imports included, and collect its errors.

    Errors: `TypeError_`, of the files that it imports.
    """
    prelude = load()
    out = Checked(Checker(ctx, scope=prelude.scope(), table=TABLE))
    check_program(out, program, dict(ctx.options.files), prelude.scope)
    return out


def check(program: decs.Program, ctx: Ctx) -> TypedProg:
    """Return the typed program, with the definitions of the prelude that it reaches.

    Where `ctx.options.entry` needs no definition that cannot be built yet, those are left out.
    Errors: `TypeError_` or `Limitation`, the first in the text; `others` holds the rest.
    """
    out = examine(program, ctx)
    without = any(entry.name == ctx.options.entry for entry in out.entries)
    if errors := out.errors if without else out.errors + out.not_built:
        raise first_error(errors)
    ctx.source.attributes.update(attributes(out.defs))
    defs = (*load().reachable(out.st.used), *out.defs)
    return TypedProg(defs, tuple(out.entries), frozenset(out.st.warned))
