"""Constants of a host program that lie in a parameter file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError
from hipgraft.parameters import ParameterFile
from hipgraft.runtime.borders import Array
from hipgraft.runtime.dtypes import numpy_dtype
from hipgraft.runtime.entry import find_functions, select_function
from hipgraft.runtime.host_form import PARAMETERS, constants_of


class _NoFile:
    def read(self, name: str, nbytes: int) -> memoryview:
        raise HipgraftError(f"no parameter file for '{name}'")


def parameters_of(
    module: ir.Module, function: ir.Operation, directory: str | Path = ""
) -> tuple[list[str], ParameterFile | _NoFile]:
    """Returns which arguments of a function are in the module's parameter file, and the file.

    They are those before the results. Without a file, the caller passes all arguments.

    Args:
        module: of the function.
        function: a host function.
        directory: of the module's own file.

    Raises:
        HipgraftError: the file cannot be read.
    """
    names = constants_of(function)
    if not names or PARAMETERS not in module.operation.attributes:
        return [], _NoFile()
    file = ir.StringAttr(module.operation.attributes[PARAMETERS]).value
    return names, ParameterFile(Path(directory) / file)


def parameter_arrays(
    module: ir.Module,
    architecture: str,
    directory: str | Path = "",
    shapes: Sequence[tuple[int, ...]] = (),
) -> list[Array]:
    """Returns the constants of a parameter file as arrays, to be passed behind the inputs.

    Args:
        module: a host program.
        architecture: of the device.
        directory: of the module's own file.
        shapes: of the inputs, which select among variants.

    Raises:
        HipgraftError: the file cannot be read, or lacks one.
    """
    function = select_function(find_functions(module, architecture), shapes)
    names, file = parameters_of(module, function, directory)
    arguments = list(function.regions[0].blocks[0].arguments)
    results = ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    first = len(arguments) - results - len(names)
    arrays: list[Array] = []
    for name, argument in zip(names, arguments[first:], strict=False):
        memref = ir.MemRefType(argument.type)
        dtype = numpy_dtype(memref.element_type)
        data = file.read(name, dtype.itemsize * int(np.prod(memref.shape)))
        arrays.append(np.frombuffer(data, dtype).reshape(memref.shape))
    return arrays
