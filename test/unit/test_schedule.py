"""Reading schedules from IR in the form that IREE leaves after `executable-targets`."""

from __future__ import annotations

import pytest

from hipgraft.codegen.iree.constant_fills import fills
from hipgraft.codegen.iree.schedule import Schedule, read_schedule
from hipgraft.codegen.iree.static_values import StaticValues
from hipgraft.codegen.iree.step_rewrites import protect_operands, write_results_directly
from hipgraft.codegen.kernel import Binding, Copy, Dispatch, Fill, Step
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError

EXECUTABLE = """
#layout = #hal.pipeline.layout<constants = 2, bindings = [
  #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>
#target = #hal.executable.target<"rocm", "rocm-hsaco-fb">
hal.executable private @exe {
  hal.executable.variant public @rocm target(#target) {
    hal.executable.export public @kernel ordinal(0) layout(#layout)
        count(%device: !hal.device, %workload: index) -> (index, index, index) {
      %one = arith.constant 1 : index
      %x = affine.apply affine_map<()[s0] -> (s0 ceildiv 64)>()[%workload]
      hal.return %x, %one, %one : index, index, index
    } <workgroup_size = [64 : index, 2 : index, 1 : index], subgroup_size = 64>
  }
}
"""

PROLOGUE = """
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %in = stream.tensor.import %operand : !hal.buffer_view -> tensor<256xf32>
    in !stream.resource<external>{%c1024}
  %out = stream.tensor.import %result : !hal.buffer -> tensor<256xf32>
    in !stream.resource<external>{%c1024}
"""

EPILOGUE = """
  %ready = stream.timepoint.await %done => %out : !stream.resource<external>{%c1024}
  %exported = stream.tensor.export %ready : tensor<256xf32>
    in !stream.resource<external>{%c1024} -> !hal.buffer_view
  util.return %exported : !hal.buffer_view
"""

EXECUTE = """
  %done = stream.cmd.execute with(
      %in as %a: !stream.resource<external>{%c1024},
      %out as %b: !stream.resource<external>{%c1024}) {
"""


def module_text(body: str) -> str:
    return (
        EXECUTABLE
        + "util.func public @main(%operand: !hal.buffer_view, %result: !hal.buffer)"
        + f" -> !hal.buffer_view {{ {body} }}"
    )


def read(body: str) -> Schedule:
    with make_context():
        return read_schedule(ir.Module.parse(module_text(body)), 1, 1)


def test_commands_are_read_in_order_from_nested_regions() -> None:
    schedule = read(
        PROLOGUE
        + "%pattern = arith.constant -2 : i16"
        + EXECUTE
        + """
        stream.cmd.serial {
          stream.cmd.fill %pattern, %b[%c0 for %c64] : i16 -> !stream.resource<external>{%c1024}
          stream.cmd.concurrent {
            stream.cmd.copy %a[%c64], %b[%c256], %c64
              : !stream.resource<external>{%c1024} -> !stream.resource<external>{%c1024}
          }
        }
      } => !stream.timepoint
        """
        + EPILOGUE
    )
    assert schedule.steps == (Fill(1, 0, 64, 0xFFFE, 2), Copy(0, 64, 1, 256, 64))
    assert schedule.workspace_size == 0


def test_dispatch_with_workload_constants_and_offsets() -> None:
    schedule = read(
        PROLOGUE
        + "%seven = arith.constant 7 : i32  %n = arith.addi %c256, %c64 : index"
        + EXECUTE
        + """
        stream.cmd.dispatch @exe::@rocm::@kernel[%n](%seven, %seven : i32, i32) {
          ro %a[%c64 for %c256] : !stream.resource<external>{%c1024},
          rw %b[%c0 for %c1024] : !stream.resource<external>{%c1024}
        }
      } => !stream.timepoint
        """
        + EPILOGUE
    )
    assert schedule.steps == (
        Dispatch(
            object=0,
            kernel="kernel",
            grid=(5, 1, 1),
            block=(64, 2, 1),
            dynamic_shared_memory=0,
            bindings=(Binding(0, 64, 256, "read"), Binding(1, 0, 1024, "read_write")),
            constants=(7, 7),
        ),
    )
    assert schedule.subgroup_sizes == {"kernel": 64}


def test_transient_memory_and_several_executions() -> None:
    schedule = read(
        PROLOGUE
        + """
      %tmp, %allocated = stream.resource.alloca uninitialized
        : !stream.resource<transient>{%c256} => !stream.timepoint
      %part = stream.resource.subview %tmp[%c64]
        : !stream.resource<transient>{%c256} -> !stream.resource<transient>{%c64}
      %first = stream.cmd.execute await(%allocated) => with(
          %in as %a: !stream.resource<external>{%c1024},
          %part as %t: !stream.resource<transient>{%c64}) {
        stream.cmd.copy %a[%c0], %t[%c0], %c64
          : !stream.resource<external>{%c1024} -> !stream.resource<transient>{%c64}
      } => !stream.timepoint
      %done = stream.cmd.execute await(%first) => with(
          %tmp as %t: !stream.resource<transient>{%c256},
          %out as %b: !stream.resource<external>{%c1024}) {
        stream.cmd.dispatch @exe::@rocm::@kernel[%c64](%one, %one : i32, i32) {
          ro %t[%c0 for %c256] : !stream.resource<transient>{%c256},
          rw %b[%c0 for %c1024] : !stream.resource<external>{%c1024}
        }
      } => !stream.timepoint
        """.replace("%tmp, %alloc", "%one = arith.constant 1 : i32\n      %tmp, %alloc", 1)
        + EPILOGUE
    )
    copy, dispatch = schedule.steps
    assert copy == Copy(0, 0, 2, 64, 64)
    assert isinstance(dispatch, Dispatch)
    assert dispatch.bindings[0] == Binding(2, 0, 256, "read")
    assert schedule.workspace_size == 256


