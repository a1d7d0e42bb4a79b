"""Known vulnerabilities in what is locked: Python's by pip-audit, the page's by npm.

    python -m tests.audit [--notes FILE]

Exit status: 0 if all packages were looked up and nothing is known, 1 if something is, 2 if a
package could not be looked up. pip-audit by itself calls that "no known vulnerabilities". The notes
of a release have what is written to FILE: the same, and when it was looked up, or that it was not.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PIP_AUDIT = ROOT / ".tools" / "bin" / "pip-audit"
LOCKS = tuple(sorted(path.stem for path in (ROOT / "requirements").glob("*.txt")))
CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Found:
    """`known` are vulnerabilities, `unknown` what could not be looked up and why."""

    audited: int = 0
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def of_python(report: str, complaint: str) -> Found:
    """What pip-audit found, from its JSON."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Found(unknown=(f"pip-audit gave no report: {complaint.strip()[-300:]}",))
    known = [
        f"{package['name']} {package['version']}: {one['id']}"
        for package in packages
        for one in package.get("vulns", ())
    ]
    unknown = [package["skip_reason"] for package in packages if "skip_reason" in package]
    return Found(len(packages) - len(unknown), tuple(known), tuple(unknown))


def of_page(report: str, complaint: str) -> Found:
    """What `npm audit` found, from its JSON."""
    try:
        data: dict[str, Any] = json.loads(report)
        count = data["metadata"]["dependencies"]["total"]
        vulnerable = data["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        said = (complaint.strip() or report.strip())[-300:]
        return Found(unknown=(f"npm audit gave no report: {said}",))
    known = [f"{name} {one['range']}: {one['severity']}" for name, one in vulnerable.items()]
    return Found(count, tuple(known))


def _said(command: Sequence[str], environment: dict[str, str] | None = None) -> tuple[str, str]:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


def audit() -> list[tuple[str, Found]]:
    """Every lock file with what was found in it."""
    options = "--disable-pip --require-hashes --format json --progress-spinner off".split()
    found: list[tuple[str, Found]] = []
    for name in LOCKS:
        file = f"requirements/{name}.txt"
        found.append((file, of_python(*_said([str(PIP_AUDIT), *options, "--requirement", file]))))
    command, environment = runpy.run_path(str(ROOT / "static" / "page.py"))["npm"]()
    npm = [*command, "audit", "--package-lock-only", "--json"]
    return [*found, ("package-lock.json", of_page(*_said(npm, environment)))]


def verdict(found: Sequence[tuple[str, Found]]) -> tuple[str, int]:
    """What is to be said of what was found, and the exit status."""
    said = []
    for file, one in found:
        count = f"{one.audited} packages looked up, {len(one.known)} known vulnerabilities"
        said.append(f"{file}: {count}")
        said += [f"  VULNERABLE {line}" for line in one.known]
        if one.unknown:
            said.append(f"  NOT AUDITED: {len(one.unknown)}, the first: {one.unknown[0]}")
    if any(one.known for _, one in found):
        end, status = "There are known vulnerabilities.", VULNERABLE
    elif any(one.unknown or not one.audited for _, one in found):
        end = "NOT AUDITED: the database could not be reached; nothing is known either way."
        status = UNKNOWN
    else:
        end, status = "No vulnerabilities are known.", CLEAN
    return "\n".join([*said, end]), status


def notes(said: str, when: datetime) -> str:
    """What a release tells of it."""
    day = when.strftime("%Y-%m-%d")
    return f"Known vulnerabilities of what is locked, looked for on {day}:\n\n{said}\n"


def main() -> int:
    """Look, say what was found, write it down; the exit status."""
    parser = argparse.ArgumentParser(description="Known vulnerabilities in what is locked.")
    parser.add_argument("--notes", metavar="FILE", help="also written there, for a release")
    args = parser.parse_args()
    said, status = verdict(audit())
    print(said)
    if args.notes:
        file = Path(args.notes)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(notes(said, datetime.now(UTC)), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
