"""Manages device memory as numbered blocks that only grow."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.runtime.devices.protocols import Device


class Blocks:
    """Blocks of a device's memory.

    Attributes:
        addresses: address of each block; growing moves it.
    """

    def __init__(self, device: Device):
        self.addresses: list[int] = []
        self._device = device
        self._sizes: list[int] = []

    def fit(self, sizes: Sequence[int]) -> None:
        """Makes each block at least as large as the number of bytes at its index.

        Raises:
            HipgraftError: the device has no more memory; blocks that have not grown yet keep their
                size.
        """
        for number, nbytes in enumerate(sizes):
            # A device need not support empty allocations.
            if number == len(self.addresses):
                self.addresses.append(self._device.allocate(max(nbytes, 1)))
                self._sizes.append(max(nbytes, 1))
            elif nbytes > self._sizes[number]:
                address = self._device.allocate(nbytes)
                self._device.free(self.addresses[number])
                self.addresses[number], self._sizes[number] = address, nbytes

    def close(self) -> None:
        """Frees the blocks, last first."""
        while self.addresses:
            self._device.free(self.addresses.pop())
        self._sizes.clear()
