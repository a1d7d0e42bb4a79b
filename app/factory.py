"""Build the application from its parts."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from app import (
    api,
    course,
    error_pages,
    follow,
    http,
    link_routes,
    origin_check,
    pages,
    reproduction,
    showcase,
    upload_routes,
)
from app.bodies import Bodies
from app.context import EXTENSION, Parts
from app.database import Database
from app.errors import AppError
from app.first_view import prepare
from app.forms import Forms, renderer_name
from app.gallery import Example, front_example, load
from app.highlight import grouped, quoted
from app.jobs import Jobs
from app.lectures import Lectures
from app.lesson_files import load as load_lessons
from app.limits import RateLimits
from app.link_owners import Quotas
from app.metrics import Metrics
from app.paths import EXAMPLES, LESSONS, static_folder, template_folder
from app.permalinks import Permalinks
from app.settings import PREFIX, check, database_url, forms_folder, from_environment, public_address
from app.sheet_files import SheetFiles
from app.sheet_pool import TOLD, Makers
from app.version import compiler_version
from app.worker import COMMAND

WARMING = "warm-links"
"""The thread that prepares caches for readers of links."""


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Build the application from the environment's settings and `config`, which wins.

    Beside the names in `app/settings.py`, `config` may hold `WORKER_COMMAND`, `MANIFEST`,
    `EXAMPLES` (a folder) and `MAKERS` (a pool), which tests use.
    """
    app = bare_app(config or {})
    if app.config["PROXIES"]:
        hops = int(app.config["PROXIES"])
        app.wsgi_app = ProxyFix(app.wsgi_app, hops, hops)  # type: ignore[method-assign]
    for name in ("DEVICES", "DEVICE_MB"):  # workers are told so
        os.environ[f"{PREFIX}{name}"] = str(app.config[name])
    app.jinja_env.globals["version"] = compiler_version()
    app.extensions[EXTENSION] = _parts(app)
    return app


def bare_app(config: Mapping[str, Any]) -> Flask:
    """Build the application with routes and templates, but without services."""
    app = Flask("app", static_folder=str(static_folder()), template_folder=str(template_folder()))
    app.config.update(from_environment(), WORKER_COMMAND=COMMAND, MAX_CONTENT_LENGTH=16 << 20)
    app.config.update(config)
    check(app.config)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.jinja_env.filters["quoted"] = quoted
    app.jinja_env.filters["grouped"] = grouped
    app.jinja_env.filters["marked"] = reproduction.marked
    app.jinja_env.filters["plain_words"] = reproduction.plain
    app.jinja_env.globals["page_files"] = http.page_files
    http.install(app)
    origin_check.install(app)
    error_pages.install(app)
    app.register_blueprint(api.blueprint)
    app.register_blueprint(upload_routes.blueprint)
    app.register_blueprint(pages.blueprint)
    app.register_blueprint(showcase.blueprint)
    app.register_blueprint(reproduction.blueprint)
    app.register_blueprint(link_routes.blueprint)
    app.register_blueprint(course.blueprint)
    app.register_blueprint(follow.blueprint)
    return app


def _parts(app: Flask) -> Parts:
    metrics = Metrics()
    jobs = Jobs(app.config, metrics)
    stored = int(app.config["RENDERED_MB"]) << 20
    database = Database(lambda: database_url(app.config), int(app.config["LINKS_MB"]))
    examples = load(Path(app.config.get("EXAMPLES", EXAMPLES)))
    lessons = load_lessons(LESSONS)
    links = float(app.config["LINK_DAYS"]), int(app.config["LINKS_MB"])
    permalinks = Permalinks(database, Quotas.of(app.config), *links)
    renderer = renderer_name(compiler_version(), [app.config[name] for name in TOLD])
    makers = Makers(app.config, metrics, permalinks, renderer)
    metrics.watch(*jobs.pools, makers.pool)
    files = SheetFiles(lambda: forms_folder(app.config), stored, renderer)
    if app.config["WARM"]:
        jobs.warm()
        makers.pool.warm()
        known = (app, permalinks, jobs, front_example(app.config, examples))
        threading.Thread(target=_warm, args=known, name=WARMING, daemon=True).start()
    return Parts(
        jobs=jobs,
        metrics=metrics,
        permalinks=permalinks,
        lectures=Lectures(database, int(app.config["LECTURES"]), app.config["LECTURE_HOURS"]),
        address=public_address(app.config),
        bodies=Bodies(),
        makers=makers,
        forms=Forms(files, makers.make, int(app.config["FORM_WAITING"])),
        limits=RateLimits(app.config),
        examples=lambda: examples,
        lessons=lambda: lessons,
    )


def _warm(app: Flask, permalinks: Permalinks, jobs: Jobs, front: Example | None) -> None:
    """Warm up templates, links and the front page, before readers come all at once.

    An unavailable database is logged.
    """
    for name in app.jinja_env.list_templates(["html"]):
        app.jinja_env.get_template(name)
    with suppress(AppError):
        permalinks.read("")
    with suppress(AppError):
        if front is not None:
            prepare(jobs, front)
