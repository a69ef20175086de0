"""YAML without aliases: a kilobyte of aliases can expand to more than a machine's memory."""

from __future__ import annotations

from typing import Any, cast

import yaml


class _Loader(yaml.SafeLoader):
    """Composes no alias."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark: Any = cast(Any, self).peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not read", problem_mark=mark)
        return super().compose_node(parent, index)


def load_plain(text: str) -> Any:
    """Returns the only document of a text.

    Raises:
        Exception: of many kinds, for text that is no such YAML.
    """
    return yaml.load(text, _Loader)
