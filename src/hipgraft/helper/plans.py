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


_PACKED = ("fp4_e2m1", "int4")


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
        """The name in the cache, which the plugin computes, too."""
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
        from hipgraft.engines import find_engine, graph_of
        from hipgraft.ir.sizes import check_sizes

        try:
            settings = Settings.parse(self.target)
            Target.parse(settings.architecture)
            document, module = self._read(settings)
            reason = _unsupported(document)
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


def _unsupported(document: GraphDocument) -> str | None:
    """Returns what a graph needs that compiled graphs cannot do."""
    from hipgraft.codegen.iree.pointer_alignment import POINTER_ALIGNMENT
    from hipgraft.ir.sizes import MOST_BYTES, spanned_elements, too_large

    for tensor in document.tensors:
        if tensor.uid < 0:
            return f"tensor '{tensor.name}' has the negative uid {tensor.uid}"
        if tensor.alignment < 1:
            return f"tensor '{tensor.name}' has alignment {tensor.alignment}; expected 1 or more"
        if tensor.alignment % POINTER_ALIGNMENT and not tensor.virtual:
            return (
                f"tensor '{tensor.name}' may be at any multiple of {tensor.alignment} bytes; "
                f"kernels need multiples of {POINTER_ALIGNMENT}"
            )
        if tensor.data_type in _PACKED and not tensor.virtual:
            # At the interface of programs, each element takes a byte.
            return f"tensor '{tensor.name}' has two elements of type {tensor.data_type} in a byte"
        if not tensor.virtual and spanned_elements(tensor.dims, tensor.strides) > MOST_BYTES:
            return too_large(f"tensor '{tensor.name}'")
    return None
