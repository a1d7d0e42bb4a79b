"""What `--disable` knows: the passes that can be switched off, and their rules, one by one.

A rule's id is `pass/rule`, as in remarks. Switching a pass off switches off all of its rules, and
whatever it does without a remark. What is in `NECESSARY` leaves remarks as well, but programs
could not be compiled without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.base.errors import UsageError
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.protocol import programs


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass, what it does in a sentence, and its rules with a sentence each."""

    id: str
    does: str
    rules: dict[str, str] = field(default_factory=dict)

    def ids(self) -> list[str]:
        """The ids of its rules."""
        return [f"{self.id}/{rule}" for rule in self.rules]


PASSES: tuple[Pass, ...] = (
    Pass(
        "soa",
        "Makes arrays of tuples tuples of arrays; only what it optimises can be switched off.",
        {"bounds": "Drops bounds checks, or parts of them, that ranges and conditions answer."},
    ),
    Pass(
        "simplify",
        "Folds constants, removes what nothing needs, puts single uses in their place.",
        {
            "assert": "Drops checks that always hold.",
            "branch-known": "Takes the branch whose condition is known.",
            "branch-same": "A result that is the same in both branches is not chosen.",
            "concat": "A concatenation of concatenations is one.",
            "copy": "Drops copies of arrays that are never overwritten afterwards.",
            "cse": "Computes equal expressions once.",
            "hoist": "Moves what is the same every time out of loops and parallel operators.",
            "index-input": "Reads an array by element instead of by index, so that it can fuse.",
            "index-known": "An element that is known is not read.",
            "index-view": "Reads an element of a view from the array under the view.",
            "loop-invariant": "A loop no longer carries what it never changes.",
            "loop-trips": "Loops that run once or not at all are no loops.",
            "soac-input": "A parallel operator does not read what is known, or read twice.",
            "soac-output": "A map does not write constants, copies, or one result twice.",
            "replicate": "Repeated rows of equal elements are made in one step.",
            "view-known": "A part of what is computed from its index is computed like the whole.",
            "view-view": "A view of a view is one view.",
            "view-whole": "A view of all of an array is the array.",
        },
    ),
    Pass(
        "fuse",
        "Joins parallel operators that pass arrays to each other or read the same array.",
        {
            "cut-map": "Only the part of a map that is read is computed.",
            "flatten-map": "A flattened map of maps is one map over flat inputs.",
            "into-producer": "A reader goes into a producer that is no map, such as a scan.",
            "map-hist": "A map goes into the histogram that reads it.",
            "map-map": "A map goes into the map that reads it.",
            "map-reduce": "A map goes into the reduction that reads it.",
            "map-scan": "A map goes into the scan that reads it.",
            "map-scatter": "A map goes into the scatter that reads it.",
            "side-by-side": "Operators over the same array share one pass over it.",
            "transpose-map": "A transposed map of maps is one over transposed inputs.",
        },
    ),
    Pass(
        "flatten",
        "Makes kernels of nested parallelism; without its rules, threads run what is inside.",
        {
            "distribute": "Cuts the body of a map into pieces, each a kernel of its own.",
            "interchange-if": "Takes a branch that is the same for all elements out of the map.",
            "interchange-loop": "Takes a loop around inner parallelism out of the map.",
            "interchange-reduce": "A reduction of rows becomes a map of reductions of columns.",
            "intra-block": "Makes a version in which a block of GPU threads shares the inside.",
            "versions": "Makes versions that use more or less of the parallelism, by a threshold.",
        },
    ),
    Pass(
        "shortcircuit",
        "Builds arrays where they end up, where that is proved to be safe.",
        {
            "concat": "The parts of a concatenation or array literal are built in their places.",
            "copy": "What is copied is built in the copy's place.",
            "guard": "A check of a slice by an LMAD that is proved to hold is not made.",
            "in-place-map": "A map writes over an array that it reads for the last time.",
            "kernel-result": "A kernel's rows are built in their places in the result.",
            "update": "What is put into an array is built there.",
        },
    ),
    Pass(
        "merge",
        "Gives blocks that are never needed at the same time one memory.",
        {
            "blocks": "Two blocks become one.",
            "double-buffer": "What a loop computes anew takes turns in blocks made before it.",
            "in-kernels": "Two blocks of each point of a kernel become one.",
            "hoist": "Memory that a loop needs in every iteration is made before it.",
        },
    ),
)

