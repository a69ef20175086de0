"""Graphs of ONNX Runtime's sessions, and the answers to what its provider asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnxruntime.request import Request, find_answer


@dataclass(frozen=True)
class Session:
    """A graph of a session, for an architecture.

    Attributes:
        path: of the request.
        request: the request.
    """

    path: Path
    request: Request

    @classmethod
    def read(cls, data: bytes, architecture: str) -> Session:
        """Reads a request from its absolute path.

        Raises:
            HipgraftError: it is malformed, or there is none.
        """
        path = Path(data.decode(errors="surrogateescape"))
        if not path.is_absolute():
            raise HipgraftError(f"expected an absolute path, found '{path}'")
        return cls(path, Request.read(path, architecture))

    @property
    def target(self) -> str:
        """What to compile for."""
        return self.request.architecture

    @property
    def key(self) -> str:
        """A name of the answer."""
        if self.request.group is None:
            return self.request.key
        return f"{self.request.key}/{self.request.bundle.stem}"

    @property
    def data(self) -> bytes:
        """What the child that compiles reads."""
        return str(self.path).encode(errors="surrogateescape")

    def known(self) -> str | None:
        """Returns the answer that the cache has."""
        found = find_answer(self.request)
        return None if found is None else f"yes {found}"

    def check(self) -> None:
        """Finds nothing wrong: what cannot be compiled is left to others, with the reason."""

    def refuse(self, reason: str) -> str:
        """Returns the answer where compiling failed as a whole; another time it may not."""
        return f"error {' '.join(reason.split())}"

    def compile(self) -> None:
        """Decides and compiles in this process, and puts the answer into the cache.

        Raises:
            HipgraftError: an option is wrong, or a node is to be an error.
        """
        # Only now: the server starts without MLIR.
        if self.request.group is None:
            from hipgraft.onnxruntime.answer import make_answer

            make_answer(self.request)
        else:
            from hipgraft.onnxruntime.further import make_further

            make_further(self.request)
