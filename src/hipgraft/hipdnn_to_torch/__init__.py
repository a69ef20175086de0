"""hipDNN ops as torch ops, for engines that do not take them."""

from hipgraft.hipdnn_to_torch.forms import FORMS
from hipgraft.hipdnn_to_torch.writer import NoForm, Writer

__all__ = ["FORMS", "NoForm", "Writer"]
