"""Operations that a plugin defines."""

from __future__ import annotations

import re

from hipgraft.dialects.framework.fields import VariadicOperand, VariadicResult, optional, required
from hipgraft.dialects.framework.kinds import BYTES, STRING
from hipgraft.dialects.hipdnn.op import ComputeOp

_ID = re.compile(r"[^.\s]+(\.[^.\s]+)+")


class CustomOp(ComputeOp, mnemonic="custom_op"):
    """An operation that only one plugin knows, by its name.

    The types of the results have to be given. The plugin interprets `data`; for names that start
    with `fusilli.` it is the text of an MLIR function with placeholders.
    """

    inputs = VariadicOperand("operands")
    outputs = VariadicResult("results")
    custom_op_id = required(STRING, "`<plugin>.<operation>`")
    data = optional(BYTES, "the plugin's description of the operation")

    def verify(self) -> None:  # noqa: D102
        if _ID.fullmatch(self.custom_op_id) is None:
            raise self.error(
                f"expected 'custom_op_id' of the form '<plugin>.<operation>', "
                f"but found '{self.custom_op_id}'"
            )
        if not self.outputs:
            raise self.error("yields nothing")
