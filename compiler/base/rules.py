"""Passes and rules as values, from which `driver/pipeline.py` and all lists are made.

A rule's value stands in the file that applies it, and among the `rules` of its pass, so that
`--disable`, its help, the page's list and the documents know it without being told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold of a rule: it applies only from this number on, or up to it.

    rule/rule/name`. `counts`: what it is a number of. `usual`: what it is unless a
    compilation sets a lower one (`Options.limits`): then a small program shows
    a decision that otherwise only large ones meet.
    """

    id: str
    counts: str
    usual: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision of a pass. Its remarks have its id, `pass/rule`.

    `does`: a sentence for the program's author. `optional`: it can be switched off; the others
    only tell something, or programs could not be compiled without them. `asked`: it is done
    only by a compilation that asks for it (`Options.enabled`); the command line has an option of
    its name then, and the page a box. `stops`: results depend on it, so that the command line
    has an option that switches it off, `--no-NAME`. `equation`: what becomes what, where that can
    be said in a line. `limits`: what keeps it from small programs.
    """

    id: str
    does: str
    _: KW_ONLY
    optional: bool = True
    asked: bool = False
    stops: bool = False
    equation: str = ""
    limits: tuple[Limit, ...] = ()

    @property
    def option(self) -> str:
        """Return the command-line option that enables it, or switches it off."""
        return f"--{'no-' * self.stops}{self.id.partition('/')[2]}"


@dataclass(frozen=True, slots=True)
class NodeRule(Rule):
    """A rule that its pass tries at the expressions of the classes `on`.

    `apply` returns an `Outcome`; the first line of its docstring is the equation. `by_part`: it is
    asked about parameters, inputs or results, one by one.
    """

    on: tuple[type, ...]
    apply: Callable[..., Any]
    _: KW_ONLY
    by_part: bool = False

    def __post_init__(self) -> None:
        """Take the equation from the docstring of `apply`."""
        told = (self.apply.__doc__ or "").partition("\n")[0]
        object.__setattr__(self, "equation", told)


@dataclass(frozen=True, slots=True)
class Pass:
    """One step from program to program: `run(program, ctx)`, and all rules that it applies.

    `optional`: programs compile without it, and the pipeline leaves it out if it is switched off.
    Of other passes, what is switched off are their optional rules. `cleans`: it only tidies up
    behind the passes of its stage, and does not run where these have changed nothing. It is given
    the program before them as well, and leaves the functions alone that are still the same.
    """

    id: str
    does: str
    run: Callable[..., Any]
    rules: tuple[Rule, ...] = ()
    _: KW_ONLY
    optional: bool = False
    cleans: bool = False

    @property
    def switches(self) -> tuple[Rule, ...]:
        """Return the rules that can be switched off, by name."""
        return tuple(sorted((r for r in self.rules if r.optional), key=lambda rule: rule.id))

    @property
    def is_switchable(self) -> bool:
        """Return True if `--disable` accepts its id."""
        return self.optional or bool(self.switches)
