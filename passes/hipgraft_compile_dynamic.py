"""hipgraft-compile-dynamic: compiles functions with dynamic shapes to host programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar

from hipgraft.codegen.provider import SaveTemps
from hipgraft.codegen.target import FUSE_MULTI_USE, Target
from hipgraft.codegen.workarounds.dynamic_padding import dynamic_flags
from hipgraft.ir.bindings import asm, ir
from hipgraft.ir.diagnostics import CodegenError, PassFailure
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.service.job import Outcome
from hipgraft.service.keys import digest
from hipgraft.service.request import Request
from hipgraft.service.service import current_service
from hipgraft.transforms.dynamic_programs import DynamicProgram
from hipgraft.transforms.global_constants import GlobalConstants
from hipgraft.transforms.grafting import suffixes
from hipgraft.transforms.torch_legalization.attention import write_out_attention
from hipgraft.transforms.torch_to_hipdnn.constants import literal_attribute
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type

_LITERAL = "torch.vtensor.literal"
_KEEP_ASSERTIONS = "--iree-opt-strip-assertions=false"
_LESS_FUSION = (f"{FUSE_MULTI_USE}=false",)
_NUMBERS = ("!torch.bool", "!torch.int", "!torch.list<int>")
_ELEMENTS = ("torch.aten.Int.Tensor", "torch.aten.item")
_MEASURED = ("torch.aten.arange.start_step", "torch.aten.slice.Tensor")
_SELECTIONS = ("torch.aten.masked_select", "torch.aten.nonzero")
_OTHER_WAY = "compile it for given extents by --specialize"


def _is_dynamic(function: ir.Operation) -> bool:
    """Whether `function` takes or returns torch tensors of dynamic shapes."""
    if function.name != "func.func" or not function.regions[0].blocks:
        return False
    text = str(function.attributes["function_type"])
    return "!torch." in text and "?" in text


def _simpler_ways(function: ir.Operation) -> Iterator[tuple[str, str]]:
    """Yields alternative compiler inputs that may work if the first one does not."""
    yield "with less fusion", _compiler_input(function)
    copy = function.clone(ip=False).operation
    if write_out_attention(copy):
        yield "with attention written out", _compiler_input(copy)


def _blame_values(function: ir.Operation) -> None:
    """Raises an error at the first op whose result shape depends on values of tensors."""
    for op in [op.operation for op in function.regions[0].blocks[0].operations]:
        extents = [one for one in op.operands if op.name in _MEASURED or _is_list(one)]
        if op.name in _SELECTIONS or any(map(_is_value, extents)):
            message = f"'{op.name}' op has a result whose shape depends on values of tensors"
            raise PassFailure(message, op)


def _is_list(value: ir.Value) -> bool:
    return str(value.type) == "!torch.list<int>"


def _is_value(value: ir.Value) -> bool:
    """Whether an integer, or one in a list, is computed from an element of a tensor."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not str(value.type).startswith(_NUMBERS):
        return False
    return owner.name in _ELEMENTS or any(map(_is_value, owner.operands))


def _hoist_constants(function: ir.Operation) -> list[ir.Attribute]:
    """Converts literals of several numbers to arguments after the others; returns their values."""
    block = function.regions[0].blocks[0]
    values: list[ir.Attribute] = []
    for op in [op.operation for op in block.operations if op.operation.name == _LITERAL]:
        value = literal_attribute(op, builtin_tensor_type(op.result.type))
        if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            continue
        values.append(value)
        op.result.replace_all_uses_with(block.add_argument(op.result.type, op.location))
        op.erase()
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    types = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, kind.results))
    return values


def _compiler_input(function: ir.Operation) -> str:
    copy = function.clone(ip=False).operation
    copy.attributes["sym_name"] = ir.StringAttr.get("main")
    return f"module {{\n{asm(copy)}\n}}\n"


