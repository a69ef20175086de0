"""hipDNN ops as torch ops, for engines that do not take them."""

from hipgraft.hipdnn_to_torch.expressions import Torch
from hipgraft.hipdnn_to_torch.forms import FORMS
from hipgraft.hipdnn_to_torch.writer import NoForm

__all__ = ["FORMS", "NoForm", "Torch"]
