"""Defines where files store the fields of each kind of node.

The fields themselves are those of the op classes: a tensor `x` is `x_tensor_uid`, an attribute
has its own name. This table lists only the differences between kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.dialects.framework.fields import Attribute, Field, ValueField
from hipgraft.dialects.hipdnn import ComputeOp
from hipgraft.ir.registration import Registry

SECTIONS = ("inputs", "outputs", "parameters", "attributes")
"""The objects inside of a node that may hold fields; a reader accepts a field in any of them."""

_NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True)
class NodeForm:
    """The form in which a kind of node is written.

    Attributes:
        op: class of the op in the dialect.
        attributes: section of the attributes; empty for the node itself.
        operands: section of the operands.
        results: section of the results.
        null_uids: whether absent tensors are written as null instead of left out.
        null_attributes: whether absent attributes are written as null.
        renamed: hipDNN's names of fields that differ from the op's, by the op's names.
    """

    op: type[ComputeOp]
    attributes: str = ""
    operands: str = "inputs"
    results: str = "outputs"
    null_uids: bool = False
    null_attributes: bool = False
    renamed: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)

    def key(self, member: Field) -> str:
        """Returns hipDNN's name of a field of the op."""
        if member.name in self.renamed:
            return self.renamed[member.name]
        return f"{member.name}_tensor_uid" if isinstance(member, ValueField) else member.name

    def members(self) -> dict[str, tuple[str, Field]]:
        """Returns the section and the field of the op, by hipDNN's names."""
        sections = (
            (self.operands, self.op.operand_fields),
            (self.results, self.op.result_fields),
            (self.attributes, self.written_attributes),
        )
        return {
            self.key(member): (section, member) for section, group in sections for member in group
        }

    @property
    def null_keys(self) -> list[str]:
        """Returns the fields that are written as null if they are absent."""
        values = (*self.op.operand_fields, *self.op.result_fields) if self.null_uids else ()
        attributes = self.written_attributes if self.null_attributes else ()
        return [self.key(one) for one in (*values, *attributes)]

    @property
    def written_attributes(self) -> tuple[Attribute[Any], ...]:
        """The op's attributes without the compute type, which every node has."""
        return tuple(one for one in self.op.attribute_fields if one.name != "compute_type")


def _flat(op: type[ComputeOp], **names: str) -> NodeForm:
    return NodeForm(op, operands="", results="", renamed=names)


FORMS: Registry[NodeForm] = Registry(
    "node form",
    {
        "BatchnormInferenceAttributes": NodeForm(hipdnn.BatchnormInferenceOp, null_uids=True),
        # `axis_tensor_uid` is the index of a dimension in spite of its name.
        "PointwiseAttributes": NodeForm(
            hipdnn.PointwiseOp,
            attributes="inputs",
            null_uids=True,
            null_attributes=True,
            renamed={"mode": "operation", "axis": "axis_tensor_uid"},
        ),
        "BatchnormBackwardAttributes": NodeForm(hipdnn.BatchnormBackwardOp, null_uids=True),
        "BatchnormAttributes": NodeForm(hipdnn.BatchnormOp, null_uids=True),
        "ConvolutionFwdAttributes": NodeForm(hipdnn.ConvFpropOp, attributes="parameters"),
        "ConvolutionBwdAttributes": NodeForm(hipdnn.ConvDgradOp, attributes="parameters"),
        "ConvolutionWrwAttributes": NodeForm(hipdnn.ConvWgradOp, attributes="parameters"),
        "BatchnormInferenceAttributesVarianceExt": NodeForm(
            hipdnn.BatchnormInferenceVarianceExtOp, null_uids=True
        ),
        "MatmulAttributes": NodeForm(hipdnn.MatmulOp),
        "RMSNormAttributes": NodeForm(hipdnn.RmsnormOp),
        "LayernormAttributes": NodeForm(
            hipdnn.LayernormOp, attributes="attributes", null_uids=True
        ),
        "SdpaAttributes": NodeForm(
            hipdnn.SdpaOp, attributes="attributes", null_uids=True, null_attributes=True
        ),
        "BlockScaleDequantizeAttributes": NodeForm(hipdnn.BlockScaleDequantizeOp),
        "BlockScaleQuantizeAttributes": NodeForm(hipdnn.BlockScaleQuantizeOp),
        "SdpaBackwardAttributes": NodeForm(
            hipdnn.SdpaBackwardOp, attributes="parameters", null_uids=True, null_attributes=True
        ),
        "CustomOpAttributes": _flat(
            hipdnn.CustomOp, inputs="input_tensor_uids", outputs="output_tensor_uids"
        ),
        "RMSNormBackwardAttributes": NodeForm(hipdnn.RmsnormBackwardOp),
        "ReductionAttributes": _flat(hipdnn.ReductionOp),
        "ResampleFwdAttributes": _flat(hipdnn.ResampleFwdOp),
        "LayernormBackwardAttributes": NodeForm(
            hipdnn.LayernormBackwardOp, attributes="attributes", null_uids=True
        ),
        "ResampleBwdAttributes": _flat(hipdnn.ResampleBwdOp),
        "MoeGroupedMatmulAttributes": NodeForm(hipdnn.MoeGroupedMatmulOp),
        "MoeGroupedMatmulBwdAttributes": NodeForm(hipdnn.MoeGroupedMatmulBwdOp),
    },
)
"""The forms by name in hipDNN's union, in its order."""


@cache
def form_name(op: type[hipdnn.HipdnnOp]) -> str:
    """Returns hipDNN's name for the kind of node that an op class represents."""
    return next(name for name, form in FORMS.items() if form.op is op)
