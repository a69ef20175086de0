"""What a host program runs on: the device protocol, and how devices are named and opened."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hipgraft.diagnostics import HipgraftError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from hipgraft.runtime.cpu import TypedMemory


@runtime_checkable
class Device(Protocol):
    """A device that runs code objects. Addresses are integers, sizes are in bytes.

    Operations run in the order of the calls; `synchronize` waits for all of them.
    """

    architecture: str

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes."""
        ...

    def free(self, address: int) -> None:
        """Frees what `allocate` returned."""
        ...

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies host memory to `address`."""
        ...

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        ...

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        ...

    def load_code_object(self, data: bytes) -> Any:
        """Loads an executable for this device and returns a handle."""
        ...

    def get_kernel(self, code_object: Any, name: str) -> Any:
        """Returns a handle of a kernel of a loaded code object."""
        ...

    def launch(
        self,
        kernel: Any,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Launches `grid` workgroups of `block` work items with a packed argument segment."""
        ...

    def synchronize(self) -> None:
        """Waits for everything launched."""
        ...

    def close(self) -> None:
        """Releases the device."""
        ...


@runtime_checkable
class GraphDevice(Protocol):
    """A device that runs whole compiled graphs instead of code objects."""

    def load_module(self, data: bytes) -> Any:
        """Loads a compiled module and returns a handle of its `main`."""
        ...

    def call(
        self, module: Any, inputs: Sequence[TypedMemory], outputs: Sequence[TypedMemory]
    ) -> None:
        """Calls `main` on packed tensors in device memory."""
        ...


def open_device(spec: str) -> Any:
    """Opens a device by name.

    Args:
        spec: `cpu`, `path/to/file.py:factory` or `package.module:factory`; the factory takes no
            arguments and returns a `Device`.

    Raises:
        HipgraftError: there is no such device, or it cannot be opened.
    """
    if spec == "cpu":
        from hipgraft.runtime.cpu import CpuDevice

        return CpuDevice()
    factory = _factory(spec)
    device = factory()
    if not isinstance(device, Device):
        missing = sorted(name for name in _protocol_names() if not hasattr(device, name))
        raise HipgraftError(f"device '{spec}' is no device: it lacks {', '.join(missing)}")
    return device


def _factory(spec: str) -> Callable[[], Any]:
    where, separator, name = spec.rpartition(":")
    if not separator or not where or not name:
        raise HipgraftError(
            f"unknown device '{spec}'; expected 'cpu', 'path/to/file.py:factory' or "
            "'package.module:factory'"
        )
    module = _load_file(Path(where)) if where.endswith(".py") else _import(where)
    factory = getattr(module, name, None)
    if not callable(factory):
        raise HipgraftError(f"device '{spec}': '{where}' has no function '{name}'")
    return factory


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise HipgraftError(f"device file '{path}' does not exist")
    name = f"_hipgraft_device_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise HipgraftError(f"device file '{path}' cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise HipgraftError(f"device module '{name}' cannot be imported: {error}") from error


def _protocol_names() -> set[str]:
    methods = {name for name in vars(Device) if not name.startswith("_")}
    return methods | set(Device.__annotations__)
