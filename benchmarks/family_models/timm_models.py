"""Architectures of the package timm, with random weights, for small images."""

from __future__ import annotations

import importlib
from functools import partial

import torch

from family_models import FAMILIES

TIMM = (
    "bat_resnext26ts",
    "botnet26t_256",
    "cait_xxs24_224",
    "coat_tiny",
    "coatnet_nano_rw_224",
    "convit_tiny",
    "convmixer_768_32",
    "crossvit_tiny_240",
    "cs3darknet_s",
    "cspresnet50",
    "davit_tiny",
    "deit3_small_patch16_224",
    "densenet121",
    "dla34",
    "dm_nfnet_f0",
    "dpn48b",
    "eca_botnext26ts_256",
    "edgenext_xx_small",
    "efficientformer_l1",
    "efficientformerv2_s0",
    "efficientvit_b0",
    "efficientvit_m0",
    "ese_vovnet19b_dw",
    "fasternet_t0",
    "fastvit_t8",
    "fbnetc_100",
    "focalnet_tiny_srf",
    "gcresnet33ts",
    "gernet_s",
    "ghostnet_100",
    "ghostnetv2_100",
    "gmixer_12_224",
    "gmlp_ti16_224",
    "halonet26t",
    "hardcorenas_a",
    "hgnetv2_b0",
    "hrnet_w18_small",
    "inception_next_tiny",
    "inception_v4",
    "lambda_resnet26t",
    "lcnet_050",
    "levit_128s",
    "maxvit_pico_rw_256",
    "maxxvit_rmlp_nano_rw_256",
    "mixer_s32_224",
    "mixnet_s",
    "mnasnet_small",
    "mobilenetv3_small_050",
    "mobilenetv4_conv_small",
    "mobileone_s0",
    "mvitv2_tiny",
    "nest_tiny",
    "nextvit_small",
    "nf_regnet_b0",
    "pit_ti_224",
    "poolformerv2_s12",
    "pvt_v2_b0",
    "regnetz_005",
    "repghostnet_050",
    "repvgg_a0",
    "repvit_m0_9",
    "res2net50_14w_8s",
    "resmlp_12_224",
    "resnest14d",
    "resnetblur50",
    "rexnet_100",
    "sebotnet33ts_256",
    "selecsls42",
    "sequencer2d_s",
    "shvit_s1",
    "skresnet18",
    "starnet_s1",
    "swiftformer_xs",
    "tiny_vit_5m_224",
    "tinynet_e",
    "tnt_s_patch16_224",
    "tresnet_m",
    "twins_pcpvt_small",
    "vgg11_bn",
    "visformer_tiny",
    "vitamin_small_224",
    "volo_d1_224",
    "xception41",
    "xcit_nano_12_p16_224",
)


def timm_model(name):
    """Builds a model of timm for the smallest image it takes, at most 128 by 128."""
    timm = importlib.import_module("timm")
    for extent in (64, 96, 128):
        image = torch.randn(1, 3, extent, extent)
        for options in ({"img_size": extent}, {}):
            try:
                model = timm.create_model(name, pretrained=False, num_classes=10, **options).eval()
                with torch.no_grad():
                    model(image)
            except (AssertionError, RuntimeError, TypeError, ValueError) as error:
                reason = error
                continue
            return model, (image,)
    raise RuntimeError(f"it takes no image of 64 to 128 pixels: {reason}")


FAMILIES |= {f"timm_{name}": partial(timm_model, name) for name in TIMM}
