"""The parts of `docs/figures.md` about the server, the page, and the walls around runs."""

from __future__ import annotations

from typing import Any

from bench.report.text import beyond, rows, where, wrapped

STREAMING_GOAL = 0.9
"""The part of a plain read's bandwidth that a program should reach."""
LISTED = 6
"""Tasks that are told one by one, the longest first."""


def walls_part(data: dict[str, Any]) -> str:
    """Write the part about the cost of the sandbox."""
    f = data["figures"]
    kinds = list(f["first_ms"])
    body = [[f"{name}, warm", *by_kind.values()] for name, by_kind in f["warm_ms"].items()]
    body.append(["first answer of a cold worker", *f["first_ms"].values()])
    process = [f["process_ms"].get(kind, "-") for kind in kinds]
    body.append(["`stridescope run` as a process", *process])
    layers = ", ".join(name for name, holds in f["layers"].items() if holds)
    return f"""
## What the walls around a run cost

{where(data)}

{rows(["request, ms", *kinds], body)}

Medians of requests with `"op": "run"`, in turns, each a new process behind walls; before, runs
shared one process without any. The worker of the command line is not confined, that of the server
is. What held: {layers}. Load of the machine before (processes that want a core): {f["load"]}.
"""


def classroom_part(data: dict[str, Any]) -> str:
    """Write the part about the waits of a class."""
    f = data["figures"]
    body = []
    for name, found in f["parts"].items():
        refused = sum(n for outcome, n in found["outcomes"].items() if outcome != "ok")
        goal = f["goals_s"].get(name, "")
        times = [found["p50_s"], found["p95_s"], goal, found["largest_s"]]
        body.append([name, found["answers"], refused, *times])
    parts = list(f["parts"].values())
    whats, missed = _class_times(f)
    head = ["class", "asked", "p50", "p95", "largest", "goal for p95"]
    by_what = (
        "By what was asked, in seconds, where the check is the first part of an edit's answer:\n\n"
        f"{rows(head, whats)}\n\n{beyond('goal', missed)}\n\n"
        if whats
        else ""
    )
    kinds = [
        [kind, *(" / ".join(f"{seconds:g}" for seconds in p["by_kind_s"][kind]) for p in parts)]
        for kind in parts[0]["by_kind_s"]
        if all(kind in p["by_kind_s"] for p in parts)
    ]
    lines = ", ".join(map(str, f["lines"]))
    return f"""
## A class in front of one server

{where(data)}

{f["pupils"]} pupils behind one address come within {f["seconds"]:g} s, with programs of about
{lines} lines, all different; each opens the page, {f.get("asks", "checks and compiles")}, {
        f["runs"]
    } run theirs in C.
Every limit is on. The hostile client has two compiles and two runs without end at a time, again
and again, under one name or under a new one each time. {f["remark"]}

{
        rows(
            ["class", "answers", "refused", "p50, s", "p95, s", "goal for p95, s", "largest, s"],
            body,
        )
    }

{
        beyond(
            "goal",
            {n: p["p95_s"] / f["goals_s"][n] for n, p in f["parts"].items() if n in f["goals_s"]},
        )
    }

{by_what}By length as well, p50 / p95 / largest in seconds:

{rows(["asked", *f["parts"]], kinds)}
"""


def _class_times(figures: dict[str, Any]) -> tuple[list[list[Any]], dict[str, float]]:
    """Rows of what classes wait for, by what was asked; of those with a goal the part of it."""
    found: list[list[Any]] = []
    parts_of_goal: dict[str, float] = {}
    for name, part in figures["parts"].items():
        goals = figures.get("goals_of_s", {}).get(name, {})
        for what, times in part.get("by_what_s", {}).items():
            found.append([name, what, *times, goals.get(what, "")])
            if what in goals:
                parts_of_goal[f"{what}, {name}"] = times[1] / goals[what]
        if "processor_s" in part:
            each = part["processor_s"] / max(1, part["answers"])
            found.append([name, "processor of the server, a row", f"{each:.2f}", "", "", ""])
    return found, parts_of_goal


def streaming_part(data: dict[str, Any]) -> str:
    """Write the part about the bandwidth and memory of FlatPack programs that read files."""
    parts, missed = [], []
    for place, found in data["figures"]["files"].items():
        size = f"{found['bytes'] / 1e9:.1f} GB, {place}"
        parts.append([size, "plain read", found["read_gb_per_s"], "", "", ""])
        for name, one in found["programs"].items():
            ends = " to ".join(map(str, one["least_and_most"]))
            parts.append([size, name, one["gb_per_s"], one["of_a_read"], ends, one["memory_mb"]])
            if one["of_a_read"] < STREAMING_GOAL:
                missed.append(f"{name}, {place} ({one['of_a_read']})")
    goal = (
        f"Below the goal of {STREAMING_GOAL}: {'; '.join(missed)}." if missed else "All reach it."
    )
    table = rows(
        ["file", "program", "GB/s", "of a plain read", "least to most", "memory, MB"], parts
    )
    return f"""
## Files that are read window by window

{where(data)}

A plain read copies all bytes into one buffer of 4 MB, in the same run as the programs and in turns
with them. The goal is {STREAMING_GOAL} of its bandwidth.

{wrapped(data["figures"]["remark"])}

{table}

{wrapped(f"**{goal}**" if missed else goal)}
"""


