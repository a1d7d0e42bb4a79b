"""What `--disable` knows: the passes that can be switched off, and their rules, one by one.

All of it is read off the passes of `pipeline.py`. A rule's id is `pass/rule`, as in remarks.
Switching a pass off switches off all of its rules, and whatever it does without a remark. Rules in
`ASKED` are off unless a compilation asks for them. What is in `NECESSARY` leaves remarks as well,
but programs could not be compiled without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.base.errors import UsageError
from compiler.base.rules import Rule
from compiler.driver import pipeline
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.protocol import programs

PASSES = tuple(p for p in pipeline.PASSES if p.is_switchable)
"""The passes that can be switched off."""

RULES: dict[str, str] = {rule.id: rule.does for p in PASSES for rule in p.switches}
"""All rules that can be switched off: what they do, by id."""

EQUATIONS: dict[str, str] = {rule.id: rule.equation for p in pipeline.PASSES for rule in p.rules}
"""What becomes what, by id of the rule; nothing where that is no line."""

IDS = tuple(id_ for p in pipeline.PASSES for id_ in (p.id, *(rule.id for rule in p.rules)))
"""All passes, each before its rules, also what cannot be switched off."""

NECESSARY: dict[str, str] = {
    rule.id: rule.does for p in pipeline.PASSES for rule in p.rules if not rule.optional
}
"""Remarks whose rule cannot be switched off, and what the rule is there for."""

ASKED: dict[str, Rule] = {rule.id: rule for p in pipeline.PASSES for rule in p.rules if rule.asked}
"""What `enable` takes: the rules that are done only where they are asked for, by id."""

LIMITS = {one.id: one for p in pipeline.PASSES for rule in p.rules for one in rule.limits}
"""What `limits` takes."""

_BY_ID = {p.id: p for p in PASSES}


def check(names: Iterable[str]) -> None:
    """Refuse what is no pass and no rule that can be switched off, with the near misses."""
    for name in names:
        if name not in _BY_ID and name not in RULES:
            raise _unknown(name)


def check_asked(names: Iterable[str]) -> None:
    """Raise UsageError for what is no rule that can be asked for."""
    for name in names:
        if name in ASKED:
            continue
        if name in IDS:
            raise UsageError(
                f"`{name}` is done without being asked for.",
                hint=f"Only these are asked for: {', '.join(ASKED)}.",
            )
        raise UsageError(
            f"There is no rule `{name}` that could be asked for.",
            hint=f"{did_you_mean(name, ASKED)} There are {', '.join(ASKED)}.".strip(),
        )


def check_limits(given: Mapping[str, int]) -> None:
    """Raise UsageError for what is no limit of a rule, or more than it usually is."""
    for name, value in given.items():
        if name not in LIMITS:
            listed = f"{did_you_mean(name, LIMITS)} The limits are {', '.join(LIMITS)}.".strip()
            raise UsageError(f"There is no limit `{name}`.", hint=listed)
        if not 0 <= value <= LIMITS[name].usual:
            raise UsageError(f"The limit `{name}` may be 0 to {LIMITS[name].usual}.")


def _unknown(name: str) -> UsageError:
    if name in NECESSARY:
        return UsageError(
            f"The rule `{name}` cannot be switched off.",
            hint=f"It {NECESSARY[name][0].lower()}{NECESSARY[name][1:]}",
        )
    owner = _BY_ID.get(name.partition("/")[0])
    if owner is not None:
        ids = [rule.id for rule in owner.switches]
        rules = ", ".join(rule.partition("/")[2] for rule in ids)
        return UsageError(
            f"The pass `{owner.id}` has no rule `{name.partition('/')[2]}`.",
            hint=f"{did_you_mean(name, ids)} Its rules are {rules}.".strip(),
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
            "rules": [
                {
                    "id": rule.id,
                    "does": rule.does,
                    "equation": rule.equation,
                    "asked": rule.asked,
                }
                for rule in p.switches
            ],
        }
        for p in PASSES
    ]


def help_text() -> str:
    """What can be switched off, and limits, as lines for the command line's help."""
    width = max(map(len, (*RULES, *LIMITS))) + 2
    lines = ["what can be switched off with --disable, a pass or a single rule:"]
    for p in PASSES:
        lines.append(f"  {p.id:{width + 2}}{p.does}")
        lines += [f"    {rule.id:{width}}{rule.does}" for rule in p.switches]
    lines += ["", "limits of rules, which --limit lowers, with what they count and usually are:"]
    lines += [f"  {one.id:{width + 2}}{one.counts}: {one.usual}" for one in LIMITS.values()]
    return "\n".join(lines)
