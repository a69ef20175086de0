"""Parses command lines."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

_NO_VALUE = re.compile(r"(--[^=]+=|-[^-]=?)--")


class Parser(argparse.ArgumentParser):
    """Parses a tool's command line: flags cannot be abbreviated, and `--` is not a flag's value.

    For `--flag=--`, argparse removes the value and gives the flag an empty list.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, allow_abbrev=False, **options)

    # One of its overloads in the stubs accepts `namespace` by keyword only.
    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """Parses like the base class; ends the tool with status 2 if a flag's value is `--`."""
        given = list(sys.argv[1:] if args is None else args)
        for text in given[: given.index("--") if "--" in given else None]:
            if _NO_VALUE.fullmatch(text):
                self.error(f"argument {text[:-2].rstrip('=')}: expected a value, not '--'")
        return super().parse_known_args(given, namespace)
