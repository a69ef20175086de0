"""Answers the requests of ONNX Runtime's provider about graphs of its sessions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnxruntime.request import Request, find_answer


@dataclass(frozen=True)
class Session:
    """A graph of a session to compile for an architecture.

    Attributes:
        path: path of the request.
        request: the request.
    """

    path: Path
    request: Request

    @classmethod
    def read(cls, data: bytes, architecture: str) -> Session:
        """Reads a request from its absolute path.

        Raises:
            HipgraftError: the request is malformed or missing.
        """
        path = Path(data.decode(errors="surrogateescape"))
        if not path.is_absolute():
            raise HipgraftError(f"expected an absolute path, found '{path}'")
        return cls(path, Request.read(path, architecture))

    @property
    def target(self) -> str:
        """The target to compile for."""
        return self.request.architecture

    @property
    def key(self) -> str:
        """The name of the answer."""
        if self.request.group is None:
            return self.request.key
        return f"{self.request.key}/{self.request.bundle.stem}"

    @property
    def data(self) -> bytes:
        """The input of the child process that compiles."""
        return str(self.path).encode(errors="surrogateescape")

    def known(self) -> str | None:
        """Returns the answer in the cache, if there is one."""
        found = find_answer(self.request)
        return None if found is None else f"yes {found}"

    def check(self) -> None:
        """Returns None: nodes that do not compile are left to other providers, with the reason."""

    def refuse(self, reason: str) -> str:
        """Returns the answer for a failed compilation, without storing it: it may be transient."""
        return f"error {' '.join(reason.split())}"

    def compile(self) -> None:
        """Decides and compiles in this process, and stores the answer in the cache.

        Raises:
            HipgraftError: an option is wrong, or a node must cause an error.
        """
        # Imported here because the server starts without MLIR.
        if self.request.group is None:
            from hipgraft.onnxruntime.answer import make_answer

            make_answer(self.request)
        else:
            from hipgraft.onnxruntime.further import make_further

            make_further(self.request)
