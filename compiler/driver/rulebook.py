"""Show rules and passes at work on tiny programs, compiled with and without them.

tiny_programs.py`). A rule that cannot be/tiny_programs.py`). A rule that cannot be
switched off is shown by the stage before its own and by its own, or where lower limits have it do
something, with the usual ones and with those.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache

from compiler.base.errors import UsageError
from compiler.base.rules import Pass, Rule
from compiler.base.text import plain
from compiler.driver import api, switches
from compiler.driver.answers import remark_json
from compiler.driver.pipeline import BY_ID, CHOSEN, PASSES, STAGES, Stage
from compiler.explain.tiny_programs import BY_PASS, BY_RULE, Tiny
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.files import FLATPACK
from compiler.protocol import programs
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.programs import RULE, RuleAnswer, RuleRequest, Shown, Version
from compiler.protocol.runs import RunRequest

FIRST_RUN = "soa"
"""The first stage that can be run; it stands in for earlier ones."""
READABLE = "typed"
"""The stage at which laws of FlatPack are shown: it prints the tree that they rewrite."""
_REMEMBERED = 128


@answers(RULE)
def rule(asked: RuleRequest) -> RuleAnswer:
    """Describe a rule, a pass with its rules, or ("") all passes."""
    if not asked.rule:
        return {"ok": True, "passes": [_listed(one) for one in PASSES]}
    return _rule(asked.rule)


@lru_cache(_REMEMBERED)
def _rule(name: str) -> RuleAnswer:
    its_pass = next((one for one in PASSES if one.id == name), None)
    if its_pass is not None:
        return _with_shown([_listed(its_pass)], its_pass, BY_PASS.get(name))
    for one in PASSES:
        for found in one.rules:
            if found.id == name:
                return _with_shown([_listed(one, found)], found, BY_RULE.get(name))
    raise UsageError(f"There is no pass or rule `{name}`.", hint=did_you_mean(name, switches.IDS))


def _with_shown(
    passes: list[programs.PassDescription], what: Rule | Pass, tiny: Tiny | None
) -> RuleAnswer:
    answer: RuleAnswer = {"ok": True, "passes": passes}
    if tiny is not None:
        answer["shown"] = shown(what, tiny)
    return answer


def _listed(one: Pass, *only: Rule) -> programs.PassDescription:
    rules: list[programs.RuleDescription] = [
        {
            "id": r.id,
            "does": r.does,
            "equation": r.equation,
            "optional": r.optional,
            "asked": r.asked,
        }
        for r in only or one.rules
    ]
    return {"id": one.id, "does": one.does, "optional": one.is_switchable, "rules": rules}


def shown(what: Rule | Pass, tiny: Tiny) -> Shown:
    """Show a rule or a pass at work on a program."""
    on = (what.id,) if isinstance(what, Rule) and what.asked else ()
    made = _asked(tiny, (), on)
    work = api.compilation(made)
    stages = [s for s in STAGES if s.is_for(tiny.target) and s.target in _targets(tiny)]
    told = []
    if isinstance(what, Pass):
        stage = next(s for s in stages if what in s.passes)
    else:
        for one in stages:
            work.result(one.id)
        told = [remark for remark in work.remarks() if remark.rule == what.id]
        stage = BY_ID[told[0].stage]
    if isinstance(what, Rule) and what.optional:
        stage = BY_ID[READABLE] if stage.kind == "syntax" else stage
        before = _version(_asked(tiny, (what.id,)), stage, tiny)
    elif tiny.limits and isinstance(what, Rule):
        before = _version(_asked(replace(tiny, limits=()), ()), stage, tiny)
    else:
        earlier = [s for s in stages[: stages.index(stage)] if s.kind != "text"]
        before = _version(made, earlier[-1] if earlier else None, tiny)
    after = _version(made, stage, tiny)
    before["changed"], after["changed"] = _changed(before["text"], after["text"])
    return {
        "source": tiny.source,
        "main": made.main,
        "input": tiny.given,
        "target": tiny.target,
        "disable": list(tiny.off),
        "limits": [_limit(name, here) for name, here in tiny.limits],
        "before": before,
        "after": after,
        "remarks": [remark_json(remark) for remark in told],
    }


def _limit(name: str, here: int) -> programs.LimitShown:
    one = switches.LIMITS[name]
    return {"id": name, "counts": one.counts, "usual": one.usual, "here": here}


def _targets(tiny: Tiny) -> tuple[str, ...]:
    return "", CHOSEN, tiny.target


def _asked(tiny: Tiny, off: tuple[str, ...], on: tuple[str, ...] = ()) -> OfProgram:
    options: Options = {
        "target": tiny.target,
        "disable": [*tiny.off, *off],
        "enable": list(on),
        "limits": dict(tiny.limits),
        "unsafe": tiny.unsafe,
    }
    return OfProgram(tiny.source, options, main=f"main{FLATPACK}" if tiny.flatpack else "")


def _version(asked: OfProgram, stage: Stage | None, tiny: Tiny) -> Version:
    """Return the program's text and output at a stage, or its source."""
    if stage is None:
        return {"stage": "", "text": tiny.source, "changed": [], "output": ""}
    text = plain(api.compilation(asked).result(stage.id).text)
    return {"stage": stage.id, "text": text, "changed": [], "output": _output(asked, stage, tiny)}


