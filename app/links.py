"""`stridescope links`: maintain a server's links, or delete one's own on any server.

    stridescope links list [--older DAYS] [--json]
    stridescope links delete ID.. | --older DAYS
    stridescope links delete ADDRESS --key KEY
    stridescope links export [ID ..] --to FILE
    stridescope links import FILE

The database is that of the server's settings: STRIDESCOPE_DATA, STRIDESCOPE_DATABASE_URL. It may
run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import IO, Any
from urllib.parse import urlsplit

from app import archive
from app.database import FAILURES, Database
from app.settings import database_url, forms_folder, from_environment
from app.sheet_files import SheetFiles

SECONDS = 30.0
"""Seconds for a server to delete a link."""
ENDED, FAILED, WRONG_USE = 0, 1, 2


class Wrong(Exception):
    """An error of a command, in a sentence."""


def main() -> int:
    """Run one command; return the exit status."""
    args = parser().parse_args()
    try:
        config = from_environment()
        database = Database(lambda: database_url(config), int(config["LINKS_MB"]))
        files = SheetFiles(lambda: forms_folder(config), 0, "")
        args.run(args, database, files)
    except (Wrong, archive.NoLink, ValueError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return WRONG_USE if isinstance(error, ValueError) else FAILED
    except FAILURES as error:
        print(f"The database cannot be used: {error}", file=sys.stderr)  # noqa: T201
        return FAILED
    return ENDED


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    made = argparse.ArgumentParser(
        prog="stridescope links",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[..., None], told: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=told)
        one.set_defaults(run=run)
        return one

    older = {"type": float, "metavar": "DAYS", "help": "links that are at least DAYS days old"}
    one = add("list", _list, "list ids, dates, bytes and versions, the oldest first")
    one.add_argument("--older", **older)  # type: ignore[arg-type]
    one.add_argument("--json", action="store_true", help="print one JSON object per line")
    one = add("delete", _delete, "delete links by id or age, or your own link on a server")
    one.add_argument(
        "names", nargs="*", metavar="ID", help="ids of links, or the address of one link"
    )
    one.add_argument("--older", **older)  # type: ignore[arg-type]
    one.add_argument("--key", help="the key that you got when you made the link")
    one = add("export", _export, "write links to a file, one JSON object per line")
    one.add_argument("names", nargs="*", metavar="ID", help="default: all")
    one.add_argument(
        "--to", required=True, metavar="FILE", help="file to write, or - for standard output"
    )
    one = add("import", _import, "read such a file; existing links stay unchanged")
    one.add_argument("file", metavar="FILE", help="file to read, or - for standard input")
    return made


def _before(args: argparse.Namespace) -> datetime | None:
    if args.older is None:
        return None
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(days=args.older)


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _list(args: argparse.Namespace, database: Database, _: SheetFiles) -> None:
    found = archive.listed(database, _before(args))
    for one in found:
        if args.json:
            _say(json.dumps(one.as_json()))
        else:
            _say(f"{one.name}  {one.made:%Y-%m-%d %H:%M}  {one.size:>9}  {one.version}")
    if not args.json:
        _say(f"{len(found)} links, {sum(one.size for one in found) / 1e6:.1f} MB")


def _delete(args: argparse.Namespace, database: Database, files: SheetFiles) -> None:
    names = list(args.names)
    if args.key is not None:
        if len(names) != 1 or args.older is not None:
            raise Wrong("`--key` needs the address of exactly one link.")
        _delete_own(names[0], args.key)
        return
    if args.older is not None:
        names += [one.name for one in archive.listed(database, _before(args))]
    if not names and args.older is None:
        raise Wrong("Name links, or give `--older`.")
    gone = archive.deleted(database, names)
    for name in gone:
        files.drop(name)
    _say(f"{len(gone)} deleted")
    if missing := [name for name in args.names if name not in gone]:
        raise Wrong(f"There is no link {', '.join(missing)}.")


def _delete_own(address: str, key: str) -> None:
    """Ask the server of a link to delete it."""
    parts = urlsplit(address)
    name = parts.path.rpartition("/z/")[2].strip("/")
    if parts.scheme not in ("http", "https") or not name:
        raise Wrong(f"`{address}` is not the address of a link, as `https://host/z/id`.")
    request = urllib.request.Request(
        f"{parts.scheme}://{parts.netloc}/api/forget",
        json.dumps({"id": name, "key": key}).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            told = json.load(response)
    except urllib.error.HTTPError as error:
        raise Wrong(_said(error)) from error
    except OSError as error:
        raise Wrong(f"{parts.netloc} does not answer: {error}") from error
    _say("deleted" if told["gone"] else "you no longer own it; others have shared the same program")


def _said(error: urllib.error.HTTPError) -> str:
    """Return a server's error message, or its status."""
    try:
        told: Any = json.load(error)["error"]
        return f"{told['message']} {told['hint']}".strip()
    except (ValueError, LookupError, TypeError):
        return f"The server answers with status {error.code}."


def _export(args: argparse.Namespace, database: Database, _: SheetFiles) -> None:
    written, damaged = set(), []
    with _opened(args.to, "w", sys.stdout) as file:
        for name, told in archive.exported(database, args.names):
            if told is None:
                damaged.append(name)
            else:
                file.write(json.dumps(told, separators=(",", ":")) + "\n")
                written.add(name)
    print(f"{len(written)} written", file=sys.stderr)  # noqa: T201
    if damaged:
        raise Wrong(f"Skipped because they are damaged: {', '.join(damaged)}.")
    if missing := [name for name in args.names if name not in written]:
        raise Wrong(f"There is no link {', '.join(missing)}.")


def _import(args: argparse.Namespace, database: Database, _: SheetFiles) -> None:
    with _opened(args.file, "r", sys.stdin) as file:
        new, known = archive.imported(database, file)
    _say(f"{new} new, {known} already there")


def _opened(name: str, mode: str, usual: IO[str]) -> Any:
    if name == "-":
        return nullcontext(usual)
    try:
        return open(name, mode, encoding="utf-8")
    except OSError as error:
        raise Wrong(f"`{name}` cannot be opened: {error.strerror}.") from error


if __name__ == "__main__":
    sys.exit(main())
