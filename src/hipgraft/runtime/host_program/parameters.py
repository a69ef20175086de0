"""Reads constants of a host program from its parameter file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, OpError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.entry_points import find_functions, select_function
from hipgraft.runtime.boundary import Array
from hipgraft.runtime.host_program.form import PARAMETERS, PARAMETERS_DIGEST, constants_of
from hipgraft.runtime.parameter_files import ParameterFile


class _NoFile:
    def read(self, name: str, nbytes: int) -> memoryview:
        raise HipgraftError(f"no parameter file for '{name}'")


def parameters_of(
    module: ir.Module, function: ir.Operation, directory: str | Path = ""
) -> tuple[list[str], ParameterFile | _NoFile]:
    """Returns the arguments of a function that the module's parameter file holds, and the file.

    These arguments precede the results. Without a file, the caller passes all arguments.

    Args:
        module: module of the function.
        function: a host function.
        directory: directory of the module's own file.

    Raises:
        HipgraftError: the file cannot be read, is not beside the program, or is not the file that
            was written with the program.
    """
    names = constants_of(function)
    if not names or PARAMETERS not in module.operation.attributes:
        return [], _NoFile()
    file = _text(module, PARAMETERS)
    # A program must not make this user read files in other folders.
    if Path(file).name != file:
        message = (
            f"expected the name of a file beside the program as '{PARAMETERS}', found {file!r}"
        )
        raise OpError(message, module.operation)
    return names, ParameterFile(Path(directory) / file, _text(module, PARAMETERS_DIGEST))


def _text(module: ir.Module, name: str) -> str:
    attributes = module.operation.attributes
    if name not in attributes:
        return ""
    if not isinstance(attributes[name], ir.StringAttr):
        raise OpError(f"expected a text as '{name}'", module.operation)
    return ir.StringAttr(attributes[name]).value


def parameter_arrays(
    module: ir.Module,
    architecture: str,
    directory: str | Path = "",
    shapes: Sequence[tuple[int, ...]] = (),
) -> list[Array]:
    """Returns the constants of a parameter file as arrays, to be passed after the inputs.

    Args:
        module: a host program.
        architecture: architecture of the device.
        directory: directory of the module's own file.
        shapes: shapes of the inputs, which select among variants.

    Raises:
        HipgraftError: the file cannot be read, or lacks a constant.
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
