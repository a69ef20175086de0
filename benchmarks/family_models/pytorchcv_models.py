"""Architectures of the package pytorchcv, with random weights."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch

from family_models import FAMILIES

IMAGE_SIZES = {
    "airnet50_1x64d_r2": 64,
    "alexnetb": 128,
    "bagnet9": 64,
    "bam_resnet18": 64,
    "bisenet_resnet18_celebamaskhq": 128,
    "bninception": 224,
    "centernet_resnet18_coco": 128,
    "cgnet_cityscapes": 128,
    "channelnet": 224,
    "condensenet74_c4_g4": 224,
    "ctxnet_cityscapes": 128,
    "dabnet_cityscapes": 128,
    "danet_resnetd50b_cityscapes": 64,
    "darknet19": 64,
    "darts": 224,
    "diaresnet10": 64,
    "dicenet_wd5": 224,
    "diracnet18v2": 64,
    "drnc26": 64,
    "edanet_cityscapes": 128,
    "enet_cityscapes": 128,
    "erfnet_cityscapes": 128,
    "esnet_cityscapes": 128,
    "espcnet_cityscapes": 128,
    "espnetv2_wd2": 224,
    "fastscnn_cityscapes": 128,
    "fdmobilenet_wd4": 224,
    "fishnet99": 224,
    "fpenet_cityscapes": 128,
    "fractalnet_cifar10": 32,
    "hardnet39ds": 224,
    "ibnb_resnet50": 64,
    "icnet_resnetd50b_cityscapes": 128,
    "igcv3_wd4": 224,
    "inceptionresnetv1": 299,
    "irevnet301": 64,
    "isqrtcovresnet18": 224,
    "lednet_cityscapes": 128,
    "lffd20x5s320v2_widerface": 160,
    "linknet_cityscapes": 128,
    "lwopenpose2d_mobilenet_cmupan_coco": 128,
    "menet108_8x1_g3": 224,
    "msdnet22": 224,
    "nasnet_4a1056": 224,
    "nin_cifar10": 32,
    "octresnet10_ad2": 224,
    "peleenet": 224,
    "preresnet10": 64,
    "prnet": 256,
    "proxylessnas_cpu": 224,
    "pyramidnet110_a48_cifar10": 32,
    "resattnet56": 224,
    "resdropresnet20_cifar10": 32,
    "resnesta18": 64,
    "revnet38_cifar10": 32,
    "rir_cifar10": 32,
    "scnet50": 224,
    "segnet_cityscapes": 64,
    "selecsls42": 224,
    "sepreresnet10": 64,
    "shakedropresnet20_cifar10": 32,
    "shakeshakeresnet20_2x16d_cifar10": 32,
    "shufflenet_g3_wd4": 224,
    "simplepose_mobile_mobilenet_w1_coco": 128,
    "sinet_cityscapes": 128,
    "sknet50": 64,
    "sparsenet121": 64,
    "sqnet_cityscapes": 128,
    "sqnxt23_w1": 224,
    "superpointnet": 64,
    "tresnet_m": 64,
    "unet_cityscapes": 64,
    "xdensenet121_2": 64,
    "zfnetb": 224,
}
"""The extent of an image, by model."""

_ONE_CHANNEL = ("superpointnet",)


def _made(name: str) -> tuple[Any, tuple[Any, ...]]:
    get_model = importlib.import_module("pytorchcv.model_provider").get_model
    size = IMAGE_SIZES[name]
    sized = {"in_size": (size, size)} if size in (64, 128, 160) else {}
    try:
        model = get_model(name, pretrained=False, **sized)
    except TypeError:  # few models depend on the extent
        model = get_model(name, pretrained=False)
    channels = 1 if name in _ONE_CHANNEL else 3
    return model, (torch.randn(1, channels, size, size),)


FAMILIES.update({f"cv_{name}": partial(_made, name) for name in IMAGE_SIZES})
