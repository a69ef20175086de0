"""Models of sequences and of diffusion in published packages, with random weights.

The packages are x-transformers and diffusers.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch
from torch import Tensor

from family_models import FAMILIES
from family_models.package_images import Calls

_Made = tuple[Any, tuple[Any, ...]]

_LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "rotary_xpos": {"rotary_xpos": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "relative_bias": {"rel_pos_bias": True},
    "dynamic_bias": {"dynamic_pos_bias": True},
    "grouped": {"attn_kv_heads": 2},
    "one_key": {"attn_one_kv_head": True},
    "talking_heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
    "sparse_topk": {"attn_sparse_topk": 4},
    "glu": {"ff_glu": True, "ff_swish": True},
    "relu_squared": {"ff_relu_squared": True},
    "rmsnorm": {"use_rmsnorm": True},
    "simple_rmsnorm": {"use_simple_rmsnorm": True},
    "scalenorm": {"use_scalenorm": True},
    "qk_norm": {"attn_qk_norm": True, "attn_qk_norm_groups": 4},
    "sandwich": {"sandwich_norm": True},
    "macaron": {"macaron": True},
    "residual_attention": {"residual_attn": True},
    "gate_residual": {"gate_residual": True},
    "shift_tokens": {"shift_tokens": 1},
    "gated_values": {"attn_gate_values": True},
    "head_scale": {"attn_head_scale": True},
    "memory": {"attn_num_mem_kv": 4},
    "on_attention": {"attn_on_attn": True},
    "hyper": {"num_residual_streams": 2},
    "softclamp": {"attn_softclamp_logits": True},
    "hybrid_norm": {"pre_norm": False},
    "laser": {"attn_laser": True},
}
"""The options of attention layers, by name."""


def _decoder(options: dict[str, Any]) -> _Made:
    package = importlib.import_module("x_transformers")
    layers = package.Decoder(dim=64, depth=2, heads=4, attn_dim_head=16, **options)
    model = package.TransformerWrapper(num_tokens=128, max_seq_len=32, attn_layers=layers)
    return Calls(model, lambda model, x: model(x)), (torch.randint(0, 128, (2, 24)),)


FAMILIES.update({f"xt_{name}": partial(_decoder, one) for name, one in _LAYERS.items()})


def _diffuser(name: str, sizes: dict[str, Any], inputs: dict[str, Any]) -> _Made:
    """Makes a class of diffusers; a shape is an input of random floats."""
    model = getattr(importlib.import_module("diffusers"), name)(**sizes)
    names, values = list(inputs), []
    for one in inputs.values():
        values.append(torch.randn(one) if isinstance(one, tuple) else one)

    def call(model: Any, *xs: Tensor) -> Any:
        return model(**dict(zip(names, xs, strict=True)), return_dict=False)

    return Calls(model, call), tuple(values)


_STEP = torch.tensor([7])
_DIFFUSERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "unet2d": (
        "UNet2DModel",
        {
            "sample_size": 16,
            "block_out_channels": (16, 32),
            "layers_per_block": 1,
            "norm_num_groups": 8,
            "attention_head_dim": 8,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        },
        {"sample": (1, 3, 16, 16), "timestep": _STEP},
    ),
    "unet2d_skip": (
        "UNet2DModel",
        {
            "sample_size": 32,
            "block_out_channels": (32, 32),
            "layers_per_block": 1,
            "norm_num_groups": 8,
            "attention_head_dim": 8,
            "time_embedding_type": "fourier",
            "down_block_types": ("SkipDownBlock2D", "AttnSkipDownBlock2D"),
            "up_block_types": ("AttnSkipUpBlock2D", "SkipUpBlock2D"),
        },
        {"sample": (1, 3, 32, 32), "timestep": _STEP},
    ),
    "unet2d_condition": (
        "UNet2DConditionModel",
        {
            "sample_size": 16,
            "block_out_channels": (16, 32),
            "layers_per_block": 1,
            "norm_num_groups": 8,
            "attention_head_dim": 4,
            "cross_attention_dim": 24,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        },
        {"sample": (1, 4, 16, 16), "timestep": _STEP, "encoder_hidden_states": (1, 7, 24)},
    ),
    "autoencoder_kl": (
        "AutoencoderKL",
        {
            "block_out_channels": (16, 32),
            "norm_num_groups": 8,
            "layers_per_block": 1,
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
        },
        {"sample": (1, 3, 16, 16)},
    ),
    "autoencoder_tiny": (
        "AutoencoderTiny",
        {
            "encoder_block_out_channels": (16, 16),
            "decoder_block_out_channels": (16, 16),
            "num_encoder_blocks": (1, 1),
            "num_decoder_blocks": (1, 1),
        },
        {"sample": (1, 3, 16, 16)},
    ),
    "autoencoder_dc": (
        "AutoencoderDC",
        {
            "attention_head_dim": 8,
            "encoder_block_out_channels": (16, 32),
            "decoder_block_out_channels": (16, 32),
            "encoder_layers_per_block": (1, 1),
            "decoder_layers_per_block": (1, 1),
            "latent_channels": 4,
            "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "encoder_qkv_multiscales": ((), (5,)),
            "decoder_qkv_multiscales": ((), (5,)),
        },
        {"sample": (1, 3, 16, 16)},
    ),
    "vq": (
        "VQModel",
        {
            "block_out_channels": (16, 32),
            "norm_num_groups": 8,
            "num_vq_embeddings": 16,
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
        },
        {"sample": (1, 3, 16, 16)},
    ),
    "dit": (
        "DiTTransformer2DModel",
        {
            "sample_size": 8,
            "num_layers": 2,
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 8,
            "num_embeds_ada_norm": 10,
        },
        {"hidden_states": (1, 4, 8, 8), "timestep": _STEP, "class_labels": torch.tensor([3])},
    ),
    "pixart": (
        "PixArtTransformer2DModel",
        {
            "sample_size": 8,
            "num_layers": 2,
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 8,
            "cross_attention_dim": 32,
            "caption_channels": 24,
            "use_additional_conditions": False,
        },
        {"hidden_states": (1, 4, 8, 8), "encoder_hidden_states": (1, 7, 24), "timestep": _STEP},
    ),
    "sd3": (
        "SD3Transformer2DModel",
        {
            "sample_size": 8,
            "patch_size": 2,
            "in_channels": 4,
            "num_layers": 2,
            "attention_head_dim": 8,
            "num_attention_heads": 4,
            "joint_attention_dim": 24,
            "caption_projection_dim": 32,
            "pooled_projection_dim": 24,
            "out_channels": 4,
            "qk_norm": "rms_norm",
        },
        {
            "hidden_states": (1, 4, 8, 8),
            "encoder_hidden_states": (1, 7, 24),
            "pooled_projections": (1, 24),
            "timestep": _STEP,
        },
    ),
    "aura": (
        "AuraFlowTransformer2DModel",
        {
            "sample_size": 8,
            "patch_size": 2,
            "in_channels": 4,
            "num_mmdit_layers": 1,
            "num_single_dit_layers": 1,
            "attention_head_dim": 8,
            "num_attention_heads": 4,
            "joint_attention_dim": 24,
            "caption_projection_dim": 32,
            "out_channels": 4,
            "pos_embed_max_size": 64,
        },
        {
            "hidden_states": (1, 4, 8, 8),
            "encoder_hidden_states": (1, 7, 24),
            "timestep": torch.tensor([0.3]),
        },
    ),
    "sana": (
        "SanaTransformer2DModel",
        {
            "sample_size": 8,
            "in_channels": 4,
            "out_channels": 4,
            "num_layers": 2,
            "attention_head_dim": 8,
            "num_attention_heads": 4,
            "num_cross_attention_heads": 4,
            "cross_attention_head_dim": 8,
            "cross_attention_dim": 32,
            "caption_channels": 24,
        },
        {"hidden_states": (1, 4, 8, 8), "encoder_hidden_states": (1, 7, 24), "timestep": _STEP},
    ),
    "wan": (
        "WanTransformer3DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 12,
            "in_channels": 4,
            "out_channels": 4,
            "text_dim": 24,
            "freq_dim": 32,
            "ffn_dim": 48,
            "num_layers": 1,
            "rope_max_seq_len": 32,
        },
        {"hidden_states": (1, 4, 2, 8, 8), "timestep": _STEP, "encoder_hidden_states": (1, 7, 24)},
    ),
    "cogview": (
        "CogView3PlusTransformer2DModel",
        {
            "in_channels": 4,
            "num_layers": 1,
            "attention_head_dim": 8,
            "num_attention_heads": 4,
            "out_channels": 4,
            "text_embed_dim": 24,
            "time_embed_dim": 32,
            "condition_dim": 8,
            "pos_embed_max_size": 32,
            "sample_size": 8,
        },
        {
            "hidden_states": (1, 4, 8, 8),
            "encoder_hidden_states": (1, 7, 24),
            "timestep": _STEP,
            "original_size": (1, 2),
            "target_size": (1, 2),
            "crop_coords": (1, 2),
        },
    ),
    "cogvideo": (
        "CogVideoXTransformer3DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 4,
            "time_embed_dim": 8,
            "text_embed_dim": 24,
            "num_layers": 1,
            "sample_width": 8,
            "sample_height": 8,
            "sample_frames": 5,
            "max_text_seq_length": 7,
        },
        {"hidden_states": (1, 2, 4, 8, 8), "encoder_hidden_states": (1, 7, 24), "timestep": _STEP},
    ),
    "prior": (
        "PriorTransformer",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 8,
            "num_layers": 1,
            "embedding_dim": 16,
            "num_embeddings": 7,
            "additional_embeddings": 4,
        },
        {
            "hidden_states": (1, 16),
            "timestep": _STEP,
            "proj_embedding": (1, 16),
            "encoder_hidden_states": (1, 7, 16),
        },
    ),
    "unet1d": (
        "UNet1DModel",
        {
            "block_out_channels": (16, 32, 32),
            "in_channels": 2,
            "out_channels": 2,
            "sample_size": 512,
            "extra_in_channels": 32,
        },
        {"sample": (1, 2, 512), "timestep": _STEP},
    ),
    "oobleck": (
        "AutoencoderOobleck",
        {
            "encoder_hidden_size": 8,
            "decoder_channels": 8,
            "decoder_input_channels": 4,
            "downsampling_ratios": [2, 4],
            "channel_multiples": [1, 2],
        },
        {"sample": (1, 2, 64)},
    ),
    "stable_cascade": (
        "StableCascadeUNet",
        {
            "block_out_channels": (16, 32),
            "conditioning_dim": 32,
            "num_attention_heads": (0, 2),
            "clip_text_pooled_in_channels": 24,
            "clip_seq": 2,
            "down_num_layers_per_block": (1, 1),
            "up_num_layers_per_block": (1, 1),
            "down_blocks_repeat_mappers": (1, 1),
            "up_blocks_repeat_mappers": (1, 1),
            "in_channels": 4,
            "out_channels": 4,
            "block_types_per_layer": (
                ("SDCascadeResBlock", "SDCascadeTimestepBlock"),
                ("SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock"),
            ),
            "switch_level": None,
            "timestep_ratio_embedding_dim": 8,
        },
        {
            "sample": (1, 4, 8, 8),
            "timestep_ratio": torch.tensor([0.4]),
            "clip_text_pooled": (1, 1, 24),
        },
    ),
}

FAMILIES.update({f"diff_{name}": partial(_diffuser, *one) for name, one in _DIFFUSERS.items()})
