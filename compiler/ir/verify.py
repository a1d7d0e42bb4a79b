"""Verify a program of the core language: scopes, types, sizes, consumption, permitted forms.

Every pass's output is checked against the form of its stage (`forms.py`). The type rules are those
of the thesis (figures 4.2 and 4.6): `verify_exp.py` has the rule of each expression, and
`verify_scope.py` the checks that the rules share.
"""

from __future__ import annotations

from compiler.base.errors import CompilerBug
from compiler.ir.forms import Form
from compiler.ir.nodes import Prog
from compiler.ir.verify_exp import RULES
from compiler.ir.verify_scope import ScopeChecker


def verify(prog: Prog, form: Form, stage: str) -> None:
    """Check that `prog` is of a form. Raises `CompilerBug` with violation, place and `stage`."""
    checker = ScopeChecker(form, stage, RULES)
    for fun in prog.funs:
        checker.function(fun)
    if not any(fun.entry for fun in prog.funs):
        raise CompilerBug(f"{stage}: no function is an entry point")
