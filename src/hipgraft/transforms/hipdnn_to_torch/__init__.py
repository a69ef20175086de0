"""Converts hipDNN ops to torch ops, for engines that do not support hipDNN ops."""

from hipgraft.transforms.hipdnn_to_torch.blocks import convert_block
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch
from hipgraft.transforms.hipdnn_to_torch.forms import FORMS

__all__ = ["FORMS", "Torch", "convert_block"]
