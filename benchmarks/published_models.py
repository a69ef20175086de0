"""Exports models at their published size to ONNX, in f32 and f16, with random weights.

    python benchmarks/published_models.py FOLDER [MODEL...]

It needs torch, torchvision, onnxscript, transformers and timm. `onnxruntime_ep.py`, `launches.py`
and `estimated_times.py` read these models.
"""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
import torchvision
import transformers

Example = tuple[torch.nn.Module, torch.Tensor]


class FirstResult(torch.nn.Module):
    """Returns the first tensor of a model's result."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.model(x)
        if isinstance(result, torch.Tensor):
            return result
        values = result.values() if isinstance(result, dict) else result
        return next(value for value in values if isinstance(value, torch.Tensor))


def tokens(count: int = 128) -> torch.Tensor:
    return torch.randint(1, 1000, (1, count))


def image(extent: int = 224) -> torch.Tensor:
    return torch.randn(1, 3, extent, extent)


def transformer(
    name: str, x: Callable[[], torch.Tensor], head: str = "Model", **options: Any
) -> Example:
    """Builds a model of the package transformers from its default configuration."""
    config = getattr(transformers, f"{name}Config")(**options)
    config.use_cache = False
    return getattr(transformers, f"{name}{head}")(config), x()


def from_timm(name: str, extent: int = 224) -> Example:
    return timm.create_model(name), image(extent)


def from_torchvision(name: str, extent: int = 224) -> Example:
    return torchvision.models.get_model(name, weights=None, weights_backbone=None), image(extent)


def sound() -> torch.Tensor:
    return torch.randn(1, 16000)


MODELS: dict[str, Callable[[], Example]] = {
    "albert_base": partial(
        transformer, "Albert", tokens, hidden_size=768, num_attention_heads=12,
        intermediate_size=3072,
    ),
    "beit_b": partial(from_timm, "beit_base_patch16_224"),
    "clip_vision": partial(transformer, "CLIPVision", image),
    "coat_tiny": partial(from_timm, "coat_tiny"),
    "davit": partial(from_timm, "davit_tiny"),
    "deeplab": partial(from_torchvision, "deeplabv3_mobilenet_v3_large", 513),
    "densenet121": lambda: (torchvision.models.densenet121(), image()),
    "detr": partial(
        transformer, "Detr", partial(image, 512), "ForObjectDetection", use_timm_backbone=True,
        backbone="resnet50", use_pretrained_backbone=False,
    ),
    "dinov2_s": partial(
        transformer, "Dinov2", partial(image, 518), hidden_size=384, num_attention_heads=6,
        image_size=518,
    ),
    "distilbert": partial(transformer, "DistilBert", tokens),
    "edgenext": partial(from_timm, "edgenext_small", 256),
    "efficientformer": partial(from_timm, "efficientformer_l1"),
    "efficientnet_b0": lambda: (torchvision.models.efficientnet_b0(), image()),
    "electra_base": partial(transformer, "Electra", tokens),
    "fastvit": partial(from_timm, "fastvit_t8", 256),
    "gpt_neox": partial(
        transformer, "GPTNeoX", tokens, hidden_size=768, num_hidden_layers=6,
        num_attention_heads=12, intermediate_size=3072,
    ),
    "hrnet": partial(from_timm, "hrnet_w18_small"),
    "hubert": partial(transformer, "Hubert", sound),
    "inception_v3": lambda: (torchvision.models.inception_v3(init_weights=False), image(299)),
    "maxvit_t": lambda: (torchvision.models.maxvit_t(), image()),
    "opt_125m": partial(transformer, "OPT", tokens),
    "r3d_18": lambda: (torchvision.models.video.r3d_18(), torch.randn(1, 3, 16, 112, 112)),
    "regnet": lambda: (torchvision.models.regnet_y_800mf(), image()),
    "segformer_b0": partial(
        transformer, "Segformer", partial(image, 512), "ForSemanticSegmentation"
    ),
    "shufflenet": lambda: (torchvision.models.shufflenet_v2_x1_0(), image()),
    "t5_small": partial(transformer, "T5", tokens, "EncoderModel"),
    "volo_d1": partial(from_timm, "volo_d1_224"),
    "wav2vec2": partial(transformer, "Wav2Vec2", sound),
    "xcit_t": partial(from_timm, "xcit_tiny_12_p16_224"),
}  # fmt: skip


def export(name: str, folder: Path) -> None:
    """Writes `NAME-f32.onnx` and `NAME-f16.onnx`."""
    model, x = MODELS[name]()
    for form, dtype in (("f32", torch.float32), ("f16", torch.float16)):
        whole = FirstResult(model).to(dtype)
        operand = x.to(dtype) if x.is_floating_point() else x
        with torch.no_grad(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            path = folder / f"{name}-{form}.onnx"
            torch.onnx.export(whole, (operand,), path, dynamo=True, external_data=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.models or MODELS:
        torch.manual_seed(0)
        try:
            export(name, options.folder)
        except Exception as error:  # another version of a package
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
