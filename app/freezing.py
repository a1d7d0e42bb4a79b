"""Make the state that a permalink freezes from the answers about a shared program.

A maker does this (`app/sheet_worker.py`): opened answers take many times their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from app import link_contents
from app.compressed_answers import PackedAnswer, merged
from app.permalinks import FORMAT
from app.pieces import Deflated
from app.unpacking import State
from compiler.protocol.kinds import Json


def state_of(request: Json, pieces: Sequence[bytes]) -> State:
    """Return the state that shows these answers; a failed compilation is stored as it is.

    `request` is as `states.answers_for` returns it, with the `version` of the compiler; `pieces`
    are the compressed bytes of its answers. AppError for malformed ones.
    """

    def opened(parts: Sequence[Json]) -> Json:
        return merged(_with_bytes(one, pieces) for one in parts)

    def question(told: Json) -> Json:
        answer = opened(told["answer"])
        return {**told, "answer": {name: answer[name] for name in answer if name != "kept"}}

    shown, checked = opened(request["show"]), opened(request["check"])
    state: State = {
        "format": FORMAT,
        "version": request["version"],
        "options": {},
        **request["program"],
        "manifest": request["manifest"],
        "stages": shown.get("stages") or {},
        "remarks": shown.get("remarks") or [],
        "error": shown.get("error"),
        "entries": checked.get("entries") or [],
        "attempts": None,
        "lifetimes": None,
        "run": request["run"] and question(request["run"]),
        "asked": [],
        "view": request["view"],
    }
    if request["attempts"] is not None:
        lives = {stage: opened(told) for stage, told in request["lifetimes"].items()}
        state["attempts"] = link_contents.attempts(opened(request["attempts"]))
        state["lifetimes"] = link_contents.lifetimes(lives)
    for one in map(question, request["asked"]):
        if one["op"] == "listing":
            _keep_listing(state, one["answer"])
        else:
            state["asked"].append(one)
    return state


def _with_bytes(part: Json, pieces: Sequence[bytes]) -> Json:
    if "packed" not in part:
        return part
    told = part["packed"]
    data = pieces[told["number"]]
    return {
        **part,
        "packed": PackedAnswer(Deflated(len(data), told["length"], told["crc"], ""), data),
    }


def _keep_listing(state: State, answer: Json) -> None:
    """Store another compiler's listing of a stage as one more stage, behind that."""
    if not answer.get("ok"):
        return
    info, manifest = answer["info"], state["manifest"]
    at = next((k for k, one in enumerate(manifest) if one["id"] == info["of"]), len(manifest) - 1)
    state["manifest"] = [*manifest[: at + 1], info, *manifest[at + 1 :]]
    state["stages"] = {**state["stages"], info["id"]: answer["stage"]}
