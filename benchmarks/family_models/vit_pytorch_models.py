"""Vision transformers of the package vit-pytorch, with random weights."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch

from family_models import FAMILIES

_SIZES = {
    "image_size": 64,
    "patch_size": 16,
    "num_classes": 10,
    "dim": 64,
    "depth": 2,
    "heads": 4,
    "mlp_dim": 128,
}
_STAGED = {"num_classes": 10}
_IMAGE = (1, 3, 64, 64)

VISION_TRANSFORMERS: dict[str, tuple[str, dict[str, Any], tuple[int, ...]]] = {
    "attn_residual_with_dca_simple_vit": ("SimpleViT", _SIZES, _IMAGE),
    "cait": ("CaiT", _SIZES | {"cls_depth": 1}, _IMAGE),
    "cross_vit": (
        "CrossViT",
        _STAGED
        | {
            "image_size": 96,
            "sm_dim": 48,
            "lg_dim": 64,
            "depth": 1,
            "lg_enc_depth": 1,
            "sm_enc_mlp_dim": 96,
            "lg_enc_mlp_dim": 128,
        },
        (1, 3, 96, 96),
    ),
    "crossformer": (
        "CrossFormer",
        _STAGED | {"dim": (32, 64, 64, 64), "depth": (1, 1, 1, 1)},
        (1, 3, 224, 224),
    ),
    "cvt": ("CvT", _STAGED | {"s3_depth": 2}, _IMAGE),
    "deepvit": ("DeepViT", _SIZES, _IMAGE),
    "jet_vit": ("JetViT", _SIZES, _IMAGE),
    "jumbo_vit": ("JumboViT", _SIZES, _IMAGE),
    "learnable_memory_vit": ("ViT", _SIZES, _IMAGE),
    "levit": (
        "LeViT",
        _STAGED
        | {"image_size": 64, "dim": (32, 48, 64), "depth": 1, "heads": (2, 3, 4), "mlp_mult": 2},
        _IMAGE,
    ),
    "look_vit": ("LookViT", _STAGED | {"dim": 64, "image_size": 96, "depth": 1}, (1, 3, 96, 96)),
    "max_vit": ("MaxViT", _STAGED | {"dim": 32, "depth": (1, 1)}, (1, 3, 56, 56)),
    "max_vit_with_registers": ("MaxViT", _STAGED | {"dim": 32, "depth": (1, 1)}, (1, 3, 56, 56)),
    "mobile_vit": (
        "MobileViT",
        _STAGED
        | {
            "image_size": (64, 64),
            "dims": [48, 64, 80],
            "channels": [16, 16, 24, 24, 32, 32, 48, 48, 64, 64, 160],
        },
        _IMAGE,
    ),
    "mp3": ("ViT", _SIZES, _IMAGE),
    "nest": (
        "NesT",
        _STAGED
        | {
            "image_size": 64,
            "patch_size": 4,
            "dim": 32,
            "heads": 2,
            "num_hierarchies": 3,
            "block_repeats": (1, 1, 2),
        },
        _IMAGE,
    ),
    "normalized_vit": ("nViT", _SIZES, _IMAGE),
    "parallel_vit": ("ViT", _SIZES, _IMAGE),
    "pit": (
        "PiT",
        _SIZES | {"depth": (1, 1, 1), "patch_size": 14, "image_size": 112},
        (1, 3, 112, 112),
    ),
    "regionvit": (
        "RegionViT",
        _STAGED | {"dim": (32, 48, 64, 64), "depth": (1, 1, 1, 1)},
        (1, 3, 224, 224),
    ),
    "rvt": ("RvT", _SIZES, _IMAGE),
    "scalable_vit": (
        "ScalableViT",
        _STAGED
        | {
            "dim": 32,
            "depth": (1, 1, 2, 1),
            "heads": (2, 4, 8, 16),
            "reduction_factor": (8, 4, 2, 1),
            "window_size": (8, 4, None, None),
        },
        (1, 3, 64, 64),
    ),
    "sep_vit": (
        "SepViT",
        _STAGED | {"dim": 32, "depth": (1, 1, 1), "heads": (1, 2, 4)},
        (1, 3, 112, 112),
    ),
    "simple_uvit": ("SimpleUViT", _SIZES, _IMAGE),
    "simple_vit": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_1d": (
        "SimpleViT",
        {**{key: one for key, one in _SIZES.items() if key != "image_size"}, "seq_len": 128},
        (2, 3, 128),
    ),
    "simple_vit_3d": (
        "SimpleViT",
        {
            **{key: one for key, one in _SIZES.items() if key != "patch_size"},
            "image_patch_size": 16,
            "frames": 4,
            "frame_patch_size": 2,
        },
        (1, 3, 4, 64, 64),
    ),
    "simple_vit_attn_residual": ("SimpleViTAttnResidual", _SIZES, _IMAGE),
    "simple_vit_orthog_residual_update": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_with_fft": ("SimpleViT", _SIZES | {"freq_patch_size": 8}, _IMAGE),
    "simple_vit_with_hyper_connections": (
        "SimpleViT",
        _SIZES | {"num_residual_streams": 4},
        _IMAGE,
    ),
    "simple_vit_with_qk_norm": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_with_register_tokens": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_with_relative_proj_pos_bias": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_with_sparse_gating": ("SimpleViTWithSparseGating", _SIZES, _IMAGE),
    "simple_vit_with_specialized_cls": ("SimpleViT", _SIZES, _IMAGE),
    "simple_vit_with_value_residual": ("SimpleViT", _SIZES, _IMAGE),
    "t2t": (
        "T2TViT",
        _STAGED | {"image_size": 64, "dim": 64, "depth": 2, "heads": 4, "mlp_dim": 128},
        _IMAGE,
    ),
    "twins_svt": (
        "TwinsSVT",
        _STAGED
        | {
            "s1_emb_dim": 32,
            "s2_emb_dim": 48,
            "s3_emb_dim": 64,
            "s4_emb_dim": 64,
            "s3_depth": 1,
            "s4_depth": 1,
        },
        (1, 3, 224, 224),
    ),
    "vit_5": ("ViT", _SIZES, _IMAGE),
    "vit_detpool": ("ViTDetPool", _SIZES, _IMAGE),
    "vit_for_small_dataset": ("ViT", _SIZES, _IMAGE),
    "vit_nd": ("ViTND", _SIZES | {"ndim": 2, "input_shape": 64}, _IMAGE),
    "vit_nd_pope": ("ViTND", _SIZES | {"ndim": 2, "input_shape": 64}, _IMAGE),
    "vit_nd_rotary": ("ViTND", _SIZES | {"ndim": 2, "input_shape": 64}, _IMAGE),
    "vit_with_decorr": ("ViT", _SIZES, _IMAGE),
    "vit_with_keel_post_ln": ("ViT", _SIZES, _IMAGE),
    "vit_with_patch_merger": ("ViT", _SIZES, _IMAGE),
    "vivit": (
        "ViViT",
        {
            "image_size": 64,
            "image_patch_size": 16,
            "frames": 4,
            "frame_patch_size": 2,
            "num_classes": 10,
            "dim": 64,
            "spatial_depth": 1,
            "temporal_depth": 1,
            "heads": 4,
            "mlp_dim": 128,
        },
        (1, 3, 4, 64, 64),
    ),
    "xcit": ("XCiT", _SIZES | {"cls_depth": 1}, _IMAGE),
}
"""The class, its sizes and the shape of its input, by module."""


class _First(torch.nn.Module):
    """The first result of a model that may return several."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        result = self.model(image)
        return result[0] if isinstance(result, tuple) else result


def _made(name: str) -> tuple[Any, tuple[Any, ...]]:
    kind, sizes, shape = VISION_TRANSFORMERS[name]
    module = importlib.import_module(f"vit_pytorch.{name}")
    if "ndim" in sizes:
        sizes = {key: one for key, one in sizes.items() if key != "image_size"}
    return _First(getattr(module, kind)(**sizes)), (torch.randn(shape),)


FAMILIES.update({f"vp_{name}": partial(_made, name) for name in VISION_TRANSFORMERS})
