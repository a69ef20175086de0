"""Writes a merged CUDA program for IREE, so that IREE's runtime makes the same launches.

The module is at IREE's stage `executable-configurations`: the code objects are external, and the
launches, fills and copies stand in one `stream.cmd.execute`, with the grids, bindings and offsets
of the recording. Inputs are byte buffers passed as arguments; the last argument holds the constants
one after the other. IREE allocates results and scratch memory, as in programs that it compiles
itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipgraft.runtime.recording import Buffer, Command, Copy, Fill, Launch, Pointer, Recording

ENTRY = "main"
OPTIONS = ["--compile-from=executable-configurations"]

_ALIGNMENT = 256
_ON = "on(#hal.device.affinity<@device>)"
_MODULE = """\
#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {{iree_codegen.target_info =
  #iree_gpu.target<arch = "{arch}", features = "", wgp = <compute = fp32, storage = b32,
  subgroup = none, subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024],
  max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912,
  max_workgroup_counts = [2147483647, 65535, 65535]>>}}>
module attributes {{stream.affinity.default = #hal.device.affinity<@device>}} {{
  util.global private @device = #hal.device.target<"cuda", [#target]> : !hal.device
{executables}
  util.func public @{entry}({arguments}) -> ({returned}) attributes {{iree.abi.stub}} {{
    {body}
  }}
}}
"""
_EXECUTABLE = """\
  hal.executable private @object_{number} {{
    hal.executable.variant public @variant target(#target)
        objects([#hal.executable.object<{{path = {path}}}>]) {{
{exports}
    }}
  }}"""
_EXPORT = """\
      hal.executable.export public @{name} ordinal({ordinal})
          layout(#hal.pipeline.layout<constants = {constants}, bindings = [{bindings}],
              flags = Indirect>)
          count(%device: !hal.device, %x: index, %y: index, %z: index) -> (index, index, index) {{
        hal.return %x, %y, %z : index, index, index
      }} <workgroup_size = [{block}], workgroup_local_memory = {shared}>"""


def stream_module(recording: Recording, directory: Path) -> str:
    """Returns the program as text.

    Args:
        recording: recording for CUDA.
        directory: folder for the code objects, to which the text refers.
    """
    paths = [directory / f"object_{number}.ptx" for number in range(len(recording.objects))]
    for path, data in zip(paths, recording.objects, strict=True):
        path.write_bytes(data)
    executables = [_executable(recording, *each) for each in enumerate(paths)]
    resources = _resources(recording)
    arguments = [one for one in resources if one.kind == "argument"]
    return _MODULE.format(
        arch=recording.architecture,
        executables="\n".join(executables),
        entry=ENTRY,
        arguments=", ".join(f"%{one.name}_view: !hal.buffer_view" for one in arguments),
        returned=", ".join(["!hal.buffer_view"] * len(recording.results)),
        body="\n    ".join(_Body(recording, resources).lines()),
    )


def constant_bytes(buffers: Sequence[Buffer]) -> bytes:
    """Returns the constants among a recording's buffers, in the layout of the last argument."""
    data = bytearray()
    for buffer in buffers:
        if buffer.read is not None:
            data += bytes(-len(data) % _ALIGNMENT)
            data += bytes(buffer.read())
    return bytes(data)


def _executable(recording: Recording, number: int, path: Path) -> str:
    names = [name for index, name in recording.kernels if index == number]
    launches = {one.kernel: one for one in recording.commands if isinstance(one, Launch)}
    exports = [
        _export(name, ordinal, launches[recording.kernels.index((number, name))])
        for ordinal, name in enumerate(names)
    ]
    return _EXECUTABLE.format(number=number, path=json.dumps(str(path)), exports="\n".join(exports))


def _export(name: str, ordinal: int, launch: Launch) -> str:
    return _EXPORT.format(
        name=name,
        ordinal=ordinal,
        constants=len(_words(launch)),
        bindings=", ".join(
            ["#hal.pipeline.binding<storage_buffer, Indirect>"] * len(launch.pointers)
        ),
        block=", ".join(f"{extent} : index" for extent in launch.block),
        shared=launch.shared_bytes,
    )


def _words(launch: Launch) -> list[int]:
    """Returns the constants of a launch, which follow the pointers in IREE's kernels."""
    rest = launch.kernarg[8 * len(launch.pointers) :]
    return [int.from_bytes(rest[at : at + 4], "little") for at in range(0, len(rest), 4)]


@dataclass
class _Resource:
    """Memory of the program: `argument`, `result` or `scratch`, which holds several buffers."""

    name: str
    kind: str
    nbytes: int
    starts: dict[int, int]  # start of each buffer, by its index

    @property
    def type(self) -> str:
        lifetime = "transient" if self.kind == "scratch" else "external"
        return f"!stream.resource<{lifetime}>"


def _resources(recording: Recording) -> list[_Resource]:
    boundary = [("argument", one.nbytes) for one in recording.inputs]
    boundary += [("result", one.nbytes) for one in recording.results]
    found = [
        _Resource(f"{kind}_{number}", kind, nbytes, {number: 0})
        for number, (kind, nbytes) in enumerate(boundary)
    ]
    constants = _Resource("constants", "argument", 0, {})
    for number, buffer in enumerate(recording.buffers, start=len(boundary)):
        if buffer.read is None:
            found.append(_Resource(f"scratch_{number}", "scratch", buffer.nbytes, {number: 0}))
            continue
        start = -(-constants.nbytes // _ALIGNMENT) * _ALIGNMENT
        constants.starts[number] = start
        constants.nbytes = start + buffer.nbytes
    return [*found, constants] if constants.nbytes else found


@dataclass
class _Body:
    """The function's lines: imports, allocations, the commands, exports."""

    recording: Recording
    resources: list[_Resource]
    constants: dict[str, str] = field(default_factory=dict[str, str])

    def lines(self) -> list[str]:
        commands = [f"  {self._command(one)}" for one in self.recording.commands]
        held = ", ".join(
            f"%{one.name} as %{one.name}_in: {one.type}{{{self._index(one.nbytes)}}}"
            for one in self.resources
        )
        lines = [
            *map(self._made, self.resources),
            f"%ready = stream.timepoint.join max({self._timepoints()}) => !stream.timepoint",
            f"%run = stream.cmd.execute {_ON} await(%ready) => with({held}) {{",
            *commands,
            "} => !stream.timepoint",
            *self._ending(),
        ]
        return [*self.constants.values(), *lines]

    def _made(self, one: _Resource) -> str:
        size = self._index(one.nbytes)
        if one.kind == "argument":
            return (
                f"%{one.name} = stream.tensor.import {_ON} %{one.name}_view : !hal.buffer_view -> "
                f"tensor<{one.nbytes}xi8> in {one.type}{{{size}}}"
            )
        return (
            f"%{one.name}, %{one.name}_ready = stream.resource.alloca uninitialized {_ON} : "
            f"{one.type}{{{size}}} => !stream.timepoint"
        )

    def _timepoints(self) -> str:
        return ", ".join(f"%{one.name}_ready" for one in self.resources if one.kind != "argument")

    def _ending(self) -> list[str]:
        results = [one for one in self.resources if one.kind == "result"]
        lines: list[str] = []
        freed = "%run"
        for one in self.resources:
            if one.kind == "scratch":
                size = self._index(one.nbytes)
                lines.append(
                    f"%{one.name}_freed = stream.resource.dealloca {_ON} await({freed}) => "
                    f"%{one.name} : {one.type}{{{size}}} => !stream.timepoint"
                )
                freed = f"%{one.name}_freed"
        sizes = [f"{one.type}{{{self._index(one.nbytes)}}}" for one in results]
        names = ", ".join(f"%{one.name}" for one in results)
        lines.append(
            f"%done:{len(results)} = stream.timepoint.await {freed} => {names} : {', '.join(sizes)}"
        )
        for number, one in enumerate(results):
            lines.append(
                f"%view_{number} = stream.tensor.export {_ON} %done#{number} : "
                f"tensor<{one.nbytes}xi8> in {sizes[number]} -> !hal.buffer_view"
            )
        views = ", ".join(f"%view_{number}" for number in range(len(results)))
        types = ", ".join(["!hal.buffer_view"] * len(results))
        return [*lines, f"util.return {views} : {types}"]

    def _command(self, command: Command) -> str:
        match command:
            case Launch():
                return self._dispatch(command)
            case Fill():
                bits = 8 * len(command.pattern)
                value = self._integer(int.from_bytes(command.pattern, "little"), f"i{bits}")
                place, kind = self._range(command.target, command.nbytes)
                return f"stream.cmd.fill {value}, {place} : i{bits} -> {kind}"
            case Copy():
                source, source_kind = self._place(command.source)
                target, target_kind = self._place(command.target)
                length = self._index(command.nbytes)
                return (
                    f"stream.cmd.copy {source}, {target}, {length} : {source_kind} -> {target_kind}"
                )
            case _:
                raise ValueError("expected a program of kernels")

    def _dispatch(self, launch: Launch) -> str:
        number, name = self.recording.kernels[launch.kernel]
        grid = ", ".join(map(self._index, launch.grid))
        words = [self._integer(word, "i32") for word in _words(launch)]
        operands = f"({', '.join(words)} : {', '.join(['i32'] * len(words))})" if words else ""
        bindings = [self._binding(pointer) for _, pointer in launch.pointers]
        return (
            f"stream.cmd.dispatch @object_{number}::@variant::@{name}[{grid}]{operands} "
            f"{{ {', '.join(bindings)} }}"
        )

    def _binding(self, pointer: Pointer) -> str:
        """Writes the binding of a pointer; recordings lack the range that a kernel accesses."""
        resource = self._resource(pointer)
        rest = resource.nbytes - resource.starts[pointer.buffer] - pointer.offset
        place, kind = self._range(pointer, rest)
        return f"rw {place} : {kind}"

    def _range(self, pointer: Pointer, nbytes: int) -> tuple[str, str]:
        place, kind = self._place(pointer)
        return f"{place[:-1]} for {self._index(nbytes)}]", kind

    def _place(self, pointer: Pointer) -> tuple[str, str]:
        resource = self._resource(pointer)
        start = self._index(resource.starts[pointer.buffer] + pointer.offset)
        size = self._index(resource.nbytes)
        return f"%{resource.name}_in[{start}]", f"{resource.type}{{{size}}}"

    def _resource(self, pointer: Pointer) -> _Resource:
        return next(one for one in self.resources if pointer.buffer in one.starts)

    def _index(self, value: int) -> str:
        return self._integer(value, "index")

    def _integer(self, value: int, kind: str) -> str:
        name = f"%{kind}_{value}"
        self.constants[name] = f"{name} = arith.constant {value} : {kind}"
        return name