NECESSARY: dict[str, str] = {
    "flatten/attribute": "does what an attribute asks for",
    "flatten/irregular": "tells of parallelism that stays inside of threads",
    "flatten/nest": "makes one kernel of nested maps, as there must be one",
    "flatten/operator": "tells of an operator that stays inside of threads",
    "flatten/segmented": "makes kernels of inner reductions and scans, as there must be some",
    "flatten/small": "tells of parallelism that is too small to be used",
    "memory/array-operator": "tells of an operator on whole arrays",
    "memory/concat": "tells of copies, which short-circuiting may remove",
    "memory/double-buffer": "tells of copies that keep the loops inside kernels right",
    "memory/expand": "moves allocations out of kernels, which cannot allocate",
    "memory/if": "lets branches return arrays of different layouts",
    "memory/loop": "tells of what loops do with memory",
    "memory/reshape": "tells of copies that changes of shape need",
    "memory/result": "tells of copies that results need",
    "memory/row": "tells of copies, which short-circuiting may remove",
    "memory/update": "tells of copies, which short-circuiting may remove",
    "shortcircuit/budget": "tells that what proofs may cost has been spent",
    "simplify/inline": "puts functions in the place of calls: no stage behind it has calls",
    "soa/copy": "tells of copies that keep values as they are",
}
"""Remarks whose rule cannot be switched off, and what the rule is there for."""

RULES: dict[str, str] = {f"{p.id}/{rule}": does for p in PASSES for rule, does in p.rules.items()}
"""All rules that can be switched off, by id."""

_BY_ID = {p.id: p for p in PASSES}


def check(names: Iterable[str]) -> None:
    """Refuse what is no pass and no rule that can be switched off, with the near misses."""
    for name in names:
        if name not in _BY_ID and name not in RULES:
            raise _unknown(name)


def _unknown(name: str) -> UsageError:
    if name in NECESSARY:
        return UsageError(
            f"The rule `{name}` cannot be switched off.", hint=f"It {NECESSARY[name]}."
        )
    owner = _BY_ID.get(name.partition("/")[0])
    if owner is not None:
        rules = ", ".join(owner.rules)
        return UsageError(
            f"The pass `{owner.id}` has no rule `{name.partition('/')[2]}`.",
            hint=f"{did_you_mean(name, owner.ids())} Its rules are {rules}.".strip(),
        )
    if "/" in name:
        close = did_you_mean(name, RULES)
    else:
        same = [rule for rule in RULES if rule.partition("/")[2] == name]
        listed = " or ".join(f"`{rule}`" for rule in same)
        close = f"Did you mean {listed}?" if same else did_you_mean(name, _BY_ID)
    return UsageError(
        f"There is no pass or rule `{name}`.",
        hint=f"{close} The passes are {', '.join(_BY_ID)}; a rule is named PASS/RULE.".strip(),
    )


def listing() -> list[programs.Pass]:
    """Passes and rules as plain data: `id`, `does`, and the `rules` of each pass, alike."""
    return [
        {
            "id": p.id,
            "does": p.does,
            "rules": [{"id": f"{p.id}/{rule}", "does": does} for rule, does in p.rules.items()],
        }
        for p in PASSES
    ]


def help_text() -> str:
    """What can be switched off, as lines for the command line's help."""
    width = max(map(len, RULES)) + 2
    lines = ["what can be switched off with --disable, a pass or a single rule:"]
    for p in PASSES:
        lines.append(f"  {p.id:{width + 2}}{p.does}")
        lines += [f"    {rule:{width}}{RULES[rule]}" for rule in p.ids()]
    return "\n".join(lines)