def readers_part(data: dict[str, Any]) -> str:
    """Write the part about the waits of a link's readers."""
    f = data["figures"]
    body = [
        [name, form, one["bytes"], *one["seconds"], one["processor_ms_an_answer"]]
        for name, part in f["parts"].items()
        for form, one in part.items()
    ]
    refused = sum(
        count
        for part in f["parts"].values()
        for one in part.values()
        for status, count in one["statuses"].items()
        if status not in ("200", "304")
    )
    head = ["link", "form", "bytes", "p50, s", "p95, s", "largest, s"]
    head.append("processor of the server, ms an answer")
    shares = {
        f"{form}, {name}": one["seconds"][1] / f["goal_s"]
        for name, part in f["parts"].items()
        for form, one in part.items()
    }
    beside = [
        [who, *f[name]["seconds"], f[name]["web_process_mb"]]
        for name, who in (
            ("greedy", f"{f['greedy_requests']} requests at a time for its largest forms"),
            ("senders", f"{f['senders_clients']} clients that send requests of 6 and of 14 MB"),
        )
    ]
    return f"""
## {f["readers"]} readers of one permalink at once

{where(data)}

The link holds `{f["example"]}`. All readers ask for one form of it at once, compressed, and then
for the next; {refused} answers were refused. The goal for the p95 of each is {f["goal_s"]} s.
{f["remark"]}

{rows(head, body)}

{beyond("goal", shares)}

What somebody else waits for the front page beside others, who read nothing and take no gzip, and
the memory of the web process until then, of which the goal is {f["memory_goal_mb"]} MB:

{rows(["beside", "p50, s", "p95, s", "largest, s", "MB at most"], beside)}
"""


def soak_part(data: dict[str, Any]) -> str:
    """Write the part about growth of the web process's memory."""
    f = data["figures"]
    answers = sum(f["statuses"].values())
    body = [[str(at), mb] for at, mb in f["samples"][9::10]]
    return f"""
## {answers} answers to mixed use

{where(data)}

The web process of a server with small caches, asked for what nobody has asked for before, for
{f["seconds"]:.0f} seconds, {f["processor_s"]:.0f} of the processor. In the last quarter it had
{f["last_quarter_mb"]} MB on average, in the second {f["second_quarter_mb"]} MB, and at most
{f["most_mb"]} MB. The goal is that it grows by {f["goal_percent"]} % at most in between.
{f["remark"]}

{rows(["answers", "MB"], body)}

{beyond("goal", {"growth": f["growth_percent"] / f["goal_percent"]})}
"""


def follow_part(data: dict[str, Any]) -> str:
    """Write the part about the delay between a teacher and followers."""
    f = data["figures"]
    body = [[f"followers: {what}", *found] for what, found in f["delays_s"].items()]
    body += [[f"somebody else's compile, {what}", *found] for what, found in f["others_s"].items()]
    cores = ", ".join(f"{found} of a core {what}" for what, found in f["cores"].items())
    return f"""
## {f["followers"]} followers of a lecture

{where(data)}

From the teacher's change until a follower has it: the text or selection (`view`), and the answers
about a text that was compiled (`stages`). {f["changes"]} changes, {f["missed"]} not seen,
{f["failures"]} requests failed; the goal for the p95 of `view` is {f["goal_s"]} s. The server
with its workers, the compiles of somebody else included, took {cores}.
The followers ran on the same machine.
{f["remark"]}

{rows(["what", "p50, s", "p95, s", "largest, s"], body)}

{beyond("goal", {"view": f["delays_s"]["view"][1] / f["goal_s"]})}
"""


def page_part(data: dict[str, Any]) -> str:
    """The page in a browser."""
    f = data["figures"]
    goals, sent, longest = f["goals"], f["transferred_kb"], f["longest_task_ms"]
    told = {
        "first picture": (f["picture_ms"], goals["picture"]),
        **{
            f"{what} after a key": (times, goals[what.partition(",")[0]])
            for what, times in f["after_a_key_ms"].items()
        },
    }
    body = [[what, t["median"], t["least"], round(goal)] for what, (t, goal) in told.items()]
    shares = {what: t["median"] / goal for what, (t, goal) in told.items()}
    shares["first visit"] = sent["files"] / goals["kB"]
    shares |= {
        name: task["cpu"] / goals["task"]
        for name, task in {**longest, "scroll": f["scroll"]}.items()
    }
    most = sorted(longest, key=lambda name: -longest[name]["cpu"])
    listed = ", ".join(f"{name} {longest[name]['cpu']} ms" for name in most[:LISTED])
    by_clock = max(task["clock"] for task in longest.values())
    head = ["what, for a program of 50 lines", "median, ms", "least, ms", "goal, ms"]
    return f"""
## The page in a browser

{where(data)} {f["remark"]}

{rows(head, body)}

{
        wrapped(
            f"A first visit gets {sent['files']} kB of files (goal: {goals['kB']:.0f}) and "
            f"{sent['data']} kB of answers, compressed. For a program of 500 lines, the "
            f"processor's time in the longest task of the page's thread: {listed}, and less for "
            f"the other {len(longest) - LISTED} panes and edits; scrolling through "
            f"{f['scroll']['lines']:,} lines of CUDA text: {f['scroll']['cpu']} ms. By the clock, "
            f"while other programs want the same cores, the longest took {by_clock} ms."
        )
    }

{beyond("goal", shares)}
"""
