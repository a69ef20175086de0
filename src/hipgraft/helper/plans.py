"""Stores compiled graphs of hipDNN in the user's cache, and compiles them.

A graph's key is the digest of its FlatBuffer with overrides, the target and hipgraft's release.
`KEY.hgb` is its bundle, whose metadata has the tensors' uids; `KEY.no` says why it cannot be
compiled. `hipgraft/native/plugin/plans.cpp` reads both.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft import __version__
from hipgraft.helper.settings import Settings
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory
from hipgraft.ir.outputs import write_whole

if TYPE_CHECKING:
    from hipgraft.hipdnn_io import GraphDocument
    from hipgraft.ir.bindings import ir


@dataclass(frozen=True)
class Plan:
    """A graph to compile for a target.

    Attributes:
        graph: hipDNN's FlatBuffer, followed by the overrides, whose size the target declares.
        target: an architecture with settings, as `hipgraft.helper.settings` reads it.
    """

    graph: bytes
    target: str

    @property
    def key(self) -> str:
        """The name in the cache; the plugin computes the same name."""
        prefix = f"hipgraft {__version__} {self.target}\n".encode()
        return hashlib.sha256(prefix + self.graph).hexdigest()

    @property
    def bundle(self) -> Path:
        """The file of the compiled graph."""
        return self._file(".hgb")

    @property
    def data(self) -> bytes:
        """The input of the child process that compiles."""
        return self.graph

    def known(self) -> str | None:
        """Returns the answer in the cache, if there is one."""
        if self.bundle.exists():
            return f"yes {self.bundle}"
        with suppress(OSError):
            return f"no {self._file('.no').read_text().strip()}"
        return None

    def refuse(self, reason: str) -> str:
        """Stores the reason why the graph does not compile, and returns the answer."""
        line = " ".join(reason.split())
        write_whole(self._file(".no"), f"{line}\n".encode())
        return f"no {line}"

    def check(self) -> str | None:
        """Returns why the graph would not compile, or None; does not compile it."""
        # Imported here because the server starts without MLIR.
        from hipgraft.codegen.target import Target
        from hipgraft.compiler.plan_interface import unsupported_interface
        from hipgraft.engines import find_engine, graph_of
        from hipgraft.ir.sizes import check_sizes

        try:
            settings = Settings.parse(self.target)
            Target.parse(settings.architecture)
            document, module = self._read(settings)
            reason = unsupported_interface(document)
            if reason is not None:
                return reason
            check_sizes(module.operation)
            (graph,) = (
                op.operation
                for function in module.body.operations
                for op in function.regions[0].blocks[0].operations
                if op.operation.name == "hipdnn.graph"
            )
            failure = find_engine("iree").check(graph_of(graph), settings.architecture)
        except HipgraftError as error:
            return str(error)
        return None if failure is None else failure.message

    def compile(self) -> None:
        """Compiles the graph in this process, and puts its bundle into the cache.

        Raises:
            HipgraftError: the graph does not compile.
            OSError: the bundle cannot be written.
        """
        from hipgraft.compiler.plan import compile_plan
        from hipgraft.hipdnn_io.plan_payload import decode_payload

        settings = Settings.parse(self.target)
        _, module = self._read(settings)
        with settings.open_service() as service:
            plan = compile_plan(module, settings.architecture, service=service)
        write_whole(self.bundle, decode_payload(bytes(plan.plugin_payload)).bundle)

    def _read(self, settings: Settings) -> tuple[GraphDocument, ir.Module]:
        from hipgraft.hipdnn_io import import_document, read_flatbuffer
        from hipgraft.hipdnn_io.overrides import overridden, parse_overrides

        end = len(self.graph) - settings.overrides
        document = read_flatbuffer(self.graph[: max(end, 0)], "graph")
        if settings.overrides:
            text = self.graph[end:].decode("ascii", "replace")
            document = overridden(document, parse_overrides(text))
        return document, import_document(document)

    def _file(self, suffix: str) -> Path:
        key = self.key
        return default_cache_directory() / "hipdnn" / key[:2] / f"{key}{suffix}"
