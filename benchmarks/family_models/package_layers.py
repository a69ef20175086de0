"""Attention layers, quantizers, flows and equivariant layers of published packages.

Their weights are random. The packages are those named before the first dot of each path, such as
performer-pytorch, vector-quantize-pytorch, nflows, normflows and e3nn.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch
from torch import nn

from family_models import FAMILIES
from family_models.package_images import Calls

_Made = tuple[Any, tuple[Any, ...]]

_IDS = ("ids", 1, 32)
_ROWS = (1, 32, 32)
_IMAGE = (1, 3, 32, 32)
_MAPS = (1, 8, 8, 8)
_WORDS: dict[str, Any] = {"num_tokens": 64, "dim": 32}
_HEADS: dict[str, Any] = {"heads": 2, "dim_head": 16}
_FLOW: dict[str, Any] = {"num_bins": 5, "tails": "linear", "tail_bound": 3.0}

_MODELS: dict[str, tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = {
    "performer": (
        "performer_pytorch.PerformerLM",
        {**_WORDS, **_HEADS, "max_seq_len": 32, "depth": 1},
        [_IDS],
    ),
    "linformer": (
        "linformer.LinformerLM",
        {**_WORDS, "seq_len": 32, "depth": 1, "heads": 2, "k": 8},
        [_IDS],
    ),
    "local_windows": (
        "local_attention.LocalTransformer",
        {
            **_WORDS,
            **_HEADS,
            "depth": 1,
            "max_seq_len": 32,
            "causal": True,
            "local_attn_window_size": 8,
        },
        [_IDS],
    ),
    "linear_attention": (
        "linear_attention_transformer.LinearAttentionTransformerLM",
        {**_WORDS, "heads": 2, "depth": 1, "max_seq_len": 32},
        [_IDS],
    ),
    "sinkhorn": (
        "sinkhorn_transformer.SinkhornTransformerLM",
        {**_WORDS, "heads": 2, "depth": 1, "max_seq_len": 32, "bucket_size": 8},
        [_IDS],
    ),
    "nystrom": (
        "nystrom_attention.Nystromformer",
        {"dim": 32, **_HEADS, "depth": 1, "num_landmarks": 8},
        [_ROWS],
    ),
    "hierarchical": (
        "h_transformer_1d.HTransformer1D",
        {**_WORDS, **_HEADS, "depth": 1, "causal": True, "max_seq_len": 32, "block_size": 8},
        [_IDS],
    ),
    "block_recurrent": (
        "block_recurrent_transformer_pytorch.BlockRecurrentTransformer",
        {
            **_WORDS,
            **_HEADS,
            "depth": 2,
            "max_seq_len": 16,
            "block_width": 8,
            "num_state_vectors": 8,
            "recurrent_layers": (1,),
            "use_flash_attn": False,
        },
        [("ids", 1, 16)],
    ),
    "gmlp": ("g_mlp_pytorch.gMLP", {**_WORDS, "depth": 1, "seq_len": 32, "causal": True}, [_IDS]),
    "mixer": (
        "mlp_mixer_pytorch.MLPMixer",
        {
            "image_size": 32,
            "channels": 3,
            "patch_size": 8,
            "dim": 32,
            "depth": 1,
            "num_classes": 10,
        },
        [_IMAGE],
    ),
    "axial": (
        "axial_attention.AxialAttention",
        {"dim": 8, "dim_index": 1, "heads": 2, "num_dimensions": 2},
        [_MAPS],
    ),
    "lambda": (
        "lambda_networks.LambdaLayer",
        {"dim": 8, "dim_out": 8, "r": 5, "dim_k": 8, "heads": 2, "dim_u": 1},
        [_MAPS],
    ),
    "bottleneck": (
        "bottleneck_transformer_pytorch.BottleStack",
        {"dim": 16, "fmap_size": 8, "dim_out": 32, "heads": 2, "dim_head": 8, "rel_pos_emb": True},
        [(1, 16, 8, 8)],
    ),
    "halo": (
        "halonet_pytorch.HaloAttention",
        {"dim": 16, "block_size": 4, "halo_size": 2, "dim_head": 8, "heads": 2},
        [(1, 16, 8, 8)],
    ),
    "deformable_attention": (
        "deformable_attention.DeformableAttention",
        {"dim": 16, "dim_head": 8, "heads": 2, "downsample_factor": 4, "offset_scale": 4},
        [(1, 16, 16, 16)],
    ),
    "transformer_in_transformer": (
        "transformer_in_transformer.TNT",
        {
            "image_size": 32,
            "patch_dim": 32,
            "pixel_dim": 8,
            "patch_size": 16,
            "pixel_size": 4,
            "depth": 1,
            "num_classes": 10,
        },
        [_IMAGE],
    ),
    "gate_loop": ("gateloop_transformer.SimpleGateLoopLayer", {"dim": 32}, [_ROWS]),
    "mega": (
        "mega_pytorch.MegaLayer",
        {"dim": 32, "ema_heads": 4, "attn_dim_qk": 16, "attn_dim_value": 32},
        [_ROWS],
    ),
    "soft_experts": ("soft_moe_pytorch.SoftMoE", {"dim": 32, "seq_len": 32}, [_ROWS]),
    "product_keys": (
        "product_key_memory.PKM",
        {"dim": 32, "heads": 2, "num_keys": 16, "topk": 4, "dim_head": 16},
        [(1, 10, 32)],
    ),
    "inverted_series": (
        "iTransformer.iTransformer",
        {"num_variates": 7, "lookback_len": 24, "dim": 32, "depth": 1, "pred_length": (4, 8)},
        [(1, 24, 7)],
    ),
    "learned_tokens": (
        "charformer_pytorch.GBST",
        {**_WORDS, "max_block_size": 4, "downsample_factor": 4, "score_consensus_attn": True},
        [_IDS],
    ),
    "graph_steps": (
        "egnn_pytorch.EGNN_Network",
        {"num_tokens": 21, "dim": 16, "depth": 2, "num_nearest_neighbors": 4},
        [("ids", 1, 12), (1, 12, 3)],
    ),
    "point_attention": (
        "point_transformer_pytorch.PointTransformerLayer",
        {"dim": 16, "pos_mlp_hidden_dim": 8, "attn_mlp_hidden_mult": 2, "num_neighbors": 4},
        [(1, 12, 16), (1, 12, 3)],
    ),
    "finite_scalars": ("vector_quantize_pytorch.FSQ", {"levels": [8, 5, 5, 5]}, [(1, 24, 4)]),
    "lookup_free": (
        "vector_quantize_pytorch.LFQ",
        {"codebook_size": 256, "dim": 8},
        [(1, 8, 4, 4)],
    ),
    "residual_codes": (
        "vector_quantize_pytorch.ResidualVQ",
        {"dim": 16, "num_quantizers": 3, "codebook_size": 32},
        [(1, 24, 16)],
    ),
    "audio_codec": (
        "snac.SNAC",
        {
            "encoder_dim": 8,
            "encoder_rates": [2, 2],
            "decoder_dim": 32,
            "decoder_rates": [2, 2],
            "attn_window_size": None,
            "codebook_size": 32,
            "codebook_dim": 4,
            "vq_strides": [2, 1],
            "noise": False,
        },
        [(1, 1, 64)],
    ),
    "masked_flow": (
        "nflows.transforms.autoregressive.MaskedAffineAutoregressiveTransform",
        {"features": 8, "hidden_features": 16},
        [(4, 8)],
    ),
    "spline_flow": (
        "nflows.transforms.autoregressive.MaskedPiecewiseRationalQuadraticAutoregressiveTransform",
        {"features": 8, "hidden_features": 16, **_FLOW},
        [(4, 8)],
    ),
    "coupled_splines": (
        "normflows.flows.CoupledRationalQuadraticSpline",
        {"num_input_channels": 8, "num_blocks": 1, "num_hidden_channels": 16, "num_bins": 5},
        [(4, 8)],
    ),
    "radial_flow": ("normflows.flows.Radial", {"shape": (8,)}, [(4, 8)]),
    "tensor_product": (
        "e3nn.o3.FullyConnectedTensorProduct",
        {"irreps_in1": "4x0e+2x1o", "irreps_in2": "2x0e+1x1o", "irreps_out": "4x0e+2x1o"},
        [(3, 10), (3, 5)],
    ),
    "spherical_harmonics": (
        "e3nn.o3.SphericalHarmonics",
        {"irreps_out": "0e+1o+2e", "normalize": True},
        [(5, 3)],
    ),
    "splines_on_edges": (
        "kan.KAN",
        {"width": [4, 5, 1], "grid": 3, "k": 3, "auto_save": False, "save_act": False},
        [(8, 4)],
    ),
}


def _model(path: str, sizes: dict[str, Any], inputs: list[tuple[Any, ...]]) -> _Made:
    """Makes a class; an input is of numbers below 21 if its shape begins with "ids"."""
    module, name = path.rsplit(".", 1)
    # Some of these packages change the default type when they are imported.
    made = getattr(importlib.import_module(module), name)
    torch.set_default_dtype(torch.float32)
    values = [
        torch.randint(0, 21, shape[1:]) if shape[0] == "ids" else torch.randn(shape)
        for shape in inputs
    ]
    return Calls(made(**sizes), lambda model, *xs: model(*xs)), tuple(values)


FAMILIES.update({f"layer_{name}": partial(_model, *one) for name, one in _MODELS.items()})


class _Ode(nn.Module):
    """Integrates a network with the steps of a method of torchdiffeq."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.slope = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        times = torch.tensor([0.0, 0.5, 1.0])
        integrate = importlib.import_module("torchdiffeq").odeint
        return integrate(lambda t, y: self.slope(y), x, times, method=self.method)


def _ode(method: str) -> _Made:
    return _Ode(method), (torch.randn(2, 4),)


FAMILIES.update({f"layer_ode_{name}": partial(_ode, name) for name in ("euler", "rk4")})
