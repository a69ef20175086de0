"""Functions of several tensors: losses, distances, searches and complex numbers, and operands.

The operands are as in `torch_functions`, whose tables they extend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_random = torch.Generator().manual_seed(1)

Form = tuple[Callable[..., Any], tuple[Tensor, ...]]


def drawn(*shape: int) -> Tensor:
    """Draws normally distributed numbers."""
    return torch.randn(*shape, generator=_random)


X, Y, IMAGE = drawn(5, 8), drawn(7, 8), drawn(1, 2, 9, 6)
CLASSES, SIGNAL = torch.tensor([3, 0, 7, 2, 2]), drawn(2, 40)
WINDOW = torch.hann_window(10)
TURNS = torch.polar(torch.ones(5, 4), torch.arange(20.0).reshape(5, 4))
SPECIAL = torch.tensor([[2.0, float("nan"), 1, 3], [1, 5, 5, float("-inf")], [0, -1, -1, -2]])


def _losses() -> dict[str, Form]:
    entropy = functional.cross_entropy
    return {
        "cross_entropy": (entropy, (X, CLASSES)),
        "cross_entropy_smooth": (
            lambda x, y, w: entropy(x, y, w, ignore_index=2, label_smoothing=0.1),
            (X, CLASSES, drawn(8).abs()),
        ),
        "cross_entropy_shares": (
            lambda x, y: entropy(x, y.softmax(1), label_smoothing=0.2, reduction="sum"),
            (X, drawn(5, 8)),
        ),
        "cross_entropy_of_images": (
            lambda x: entropy(x, torch.ones(1, 9, 6, dtype=torch.int64), reduction="none"),
            (IMAGE,),
        ),
        "huber": (functional.huber_loss, (X, drawn(5, 8))),
        "kl_div": (
            lambda x, y: functional.kl_div(x.log_softmax(1), y.softmax(1)),
            (X, drawn(5, 8)),
        ),
        "triplet": (functional.triplet_margin_loss, (X, drawn(5, 8), drawn(5, 8))),
    }


def _searches() -> dict[str, Form]:
    bags = functional.embedding_bag
    starts = torch.tensor([0, 2, 2])
    return {
        "bag_max": (lambda w, i: bags(i, w, starts, mode="max"), (X, torch.tensor([4, 0, 1, 1]))),
        "bag_mean": (
            lambda w, i: bags(i, w, starts, mode="mean", padding_idx=1),
            (X, torch.tensor([4, 0, 1, 2])),
        ),
        "cummax": (lambda x: torch.cummax(x, 1), (SPECIAL,)),
        "cummin": (lambda x: torch.cummin(x, 0), (SPECIAL,)),
        "searchsorted": (
            lambda x, y: torch.searchsorted(x.sort(1).values, y, right=True),
            (X, drawn(5, 3)),
        ),
        "searchsorted_flat": (lambda x, y: torch.searchsorted(x, y), (torch.arange(8.0), X)),
    }


def _arithmetic() -> dict[str, Form]:
    return {
        "addmv": (lambda c, a, b: torch.addmv(c, a, b, beta=0.5, alpha=2), (drawn(5), X, drawn(8))),
        "block_diagonal": (torch.block_diag, (X, Y, drawn(3))),
        "cdist": (torch.cdist, (X, Y)),
        "cdist_1": (lambda x, y: torch.cdist(x, y, 1.0), (drawn(2, 5, 3), drawn(2, 4, 3))),
        "hypot": (torch.hypot, (SPECIAL, SPECIAL.flip(1))),
        "integer_power": (lambda x: x**3, (CLASSES - 4,)),
        "linalg_norm": (torch.linalg.norm, (X,)),
        "put": (lambda x, v: x.put(torch.tensor([3, -1]), v), (X, drawn(2))),
        "resize_bicubic_smooth": (
            lambda x: functional.interpolate(x, (4, 5), mode="bicubic", antialias=True), (IMAGE,)
        ),
        "resize_bilinear_smooth": (
            lambda x: functional.interpolate(x, (3, 11), mode="bilinear", antialias=True), (IMAGE,)
        ),
        "resize_nearest": (
            lambda x: functional.interpolate(x, scale_factor=1.7, mode="nearest"), (IMAGE,)
        ),
    }  # fmt: skip


def _fourier_layer(x: Tensor, real: Tensor, imag: Tensor) -> Tensor:
    low = torch.einsum("bci,cdi->bdi", torch.fft.rfft(x)[..., :3], torch.complex(real, imag))
    spectrum = torch.zeros(2, 4, 5, dtype=torch.cfloat)
    spectrum[..., :3] = low
    return torch.fft.irfft(spectrum, n=8)


def _complex() -> dict[str, Form]:
    short = {"n_fft": 10, "hop_length": 4, "window": WINDOW}
    return {
        "complex_angle": (lambda x: torch.fft.fft(x).angle(), (X,)),
        "complex_arithmetic": (
            lambda x: (((x + 1j) ** 2 / torch.complex(x, x + 3) - 2).conj().exp() * 1j).imag, (X,)
        ),
        "complex_rotation": (
            lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(5, 4, 2)) * TURNS), (X,)
        ),
        "complex_where": (
            lambda x: torch.where(x > 0, torch.fft.ifft(x, dim=0), 0).abs(), (X,)
        ),
        "fft_2d": (lambda x: torch.view_as_real(torch.fft.fftn(x, norm="ortho")), (X,)),
        "fft_cropped": (lambda x: torch.fft.hfft(torch.fft.ifft(x, n=5)), (X,)),
        "fourier_layer": (_fourier_layer, (drawn(2, 3, 8), drawn(3, 4, 3), drawn(3, 4, 3))),
        "istft": (
            lambda x: torch.istft(torch.stft(x, return_complex=True, **short), length=40, **short),
            (SIGNAL,),
        ),
        "rfft_irfft": (lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=(5, 8)), (X,)),
        "stft": (
            lambda x: torch.stft(x, normalized=True, return_complex=True, **short).abs(), (SIGNAL,)
        ),
    }  # fmt: skip


MORE_FORMS: dict[str, Form] = {**_losses(), **_searches(), **_arithmetic(), **_complex()}
"""Functions with their operands."""
