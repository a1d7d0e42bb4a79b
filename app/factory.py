"""Makes the application out of its parts."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from app import api, course, door, errors, follow, http, pages
from app.context import EXTENSION, Parts
from app.database import Database
from app.errors import AppError
from app.first import prepare
from app.gallery import Example, front_example, load
from app.highlight import grouped, quoted
from app.jobs import Jobs
from app.lectures import Lectures
from app.lesson_files import load as load_lessons
from app.limits import RateLimits
from app.metrics import Metrics
from app.paths import EXAMPLES, LESSONS, static_folder, template_folder
from app.permalinks import Permalinks
from app.renderings import Renderings
from app.settings import PREFIX, check, database_url, from_environment, public_address
from app.version import compiler_version
from app.worker import COMMAND

WARMING = "warm-links"
"""The thread that prepares for the readers of links."""


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """The application, from the environment's settings and `config`, which wins.

    Beside the names in `app/settings.py`, `config` may hold `WORKER_COMMAND`, `MANIFEST` and
    `EXAMPLES` (a folder), which tests use.
    """
    app = Flask("app", static_folder=str(static_folder()), template_folder=str(template_folder()))
    app.config.update(from_environment(), WORKER_COMMAND=COMMAND, MAX_CONTENT_LENGTH=16 << 20)
    app.config.update(config or {})
    check(app.config)
    for name in ("DEVICES", "DEVICE_MB"):  # workers are told so
        os.environ[f"{PREFIX}{name}"] = str(app.config[name])
    app.json.sort_keys = False  # type: ignore[attr-defined]
    if app.config["PROXIES"]:
        hops = int(app.config["PROXIES"])
        app.wsgi_app = ProxyFix(app.wsgi_app, hops, hops)  # type: ignore[method-assign]
    http.install(app)
    door.install(app)
    errors.install(app)
    app.register_blueprint(api.blueprint)
    app.register_blueprint(pages.blueprint)
    app.register_blueprint(course.blueprint)
    app.register_blueprint(follow.blueprint)
    app.extensions[EXTENSION] = _parts(app)
    return app


def _parts(app: Flask) -> Parts:
    metrics = Metrics()
    jobs = Jobs(app.config, metrics)
    database = Database(lambda: database_url(app.config), int(app.config["LINKS_MB"]))
    memory, stored = (int(app.config[f"RENDERED_{name}"]) << 20 for name in ("CACHE_MB", "MB"))
    address = public_address(app.config)
    renderings = Renderings(database, memory, stored, address)
    examples = load(Path(app.config.get("EXAMPLES", EXAMPLES)))
    lessons = load_lessons(LESSONS)
    app.jinja_env.filters["quoted"] = quoted
    app.jinja_env.filters["grouped"] = grouped
    app.jinja_env.globals["address"] = address
    app.jinja_env.globals["version"] = compiler_version()
    app.jinja_env.globals["page_files"] = http.page_files
    permalinks = Permalinks(database, renderings.drop_stored)
    if app.config["WARM"]:
        jobs.warm()
        known = (app, permalinks, jobs, front_example(app.config, examples))
        threading.Thread(target=_warm, args=known, name=WARMING, daemon=True).start()
    return Parts(
        jobs=jobs,
        metrics=metrics,
        permalinks=permalinks,
        lectures=Lectures(database, int(app.config["LECTURES"]), app.config["LECTURE_HOURS"]),
        renderings=renderings,
        limits=RateLimits(app.config),
        examples=lambda: examples,
        lessons=lambda: lessons,
    )


def _warm(app: Flask, permalinks: Permalinks, jobs: Jobs, front: Example | None) -> None:
    """Do what the first reader of a link, or of the page, would wait for: they come all at once.

    A database that is away is logged.
    """
    for name in app.jinja_env.list_templates(["html"]):
        app.jinja_env.get_template(name)
    with suppress(AppError):
        permalinks.read("")
    with suppress(AppError):
        if front is not None:
            prepare(jobs, front)
