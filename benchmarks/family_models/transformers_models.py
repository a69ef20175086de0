"""Architectures of the package transformers, with random weights and small extents."""

from __future__ import annotations

import importlib
from functools import partial

import torch
from torch import nn

from family_models import FAMILIES

SMALL = {
    "vocab_size": 61,
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "d_kv": 8,
    "d_ff": 48,
    "head_dim": 8,
    "intermediate_size": 48,
    "ffn_dim": 48,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "hidden_dim": 48,
    "max_position_embeddings": 64,
    "max_source_positions": 64,
    "max_target_positions": 64,
    "n_positions": 64,
    "image_size": 32,
    "patch_size": 8,
    "num_channels": 3,
    "num_mel_bins": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "use_cache": False,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "num_experts_per_token": 2,
    "moe_topk": 2,
    "moe_k": 2,
    "top_k_experts": 2,
    "moe_intermediate_size": 24,
    "moe_hidden_size": 24,
    "shared_expert_intermediate_size": 24,
    "moe_shared_expert_intermediate_size": 24,
    "expert_ffn_hidden_size": 24,
}
"""Values of the fields of a configuration, as far as it has them."""

LATENT = {
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 8,
    "head_dim": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "num_key_value_heads": 4,
}

TEXT = {
    "Albert": {"embedding_size": 16},
    "Arcee": {},
    "Bamba": {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 4},
    "Bert": {},
    "BigBird": {"attention_type": "original_full"},
    "BioGpt": {},
    "BitNet": {},
    "Bloom": {},
    "Camembert": {},
    "Canine": {},
    "CodeGen": {"rotary_dim": 4},
    "Cohere": {},
    "Cohere2": {},
    "ConvBert": {"head_ratio": 2},
    "CTRL": {"dff": 48},
    "Data2VecText": {},
    "DebertaV2": {},
    "Deberta": {},
    "DeepseekV2": LATENT,
    "DeepseekV3": {**LATENT, "n_group": 1, "topk_group": 1},
    "DiffLlama": {},
    "DistilBert": {},
    "Electra": {},
    "Ernie": {},
    "Ernie4_5": {},
    "Esm": {},
    "Exaone4": {},
    "Falcon": {},
    "FalconMamba": {"state_size": 4},
    "FNet": {},
    "Funnel": {},
    "Gemma": {},
    "Gemma2": {},
    "Gemma3Text": {},
    "Glm": {"head_dim": 8},
    "Glm4": {"head_dim": 8},
    "GPT2": {},
    "GPTBigCode": {},
    "GPTJ": {"rotary_dim": 4},
    "GPTNeo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2},
    "GPTNeoX": {},
    "GPTNeoXJapanese": {},
    "GptOss": {"num_local_experts": 4},
    "Granite": {},
    "GraniteMoe": {"num_local_experts": 4},
    "Helium": {},
    "IBert": {},
    "Jamba": {"num_experts": 2, "use_mamba_kernels": False},
    "ImageGPT": {"n_inner": 48},
    "JetMoe": {"num_local_experts": 4},
    "Lfm2": {},
    "Llama": {},
    "Luke": {"entity_vocab_size": 16, "entity_emb_size": 8},
    "Mamba": {"state_size": 4},
    "Mamba2": {"state_size": 4, "num_heads": 8, "head_dim": 8, "n_groups": 1},
    "MegatronBert": {},
    "MiniMax": {},
    "Mistral": {},
    "Mixtral": {"num_local_experts": 4},
    "MobileBert": {"intra_bottleneck_size": 16, "true_hidden_size": 16, "embedding_size": 16},
    "ModernBert": {"global_attn_every_n_layers": 2},
    "MPNet": {},
    "Mpt": {},
    "Mra": {},
    "Nemotron": {},
    "Olmo": {},
    "Olmo2": {},
    "Olmoe": {"num_experts": 4},
    "OpenAIGPT": {},
    "OPT": {"word_embed_proj_dim": 32},
    "Persimmon": {},
    "Phi": {},
    "Phi3": {},
    "Phimoe": {"num_local_experts": 4},
    "Qwen2": {},
    "Qwen2Moe": {"num_experts": 4},
    "Qwen3": {"head_dim": 8},
    "Qwen3Moe": {"num_experts": 4, "head_dim": 8},
    "RecurrentGemma": {"lru_width": 32, "num_hidden_layers": 3},
    "RemBert": {"input_embedding_size": 16},
    "Roberta": {},
    "RobertaPreLayerNorm": {},
    "RoCBert": {},
    "RoFormer": {},
    "Rwkv": {"context_length": 32, "attention_hidden_size": 32},
    "SeedOss": {"head_dim": 8},
    "SmolLM3": {},
    "Splinter": {},
    "SqueezeBert": {"embedding_size": 32},
    "StableLm": {},
    "Starcoder2": {},
    "XGLM": {"attention_heads": 4},
    "XLM": {"emb_dim": 32},
    "XLMRoberta": {},
    "XLNet": {"d_inner": 48},
    "Xmod": {"languages": ["en"], "default_language": "en"},
    "Yoso": {"use_expectation": True},
}
"""Models of tokens: the prefix of their classes, and fields of their own."""

