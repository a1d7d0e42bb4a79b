"""The settings of the server: name, default and meaning.

A setting `NAME` is read from the environment as `STRIDESCOPE_NAME`; `create_app(config)` overrides
both. `stridescope serve --help` and the table in `docs/server.md` are made from `SETTINGS`.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limits import parse as parse_rate

from app.pool import SPARED
from compiler.protocol.kinds import Json

PREFIX = "STRIDESCOPE_"
_ADDRESS = r"(https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d+)?)?"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; its type is that of its default."""

    name: str
    default: int | float | str | bool
    help: str
    least: int = 0
    """The smallest valid number."""
    choices: tuple[str, ...] = ()
    usual: str = ""
    """The default in words, where it depends on the machine."""

    def check(self, value: Any) -> None:
        """Raise ValueError, with the setting's name, for an invalid value."""
        name = f"{PREFIX}{self.name}"
        if isinstance(value, int | float) and not value >= self.least:
            raise ValueError(f"{name} must be at least {self.least}, not {value}")
        if self.choices and value not in self.choices:
            raise ValueError(f"{name} must be {' or '.join(self.choices)}, not {value!r}")
        if self.name.startswith("LIMIT_"):
            try:
                parse_rate(value)
            except ValueError:
                raise ValueError(f"{name} must be like `60 per minute`, not {value!r}") from None
        if self.name == "KEYS" and not all(
            len(key.strip()) >= 20 for key in value.split(",") if key
        ):
            raise ValueError(f"{name} must have keys of at least 20 characters")
        if self.name == "ADDRESS" and not re.fullmatch(_ADDRESS, value):
            raise ValueError(f"{name} must be like `https://explorer.example.org`, not {value!r}")


CORES = os.cpu_count() or 2

