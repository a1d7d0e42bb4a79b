"""Simplification: constant folding, CSE, hoisting, and dead code elimination.

Each round is a forward pass (`engine.py`: everything that needs definitions before uses) and a
backward pass (`dead.py`: everything that needs uses before definitions). The first round shares
common subexpressions, the second substitutes scalars that are used once; a further one follows only
if the last one changed statements, not just expressions. See Note [Rounds]. Settled bodies are not
visited again (`unchanged.py`).

Note [Rounds]. The order of the first two matters: once `x*x` is part of a larger expression, an
equal `x*x` elsewhere is no longer found. There is no iteration to a fixed point: after a few rounds
the rest stays, so that compile time is linear in the program.
"""

from __future__ import annotations

from operator import is_

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.rules import Pass
from compiler.ir.nodes import Function, Prog
from compiler.ir.sharing import unique_arrays
from compiler.optimise.dead import remove_dead, remove_unused
from compiler.optimise.simplify.engine import BY_CLASS, HANDLERS, RULES, simplify_function
from compiler.optimise.simplify.state import Handlers, State
from compiler.optimise.simplify.unchanged import Unchanged

_MAX_ROUNDS = 4


def simplify(prog: Prog, ctx: Ctx, before: Prog | None = None) -> Prog:
    """Simplify a program, nested or flat, before memory is introduced.

    Needs: unique names, no calls. Keeps: results, the order of effects, every statement's places.
    `before`: a simplified program, whose functions are kept if they are the same objects.
    """
    unique = unique_arrays(prog)
    done = set() if before is None else {id(fun) for fun in before.funs}
    unchanged = Unchanged(ctx.unchanged)
    funs = remove_unused(
        tuple(
            fun if id(fun) in done else settled(fun, ctx, unique, unchanged=unchanged)
            for fun in prog.funs
        )
    )
    if len(funs) != len(prog.funs) or not all(map(is_, funs, prog.funs)):
        prog = Prog(funs)
    ctx.unchanged = unchanged.of(prog)
    return prog


def settled(
    fun: Function,
    ctx: Ctx,
    unique: set[Name],
    handlers: Handlers = HANDLERS,
    unchanged: Unchanged | None = None,
) -> Function:
    """Simplify one function; `handlers` transform its statements.

    `unchanged`: bodies that those handlers left unchanged before; None: visit all.
    """
    fun, uses = remove_dead(fun)
    for number in range(_MAX_ROUNDS):
        nest = number > 0
        state = State(ctx, unique, uses, handlers, BY_CLASS, nest=nest, unchanged=unchanged)
        new = simplify_function(state, fun)
        if unchanged is not None and (number or not unchanged.is_first):
            unchanged.undecided.update(state.open)
        new, uses = remove_dead(new)
        same, fun = new is fun, new
        if number and (same or not state.rewrites):
            break
    return fun


SIMPLIFY = Pass(
    "simplify",
    "Folds constants, removes dead code and forwards values that are used once.",
    simplify,
    RULES,
    optional=True,
)
