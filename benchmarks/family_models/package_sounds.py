"""Models of sound and tables in published packages, with random weights.

The packages are torchaudio, speechbrain, asteroid, demucs, conformer, perceiver-pytorch,
denoising-diffusion-pytorch, mambapy and pytorch-tabnet.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from family_models import FAMILIES
from family_models.package_images import Calls

_Made = tuple[Any, tuple[Any, ...]]


def _class(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def _model(
    path: str, sizes: dict[str, Any], inputs: list[Any], call: Callable[..., Any] | None = None
) -> _Made:
    """Makes a class; a shape among the inputs stands for random floats."""
    values = tuple(torch.randn(one) if isinstance(one, tuple) else one for one in inputs)
    return Calls(_class(path)(**sizes), call or (lambda model, *xs: model(*xs))), values


_MODELS: dict[str, tuple[Any, ...]] = {
    "ta_conformer": (
        "torchaudio.models.Conformer",
        {
            "input_dim": 16,
            "num_heads": 2,
            "ffn_dim": 32,
            "num_layers": 2,
            "depthwise_conv_kernel_size": 7,
        },
        [(2, 20, 16), torch.tensor([20, 13])],
    ),
    "ta_convtasnet": (
        "torchaudio.models.ConvTasNet",
        {
            "num_sources": 2,
            "enc_kernel_size": 8,
            "enc_num_feats": 16,
            "msk_kernel_size": 3,
            "msk_num_feats": 8,
            "msk_num_hidden_feats": 16,
            "msk_num_layers": 2,
            "msk_num_stacks": 2,
        },
        [(1, 1, 160)],
    ),
    "ta_deepspeech": (
        "torchaudio.models.DeepSpeech",
        {"n_feature": 13, "n_hidden": 32},
        [(1, 1, 12, 13)],
    ),
    "ta_emformer": (
        "torchaudio.models.Emformer",
        {
            "input_dim": 16,
            "num_heads": 2,
            "ffn_dim": 32,
            "num_layers": 2,
            "segment_length": 4,
            "right_context_length": 1,
            "left_context_length": 4,
        },
        [(1, 17, 16), torch.tensor([16])],
    ),
    "ta_hdemucs": (
        "torchaudio.models.HDemucs",
        {"sources": ["a", "b"], "channels": 8, "nfft": 256, "depth": 3},
        [(1, 2, 4096)],
    ),
    "ta_wav2letter": (
        "torchaudio.models.Wav2Letter",
        {"num_classes": 12, "num_features": 13, "input_type": "mfcc"},
        [(1, 13, 60)],
    ),
    "ta_wavernn": (
        "torchaudio.models.WaveRNN",
        {
            "upsample_scales": [2, 2],
            "n_classes": 16,
            "hop_length": 4,
            "n_res_block": 2,
            "n_rnn": 16,
            "n_fc": 16,
            "kernel_size": 5,
            "n_freq": 8,
            "n_hidden": 16,
            "n_output": 16,
        },
        [(1, 1, 24), (1, 1, 8, 10)],
    ),
    "ta_mfcc": (
        "torchaudio.transforms.MFCC",
        {"n_mfcc": 13, "melkwargs": {"n_fft": 64, "n_mels": 16, "hop_length": 32}},
        [(1, 640)],
    ),
    "ta_melspectrogram": (
        "torchaudio.transforms.MelSpectrogram",
        {"n_fft": 64, "n_mels": 16, "hop_length": 32},
        [(1, 640)],
    ),
    "ta_lfcc": (
        "torchaudio.transforms.LFCC",
        {"n_lfcc": 13, "n_filter": 16, "speckwargs": {"n_fft": 64, "hop_length": 32}},
        [(1, 640)],
    ),
    "ta_spectralcentroid": (
        "torchaudio.transforms.SpectralCentroid",
        {"sample_rate": 16000, "n_fft": 64},
        [(1, 640)],
    ),
    "ta_deltas": ("torchaudio.transforms.ComputeDeltas", {}, [(1, 13, 40)]),
    "ta_resample": (
        "torchaudio.transforms.Resample",
        {"orig_freq": 16, "new_freq": 12},
        [(1, 640)],
    ),
    "ta_cmn": (
        "torchaudio.transforms.SlidingWindowCmn",
        {"cmn_window": 10, "center": True},
        [(1, 20, 13)],
    ),
    "ta_mulaw": ("torchaudio.transforms.MuLawEncoding", {}, [(1, 640)]),
    "sb_ecapa": (
        "speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN",
        {
            "input_size": 16,
            "channels": [32, 32, 32, 32, 96],
            "attention_channels": 16,
            "lin_neurons": 24,
        },
        [(2, 40, 16)],
    ),
    "sb_xvector": (
        "speechbrain.lobes.models.Xvector.Xvector",
        {"in_channels": 16, "tdnn_channels": [32, 32, 32, 32, 64], "lin_neurons": 24},
        [(2, 40, 16)],
    ),
    "sb_crdnn": (
        "speechbrain.lobes.models.CRDNN.CRDNN",
        {
            "input_shape": [2, 24, 16],
            "cnn_channels": (8, 16),
            "rnn_neurons": 16,
            "rnn_layers": 1,
            "dnn_neurons": 16,
            "time_pooling": True,
            "rnn_bidirectional": True,
        },
        [(2, 24, 16)],
    ),
    "sb_ligru": (
        "speechbrain.nnet.RNN.LiGRU",
        {"hidden_size": 16, "input_shape": [2, 10, 12], "bidirectional": True},
        [(2, 10, 12)],
    ),
    "sb_contextnet": (
        "speechbrain.lobes.models.ContextNet.ContextNet",
        {
            "input_shape": (2, 40, 16),
            "out_channels": 24,
            "conv_channels": [16] * 3,
            "kernel_size": 3,
            "num_blocks": 3,
            "num_layers": 2,
            "strides": [1, 2, 1],
        },
        [(2, 40, 16)],
    ),
    "sb_resnet": (
        "speechbrain.lobes.models.ResNet.ResNet",
        {
            "input_size": 16,
            "channels": [8, 8, 16, 16],
            "block_sizes": [1, 1, 1, 1],
            "strides": [1, 2, 2, 2],
            "lin_neurons": 24,
        },
        [(2, 40, 16)],
    ),
    "sb_quaternion": (
        "speechbrain.nnet.quaternion_networks.q_linear.QLinear",
        {"n_neurons": 16, "input_shape": [2, 10, 12]},
        [(2, 10, 12)],
    ),
    "sb_complexconv": (
        "speechbrain.nnet.complex_networks.c_CNN.CConv1d",
        {"out_channels": 12, "kernel_size": 5, "input_shape": [2, 20, 30]},
        [(2, 20, 30)],
    ),
    "sb_sincconv": (
        "speechbrain.nnet.CNN.SincConv",
        {"out_channels": 8, "kernel_size": 33, "input_shape": (1, 400)},
        [(1, 400)],
    ),
    "as_convtasnet": (
        "asteroid.models.ConvTasNet",
        {
            "n_src": 2,
            "n_blocks": 2,
            "n_repeats": 2,
            "bn_chan": 16,
            "hid_chan": 24,
            "skip_chan": 16,
            "n_filters": 32,
        },
        [(1, 800)],
    ),
    "as_dprnn": (
        "asteroid.models.DPRNNTasNet",
        {
            "n_src": 2,
            "bn_chan": 16,
            "hid_size": 16,
            "chunk_size": 10,
            "n_repeats": 1,
            "n_filters": 16,
        },
        [(1, 400)],
    ),
    "as_dptnet": (
        "asteroid.models.DPTNet",
        {
            "n_src": 2,
            "ff_hid": 16,
            "chunk_size": 10,
            "n_repeats": 1,
            "n_filters": 16,
            "n_heads": 2,
            "kernel_size": 16,
            "stride": 8,
        },
        [(1, 400)],
    ),
    "as_sudormrf": (
        "asteroid.models.SuDORMRFNet",
        {"n_src": 2, "bn_chan": 16, "num_blocks": 2, "upsampling_depth": 3, "n_filters": 32},
        [(1, 800)],
    ),
    "as_sudormrf2": (
        "asteroid.models.SuDORMRFImprovedNet",
        {"n_src": 2, "bn_chan": 16, "num_blocks": 2, "upsampling_depth": 3, "n_filters": 32},
        [(1, 800)],
    ),
    "as_lstmtasnet": (
        "asteroid.models.LSTMTasNet",
        {"n_src": 2, "hid_size": 16, "n_layers": 1, "n_filters": 16, "dropout": 0.0},
        [(1, 400)],
    ),
    "demucs_attn": (
        "demucs.demucs.Demucs",
        {
            "sources": ["a", "b"],
            "channels": 8,
            "depth": 2,
            "dconv_lstm": 1,
            "dconv_attn": 1,
            "resample": False,
        },
        [(1, 2, 512)],
    ),
    "conformer": (
        "conformer.Conformer",
        {"dim": 32, "depth": 2, "dim_head": 8, "heads": 4, "conv_kernel_size": 7},
        [(1, 24, 32)],
    ),
    "perceiver": (
        "perceiver_pytorch.Perceiver",
        {
            "input_channels": 3,
            "input_axis": 2,
            "num_freq_bands": 4,
            "max_freq": 10.0,
            "depth": 2,
            "num_latents": 8,
            "latent_dim": 32,
            "cross_heads": 1,
            "latent_heads": 4,
            "cross_dim_head": 16,
            "latent_dim_head": 8,
            "num_classes": 10,
            "weight_tie_layers": True,
        },
        [(1, 12, 12, 3)],
    ),
    "perceiver_io": (
        "perceiver_pytorch.PerceiverIO",
        {
            "dim": 16,
            "queries_dim": 24,
            "logits_dim": 10,
            "depth": 2,
            "num_latents": 8,
            "latent_dim": 32,
            "latent_heads": 4,
            "cross_dim_head": 16,
            "latent_dim_head": 8,
        },
        [(1, 20, 16)],
        lambda model, x: model(x, queries=x[0, :6, :].repeat(1, 2)[:, :24]),
    ),
    "ddp_unet": (
        "denoising_diffusion_pytorch.Unet",
        {"dim": 16, "dim_mults": (1, 2), "flash_attn": False, "attn_heads": 2, "attn_dim_head": 8},
        [(1, 3, 16, 16), torch.tensor([7])],
    ),
    "ddp_unet1d": (
        "denoising_diffusion_pytorch.Unet1D",
        {"dim": 16, "dim_mults": (1, 2), "channels": 4},
        [(1, 4, 32), torch.tensor([7])],
    ),
    "ddp_karras": (
        "denoising_diffusion_pytorch.KarrasUnet",
        {
            "image_size": 16,
            "dim": 16,
            "dim_max": 32,
            "num_downsamples": 1,
            "num_blocks_per_stage": 1,
            "attn_res": (8,),
            "attn_dim_head": 8,
            "fourier_dim": 8,
        },
        [(1, 4, 16, 16), torch.tensor([0.3])],
    ),
    "tabnet": (
        "pytorch_tabnet.tab_network.TabNet",
        {
            "input_dim": 12,
            "output_dim": 3,
            "n_d": 8,
            "n_a": 8,
            "n_steps": 3,
            "cat_idxs": [2],
            "cat_dims": [5],
            "cat_emb_dim": [2],
            "group_attention_matrix": torch.eye(12),
        },
        [torch.rand(6, 12)],
    ),
    "tabnet_entmax": (
        "pytorch_tabnet.tab_network.TabNet",
        {
            "input_dim": 12,
            "output_dim": 3,
            "mask_type": "entmax",
            "cat_idxs": [],
            "cat_dims": [],
            "cat_emb_dim": 1,
            "group_attention_matrix": torch.eye(12),
        },
        [torch.rand(6, 12)],
    ),
}

FAMILIES.update({name: partial(_model, *one) for name, one in _MODELS.items()})


def _mamba() -> _Made:
    mamba = importlib.import_module("mambapy.mamba")
    config = mamba.MambaConfig(d_model=16, n_layers=2, d_state=4, pscan=False)
    return Calls(mamba.Mamba(config), lambda model, x: model(x)), (torch.randn(1, 12, 16),)


FAMILIES["mambapy"] = _mamba
