"""`python -m compiler.protocol` writes the files that are generated from the declarations.

These are the page's types, the JSON Schema and the tables of the documentation.
"""

from __future__ import annotations

import json
from pathlib import Path

from compiler.protocol import tables, typescript
from compiler.protocol.kinds import Json
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.programs import Failure
from compiler.protocol.schema import Schemas

ROOT = Path(__file__).parents[2]
DOCUMENT = "docs/protocol.md"


def made() -> dict[str, str]:
    """Generate the files, by their paths in the checkout."""
    return {
        "static/src/types.ts": typescript.text(OPERATIONS),
        "docs/protocol.schema.json": json.dumps(schema(), indent=1) + "\n",
        DOCUMENT: document((ROOT / DOCUMENT).read_text("utf-8")),
    }


def schema() -> Json:
    """Generate the JSON Schema: each operation's request, answer and partial answers."""
    schemas = Schemas("#/$defs/", own=True)
    operations = {
        one.id: {
            "description": one.help,
            "request": schemas.of(one.request),
            "answer": schemas.of(one.answer),
            **({"partial": schemas.of(one.partial)} if one.partial else {}),
        }
        for one in OPERATIONS.values()
    }
    failed = schemas.of(Failure)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "operations": operations,
        "failure": failed,
        "$defs": schemas.found,
    }


def document(text: str) -> str:
    """Regenerate the parts of a page between `<!-- name -->` and `<!-- end -->`."""
    parts = {
        "operations": tables.operations_text(OPERATIONS),
        "options": tables.options_text(),
        "refusals": tables.refusals_text(),
        "shapes": tables.shapes_text(OPERATIONS),
    }
    for name, part in parts.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = f"{before}{mark}\n{part}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return text


def main() -> None:
    """Write all generated files."""
    for path, text in made().items():
        (ROOT / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