SETTINGS: tuple[Setting, ...] = (
    Setting("DATA", "", "Folder for permalinks; empty: the user's data folder."),
    Setting(
        "DATABASE_URL", "", "SQLAlchemy URL of the database; empty: SQLite in the data folder."
    ),
    Setting("LINKS_MB", 4096, "All links together: SQLite's file or other rows; 0: any number."),
    Setting("SHARE_MB", 20, "Most that all stages of a shared program have, as JSON."),
    Setting("LINK_MB", 2, "Most that one link takes, as it is stored; 0: any."),
    Setting("PAGE_MB", 8, "Most that the links of one page take together; 0: any."),
    Setting("ADDRESS_MB", 128, "Most that all links of one address take together; 0: any."),
    Setting("LINK_DAYS", 0.0, "Links are deleted so many days after they were made; 0: never."),
    Setting("RENDERED_MB", 256, "Links as they are read, kept as files; the oldest go."),
    Setting("FORM_WORKERS", 1, "Processes that make what readers of links get.", 1),
    Setting("FORM_MEMORY_MB", 1024, "One of these above this is stopped."),
    Setting("FORM_WAITING", 128, "Readers who wait for these; more are told to come again."),
    Setting("FORM_SECONDS", 20.0, "Deadline for what is made of a link."),
    Setting(
        "COMPILE_WORKERS",
        min(4, max(2, CORES)),
        "Warm worker processes that compile.",
        1,
        usual="one for each core, 2 to 4",
    ),
    Setting("CHECK_WORKERS", 1, "Workers that check while those that compile are busy.", 1),
    Setting("RUN_WORKERS", 2, "Worker processes that run programs.", 1),
    Setting("QUEUE_LIMIT", 100, "Jobs that may wait for a worker; more are turned away."),
    Setting(
        "QUEUE_SECONDS",
        60.0,
        "How long a job waits for a worker before it is turned away, unless it is told its place.",
    ),
    Setting("CLIENT_RUNNING", 1, "Jobs that one page has running at a time, of each kind.", 1),
    Setting("CLIENT_WAITING", 2, "Jobs that one page has waiting, of each kind; more get 429."),
    Setting("COMPILE_SECONDS", 20.0, "Deadline of a compile; the worker is replaced after it."),
    Setting(
        "COMPILE_SECONDS_SHARED", 5.0, "Deadline of a compile while others wait for a worker.", 1
    ),
    Setting("RUN_SECONDS", 20.0, "Deadline of a run, compiling included."),
    Setting("RUN_SECONDS_SHARED", 10.0, "Deadline of a run while others wait for a worker.", 1),
    Setting("DEVICES", "", "GPUs that run programs, by number, identity or name; commas between."),
    Setting("DEVICE_MB", 0, "What a run may have of a GPU's memory; 0: what is free."),
    Setting("WORKER_MEMORY_MB", 6144, "A worker with its children above this is stopped."),
    Setting("WORKER_JOBS", 2000, "A worker is replaced after so many jobs."),
    Setting("SOURCE_LIMIT", 400_000, "Longest program text, in characters."),
    Setting("INPUT_LIMIT", 5_000_000, "Longest typed input of a run, in characters."),
    Setting("UPLOAD_MB", 256, "Largest file that becomes an input of a run; 0: none are taken."),
    Setting("PAGE_UPLOADS_MB", 512, "Most that the files of one page take together."),
    Setting(
        "UPLOADS_MB",
        4096,
        "All such files together; those of one address take a quarter of it at most.",
    ),
    Setting("UPLOAD_MINUTES", 60.0, "They are deleted so long after they were used last."),
    Setting("OUTPUT_LIMIT", 64_000, "Characters of a run's output, about; the rest is counted."),
    Setting("RESULTS_MB", 128, "Results of runs kept as files, to be looked at by parts.", 4),
    Setting("ANSWER_MB", 64, "Longest answer; a worker that gives a longer one is stopped.", 1),
    Setting("CACHE_MB", 64, "Answers kept in memory, compressed."),
    Setting("WARM", True, "Start the workers with the server, not with the first request."),
    Setting("LIMIT_CHECK", "600 per minute", "Checks that one page may ask for."),
    Setting("LIMIT_SHOW", "300 per minute", "Compilations that one page may ask for."),
    Setting("LIMIT_ASK", "1200 per minute", "Questions about a compiled program, and proofs."),
    Setting("LIMIT_RUN", "60 per minute", "Runs, their inputs, and comparisons of stages."),
    Setting("LIMIT_SHARE", "20 per minute", "New permalinks."),
    Setting("LIMIT_READ", "600 per minute", "Permalinks that are read."),
    Setting("LIMIT_TEACH", "6 per minute", "New lectures."),
    Setting("LIMIT_JOIN", "20 per minute", "Codes of lectures that are tried, right or wrong."),
    Setting("LIMIT_FOLLOW", "600 per minute", "What a teacher publishes, or a follower asks for."),
    Setting("LIMIT_SEND", "32768 per minute", "Kilobytes of long requests that one page sends."),
    Setting("LECTURES", 200, "Lectures at a time; one address may hold an eighth of them.", 1),
    Setting("LECTURE_HOURS", 4.0, "A lecture is over when its teacher was silent for so long.", 0),
    Setting("ADDRESS_PAGES", 30, "All pages of one address together may do what so many may.", 1),
    Setting("LOCAL_FACTOR", 20, "On the server's own machine the limits are so much wider.", 1),
    Setting(
        "KEYS",
        "",
        "Keys of graders, of at least 20 characters, commas between: who sends one counts as an "
        "address of its own.",
    ),
    Setting("KEY_FACTOR", 20, "With a key limits are so much wider.", 1),
    Setting("RATELIMIT", True, "Switch the rate limits on."),
    Setting("FRONT_EXAMPLE", "concatenation", "The example that a first visit shows."),
    Setting(
        "METRICS",
        "local",
        "Who may read /metrics: this machine alone, everybody or nobody.",
        choices=("local", "everybody", "nobody"),
    ),
    Setting(
        "HOSTS",
        "",
        "Names that the server goes by, beside localhost and the address that it listens on; "
        "commas between them. `.example.org` stands for every name under example.org.",
    ),
    Setting(
        "ADDRESS",
        "",
        "Where readers find the server, such as `https://explorer.example.org`: links name it. "
        "Empty: its first name in HOSTS, by https behind a proxy, or what it listens on.",
    ),
    Setting("PROXIES", 0, "Trusted reverse proxies in front, for addresses and https."),
    Setting(
        "SPARE_THREADS",
        24,
        "Request threads beside those that wait for the workers: for pages, links and files.",
        1,
    ),
    Setting("HEAD_SECONDS", 10.0, "How long a client may take to send a request's headers.", 1),
    Setting("BODY_SECONDS", 60.0, "How long it may then take to send the rest.", 1),
)


