"""Reads YAML without aliases: a kilobyte of aliases can expand beyond a machine's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import yaml


class _Loader(yaml.SafeLoader):
    """Rejects aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark: Any = cast(Any, self).peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not read", problem_mark=mark)
        return super().compose_node(parent, index)


def load_plain(text: str) -> Any:
    """Returns the only document of a text.

    Raises:
        Exception: the text is not such YAML; the class of the exception varies.
    """
    return yaml.load(text, _Loader)


def position(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Returns line and column, from 1, of a value in a text that `load_plain` reads.

    Args:
        text: the document.
        path: keys and indices that lead to the value; the last ones may not exist.
    """
    node = cast(Any, yaml).compose(text, _Loader)
    for step in path:
        inner = _member(node, step)
        if inner is None:
            break
        node = inner
    return (1, 1) if node is None else (node.start_mark.line + 1, node.start_mark.column + 1)


def _member(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None
