"""The switches of `--disable`: passes and their rules.

All of it is read off the passes of `pipeline.py`. A rule's id is `pass/rule`, as in remarks.
Switching a pass off switches off all of its rules, and its actions without a remark. Rules in
`ASKED` are off unless a compilation asks for them. Rules in `NECESSARY` leave remarks as well,
but programs cannot be compiled without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.base.errors import UsageError
from compiler.base.rules import Rule
from compiler.driver import pipeline
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.protocol import programs

PASSES = tuple(p for p in pipeline.PASSES if p.is_switchable)
"""Passes that can be switched off."""

RULES: dict[str, str] = {rule.id: rule.does for p in PASSES for rule in p.switches}
"""Rules that can be switched off: descriptions by id."""

EQUATIONS: dict[str, str] = {rule.id: rule.equation for p in pipeline.PASSES for rule in p.rules}
"""Rewrites as equations, by id of the rule; "" where there is none."""

IDS = tuple(id_ for p in pipeline.PASSES for id_ in (p.id, *(rule.id for rule in p.rules)))
"""Ids of all passes, each before its rules, even of those that cannot be switched off."""

NECESSARY: dict[str, str] = {
    rule.id: rule.does for p in pipeline.PASSES for rule in p.rules if not rule.optional
}
"""Rules that cannot be switched off, and their purpose."""

ASKED: dict[str, Rule] = {rule.id: rule for p in pipeline.PASSES for rule in p.rules if rule.asked}
"""Rules that `enable` accepts: opt-in ones, by id."""

STOPPED = tuple(rule for p in pipeline.PASSES for rule in p.rules if rule.stops)
"""Rules that an option of the command line switches off."""

LIMITS = {one.id: one for p in pipeline.PASSES for rule in p.rules for one in rule.limits}
"""Limits that `limits` accepts, by id."""

_BY_ID = {p.id: p for p in PASSES}


def check(names: Iterable[str]) -> None:
    """Raise UsageError for names that are no switches, with near misses."""
    for name in names:
        if name not in _BY_ID and name not in RULES:
            raise _unknown(name)


def check_asked(names: Iterable[str]) -> None:
    """Raise UsageError for names that are no rules, opt-in ones or usual ones.

    A usual rule may be named, as by links and scripts of the time when it was opt-in.
    """
    for name in names:
        if name in ASKED or name in RULES:
            continue
        if name in IDS:
            raise UsageError(
                f"`{name}` is on by default.",
                hint=f"You can enable {', '.join(ASKED)}.",
            )
        raise UsageError(
            f"There is no opt-in rule `{name}`.",
            hint=f"{did_you_mean(name, ASKED)} The opt-in rules are {', '.join(ASKED)}.".strip(),
        )


def check_limits(given: Mapping[str, int]) -> None:
    """Raise UsageError for unknown limits, and for values above the default."""
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
    """List passes and rules as plain data: `id`, `does`, and the `rules` of each pass."""
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
    """Format all switches and limits for the command line's help."""
    width = max(map(len, (*RULES, *LIMITS))) + 2
    lines = ["passes and rules that --disable switches off:"]
    for p in PASSES:
        lines.append(f"  {p.id:{width + 2}}{p.does}")
        lines += [f"    {rule.id:{width}}{rule.does}" for rule in p.switches]
    lines += ["", "limits of rules that --limit lowers, with their meaning and default:"]
    lines += [f"  {one.id:{width + 2}}{one.counts}: {one.usual}" for one in LIMITS.values()]
    return "\n".join(lines)
