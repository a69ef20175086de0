# The part of the dialect's module that hipgraft uses; the package has no types of its own.

from iree.compiler import ir

class ConstantOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        value: ir.Attribute | float,
        *,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> None: ...
    @property
    def value(self) -> ir.Attribute: ...
