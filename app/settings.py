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
    Setting("LINKS_MB", 4096, "Most that all links together take; 0: any."),
    Setting("SHARE_MB", 20, "Most that all stages of a shared program take, as JSON."),
    Setting("LINK_MB", 2, "Most that one link takes, as it is stored; 0: any."),
    Setting("PAGE_MB", 8, "Most that the links of one page take together; 0: any."),
    Setting("ADDRESS_MB", 128, "Most that all links of one address take together; 0: any."),
    Setting("LINK_DAYS", 0.0, "Days after which a link is deleted; 0: never."),
    Setting("RENDERED_MB", 256, "Size of the cache of prepared links; the oldest are removed."),
    Setting("FORM_WORKERS", 1, "Processes that prepare links for readers.", 1),
    Setting("FORM_MEMORY_MB", 1024, "Memory above which such a process is stopped."),
    Setting("FORM_WAITING", 128, "Readers that may wait for these; more get a refusal."),
    Setting("FORM_SECONDS", 20.0, "Deadline for preparing a link."),
    Setting(
        "COMPILE_WORKERS",
        min(4, max(2, CORES)),
        "Warm worker processes that compile.",
        1,
        usual="one for each core, 2 to 4",
    ),
    Setting("CHECK_WORKERS", 1, "Workers that type check while the compiling ones are busy.", 1),
    Setting("RUN_WORKERS", 2, "Worker processes that run programs.", 1),
    Setting("QUEUE_LIMIT", 100, "Jobs that may wait for a worker; more are refused."),
    Setting(
        "QUEUE_SECONDS",
        60.0,
        "How long a job waits for a worker before it is refused, unless it is told its place.",
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
    Setting("DEVICE_MB", 0, "GPU memory that a run may use; 0: all free memory."),
    Setting(
        "WORKER_MEMORY_MB", 6144, "Memory of a worker with its children above which it is stopped."
    ),
    Setting("WORKER_JOBS", 2000, "Jobs after which a worker is replaced."),
    Setting("SOURCE_LIMIT", 400_000, "Longest program text, in characters."),
    Setting("INPUT_LIMIT", 5_000_000, "Longest typed input of a run, in characters."),
    Setting("UPLOAD_MB", 256, "Largest file that may be an input of a run; 0: no files."),
    Setting("PAGE_UPLOADS_MB", 512, "Most that the files of one page take together."),
    Setting(
        "UPLOADS_MB",
        4096,
        "Most that all such files take together; those of one address may take a quarter.",
    ),
    Setting("UPLOAD_MINUTES", 60.0, "Time after their last use when they are deleted."),
    Setting(
        "OUTPUT_LIMIT",
        64_000,
        "Characters of a run's output that are shown, about; the rest is counted.",
    ),
    Setting("RESULTS_MB", 128, "Results of runs kept as files, which the page shows in parts.", 4),
    Setting("ANSWER_MB", 64, "Longest answer; a worker that gives a longer one is stopped.", 1),
    Setting("CACHE_MB", 64, "Answers kept in memory, compressed."),
    Setting("WARM", True, "Start the workers with the server, not with the first request."),
    Setting("LIMIT_CHECK", "600 per minute", "Checks that one page may ask for."),
    Setting("LIMIT_SHOW", "300 per minute", "Compilations that one page may ask for."),
    Setting("LIMIT_ASK", "1200 per minute", "Requests about a compiled program, and proofs."),
    Setting("LIMIT_RUN", "60 per minute", "Runs, their inputs, and comparisons of stages."),
    Setting("LIMIT_SHARE", "20 per minute", "New permalinks."),
    Setting("LIMIT_READ", "600 per minute", "Reads of links."),
    Setting("LIMIT_TEACH", "6 per minute", "New lectures."),
    Setting(
        "LIMIT_JOIN", "20 per minute", "Attempts to join a lecture by its code, right or wrong."
    ),
    Setting(
        "LIMIT_FOLLOW", "600 per minute", "Updates that a teacher publishes or a follower requests."
    ),
    Setting("LIMIT_SEND", "32768 per minute", "Kilobytes of long requests that one page may send."),
    Setting("LECTURES", 200, "Lectures at a time; one address may hold an eighth of them.", 1),
    Setting("LECTURE_HOURS", 4.0, "Silence of its teacher after which a lecture ends.", 0),
    Setting("ADDRESS_PAGES", 30, "Number of pages whose limits all pages of one address share.", 1),
    Setting(
        "LOCAL_FACTOR", 20, "Factor of all limits for requests from the server's own machine.", 1
    ),
    Setting(
        "KEYS",
        "",
        "Keys of graders, of at least 20 characters, separated by commas: a client "
        "with a key counts as a separate address.",
    ),
    Setting("KEY_FACTOR", 20, "Factor of all limits for clients with a key.", 1),
    Setting("RATELIMIT", True, "Switch the rate limits on."),
    Setting("FRONT_EXAMPLE", "concatenation", "Example that a first visit shows."),
    Setting(
        "METRICS",
        "local",
        "Who may read /metrics: this machine alone, everybody or nobody.",
        choices=("local", "everybody", "nobody"),
    ),
    Setting(
        "HOSTS",
        "",
        "Host names of the server, besides localhost and the address that it listens "
        "on, separated by commas. `.example.org` stands for every name under "
        "example.org.",
    ),
    Setting(
        "ADDRESS",
        "",
        "Public address of the server, such as `https://explorer.example.org`, used in "
        "links. Empty: its first name in HOSTS, with https behind a proxy, or the "
        "address that it listens on.",
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
