"""`python -m compiler.codes` writes docs/errors.md in a checkout."""

from pathlib import Path

from compiler.codes.document import document

if __name__ == "__main__":
    (Path(__file__).parents[2] / "docs/errors.md").write_text(document(), "utf-8")
