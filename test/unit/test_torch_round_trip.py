"""hipDNN ops as torch ops and as hipDNN ops again, run on the CPU, against the oracles.

A few cases of the lowering of each kind; what hipDNN has no op for stays torch op in a fallback.
"""

from __future__ import annotations

import pytest
import test_hipdnn_to_torch as forms
from lowering_cases import Case, build_graph
from programs import run_passes

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import func_d, ir, make_context
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime import run_module
from hipgraft.runtime.devices import open_device

pytestmark = pytest.mark.slow

PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)

# By case, the torch ops that hipDNN cannot express.
CASES: dict[str, set[str]] = {
    "attention-statistics_f32": set(),
    "attention-backward_shared_f32": set(),
    "block_scale-dequantize_i8_f32_f32": set(),
    "contractions-conv_2d_depthwise_f32": set(),
    "contractions-dgrad_2d_strided_f32": {"constant_pad_nd"},
    "gradients-bn_gradient_f32": set(),
    "gradients-ln_gradient_f32": set(),
    "gradients-rms_channel_gradient_f32": set(),
    "pointwise-elu_bwd_f32": set(),
    "pointwise-logical_and_f32": {"logical_and"},
    "reductions-norm2_2_f32": set(),
    "reductions-batchnorm_training_4d_f32": set(),
    "resample-BILINEAR_ZERO_PAD_flat_f32": {"constant_pad_nd"},
}


def function_of(case: Case) -> ir.Module:
    """The ops of a case's graph in a function of their own."""
    _module, graph = build_graph(case)
    made = ir.Module.create()
    kinds = [[value.type for value in values] for values in (graph.inputs, graph.outputs)]
    with ir.InsertionPoint(made.body):
        block = func_d.FuncOp("main", ir.FunctionType.get(*kinds)).add_entry_block()
    for old, new in zip(graph.body.arguments, block.arguments, strict=True):
        old.replace_all_uses_with(new)
    *computing, last = [op.operation for op in graph.body.operations]
    for op in computing:
        block.append(op)
    with ir.InsertionPoint(block):
        func_d.ReturnOp(list(last.operands))
    last.erase()
    return made


def at_the_border(module: ir.Module) -> None:
    """Gives a function of torch ops torch tensors for arguments and results: stage `torch`."""
    function = module.body.operations[0].operation
    (block,) = function.regions[0].blocks
    for argument in block.arguments:
        casts = [use.owner.operation for use in argument.uses]
        assert {cast.name for cast in casts} == {"torch_c.from_builtin_tensor"}
        argument.set_type(casts[0].results[0].type)
        for cast in casts:
            cast.results[0].replace_all_uses_with(argument)
            cast.erase()
    *_, last = [op.operation for op in block.operations]
    for index, value in enumerate(list(last.operands)):
        cast = value.owner.operation
        assert cast.name == "torch_c.to_builtin_tensor"
        last.operands[index] = cast.operands[0]
        cast.erase()
    kinds = [[value.type for value in values] for values in (block.arguments, last.operands)]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", CASES)
def test_round_trip(name: str):
    case = forms.CASES[name]
    with make_context(), ir.Location.unknown():
        module = function_of(case)
        (to_torch,) = run_passes(module, "convert-hipdnn-to-torch")
        assert not to_torch.remarks
        at_the_border(module)
        assert not any(hipdnn.GraphOp.computes(op.operation.name) for op in body_of(module))
        (back,) = run_passes(module, "convert-torch-to-hipdnn")
        kept = {one.message.split("'")[1].removeprefix("torch.aten.") for one in back.remarks}
        assert kept == CASES[name]
        Runner(keep_reproducer=False).run(module, PIPELINE)
        case.check(run_module(module, list(case.inputs), open_device("cpu")))


def body_of(module: ir.Module) -> ir.Block:
    return module.body.operations[0].operation.regions[0].blocks[0]