@dataclass(frozen=True)
class HipgraftCompileDynamicPass(Pass):
    """Compiles functions that have dynamic shapes, each as a whole, into host programs.

    hipDNN's graphs have static shapes, so there are none here: IREE forms the kernels. IREE leaves
    workgroup counts, memory sizes and the constants that kernels take to the host, which computes
    them from the extents of the arguments. Where extents meet in an op that must be equal and are
    not known to be, the host asserts it. For `cpu` the function calls a module that runs as a
    whole. Kernels come from the cache or the workers of the current `hipgraft.service`. A function
    that does not compile is compiled again with less fusion, and then with attention decomposed; a
    missed remark says so.

    Before:
        ```mlir
        func.func @main(%x: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,8],f32> {
          %y = torch.aten.relu %x : !torch.vtensor<[?,8],f32> -> !torch.vtensor<[?,8],f32>
          return %y : !torch.vtensor<[?,8],f32>
        }
        ```

    After:
        ```mlir
        gpu.binary @main_kernels [#gpu.object<#rocdl.target<chip = "gfx942">, ...>]
        func.func private @main_extents(%x: memref<?x8xf32>) -> (index, index)
        func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>)
            attributes {hipgraft.extents = "main_extents", hipgraft.results = 1 : i64,
                        hipgraft.targets = ["gfx942"]} {
          %n = memref.dim %x, %c0 : memref<?x8xf32>
          %word = arith.index_castui %n : index to i32
          %t0 = gpu.wait async
          %grid = affine.min affine_map<()[s0] -> (s0 ceildiv 8, 2147483647)>()[%n]
          %t1 = gpu.launch_func async [%t0] @main_kernels::@kernel blocks in (%grid, %c1, %c1)
              threads in (%c64, %c1, %c1)
              args(%x : memref<?x8xf32>, %y : memref<?x8xf32>, %word : i32)
          gpu.wait [%t1]
          func.return
        }
        ```

    Requires:
        Torch functions in torch-mlir's backend form.

    Ensures:
        Functions of static shapes do not change. A dynamic one becomes a function of stage
        `host` for each target, or of `hipdnn-buffers` for `cpu`; `hipgraft.extents` names the
        function that returns the extents of its results. Intermediates are in one allocation,
        laid out by IREE.

    Errors:
        An op has a result whose shape depends on values of tensors, at the op. A function does not
        compile, or its schedule needs more than launches, copies and fills,
        at the function.

    Source:
        own
    """

    name: ClassVar[str] = "hipgraft-compile-dynamic"

    target: tuple[str, ...] = option(MISSING, "architectures to compile for: gfx942, cpu, ...")
    extra_flags: tuple[str, ...] = option((), "compiler flags after each target's own")
    save_temps: str = option("", "directory for compiler inputs, schedules and code objects")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Compiles the functions with dynamic shapes."""
        functions = [op.operation for op in module.body.operations]
        constants = GlobalConstants(module.operation)
        for function in [op for op in functions if _is_dynamic(op)]:
            try:
                self._compile(function, constants, state)
            except CodegenError as error:
                _blame_values(function)
                name = symbol_of(function)
                raise PassFailure(
                    f"'func.func' op '@{name}' has dynamic shapes and does not compile: "
                    f"{error.message}",
                    function,
                    notes=(*error.notes, _OTHER_WAY),
                ) from None
            function.erase()
            state.count("functions-compiled")

    def _compile(
        self, function: ir.Operation, constants: GlobalConstants, state: PassState
    ) -> None:
        targets = [Target.parse(name) for name in self.target]
        values = _hoist_constants(function)
        names = [constants.name(one, function, function.location) for one in values]
        name = symbol_of(function)
        outcomes = self._outcomes(function, name, targets, state)
        endings = suffixes([[one.name] for one in targets])
        for target, suffix, outcome in zip(targets, endings, outcomes, strict=True):
            if outcome.kernel is None:
                raise outcome.error or CodegenError(f"the compiler said nothing for {target.name}")
            DynamicProgram(function, name + suffix, names).write(outcome.kernel)
            launches = len(outcome.kernel.dispatches)
            message = f"'{name}' for {target.name}, launches: {launches}"
            attributes = {"target": target.name, "launches": launches}
            state.passed(function, "compiled", message, **attributes)

    def _outcomes(
        self, function: ir.Operation, name: str, targets: Sequence[Target], state: PassState
    ) -> list[Outcome]:
        """Compiles for all targets together; retries failed functions in simpler ways."""
        outcomes = self._compiled(name, _compiler_input(function), targets, ())
        for way, text in _simpler_ways(function):
            for position, target in enumerate(targets):
                error = outcomes[position].error
                if error is None:
                    continue
                reason = f"does not compile for {target.name}: {error.message}"
                state.missed(function, "not-compiled", f"'{name}' {reason}; again {way}")
                (outcomes[position],) = self._compiled(name, text, [target], _LESS_FUSION)
        return outcomes

    def _compiled(
        self, name: str, text: str, targets: Sequence[Target], flags: tuple[str, ...]
    ) -> list[Outcome]:
        fixed = (_KEEP_ASSERTIONS, *dynamic_flags())
        requests = [
            Request(
                name,
                text,
                digest(text),
                target,
                (*target.default_flags, *fixed, *flags, *self.extra_flags),
                lambda: text,
            )
            for target in targets
        ]
        outcomes = current_service().compile(requests)
        for target, outcome in zip(targets, outcomes, strict=True):
            if self.save_temps:
                temps = SaveTemps(Path(self.save_temps), f"{name}.{target.name}")
                temps.write_all(outcome.artifacts)
        return outcomes