MIXTURES = {
    "Afmoe": {},
    "AriaText": {},
    "Cohere2Moe": {},
    "Doge": {"is_moe": True, "num_experts": 16},
    "Dots1": {"n_group": 1, "topk_group": 1},
    "Ernie4_5_Moe": {},
    "ExaoneMoe": {"n_group": 1, "topk_group": 1},
    "FlexOlmo": {},
    "Glm4Moe": {"n_group": 1, "topk_group": 1},
    "Glm4MoeLite": {**LATENT, "n_group": 1, "topk_group": 1},
    "GraniteMoeHybrid": {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1},
    "GraniteMoeShared": {"shared_intermediate_size": 24},
    "HunYuanMoEV1": {},
    "Lfm2Moe": {},
    "Llama4Text": {"intermediate_size_mlp": 48, "num_experts_per_tok": 1},
    "LongcatFlash": {**LATENT, "zero_expert_num": 2},
    "MiniMax": {"layer_types": ["full_attention", "linear_attention"]},
    "MiniMaxM2": {"rotary_dim": 4},
    "Mistral4": {**LATENT, "n_group": 1, "topk_group": 1},
    "Qwen3Next": {},
    "Qwen3VLMoeText": {},
    "SolarOpen": {"n_group": 1, "topk_group": 1},
}
"""Mixtures of experts, beside those of `TEXT`."""

PAIRS = {
    "Bart": {},
    "BigBirdPegasus": {"attention_type": "original_full"},
    "Blenderbot": {},
    "BlenderbotSmall": {},
    "FSMT": {"src_vocab_size": 61, "tgt_vocab_size": 61},
    "LED": {"attention_window": 8},
    "LongT5": {},
    "M2M100": {},
    "MBart": {},
    "MT5": {},
    "Marian": {},
    "Mvp": {},
    "NllbMoe": {"num_experts": 4},
    "PLBart": {},
    "Pegasus": {},
    "PegasusX": {},
    "ProphetNet": {},
    "SwitchTransformers": {"num_experts": 4},
    "T5": {},
    "UMT5": {},
}
"""Models of two sequences of tokens."""

