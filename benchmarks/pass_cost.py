"""Measures the passes' cost: µs per op of conversion and outlining, and their compile-time share.

    python benchmarks/pass_cost.py [--ops 1000 10000 100000] [--model MODEL.onnx] [--target gfx942]

The synthetic program is a residual network: per block a matrix product, a bias, a GELU, a
residual sum and a layer norm, so that every kind of grouping decision is taken.
"""

from __future__ import annotations

import argparse
import time

from hipgraft import frontends
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.passmanager.registry import pass_class
from hipgraft.passmanager.runner import Runner

_TYPE = "!torch.vtensor<[8,16],f32>"
_BLOCK = """
    %p{i} = torch.aten.mm %x{i}, %w : {T}, !torch.vtensor<[16,16],f32> -> {T}
    %a{i} = torch.aten.add.Tensor %p{i}, %b, %one : {T}, !torch.vtensor<[16],f32>, !torch.int -> {T}
    %g{i} = torch.aten.gelu %a{i}, %approximate : {T}, !torch.str -> {T}
    %s{i} = torch.aten.add.Tensor %g{i}, %x{i}, %one : {T}, {T}, !torch.int -> {T}
    %x{j}, %m{i}, %r{i} = torch.aten.native_layer_norm %s{i}, %shape, %b, %b, %eps : {T}, \
!torch.list<int>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>, !torch.float -> {T}, \
!torch.vtensor<[8,1],f32>, !torch.vtensor<[8,1],f32>"""
_OPS_PER_BLOCK = 5


def program(ops: int) -> str:
    """Returns a torch function of about `ops` compute ops."""
    blocks = max(1, ops // _OPS_PER_BLOCK)
    body = "".join(_BLOCK.format(i=i, j=i + 1, T=_TYPE) for i in range(blocks))
    return f"""func.func @main(%x0: {_TYPE}, %w: !torch.vtensor<[16,16],f32>, \
%b: !torch.vtensor<[16],f32>) -> {_TYPE} {{
    %one = torch.constant.int 1
    %sixteen = torch.constant.int 16
    %eps = torch.constant.float 1.0e-05
    %approximate = torch.constant.str "none"
    %shape = torch.prim.ListConstruct %sixteen : (!torch.int) -> !torch.list<int>{body}
    return %x{blocks} : {_TYPE}
}}"""


def timed(module: ir.Module, one: Pass) -> float:
    """Returns the seconds that a pass takes on a module, without verification."""
    start = time.perf_counter()
    one.run(module, PassState(one.name))
    return time.perf_counter() - start


def print_scaling(sizes: list[int]) -> None:
    print(f"{'ops':>8}  {'convert µs/op':>14}  {'outline µs/op':>14}  {'verify µs/op':>13}")
    for size in sizes:
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(program(size))
            convert = timed(module, pass_class("convert-torch-to-hipdnn")())
            outline = timed(module, pass_class("hipdnn-outline")())
            verify = timed(module, _Verify())
        figures = "  ".join(
            f"{seconds / size * 1e6:{width}.1f}"
            for seconds, width in ((convert, 14), (outline, 14), (verify, 13))
        )
        print(f"{size:>8}  {figures}")


class _Verify(Pass):
    name = "verify"

    def run(self, module: ir.Module, state: PassState) -> None:
        from hipgraft.dialects import hipdnn

        assert module.operation.verify()
        assert not hipdnn.verify(module)


def print_share(model: str, target: str) -> None:
    """Prints the passes' share of a cold compile of `model`."""
    context = make_context()
    with context, ir.Location.unknown():
        start = time.perf_counter()
        module = frontends.load(model, context)
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        result = Runner().run(
            module,
            "builtin.module(convert-torch-to-hipdnn,hipdnn-outline,hipdnn-outline-fallback,"
            f"hipdnn-deduplicate,hipdnn-compile{{target={target}}},hipdnn-bufferize,hipdnn-merge,"
            "hipdnn-plan-memory)",
        )
        total = time.perf_counter() - start
    codegen = sum(record.seconds for record in result.records if record.name == "hipdnn-compile")
    ours = total - codegen
    launches = str(module).count(" gpu.launch_func ")
    print(f"{model} for {target}: {launches} launches")
    print(
        f"frontend {loaded:.2f} s, code generation {codegen:.2f} s, all other passes {ours:.2f} s"
    )
    print(f"share of the passes in a cold compile: {100 * ours / (loaded + total):.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, nargs="*", default=[1000, 10000, 100000])
    parser.add_argument("--model")
    parser.add_argument("--target", default="gfx942")
    arguments = parser.parse_args()
    print_scaling(arguments.ops)
    if arguments.model:
        print_share(arguments.model, arguments.target)


if __name__ == "__main__":
    main()