def test_result_in_other_memory_is_an_error() -> None:
    body = (
        PROLOGUE
        + """
      %exported = stream.tensor.export %in : tensor<256xf32>
        in !stream.resource<external>{%c1024} -> !hal.buffer_view
      util.return %exported : !hal.buffer_view
    """
    )
    with pytest.raises(CodegenError, match="result 0 is not written to the buffer"):
        read(body)


def test_unknown_operation_is_an_error() -> None:
    with pytest.raises(CodegenError, match=r"holds 'util\.null', which cannot be launched"):
        read("%0 = util.null : !hal.buffer_view  util.return %0 : !hal.buffer_view")


def test_control_flow_is_an_error() -> None:
    with pytest.raises(CodegenError, match="control flow"):
        read(
            "cf.br ^next\n^next:\n"
            "%0 = util.null : !hal.buffer_view util.return %0 : !hal.buffer_view"
        )


def test_size_that_is_not_static_is_an_error() -> None:
    body = PROLOGUE.replace(
        "%c64 = arith.constant 64 : index",
        "%c64 = hal.buffer_view.dim<%operand : !hal.buffer_view>[0] : index",
    )
    with pytest.raises(CodegenError, match=r"hal\.buffer_view\.dim"):
        read(body + EXECUTE + "} => !stream.timepoint" + EPILOGUE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("affine.apply affine_map<(d0)[s0] -> ((d0 * 3 + s0 mod 4) ceildiv 5)>(%x)[%y]", 61),
        ("affine.max affine_map<(d0) -> (d0 floordiv 2, 7)>(%x)", 50),
        ("affine.min affine_map<(d0, d1) -> (d0 - d1, 9)>(%x, %y)", 9),
        ("arith.ceildivui %x, %y : index", 15),
        ("arith.subi %y, %x : index", -93),
        ("arith.divsi %minus, %y : index", -1),
        ("arith.floordivsi %minus, %y : index", -2),
        ("arith.select %true, %x, %y : index", 100),
        ("util.align %x, %y : index", 105),
    ],
)
def test_static_values(text: str, expected: int) -> None:
    with make_context():
        module = ir.Module.parse(f"""
        util.func @f(%x: index, %y: index) -> index {{
          %minus = arith.constant -8 : index
          %true = arith.constant true
          %r = {text}
          util.return %r : index
        }}""")
        block = module.body.operations[0].regions[0].blocks[0]
        values = StaticValues(dict(zip(block.arguments, (100, 7), strict=True)))
        *_, terminator = block.operations
        assert values(terminator.operands[0]) == expected


def test_runs_of_equal_words_become_one_fill() -> None:
    data = bytes(8) + b"\x01\x02\x03\x04" + b"\xff"
    assert fills(data, 5, 256) == [
        Fill(5, 256, 8, 0, 4),
        Fill(5, 264, 4, 0x04030201, 4),
        Fill(5, 268, 4, 0xFF, 4),
    ]


def test_operand_that_is_written_is_copied_first() -> None:
    steps: list[Step] = [Copy(1, 0, 0, 192, 128), Copy(0, 0, 2, 0, 512)]
    protected, size = protect_operands(steps, num_operands=2, workspace=3, workspace_size=256)
    assert protected == [Copy(0, 0, 3, 256, 512), Copy(1, 0, 3, 448, 128), Copy(3, 256, 2, 0, 512)]
    assert size == 768


def test_copy_from_the_workspace_is_not_needed() -> None:
    steps: list[Step] = [Fill(2, 0, 64, 0, 4), Copy(0, 0, 2, 64, 64), Copy(2, 0, 1, 0, 128)]
    assert write_results_directly(steps, 2) == [Fill(1, 0, 64, 0, 4), Copy(0, 0, 1, 64, 64)]


READ = Dispatch(0, "k", (1, 1, 1), (1, 1, 1), 0, (Binding(2, 0, 64, "read"),), ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Only part of a step's result is copied.
        ([Fill(2, 0, 128, 0, 4)], []),
        # What is copied is read again.
        ([Fill(2, 0, 64, 0, 4)], [READ]),
        # The result is written by another step too.
        ([Fill(2, 0, 64, 0, 4), Fill(1, 64, 4, 0, 4)], []),
    ],
)
def test_copy_from_the_workspace_that_stays(before: list[Step], after: list[Step]) -> None:
    steps = [*before, Copy(2, 0, 1, 0, 64), *after]
    assert write_results_directly(steps, 2) == steps
