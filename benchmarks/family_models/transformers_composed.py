"""Architectures of the package transformers with several inputs or nested configurations."""

from __future__ import annotations

import importlib
import inspect
from functools import partial
from typing import Any

import torch

from family_models import FAMILIES
from family_models.transformers_models import LATENT, SMALL, Outputs, tokens

NESTED = {
    **SMALL,
    "attention_heads": 4,
    "codebook_size": 16,
    "conv_hidden_size": 32,
    "decoder_hidden_size": 32,
    "decoder_num_hidden_layers": 2,
    "depth": 2,
    "embed_dim": 32,
    "encoder_hidden_size": 32,
    "encoder_num_hidden_layers": 2,
    "feature_size": 16,
    "image_token_id": 5,
    "image_token_index": 5,
    "max_seq_len": 64,
    "mlp_ratio": 2,
    "num_blocks": 2,
    "num_frames": 2,
    "num_queries": 7,
    "out_hidden_size": 32,
    "projection_dim": 16,
    "text_hidden_size": 32,
    "vision_hidden_size": 32,
}
"""Largest values of the fields of configurations, at all depths."""

ROTARY = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}, "head_dim": 8}

POSITIONS = {
    "rope_parameters": {**ROTARY["rope_parameters"], "mrope_section": [1, 1, 2]},
    "head_dim": 8,
}
"""Rotary positions with parts of heads for time, height and width."""

SERIES = {
    "prediction_length": 8,
    "context_length": 16,
    "lags_sequence": [1, 2, 4],
    "num_time_features": 1,
}

GUESSED = """
    Aimv2Text Aimv2Vision AltCLIP AltCLIPText AltCLIPVision Apertus Apertus1p5Text Aria
    AudioFlamingo3 AyaVision Blip2Vision BlipText BlipVision CLIP CLIPSeg ChineseCLIP ClapText
    Cohere2Vision CpmAnt CsmDepthDecoder Cvt Cwm DINOv3ConvNext DINOv3ViT DeepseekV4
    DeepseekVL DeepseekVLHybrid Emu3Text EuroBert FalconH1 FlavaImage FlavaText Fuyu Gemma3
    Git GlmAsr GotOcr2 GraniteMoeSWA GraniteSWA GraniteSpeech GroupViTText GroupViTVision
    Hiera Idefics2 Idefics3 InstructBlipVision InternVL InternVLVision JanusVision Kosmos2_5
    LayoutLM Lfm2Vl LightOnOcr Llava LlavaNext Longformer MLCDVision MarkupLM Mgpstr
    MiMoV2Flash Ministral3 Mistral3 MllamaText ModernBertDecoder ModernVBert NanoChat
    NemotronH NomicBert Nystromformer Olmo3 OlmoHybrid Ovis2 OwlViTText OwlViTVision PaliGemma
    PatchTST Phi4MultimodalVision Pixio PixtralVision Qwen2Audio Qwen3VLText Qwen3_5MoeText
    Qwen3_5Text RTDetr SEWD SamVision Siglip2Text SiglipText SiglipVision SmolVLM Tapas
    TextNet VaultGemma VipLlava VisualBert Voxtral Whisper XLMRobertaXL Zaya
"""
"""Models whose inputs follow from the parameters of their `forward`."""


def boxes():
    """Returns corners of boxes (left, top, right, bottom), one box a token."""
    return torch.randint(0, 30, (1, 16, 4)).sort(-1)[0]


def images(*shape):
    return {"pixel_values": torch.randn(1, 3, *(shape or (32, 32)))}


def videos(frames=4):
    return {"pixel_values": torch.randn(1, frames, 3, 32, 32)}


def words():
    return {"input_ids": tokens()}


def described_images():
    return {**words(), **images()}


def series():
    """Returns 20 past and 8 future values, with a feature of each time."""
    return {
        "past_values": torch.rand(1, 20),
        "past_time_features": torch.randn(1, 20, 1),
        "past_observed_mask": torch.ones(1, 20),
        "future_values": torch.rand(1, 8),
        "future_time_features": torch.randn(1, 8, 1),
    }


def decisions():
    """Returns 6 steps of states, actions and rewards."""
    return {
        "states": torch.randn(1, 6, 5),
        "actions": torch.randn(1, 6, 3),
        "rewards": torch.randn(1, 6, 1),
        "returns_to_go": torch.randn(1, 6, 1),
        "timesteps": torch.arange(6)[None],
        "attention_mask": torch.ones(1, 6, dtype=torch.long),
    }