IMAGES = {
    "Beit": {"out_indices": [1]},
    "Bit": {"hidden_sizes": [32, 32], "depths": [1, 1], "embedding_size": 32, "num_groups": 8},
    "ConvNext": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "ConvNextV2": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "Data2VecVision": {"out_indices": [1]},
    "DeiT": {},
    "Dinov2": {},
    "Dinov2WithRegisters": {},
    "DonutSwin": {
        "depths": [1, 1],
        "num_heads": [2, 4],
        "embed_dim": 8,
        "patch_size": 4,
        "window_size": 4,
    },
    "DPT": {"is_hybrid": False, "backbone_out_indices": [0, 0, 1, 1]},
    "EfficientNet": {"hidden_dim": 1280, "width_coefficient": 1.0, "depth_coefficient": 1.0},
    "FocalNet": {"depths": [1, 1], "embed_dim": 8, "hidden_sizes": [8, 16], "patch_size": 4},
    "GLPN": {"depths": [1] * 4, "hidden_sizes": [8] * 4, "num_attention_heads": [1, 1, 2, 2]},
    "IJepa": {},
    "MobileNetV1": {},
    "MobileNetV2": {},
    "MobileViT": {"hidden_sizes": [12, 12, 12], "neck_hidden_sizes": [4, 4, 8, 8, 8, 8, 8]},
    "MobileViTV2": {"image_size": 64},
    "Pvt": {"depths": [1] * 4, "hidden_sizes": [8, 8, 16, 16], "num_attention_heads": [1, 2, 2, 4]},
    "PvtV2": {"depths": [1] * 4, "hidden_sizes": [8] * 4, "num_attention_heads": [1, 1, 2, 2]},
    "PoolFormer": {"depths": [1] * 4, "hidden_sizes": [8, 8, 16, 16]},
    "RegNet": {"hidden_sizes": [8, 16], "depths": [1, 1], "embedding_size": 8, "groups_width": 8},
    "ResNet": {"hidden_sizes": [8, 16], "depths": [1, 1], "embedding_size": 8},
    "Segformer": {"depths": [1] * 4, "hidden_sizes": [8, 8, 16, 16]},
    "SwiftFormer": {"depths": [1] * 4, "embed_dims": [8, 8, 16, 16]},
    "Swin": {
        "depths": [1, 1],
        "num_heads": [2, 4],
        "embed_dim": 8,
        "patch_size": 4,
        "window_size": 4,
    },
    "Swinv2": {
        "depths": [1, 1],
        "num_heads": [2, 4],
        "embed_dim": 8,
        "patch_size": 4,
        "window_size": 4,
    },
    "ViT": {},
    "ViTMSN": {},
    "VitDet": {},
    "Yolos": {"num_detection_tokens": 5, "image_size": [32, 32]},
}
"""Models of images."""

SOUNDS = {
    "Data2VecAudio": {},
    "Hubert": {},
    "SEW": {},
    "UniSpeech": {},
    "UniSpeechSat": {},
    "Wav2Vec2": {},
    "Wav2Vec2Conformer": {},
    "WavLM": {},
}
"""Models of sound waves."""


class Outputs(nn.Module):
    """A model whose result is the first tensor that a model of transformers returns."""

    def __init__(self, model: nn.Module, names: tuple[str, ...]):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        """Returns the first tensor, for inputs in the order of their names."""
        found = self.model(**dict(zip(self.names, values, strict=True)))
        while not isinstance(found, torch.Tensor):
            found = next(iter(found.values())) if isinstance(found, dict) else found[0]
        return found


def transformer(prefix, fields, make_inputs):
    """Builds a model of transformers by its class's prefix."""
    library, inputs = importlib.import_module("transformers"), make_inputs()
    config_class = getattr(library, f"{prefix}Config")
    known = config_class().to_dict()
    small = {
        name: value
        for name, value in SMALL.items()
        if name in known and not isinstance(known[name], list | tuple)
    }
    config = config_class(**{**small, **fields})
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # others have no form in ONNX
    model = getattr(library, f"{prefix}Model")(config)
    return Outputs(model, tuple(inputs)), tuple(inputs.values())


def tokens(extent=16):
    return torch.randint(3, 61, (1, extent))


for _names, _make_inputs in (
    (TEXT, lambda: {"input_ids": tokens()}),
    (MIXTURES, lambda: {"input_ids": tokens()}),
    (PAIRS, lambda: {"input_ids": tokens(), "decoder_input_ids": tokens(8)}),
    (IMAGES, lambda: {"pixel_values": torch.randn(1, 3, 32, 32)}),
    (SOUNDS, lambda: {"input_values": torch.randn(1, 2000)}),
):
    FAMILIES |= {
        f"hf_{prefix.lower()}": partial(transformer, prefix, fields, _make_inputs)
        for prefix, fields in _names.items()
    }
