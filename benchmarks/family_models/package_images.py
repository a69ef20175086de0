"""Image models of published packages, with random weights.

The packages are segmentation_models_pytorch, monai, kornia, ultralytics, effdet and open_clip.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from family_models import FAMILIES


class Calls(nn.Module):
    """Calls a function on a module and its inputs; returns the floats of the result in a tuple."""

    def __init__(self, model: nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensors(self.call(self.model, *inputs)))


def tensors(value: Any) -> list[Tensor]:
    """Returns the tensors in nested results, in their order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [each for one in value or () for each in tensors(one)] if value is not None else []


def called(
    module: str, name: str, shapes: list[tuple[int, ...]], *args: Any, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Makes a class of a module and calls it on random tensors."""
    made = getattr(importlib.import_module(module), name)(*args, **kwargs)
    return Calls(made, lambda model, *xs: model(*xs)), tuple(torch.randn(one) for one in shapes)


_SEGMENTERS = {
    "Unet": "resnet18",
    "UnetPlusPlus": "mobilenet_v2",
    "MAnet": "resnet18",
    "Linknet": "resnet18",
    "FPN": "efficientnet-b0",
    "PSPNet": "resnet18",
    "DeepLabV3": "resnet18",
    "DeepLabV3Plus": "mobilenet_v2",
    "UPerNet": "resnet18",
    "Segformer": "mit_b0",
}

for _name, _encoder in _SEGMENTERS.items():
    FAMILIES[f"smp_{_name.lower()}"] = partial(
        called,
        "segmentation_models_pytorch",
        _name,
        [(1, 3, 64, 64)],
        encoder_name=_encoder,
        encoder_weights=None,
        classes=3,
    )

_VOLUME = [(1, 1, 32, 32, 32)]
_FLAT = {"spatial_dims": 3, "in_channels": 1, "out_channels": 2}
_MEDICAL: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "UNet": (_VOLUME, _FLAT | {"channels": (8, 16, 32), "strides": (2, 2), "num_res_units": 2}),
    "AttentionUnet": (_VOLUME, _FLAT | {"channels": (8, 16, 32), "strides": (2, 2)}),
    "BasicUNet": (_VOLUME, _FLAT | {"features": (8, 8, 16, 16, 16, 8)}),
    "BasicUNetPlusPlus": (
        [(1, 1, 32, 32)],
        _FLAT | {"spatial_dims": 2, "features": (8, 8, 16, 16, 16, 8)},
    ),
    "SegResNet": (_VOLUME, _FLAT | {"init_filters": 8}),
    "SegResNetVAE": (
        _VOLUME,
        {"input_image_size": (32, 32, 32), "init_filters": 8, "in_channels": 1, "out_channels": 2},
    ),
    "VNet": (_VOLUME, _FLAT),
    "UNETR": (
        _VOLUME,
        {
            "in_channels": 1,
            "out_channels": 2,
            "img_size": 32,
            "feature_size": 8,
            "hidden_size": 48,
            "mlp_dim": 96,
            "num_heads": 4,
        },
    ),
    "SwinUNETR": (
        [(1, 1, 64, 64, 64)],
        {"in_channels": 1, "out_channels": 2, "feature_size": 12, "spatial_dims": 3},
    ),
    "HighResNet": (_VOLUME, _FLAT),
    "DenseNet121": ([(1, 1, 48, 48, 48)], _FLAT),
    "ViTAutoEnc": (
        _VOLUME,
        {
            "in_channels": 1,
            "img_size": 32,
            "patch_size": 16,
            "hidden_size": 48,
            "mlp_dim": 96,
            "num_layers": 2,
            "num_heads": 4,
        },
    ),
    "FlexibleUNet": (
        [(1, 3, 64, 64)],
        {"in_channels": 3, "out_channels": 2, "backbone": "efficientnet-b0"},
    ),
    "DynUNet": (
        _VOLUME,
        _FLAT
        | {
            "kernel_size": [3, 3, 3],
            "strides": [1, 2, 2],
            "upsample_kernel_size": [2, 2],
            "filters": [8, 16, 32],
        },
    ),
    "HoVerNet": ([(1, 3, 256, 256)], {"mode": "fast", "out_classes": 3}),
    "MILModel": (
        [(1, 4, 3, 64, 64)],
        {"num_classes": 3, "mil_mode": "att_trans", "pretrained": False},
    ),
    "DiffusionModelUNet": (
        [(1, 1, 32, 32)],
        {
            "spatial_dims": 2,
            "in_channels": 1,
            "out_channels": 1,
            "channels": (16, 32),
            "attention_levels": (False, True),
            "num_head_channels": 8,
            "num_res_blocks": 1,
            "norm_num_groups": 8,
        },
    ),
    "AutoencoderKL": (
        [(1, 1, 32, 32)],
        {
            "spatial_dims": 2,
            "in_channels": 1,
            "out_channels": 1,
            "channels": (16, 32),
            "attention_levels": (False, True),
            "num_res_blocks": 1,
            "norm_num_groups": 8,
        },
    ),
    "PatchDiscriminator": (
        [(1, 1, 64, 64)],
        {"spatial_dims": 2, "channels": 8, "in_channels": 1, "out_channels": 1, "num_layers_d": 2},
    ),
    "FullyConnectedNet": (
        [(2, 10)],
        {"in_channels": 10, "out_channels": 3, "hidden_channels": [16, 16]},
    ),
}

for _name, (_shapes, _sizes) in _MEDICAL.items():
    FAMILIES[f"monai_{_name.lower()}"] = partial(
        called, "monai.networks.nets", _name, _shapes, **_sizes
    )


def _diffusion_unet() -> tuple[Any, tuple[Any, ...]]:
    shapes, sizes = _MEDICAL["DiffusionModelUNet"]
    nets = importlib.import_module("monai.networks.nets")
    call = Calls(nets.DiffusionModelUNet(**sizes), lambda model, x, t: model(x, t))
    return call, (torch.randn(shapes[0]), torch.tensor([7]))


FAMILIES["monai_diffusionmodelunet"] = _diffusion_unet


def _autoencoder() -> tuple[Any, tuple[Any, ...]]:
    shapes, sizes = _MEDICAL["AutoencoderKL"]
    nets = importlib.import_module("monai.networks.nets")
    return Calls(nets.AutoencoderKL(**sizes), lambda model, x: model.reconstruct(x)), (
        torch.randn(shapes[0]),
    )


FAMILIES["monai_autoencoderkl"] = _autoencoder

_YOLO = (
    "yolov3-tiny",
    "yolov5n",
    "yolov6n",
    "yolov8n",
    "yolov8n-seg",
    "yolov8n-pose",
    "yolov8n-obb",
    "yolov8n-cls",
    "yolov8-ghost",
    "yolov8-p2",
    "yolov9t",
    "yolov10n",
    "yolo11n",
    "yolo11n-seg",
    "yolo11n-pose",
    "yolo11n-obb",
    "yolo12n",
    "rtdetr-l",
    "yolov8-rtdetr",
    "yolov8-world",
)


def _yolo(name: str) -> tuple[Any, tuple[Any, ...]]:
    tasks = importlib.import_module("ultralytics.nn.tasks")
    kinds = {
        "-seg": "SegmentationModel",
        "-pose": "PoseModel",
        "-obb": "OBBModel",
        "-cls": "ClassificationModel",
        "detr": "RTDETRDetectionModel",
        "-world": "WorldModel",
    }
    kind = next((one for key, one in kinds.items() if key in name), "DetectionModel")
    model = getattr(tasks, kind)(f"{name}.yaml", verbose=False).eval()
    for module in model.modules():
        if hasattr(module, "export"):
            module.export, module.format = True, "onnx"
    return Calls(model, lambda model, x: model(x)), (torch.rand(1, 3, 128, 128),)


FAMILIES.update({f"ul_{name}": partial(_yolo, name) for name in _YOLO})


def _effdet(name: str) -> tuple[Any, tuple[Any, ...]]:
    effdet = importlib.import_module("effdet")
    config = effdet.get_efficientdet_config(name)
    config.image_size, config.pretrained_backbone = (128, 128), False
    model = effdet.EfficientDet(config, pretrained_backbone=False)
    return Calls(model, lambda model, x: model(x)), (torch.randn(1, 3, 128, 128),)


FAMILIES.update(
    {f"effdet_{one}": partial(_effdet, one) for one in ("tf_efficientdet_lite0", "efficientdet_d0")}
)


def _filtered(call: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    return Calls(nn.Identity(), call), tuple(torch.rand(one) for one in shapes)


def _kornia(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"kornia.{module}"), name)


_IMAGE = (1, 3, 24, 32)
_FILTERS: dict[str, Callable[..., Any]] = {
    "canny": lambda _, x: _kornia("filters.canny")(x),
    "sobel": lambda _, x: _kornia("filters.sobel")(x),
    "laplacian": lambda _, x: _kornia("filters.laplacian")(x, 5),
    "gaussian": lambda _, x: _kornia("filters.gaussian_blur2d")(x, (5, 5), (1.5, 1.5)),
    "bilateral": lambda _, x: _kornia("filters.bilateral_blur")(x, (3, 3), 0.1, (1.5, 1.5)),
    "median": lambda _, x: _kornia("filters.median_blur")(x, (3, 3)),
    "unsharp": lambda _, x: _kornia("filters.unsharp_mask")(x, (3, 3), (1.5, 1.5)),
    "guided": lambda _, x: _kornia("filters.guided_blur")(x, x, 3, 0.1),
    "lab": lambda _, x: _kornia("color.rgb_to_lab")(x),
    "hsv": lambda _, x: _kornia("color.hsv_to_rgb")(_kornia("color.rgb_to_hsv")(x)),
    "hls": lambda _, x: _kornia("color.hls_to_rgb")(_kornia("color.rgb_to_hls")(x)),
    "luv": lambda _, x: _kornia("color.rgb_to_luv")(x),
    "ycbcr": lambda _, x: _kornia("color.ycbcr_to_rgb")(_kornia("color.rgb_to_ycbcr")(x)),
    "dilation": lambda _, x: _kornia("morphology.dilation")(x, torch.ones(3, 3)),
    "closing": lambda _, x: _kornia("morphology.closing")(x, torch.ones(3, 3)),
    "rotate": lambda _, x: _kornia("geometry.transform.rotate")(x, torch.tensor([30.0])),
    "warp": lambda _, x: _kornia("geometry.transform.warp_perspective")(
        x, torch.tensor([[[1.0, 0.1, 0.0], [0.05, 0.9, 1.0], [1e-3, 0.0, 1.0]]]), (20, 28)
    ),
    "pyrdown": lambda _, x: _kornia("geometry.transform.pyrdown")(x),
    "equalize": lambda _, x: _kornia("enhance.equalize_clahe")(x, grid_size=(2, 2)),
    "sharpness": lambda _, x: _kornia("enhance.sharpness")(x, 0.5),
    "posterize": lambda _, x: _kornia("enhance.posterize")(x, 3),
    "ssim": lambda _, x: _kornia("metrics.ssim")(x, x * 0.9, 5),
    "harris": lambda _, x: _kornia("feature.harris_response")(x),
    "nms": lambda _, x: _kornia("geometry.subpix.nms2d")(x, (3, 3)),
    "softargmax": lambda _, x: _kornia("geometry.subpix.spatial_soft_argmax2d")(x),
    "distance": lambda _, x: _kornia("contrib.distance_transform")(x.round()),
}

FAMILIES.update(
    {f"kornia_{name}": partial(_filtered, call, _IMAGE) for name, call in _FILTERS.items()}
)

for _name, _shape in {
    "HardNet": (4, 1, 32, 32),
    "TFeat": (4, 1, 32, 32),
    "SOSNet": (4, 1, 32, 32),
    "HyNet": (4, 1, 32, 32),
    "HardNet8": (4, 1, 32, 32),
}.items():
    FAMILIES[f"kornia_{_name.lower()}"] = partial(
        called, "kornia.feature", _name, [_shape], pretrained=False
    )


def _clip() -> tuple[Any, tuple[Any, ...]]:
    config = {
        "embed_dim": 32,
        "vision_cfg": {
            "image_size": 64,
            "layers": 2,
            "width": 64,
            "patch_size": 16,
            "head_width": 16,
        },
        "text_cfg": {"context_length": 16, "vocab_size": 128, "width": 64, "heads": 4, "layers": 2},
    }
    model = importlib.import_module("open_clip.model").CLIP(**config)
    return Calls(model, lambda model, x, t: model(x, t)), (
        torch.randn(2, 3, 64, 64),
        torch.randint(1, 127, (2, 16)),
    )


FAMILIES["open_clip"] = _clip
