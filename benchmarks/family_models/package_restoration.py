"""Models of the package spandrel that restore images, with random weights."""

from __future__ import annotations

from functools import partial
from typing import Any

from family_models import FAMILIES
from family_models.package_images import called

_WINDOWS = {
    "img_size": 16,
    "embed_dim": 24,
    "depths": (2, 2),
    "num_heads": (2, 2),
    "window_size": 8,
    "upscale": 2,
    "upsampler": "pixelshuffle",
}
"""Fields of the transformers on windows."""
_STAGES = {"dim": 8, "num_blocks": [1, 1, 1, 1], "num_refinement_blocks": 1, "heads": [1, 1, 2, 2]}

_RESTORERS: dict[str, dict[str, Any]] = {
    "ATD:ATD": {**_WINDOWS, "category_size": 32, "num_tokens": 8, "reducted_dim": 4},
    "CRAFT:CRAFT": {
        "embed_dim": 24,
        "depths": [1, 1],
        "num_heads": [2, 2],
        "split_size_0": 4,
        "split_size_1": 8,
        "upscale": 2,
    },
    "Compact:Compact": {"num_feat": 8, "num_conv": 4},
    "DAT:DAT": {
        "img_size": 16,
        "embed_dim": 24,
        "split_size": [4, 4],
        "depth": [2],
        "num_heads": [2],
        "upscale": 2,
    },
    "DCTLSA:DCTLSA": {"nf": 20, "num_modules": 6},
    "DITN:DITN": {"dim": 12, "ITL_blocks": 1, "SAL_blocks": 1, "UFONE_blocks": 1},
    "DRCT:DRCT": {**_WINDOWS, "gc": 8},
    "DRUNet:DRUNet": {"in_nc": 3, "out_nc": 3, "nc": [8, 16, 24, 32], "nb": 1},
    "DnCNN:DnCNN": {"in_nc": 3, "out_nc": 3, "nc": 8, "nb": 4},
    "ESRGAN:ESRGAN": {"num_filters": 8, "num_blocks": 2, "shuffle_factor": 2, "in_nc": 12},
    "FBCNN:FBCNN": {"in_nc": 3, "out_nc": 3, "nc": [8, 16, 24, 512], "nb": 1},
    "FDAT:FDAT": {"embed_dim": 24, "num_groups": 1, "depth_per_group": 2, "scale": 2},
    "FFTformer:FFTformer": {"dim": 8, "num_blocks": [1, 1, 1], "num_refinement_blocks": 1},
    "GRL:GRL": {
        "img_size": 16,
        "embed_dim": 24,
        "depths": [2],
        "num_heads_window": [2],
        "num_heads_stripe": [2],
        "window_size": 8,
        "stripe_size": [8, 8],
        "upscale": 2,
        "upsampler": "pixelshuffledirect",
    },
    "HAT:HAT": {**_WINDOWS, "compress_ratio": 3, "squeeze_factor": 4},
    "HVICIDNet:HVICIDNet": {"channels": [8, 8, 16, 16], "heads": [1, 2, 2, 2]},
    "IPT:IPT": {
        "patch_size": 48,
        "n_feats": 8,
        "num_heads": 2,
        "num_layers": 1,
        "num_queries": 1,
    },
    "KBNet:KBNet_s": {"width": 8, "enc_blk_nums": [1, 1], "dec_blk_nums": [1, 1]},
    "LaMa:LaMa": {"in_nc": 4},
    "MMRealSR:MMRealSR": {"num_in_ch": 3, "num_out_ch": 3, "num_feat": 8, "num_block": 1},
    "MixDehazeNet:MixDehazeNet": {"embed_dims": [8, 8, 16, 8, 8], "depths": [1, 1, 1, 1, 1]},
    "MoESR:MoESR": {"dim": 16, "n_blocks": 1, "n_block": 1},
    "MoSR:MoSR": {"dim": 16, "n_block": 2, "upscale": 2},
    "NAFNet:NAFNet": {"width": 8, "enc_blk_nums": [1, 1], "dec_blk_nums": [1, 1]},
    "OmniSR:OmniSR": {"num_feat": 16, "res_num": 1, "up_scale": 2},
    "PLKSR:PLKSR": {"dim": 16, "n_blocks": 2},
    "PLKSR:RealPLKSR": {"dim": 16, "n_blocks": 2},
    "RCAN:RCAN": {"n_resgroups": 1, "n_resblocks": 2, "n_feats": 16},
    "RGT:RGT": {
        "img_size": 16,
        "embed_dim": 24,
        "depth": [2],
        "num_heads": [2],
        "split_size": [8, 8],
        "upscale": 2,
    },
    "RealCUGAN:UpCunet2x": {},
    "RealCUGAN:UpCunet3x": {},
    "RealCUGAN:UpCunet2x_fast": {},
    "RestoreFormer:RestoreFormer": {
        "n_embed": 16,
        "embed_dim": 32,
        "ch": 32,
        "ch_mult": (1, 2),
        "num_res_blocks": 1,
        "attn_resolutions": (16,),
        "resolution": 32,
        "z_channels": 32,
        "head_size": 2,
    },
    "RetinexFormer:RetinexFormer": {"n_feat": 8, "stage": 1},
    "SAFMN:SAFMN": {"dim": 16, "n_blocks": 2},
    "SAFMNBCIE:SAFMNBCIE": {"dim": 16, "n_blocks": 2, "num_layers": 2},
    "SCUNet:SCUNet": {"config": [1] * 7, "dim": 64, "input_resolution": 64},
    "SPAN:SPAN": {"num_in_ch": 3, "num_out_ch": 3, "feature_channels": 8},
    "SeemoRe:SeemoRe": {"num_experts": 2, "num_layers": 1, "embedding_dim": 12},
    "SwiftSRGAN:SwiftSRGAN": {"num_channels": 8, "num_blocks": 2},
    "Swin2SR:Swin2SR": _WINDOWS,
    "SwinIR:SwinIR": _WINDOWS,
    "Uformer:Uformer": {
        "img_size": 32,
        "embed_dim": 8,
        "depths": [1] * 9,
        "num_heads": [1, 1, 2, 2, 2, 2, 2, 1, 1],
        "win_size": 2,
    },
    "AdaCode:AdaCode": {"codebook_params": [[32, 16, 16]], "gt_resolution": 64},
    "FeMaSR:FeMaSR": {"codebook_params": [[32, 16, 16]], "gt_resolution": 64},
    "M3SNet:M3SNet": {"width": 8, "enc_blk_nums": [1, 1], "dec_blk_nums": [1, 1]},
    "MIRNet2:MIRNet2": {"n_feat": 16, "n_MRB": 1},
    "MPRNet:MPRNet": {
        "n_feat": 8,
        "scale_unetfeats": 4,
        "scale_orsnetfeats": 4,
        "num_cab": 1,
        "kernel_size": 3,
        "reduction": 4,
    },
    "Restormer:Restormer": _STAGES,
    "SRFormer:SRFormer": _WINDOWS,
}
"""The folder and the class of each model, and its arguments."""

_CHANNELS = {"ESRGAN:ESRGAN": 3, "LaMa:LaMa": 4, "MAT:MAT": 4}
_EXTENTS = {
    "IPT:IPT": 48,
    "RealCUGAN:UpCunet2x_fast": 64,
    "MixDehazeNet:MixDehazeNet": 64,
    "AdaCode:AdaCode": 64,
    "FeMaSR:FeMaSR": 64,
    "SCUNet:SCUNet": 64,
}
_PACKAGES = {
    name: "spandrel_extra_arches"
    for name in ("AdaCode", "FeMaSR", "M3SNet", "MIRNet2", "MPRNet", "Restormer", "SRFormer")
}

for _name, _fields in _RESTORERS.items():
    _folder, _class = _name.split(":")
    _extent = _EXTENTS.get(_name, 32)
    FAMILIES[f"restore_{_class.lower()}"] = partial(
        called,
        f"{_PACKAGES.get(_folder, 'spandrel')}.architectures.{_folder}",
        _class,
        [(1, _CHANNELS.get(_name, 3), _extent, _extent)],
        **_fields,
    )
