"""Translates modules up to the phases after which dispatches, tiles and launches are known."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.iree.block_tiles import correct_blocks
from hipgraft.codegen.iree.borders import Border, take_borders
from hipgraft.codegen.iree.cuda_tiles import set_tiles
from hipgraft.codegen.iree.entry import (
    add_result_buffers,
    import_builtin,
    is_dynamic,
    lower_torch,
    needs_input_phase,
    schedule_dispatches,
    signature,
)
from hipgraft.codegen.iree.extent_checks import check_extents
from hipgraft.codegen.iree.gathers import fuse_gathers
from hipgraft.codegen.iree.matrix_tiles import correct_tiles
from hipgraft.codegen.iree.pointer_alignment import relax_alignment
from hipgraft.codegen.iree.row_tiles import set_rows
from hipgraft.codegen.iree.session import IreeSession, get_session
from hipgraft.codegen.target import FUSE_PADDING, Target, TargetKind, has_tuning_spec, turned_off
from hipgraft.codegen.workarounds.counted_booleans import select_factors
from hipgraft.codegen.workarounds.extract_of_slice import read_whole_sources
from hipgraft.codegen.workarounds.inexact_functions import expand_functions
from hipgraft.codegen.workarounds.inexact_powers import expand_powers
from hipgraft.codegen.workarounds.inexact_remainders import rewrite_remainders
from hipgraft.codegen.workarounds.integer_division import guard_divisions
from hipgraft.codegen.workarounds.integer_powers import expand_integer_powers
from hipgraft.codegen.workarounds.log_sigmoid import expand_log_sigmoids
from hipgraft.codegen.workarounds.lone_padding import has_lone_padding
from hipgraft.codegen.workarounds.lost_nans import keep_nans
from hipgraft.codegen.workarounds.mixed_comparisons import match_numbers
from hipgraft.codegen.workarounds.nan_order import order_nans
from hipgraft.codegen.workarounds.narrow_sums import widen_sums
from hipgraft.codegen.workarounds.partial_widening import separate_widening
from hipgraft.codegen.workarounds.serial_scatter import parallelize_scatters
from hipgraft.codegen.workarounds.shared_fills import refuse_shared_fills
from hipgraft.codegen.workarounds.shared_positions import separate_positions
from hipgraft.codegen.workarounds.signed_extremes import reorder_extremes
from hipgraft.codegen.workarounds.unmasked_gathers import guard_gathers
from hipgraft.ir.bindings import asm, ir
from hipgraft.ir.diagnostics import CodegenError

# IREE must not evaluate constants at compile time, which would run another compiler, or at load
# time, because a host program of launches has no load-time code.
SCHEDULE_FLAGS = ("--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false")

SCHEDULED = "executable-targets"
"""The phase after which launches are known, and the CPU's kernels are in LLVM's dialect."""

_CONFIGURED = "executable-configurations"
"""The phase after which tile sizes are known."""

# Functions that override IREE's choice of tile sizes in dispatches.
_TILINGS = {TargetKind.AMDGPU: set_rows, TargetKind.CUDA: set_tiles}


@dataclass(frozen=True)
class Translated:
    """A module after the phase `SCHEDULED`.

    Attributes:
        session: the session that translated it.
        module: the module.
        kind: type of `@main`; memory of results is not among its operands.
        borders: the zeros around results for which kernels do not write memory yet, by result.
    """

    session: IreeSession
    module: ir.Module
    kind: ir.FunctionType
    borders: dict[int, Border]


def translate(
    text: str, target: Target, flags: tuple[str, ...], *, takes_borders: bool
) -> Translated:
    """Compiles a module for a GPU up to the phase after which the launch of each dispatch is known.

    Args:
        text: the module.
        target: the GPU.
        flags: compiler flags.
        takes_borders: whether the kernels leave out the zeros around results; see
            `hipgraft.codegen.iree.borders`.

    Raises:
        CodegenError: the module does not compile.
    """
    made = _formed_dispatches(text, target, flags, takes_borders)
    if has_lone_padding(made.module):
        flags = turned_off(flags, FUSE_PADDING)
        made = _formed_dispatches(text, target, flags, takes_borders)
    is_tiled = _TILINGS[target.kind](made.module, target)
    try:
        is_tiled |= _pick_tiles(made, target, is_free=not has_tuning_spec(flags))
        made.session.run(made.module, compile_from=_CONFIGURED, compile_to=SCHEDULED)
    except CodegenError:
        if not is_tiled:
            raise
        # IREE may fail with these tile sizes and succeed with its own.
        made = _formed_dispatches(text, target, flags, takes_borders)
        _pick_tiles(made, target, is_free=False)
        made.session.run(made.module, compile_from=_CONFIGURED, compile_to=SCHEDULED)
    return made


def _pick_tiles(made: Translated, target: Target, *, is_free: bool) -> bool:
    """Compiles up to the phase after which tile sizes are known; see `correct_blocks`."""
    session, module = made.session, made.module
    schedule_dispatches(module)
    session.run(module, compile_from="stream", compile_to="executable-sources")
    relax_alignment(module)
    session.run(module, compile_from="executable-sources", compile_to=_CONFIGURED)
    is_changed = correct_blocks(module, target, is_free=is_free)
    guard_gathers(module, target)
    select_factors(module, target)
    return (is_free and correct_tiles(module, target)) or is_changed


def _formed_dispatches(
    text: str, target: Target, flags: tuple[str, ...], takes_borders: bool
) -> Translated:
    """Compiles up to the phase after which the computation of each dispatch is known."""
    session = get_session((*flags, *SCHEDULE_FLAGS))
    module = parse_input(session, text, target.kind)
    borders = take_borders(module) if takes_borders else {}
    kind = signature(module)
    add_result_buffers(module)
    run_to_flow(session, module, text, flags)
    refuse_shared_fills(module)
    return Translated(session, module, kind, borders)


def run_to_flow(session: IreeSession, module: ir.Module, text: str, flags: tuple[str, ...]) -> None:
    """Runs a module that `text` describes to the end of the compiler's phase `flow`.

    Raises:
        CodegenError: the module does not compile.
    """
    if needs_input_phase(text, flags):
        session.run(module, compile_to="flow")
    else:
        import_builtin(module)
        session.run(module, compile_from="input", compile_to="flow")
    read_whole_sources(module)


def parse_input(session: IreeSession, text: str, kind: TargetKind) -> ir.Module:
    """Parses a module, lowers its torch ops, and replaces what the compiler gets wrong.

    Raises:
        CodegenError: the text is not valid, or an op cannot be lowered.
    """
    module = session.parse(_without_torch(text, kind) if "torch" in text else text)
    if kind is TargetKind.CPU:
        guard_divisions(module)
    else:
        reorder_extremes(module)
        separate_widening(module)
    expand_integer_powers(module)
    # On AMDGPU, ROCm's device library has the functions.
    only_constants = kind is TargetKind.AMDGPU
    expand_functions(module, only_constants=only_constants)
    expand_powers(module, only_constants=only_constants)
    if is_dynamic(signature(module)):
        check_extents(module)
    return module


def _without_torch(text: str, kind: TargetKind) -> str:
    """Returns a module with its torch ops lowered; a separate context lowers them.

    Once a context has loaded the torch dialect, each canonicalization in it prepares its patterns
    for that dialect's many ops, too, and any small graph takes a third longer to compile.
    """
    module = get_session(()).parse(text)
    widen_sums(module)
    keep_nans(module)
    expand_log_sigmoids(module)
    rewrite_remainders(module)
    match_numbers(module)
    lower_torch(module)
    order_nans(module)
    if kind is not TargetKind.CPU:
        fuse_gathers(module)
        parallelize_scatters(module)
    separate_positions(module)
    return asm(module)
