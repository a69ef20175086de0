"""Context managers that close themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """The base of classes that hold resources until `close` or the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Frees the resources; does nothing if they were already freed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
