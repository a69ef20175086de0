"""Compiles a kernel function for rocMLIR's modules.

The prototype passed the whole function to IREE, which divided it into kernels. This module does the
same for functions with one convolution or matrix product, which become a single kernel if possible.
It compiles functions with several of them as separate hipDNN graphs, because IREE fuses them slowly
or wrongly. If the first way fails, this module tries the second.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from hipgraft.codegen.canonical import container_key, container_text
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects import hipdnn
from hipgraft.integrations.rocmlir.arch import Architecture
from hipgraft.integrations.rocmlir.export import Exported
from hipgraft.integrations.rocmlir.external import compile_externally
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.integrations.rocmlir.stitching import stitch
from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.base import PassState
from hipgraft.passmanager.registry import make_pass
from hipgraft.passmanager.runner import Runner
from hipgraft.service import (
    Request,
    current_service,
    default_service,
    is_service_used,
    use_service,
)
from hipgraft.transforms.migraphx_to_hipdnn import CONVERSIONS, KEPT, Converter, build_function
from hipgraft.transforms.outlining import BodyBuilder

_CONTRACTIONS = {
    "migraphx.attention": 2,
    "migraphx.backwards_data_convolution": 1,
    "migraphx.convolution": 1,
    "migraphx.dot": 1,
    "migraphx.quant_convolution": 1,
    "migraphx.quant_dot": 1,
}


@contextmanager
def isolated() -> Generator[None, None, None]:
    """Compiles in other processes, so that a compiler crash is reported as an ordinary failure."""
    if is_service_used():
        yield
        return
    with default_service() as service, use_service(service):
        yield


def compile_function(
    function: ir.Operation, architecture: Architecture, settings: Settings, state: PassState
) -> Exported:
    """Compiles one function on shaped values, which stays unchanged.

    Raises:
        HipgraftError: an op cannot be converted, the architecture is unknown, or the compiler
            fails.
    """
    target = Target.parse(architecture.chip)
    if target.kind is not TargetKind.AMDGPU:
        raise HipgraftError(f"expected an AMDGPU architecture, found '{architecture.chip}'")
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    compilation = _Compilation(function, target, architecture, settings, state)
    return Exported(compilation.name, compilation.run(), len(kind.inputs), len(kind.results))


class _Compilation:
    """One function for one target."""

    def __init__(
        self,
        function: ir.Operation,
        target: Target,
        architecture: Architecture,
        settings: Settings,
        state: PassState,
    ):
        self.name = symbol_of(function)
        self._function = function
        self._target = target
        features = architecture.features
        extra = (f"--iree-rocm-target-features={features}",) if features else ()
        self._extra_flags = (*extra, *settings.flags)
        # Sessions in this process support few of the command line's flags.
        self._is_external = settings.bin is not None or bool(settings.flags)
        self._settings = settings
        self._state = state

    def run(self) -> Kernel:
        """Compiles the function in one of the two ways.

        Raises:
            HipgraftError: both ways fail.
        """
        if self._is_external:
            return self._whole()
        block = self._function.regions[0].blocks[0]
        if sum(_CONTRACTIONS.get(op.operation.name, 0) for op in block.operations) > 1:
            return self._by_graphs()
        try:
            return self._whole()
        except CodegenError as error:
            self._state.missed(self._function, "not-whole", f"is cut into graphs: {error.message}")
            return self._by_graphs()

    def _scratch(self) -> tuple[ir.Module, func_d.FuncOp]:
        """Returns a module that contains only the converted function."""
        scratch = ir.Module.create(self._function.location)
        with ir.InsertionPoint(scratch.body):
            copy = self._function.clone().operation
            converter = Converter(CONVERSIONS, KEPT, self._state)
            made = build_function(copy, converter, flat=True)
            copy.erase()
        for error in hipdnn.verify(scratch):
            raise error
        return scratch, made

    def _by_graphs(self) -> Kernel:
        scratch, _ = self._scratch()
        compile_pass = make_pass(
            "hipdnn-compile", target=(self._target.name,), extra_flags=self._extra_flags
        )
        pipeline = (
            "hipdnn-outline",
            "hipdnn-outline-fallback",
            "hipdnn-deduplicate",
            compile_pass,
            "hipdnn-bufferize",
        )
        Runner(keep_reproducer=False).run(scratch, pipeline)
        return stitch(scratch, self.name)

    def _whole(self) -> Kernel:
        scratch, made = self._scratch()
        container = _container(made).operation
        flags = (*self._target.default_flags, *self._extra_flags)

        def lower() -> str:
            return lower_container(container, self._target)

        if self._is_external:
            return compile_externally(lower(), self._target, flags, self._settings)
        key = container_key(container)
        request = Request(self.name, container_text(container), key, self._target, flags, lower)
        (outcome,) = current_service().compile([request])
        if outcome.kernel is None:
            raise CodegenError("no message" if outcome.error is None else outcome.error.message)
        del scratch
        return outcome.kernel


def _container(function: func_d.FuncOp) -> hipdnn.FallbackOp:
    """Returns the whole body of a function as one container, which is only lowered."""
    entry = function.entry_block
    *body, terminator = [op.operation for op in entry.operations]
    with ir.InsertionPoint.at_block_begin(entry):
        container = hipdnn.fallback(
            list(entry.arguments),
            [value.type for value in terminator.operands],
            loc=function.location,
        )
    builder = BodyBuilder(container.body, list(entry.arguments))
    for op in body:
        builder.copy(op, [result.type for result in op.results])
    builder.finish([builder.value(value) for value in terminator.operands], terminator.location)
    return container