GIVEN: dict[str, tuple[dict[str, Any], Any]] = {
    "AST": (
        {"max_length": 64, "num_mel_bins": 32},
        lambda: {"input_values": torch.randn(1, 64, 32)},
    ),
    "Autoformer": ({**SERIES, "moving_average": 5}, series),
    "Blip": ({}, described_images),
    "Dac": (
        {
            "encoder_hidden_size": 16,
            "decoder_hidden_size": 64,
            "downsampling_ratios": [2, 4],
            "upsampling_ratios": [4, 2],
            "n_codebooks": 3,
            "codebook_size": 32,
            "codebook_dim": 8,
        },
        lambda: {"input_values": torch.randn(1, 1, 800)},
    ),
    "DecisionTransformer": ({"state_dim": 5, "act_dim": 3}, decisions),
    "Glm4vText": (POSITIONS, words),
    "GlmMoeDsa": (LATENT, words),
    "GroupViT": ({}, described_images),
    "HunYuanDenseV1": (ROTARY, words),
    "Informer": (SERIES, series),
    "KimiLinear": (LATENT, words),
    "LayoutLMv3": (
        {"coordinate_size": 4, "shape_size": 8, "input_size": 32},
        lambda: {**described_images(), "bbox": boxes()},
    ),
    "Lilt": (
        {"hidden_size": 48, "channel_shrink_ratio": 2, "max_2d_position_embeddings": 64},
        lambda: {**words(), "bbox": boxes()},
    ),
    "Lxmert": (
        {"visual_feat_dim": 16, "l_layers": 1, "r_layers": 1, "x_layers": 1},
        lambda: {
            **words(),
            "visual_feats": torch.randn(1, 5, 16),
            "visual_pos": torch.randn(1, 5, 4),
        },
    ),
    "MaskFormerSwin": (
        {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
        images,
    ),
    "MiniCPM3": (LATENT, words),
    "Ministral": (ROTARY, words),
    "OwlViT": ({}, described_images),
    "PaddleOCRText": (POSITIONS, words),
    "PatchTSMixer": (
        {
            "context_length": 32,
            "patch_length": 8,
            "patch_stride": 8,
            "num_input_channels": 2,
            "d_model": 16,
            "self_attn": True,
        },
        lambda: {"past_values": torch.randn(1, 32, 2)},
    ),
    "Perceiver": (
        {
            "num_latents": 8,
            "d_latents": 32,
            "d_model": 16,
            "num_self_attends_per_block": 2,
            "num_self_attention_heads": 4,
            "num_cross_attention_heads": 4,
        },
        lambda: {"inputs": torch.randn(1, 16, 16)},
    ),
    "Qwen2VLText": (POSITIONS, words),
    "Qwen2_5_VLText": (POSITIONS, words),
    "SegGpt": (
        {
            "image_size": [32, 16],
            "pretrain_image_size": 32,
            "num_hidden_layers": 3,
            "merge_index": 1,
            "intermediate_hidden_state_indices": [1, 2],
            "decoder_hidden_size": 16,
        },
        lambda: {
            name: torch.randn(1, 3, 16, 16)
            for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")
        },
    ),
    "Speech2Text": (
        {"input_feat_per_channel": 16, "input_channels": 1, "conv_channels": 32},
        lambda: {"input_features": torch.randn(1, 40, 16), "decoder_input_ids": tokens(8)},
    ),
    "Step3p7Text": ({"sliding_window": 8}, words),
    "Swin2SR": (
        {
            "image_size": 16,
            "patch_size": 1,
            "embed_dim": 24,
            "depths": [2, 2],
            "num_heads": [2, 2],
            "window_size": 4,
        },
        lambda: images(16, 16),
    ),
    "Timesformer": ({"num_frames": 4}, videos),
    "Udop": (
        {},
        lambda: {**words(), "bbox": torch.rand(1, 16, 4), "decoder_input_ids": tokens(8)},
    ),
    "VJEPA2": (
        {
            "crop_size": 32,
            "frames_per_clip": 4,
            "hidden_size": 48,
            "pred_hidden_size": 48,
            "pred_num_attention_heads": 4,
            "pred_num_hidden_layers": 2,
            "pred_num_mask_tokens": 2,
        },
        lambda: {"pixel_values_videos": torch.randn(1, 4, 3, 32, 32)},
    ),
    "VideoMAE": ({"num_frames": 4}, videos),
    "Vivit": ({"num_frames": 4, "tubelet_size": [2, 8, 8]}, videos),
    "Wav2Vec2Bert": (
        {"feature_projection_input_dim": 16},
        lambda: {"input_features": torch.randn(1, 30, 16)},
    ),
    "XCLIP": ({}, lambda: {**words(), **videos(2)}),
    "Youtu": (LATENT, words),
    "Zamba2": (
        {
            "attention_hidden_size": 64,
            "attention_head_dim": 16,
            "num_key_value_heads": 4,
            "n_mamba_heads": 8,
            "mamba_d_state": 8,
            "mamba_headdim": 8,
            "mamba_ngroups": 1,
            "chunk_size": 8,
            "num_hidden_layers": 3,
            "layers_block_type": ["mamba", "hybrid", "mamba"],
            "num_mem_blocks": 1,
        },
        words,
    ),
    "xLSTM": ({"embedding_dim": 32, "num_heads": 2, "num_blocks": 2, "chunk_size": 8}, words),
}
"""Fields of the configuration, and inputs."""


def shrink(config: Any) -> None:
    """Lowers the fields of a configuration, and of those in it, to the values of `NESTED`."""
    for name, value in list(vars(config).items()):
        if hasattr(value, "to_dict"):
            shrink(value)
        elif name == "use_cache":
            config.use_cache = False
        elif name in ("layer_types", "mlp_layer_types") and isinstance(value, list):
            kinds = dict.fromkeys(value)
            setattr(config, name, [*kinds, *value][:2])
        elif type(value) in (int, float) and name != "num_channels":
            least = NESTED.get(name, value)
            if value > least or name.endswith("token_id"):
                setattr(config, name, type(value)(least))
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # others have no form in ONNX


def guessed_inputs(model: Any, config: Any) -> dict[str, torch.Tensor]:
    """Returns inputs for the parameters of a model's `forward`."""
    taken = inspect.signature(model.forward).parameters
    main, found = model.main_input_name, dict[str, torch.Tensor]()
    if "past_values" in taken:
        return {"past_values": torch.randn(1, config.context_length, config.num_input_channels)}
    if "input_ids" in taken:
        found["input_ids"] = tokens()
    if "decoder_input_ids" in taken:
        found["decoder_input_ids"] = tokens(8)
    if "bbox" in taken:
        found["bbox"] = boxes()
    is_pair = any(word in type(model).__name__ for word in ("CLIP", "iglip"))
    is_needed = main == "pixel_values" or is_pair or next(iter(taken)) == "pixel_values"
    if "pixel_values" in taken and is_needed:
        nested = getattr(config, "vision_config", config)
        extent = getattr(nested, "image_size", 32)
        found |= images(*(extent if isinstance(extent, list | tuple) else (extent, extent)))
    if main == "input_values":
        found["input_values"] = torch.randn(1, 2000)
    if main == "input_features":
        bands = getattr(config, "num_mel_bins", 16)
        found["input_features"] = torch.randn(1, bands, 2 * config.max_source_positions)
    return found


def composed(prefix, fields, make_inputs):
    """Builds a model of transformers; `fields` None shrinks the whole configuration."""
    library = importlib.import_module("transformers")
    config_class = getattr(library, f"{prefix}Config")
    if fields is None:
        config = config_class()
        shrink(config)
    else:
        needed = {name: fields[name] for name in SERIES if name in fields}
        known = config_class(**needed).to_dict()
        small = {
            name: value
            for name, value in SMALL.items()
            if name in known and not isinstance(known[name], list | tuple)
        }
        config = config_class(**{**small, **fields})
        for value in list(vars(config).values()):
            if hasattr(value, "to_dict"):
                shrink(value)
        config._attn_implementation = "eager"
        config._experts_implementation = "batched_mm"
    model = getattr(library, f"{prefix}Model")(config)
    inputs = make_inputs() if make_inputs else guessed_inputs(model, config)
    return Outputs(model, tuple(inputs)), tuple(inputs.values())


_ALL = {**dict.fromkeys(GUESSED.split(), (None, None)), **GIVEN}

FAMILIES |= {
    f"composed_{prefix.lower()}": partial(composed, prefix, fields, make_inputs)
    for prefix, (fields, make_inputs) in _ALL.items()
}
