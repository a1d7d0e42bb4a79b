"""The course: lessons and puzzles as pages, with the compiler's answers."""

from __future__ import annotations

from flask import Blueprint, Response, abort, render_template
from markupsafe import Markup

from app import link_contents
from app.api import asked_by_client
from app.context import parts
from app.errors import AppError
from app.frozen import FrozenView, frozen_view
from app.highlight import html_lines
from app.lesson_files import Lesson
from compiler.protocol.kinds import Json
from compiler.protocol.lesson_files import LessonFile

blueprint = Blueprint("lessons", __name__, url_prefix="/lessons")


@blueprint.get("/")
def course() -> str:
    """Render the list of lessons and puzzles."""
    lessons = parts().lessons()
    return render_template(
        "lessons.html",
        groups=[
            ("Lessons", [one for one in lessons if not one.file.is_puzzle]),
            ("Puzzles", [one for one in lessons if one.file.is_puzzle]),
        ],
    )


@blueprint.get("/<name>")
def lesson(name: str) -> str:
    """Render a lesson, readable without JavaScript too: the answer is folded."""
    parts().limits.count("read")
    found = _named(name)
    told, stages, beside, trees, because = None, [], None, None, ""
    try:
        told = _asked("lesson", {"lesson": found.text})
        stages = _stages(found.file)
        beside = _beside(found.file)
        if found.file.tab == "versions":
            trees = _asked("tuning", _program(found.file))["trees"]
    except AppError as error:
        because = error.message
    return render_template(
        "lesson.html",
        lesson=found,
        told=told and {key: Markup(told[key]) if key in _HTML else told[key] for key in told},
        stages=stages,
        beside=beside,
        trees=trees,
        because=because,
        source=html_lines(found.file.program, "source"),
    )


def _program(file: LessonFile) -> Json:
    return {"source": file.program, "options": file.options}


def _stages(file: LessonFile) -> list[tuple[str, list[Markup]]]:
    """Return a lesson's stage and those named as `*Title*` in its text, in order, by lines."""
    every = parts().jobs.manifest()
    meant = [one for one in every if one["id"] == file.stage or f"*{one['title']}*" in file.text]
    if not meant:
        return []
    asked = _asked("show", {**_program(file), "stages": [one["id"] for one in meant]})["stages"]
    texts = ["\n".join(line["text"] for line in asked[one["id"]]["lines"]) for one in meant]
    return [
        (one["title"], html_lines(text, one["kind"]))
        for one, text in zip(meant, texts, strict=True)
    ]


def _beside(file: LessonFile) -> FrozenView | None:
    """Return the content of a lesson's tab as in links; None for tabs that links do not show."""
    jobs = asked_by_client()
    program = _program(file)
    manifest = jobs.manifest()
    state = {**program, "version": "", "manifest": manifest, "stages": {}}
    match file.tab:
        case "warps":
            asked = {"entry": file.entry, "sizes": file.sizes}
            answer = _asked("accesses", {**program, **asked})
            state["asked"] = [{"op": "accesses", "request": asked, "answer": answer}]
        case "memory":
            questions = link_contents.of_lifetimes(program, manifest).items()
            lives = {stage: jobs.must("lifetimes", body) for stage, body in questions}
            state["lifetimes"] = link_contents.lifetimes(lives)
        case "proof":
            answer = jobs.must("attempts", link_contents.of_attempts(program))
            state["attempts"] = link_contents.attempts(answer)
        case "remarks":
            state["remarks"] = _asked("show", {**program, "stages": [file.stage]})["remarks"]
        case _:
            return None
    return frozen_view(state)


_HTML = ("html", "after", "question")
"""Fields with HTML made from Markdown, in which raw HTML is escaped."""


@blueprint.get("/<name>.md")
def lesson_text(name: str) -> Response:
    """Return the file of a lesson."""
    parts().limits.count("read")
    found = _named(name)
    return Response(found.text, mimetype="text/markdown")


def _named(name: str) -> Lesson:
    found = [one for one in parts().lessons() if one.name == name]
    return found[0] if found else abort(404, f"There is no lesson `{name}`.")


def _asked(op: str, body: Json) -> Json:
    """Ask the compiler. AppError for an error."""
    answer = asked_by_client().must(op, body)
    if not answer.get("ok"):
        error = answer["error"]
        raise AppError(error["kind"], error["message"], hint=error.get("hint", ""))
    return answer
