"""Detectors of the package torchvision, with random weights; `legacy` alone exports them."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from family_models import FAMILIES
from family_models.package_images import tensors

_SMALL = {"min_size": 64, "max_size": 64}
_ONE_STAGE = {"score_thresh": 0.01, "topk_candidates": 20, "detections_per_img": 10}
_TWO_STAGES = {
    **_SMALL,
    "rpn_pre_nms_top_n_test": 30,
    "rpn_post_nms_top_n_test": 10,
    "box_score_thresh": 0.05,
    "box_detections_per_img": 5,
}

_DETECTORS: dict[str, tuple[int, dict[str, Any]]] = {
    "ssdlite320_mobilenet_v3_large": (320, {**_ONE_STAGE, "score_thresh": 0.15}),
    "ssd300_vgg16": (300, {**_ONE_STAGE, "score_thresh": 0.15}),
    "retinanet_resnet50_fpn": (64, {**_ONE_STAGE, **_SMALL}),
    "retinanet_resnet50_fpn_v2": (64, {**_ONE_STAGE, **_SMALL}),
    "fcos_resnet50_fpn": (64, {**_ONE_STAGE, **_SMALL}),
    "fasterrcnn_mobilenet_v3_large_320_fpn": (64, _TWO_STAGES),
    "fasterrcnn_resnet50_fpn": (64, _TWO_STAGES),
    "maskrcnn_resnet50_fpn": (64, _TWO_STAGES),
}
"""The extent of the image, and the arguments, of each."""


class Detected(nn.Module):
    """Returns what a detector finds in an image as a tuple."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensors(self.model([image])))


def _detector(name: str, extent: int, arguments: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    package = importlib.import_module("torchvision.models.detection")
    model = getattr(package, name)(weights=None, weights_backbone=None, num_classes=5, **arguments)
    return Detected(model), (torch.rand(3, extent, extent),)


for _name, (_extent, _arguments) in _DETECTORS.items():
    FAMILIES[f"detect_{_name}"] = partial(_detector, _name, _extent, _arguments)