def _output(asked: OfProgram, stage: Stage, tiny: Tiny) -> str:
    """Run the program at a stage by the reference interpreters; "" if they cannot.

    Stages before the first that can be run show that one's output.
    """
    early = STAGES.index(stage) < STAGES.index(BY_ID[FIRST_RUN])
    if not early and stage.kind not in ("ir", "imp"):
        return ""
    program = asked.source, asked.options, asked.files, asked.main
    where = FIRST_RUN if early else stage.id
    run = RunRequest(*program, entry="main", input=tiny.given, backend="ref", stage=where)
    return api.run(run)["output"]


_NUMBER = re.compile(r"(?<=[A-Za-z'])_\d+\b")


def _changed(before: str, after: str) -> tuple[list[int], list[int]]:
    """Return the lines of each text that the other lacks, ignoring the numbers of names."""
    a, b = ([_NUMBER.sub("", line) for line in text.split("\n")] for text in (before, after))
    found: tuple[list[int], list[int]] = [], []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            found[0].extend(range(i + 1, i_end + 1))
            found[1].extend(range(j + 1, j_end + 1))
    return found


def told(answer: RuleAnswer) -> str:
    """Format rules for a terminal."""
    lines: list[str] = []
    for one in answer["passes"]:
        lines.append(f"{one['id']}: {one['does']}")
        for r in one["rules"]:
            lines += [f"  {r['id']}: {r['does']}", *[f"    {r['equation']}"] * bool(r["equation"])]
    return "\n".join([*lines, *(_told(answer["shown"]) if "shown" in answer else [])])


def _told(one: Shown) -> list[str]:
    lines = ["", "A program:", "", *_indented(one["source"])]
    if one["limits"]:
        lines += [
            "",
            "Compiled with lower limits, because only large programs reach the usual ones.",
        ]
        for x in one["limits"]:
            lines.append(f"  --limit {x['id']}={x['here']}   {x['counts']}, usually {x['usual']:,}")
    for title, version, sign in (("Before", one["before"], "-"), ("After", one["after"], "+")):
        if version["stage"]:
            changed = set(version["changed"])
            numbered = enumerate(version["text"].rstrip("\n").split("\n"), 1)
            lines += ["", f"{title}, at stage {version['stage']}:", ""]
            lines += [f"  {sign if k in changed else ' '} {line}" for k, line in numbered]
    for remark in one["remarks"]:
        lines += ["", f"{remark['kind']}: {remark['because']} {remark['hint']}".rstrip()]
    if one["after"]["output"]:
        who = "each of the two" if one["before"]["output"] else "it"
        lines += ["", f"Of {one['input']} {who} gives:", "", *_indented(one["after"]["output"])]
    return lines


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.split("\n")]
