# The part of the dialect's module that hipgraft uses; the package has no types of its own.

from collections.abc import Sequence

from iree.compiler import ir

class FuncOp(ir.OpView):
    def __init__(
        self,
        name: str,
        type: ir.FunctionType,
        *,
        visibility: str | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> None: ...
    @property
    def name(self) -> ir.StringAttr: ...  # type: ignore[override]  # hides the op's name
    @property
    def type(self) -> ir.FunctionType: ...
    @property
    def is_external(self) -> bool: ...
    @property
    def body(self) -> ir.Region: ...
    @property
    def entry_block(self) -> ir.Block: ...
    @property
    def arguments(self) -> ir.BlockArgumentList: ...
    def add_entry_block(self, arg_locs: Sequence[ir.Location] | None = None) -> ir.Block: ...

class ReturnOp(ir.OpView):
    def __init__(
        self,
        operands_: Sequence[ir.Value],
        *,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> None: ...
