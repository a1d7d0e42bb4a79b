"""Write certificates to files and read them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from compiler.algebra import checker
from compiler.base.errors import UsageError
from compiler.command_line.given import (
    Program,
)
from compiler.driver import explanations
from compiler.protocol import (
    proofs,
)
from compiler.protocol.proofs import Certificate

MOST_BYTES = checker.BYTES + 1
"""Bytes to read: one more than a certificate may have."""


def certify(program: Program, args: argparse.Namespace) -> None:
    """Write the certificate of a program if `--certificate` is given."""
    if args.certificate:
        answer = explanations.certificate(proofs.CertificateRequest(*program))
        write_certificate(args.certificate, answer["certificate"])


def write_certificate(path: str, certificate: Certificate) -> None:
    """Write a certificate to a file. Raises UsageError where that fails."""
    try:
        Path(path).write_text(json.dumps(certificate) + "\n", "utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot write `{path}`: {error}.") from None
