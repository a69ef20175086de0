"""Writes the content of hipgraft's own engine files as JSON, which loads faster."""

from __future__ import annotations

import json

from hipgraft.engines.registry import BUILT_IN, COMPILED, DATA
from hipgraft.ir.plain_yaml import load_plain


def text() -> str:
    """Returns the file's text: a line for each engine."""
    files = {name: load_plain((DATA / file).read_text()) for name, file in BUILT_IN.items()}
    lines = ",\n".join(f'"{name}": {json.dumps(fields)}' for name, fields in files.items())
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    COMPILED.write_text(text())