def public_address(config: Mapping[str, Any], listens: str = "") -> str:
    """Return the public address of a server that listens on `host:port`; "" if unknown."""
    names = [name.strip() for name in config["HOSTS"].split(",")]
    name = next((name for name in names if name and not name.startswith(".")), "")
    host, _, port = listens.rpartition(":")
    if config["ADDRESS"]:
        return str(config["ADDRESS"])
    if name:
        scheme = "https" if config["PROXIES"] else "http"
        return f"{scheme}://{name}" + (f":{port}" if port and not config["PROXIES"] else "")
    return f"http://{listens}" if host and host not in ("0.0.0.0", "[::]") else ""


def listing() -> str:
    """Format all settings for `stridescope serve --help`: name, default, meaning."""
    lines = []
    for one in SETTINGS:
        meaning = textwrap.fill(one.help, 94, initial_indent=" " * 6, subsequent_indent=" " * 6)
        lines += [f"  {PREFIX}{one.name} ({_shown(one)})", meaning]
    return "\n".join(lines)


def markdown() -> str:
    """Format the table of settings for `docs/server.md`."""
    rows = [f"| `{PREFIX}{one.name}` | {_shown(one)} | {one.help} |" for one in SETTINGS]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _shown(setting: Setting) -> str:
    return setting.usual or str(setting.default) or "empty"


def from_environment(environ: Mapping[str, str] = os.environ) -> Json:
    """Read all settings, with changes from the environment. ValueError on a bad value."""
    return {s.name: _parse(s, environ.get(PREFIX + s.name)) for s in SETTINGS}


def check(config: Mapping[str, Any]) -> None:
    """Raise ValueError for an invalid setting."""
    for setting in SETTINGS:
        setting.check(config[setting.name])


def _parse(setting: Setting, text: str | None) -> int | float | str | bool:
    if text is None:
        return setting.default
    kind = type(setting.default)
    if kind is bool:
        return text.strip().lower() not in ("", "0", "no", "off", "false")
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{PREFIX}{setting.name} must be {kind.__name__}, not {text!r}") from None
    setting.check(value)
    return value


def request_threads(config: Mapping[str, Any]) -> int:
    """Return the number of request threads: more than all jobs that workers have and that may wait.

    Readers waiting for sheets of links count as well. So a full queue is reported, and threads
    remain for everything else.
    """
    queues = 3 * (config["QUEUE_LIMIT"] + SPARED)
    workers = config["COMPILE_WORKERS"] + config["CHECK_WORKERS"] + config["RUN_WORKERS"]
    return int(queues + workers + config["FORM_WAITING"] + config["SPARE_THREADS"])


def data_folder(chosen: str = "") -> Path:
    """Return the folder of permalinks: the chosen one, or the platform's place for user data."""
    if chosen:
        return Path(chosen).expanduser()
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "stridescope"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home)) / "stridescope"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "stridescope"


def forms_folder(config: Mapping[str, Any]) -> Path:
    """Return the folder of link sheets: beside the data, one for each database."""
    url = str(config["DATABASE_URL"])
    name = f"-{hashlib.sha256(url.encode()).hexdigest()[:12]}" if url else ""
    return data_folder(config["DATA"]) / f"forms{name}"


def database_url(config: Mapping[str, Any]) -> str:
    """Return the database's URL; creates the data folder for SQLite."""
    if config["DATABASE_URL"]:
        return str(config["DATABASE_URL"])
    folder = data_folder(config["DATA"])
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'permalinks.sqlite'}"
