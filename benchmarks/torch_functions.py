"""Functions of PyTorch by name, each with its operands, for `torch_ops.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Form = tuple[Callable[..., Any], tuple[Any, ...]]

_random = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> Tensor:
    """Draws normally distributed numbers."""
    return torch.randn(*shape, generator=_random)


def ints(low: int, high: int, *shape: int) -> Tensor:
    """Draws integers from `low` to below `high`."""
    return torch.randint(low, high, shape, generator=_random)


INF, NAN = float("inf"), float("nan")
SPECIAL = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.5, -2.5, 7.0])
LARGE = torch.tensor([1000.0, -1000.0, 100.0, -100.0, 30.0, -30.0, 88.0, -88.0])
SMALL = torch.tensor([0.5, -0.5, 1e-4, -1e-4, 1.0, -1.0, 2.0, 3.3])

_NAMES = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad erf exp exp2 expm1 floor frac "
    "isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not nan_to_num neg "
    "reciprocal round "
    "rsqrt sgn sigmoid sign signbit sin sinh sqrt square tan tanh trunc"
)
_ACTIVATIONS = (
    "celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu "
    "silu softplus softshrink softsign tanhshrink"
)
UNARY: dict[str, Callable[[Tensor], Any]] = {
    **{name: getattr(torch, name) for name in _NAMES.split()},
    **{name: getattr(functional, name) for name in _ACTIVATIONS.split()},
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp_max": lambda x: x.clamp(max=0.5),
    "clamp_min": lambda x: x.clamp(min=0.5),
    "equals_itself": lambda x: x == x,
    "differs_from_itself": lambda x: x != x,
    "fmod": lambda x: torch.fmod(x, 3),
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "less_itself": lambda x: x - x,
    "masked": lambda x: x.masked_fill(x < 0, -INF),
    "power_-1": lambda x: x**-1,
    "power_0": lambda x: x**0,
    "power_2.5": lambda x: x**2.5,
    "power_of_2": lambda x: 2**x,
    "remainder": lambda x: x % -3.0,
    "round_2": lambda x: torch.round(x, decimals=2),
    "threshold": lambda x: functional.threshold(x, 0.5, 9.0),
    "to_bool": lambda x: x.to(torch.bool),
    "to_uint8": lambda x: x.nan_to_num(0, 0, 0).abs().clamp(0, 255).to(torch.uint8),
    "where": lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), x),
}
"""Functions of one tensor, which are called with special, large and small numbers."""

_PAIRS = (
    "add atan2 copysign div eq fmod ge gt le logaddexp lt maximum minimum mul ne pow remainder",
    "sub xlogy",
)
BINARY: dict[str, Callable[[Tensor, Tensor], Any]] = {
    name: getattr(torch, name) for name in " ".join(_PAIRS).split()
}
"""Functions of two tensors; as for `UNARY`."""

ROWS: dict[str, Callable[[Tensor], Any]] = {
    **{name: getattr(torch, name) for name in ("all", "amax", "amin", "any", "cumsum", "nansum")},
    **{name: getattr(torch, name) for name in ("prod", "std", "sum", "var")},
    **{name: getattr(torch, name) for name in ("log_softmax", "logsumexp", "softmax")},
    "layer_norm": lambda x, dim: functional.layer_norm(x, x.shape[dim:]),
    "mean": torch.mean,
    "norm_1": lambda x, dim: x.norm(1, dim),
    "norm_3": lambda x, dim: x.norm(3, dim),
    "norm_inf": lambda x, dim: x.norm(INF, dim),
    "normalize": lambda x, dim: functional.normalize(x, dim=dim),
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "max": lambda x, dim: torch.max(x, dim),
    "min": lambda x, dim: torch.min(x, dim),
    "sort": lambda x, dim: torch.sort(x, stable=True, dim=dim),
    "sort_down": lambda x, dim: torch.sort(x, stable=True, dim=dim, descending=True),
    "kthvalue": lambda x, dim: torch.kthvalue(x, 3, dim).values,
    "median": lambda x, dim: torch.median(x, dim).values,
    "median_kept": lambda x, dim: torch.median(x, dim, keepdim=True).values,
    "median_of_all": lambda x, dim: torch.median(x),
    "topk": lambda x, dim: torch.topk(x, 3, dim).values,
    "topk_least": lambda x, dim: torch.topk(x, 3, dim, largest=False).values,
}
"""Functions along a dimension of a tensor, which is called `dim`; as for `UNARY`."""

X2, X3, X4, X5 = drawn(5, 8), drawn(2, 6, 11), drawn(2, 6, 9, 7), drawn(1, 4, 5, 6, 7)
SQUARE, INTS = drawn(3, 4, 4), ints(-9, 10, 4, 5)
Q, K, V = drawn(2, 4, 5, 8), drawn(2, 4, 7, 8), drawn(2, 4, 7, 8)
GRID = torch.rand(2, 5, 4, 2, generator=_random) * 3 - 1.5


def _pooling() -> dict[str, Form]:
    found: dict[str, Form] = {}
    for count in (1, 2, 3, 5, (3, None), (7, 4)):
        for kind in ("avg", "max"):
            pool = getattr(functional, f"adaptive_{kind}_pool2d")
            found[f"adaptive_{kind}_{count}"] = (lambda x, p=pool, n=count: p(x, n), (X4,))
    for ceil in (False, True):
        for counts in (False, True):
            options = {"ceil_mode": ceil, "count_include_pad": counts}
            found[f"avg_pool_{ceil}_{counts}"] = (
                lambda x, o=options: functional.avg_pool2d(x, (3, 2), 2, 1, **o), (X4,)
            )  # fmt: skip
        found[f"max_pool_{ceil}"] = (
            lambda x, c=ceil: functional.max_pool2d(x, 3, 2, 1, ceil_mode=c, return_indices=True),
            (X4,),
        )
    return found


def _images() -> dict[str, Form]:
    found: dict[str, Form] = {}
    for mode in ("constant", "reflect", "replicate", "circular"):
        found[f"pad_{mode}"] = (lambda x, m=mode: functional.pad(x, (1, 2, 3, 0), mode=m), (X4,))
        found[f"crop_{mode}"] = (lambda x, m=mode: functional.pad(x, (-2, 1), mode=m), (X3,))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        for size in ((13, 5), (18, 14), (4, 3)):
            found[f"resize_{mode}_{size}"] = (
                lambda x, m=mode, s=size: functional.interpolate(x, size=s, mode=m), (X4,)
            )  # fmt: skip
    for mode in ("bilinear", "nearest", "bicubic"):
        for edge in ("zeros", "border", "reflection"):
            options = {"mode": mode, "padding_mode": edge, "align_corners": False}
            found[f"grid_{mode}_{edge}"] = (
                lambda x, g, o=options: functional.grid_sample(x, g, **o), (X4, GRID)
            )  # fmt: skip
    return found


def _reductions_by_index() -> dict[str, Form]:
    index, values = ints(0, 4, 7, 8), drawn(7, 8)
    return {
        f"scatter_reduce_{name}_{own}": (
            lambda x, i, v, n=name, o=own: x.scatter_reduce(0, i, v, reduce=n, include_self=o),
            (X2, index, values),
        )
        for name in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    }


def _integers() -> dict[str, Form]:
    functions: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "floor": lambda a, b: a // b,
        "fmod": torch.fmod,
        "remainder": lambda a, b: a % b,
        "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    }
    return {
        f"{name}_{dtype}": (function, (INTS.to(dtype), -ints(1, 6, 4, 5).to(dtype)))
        for name, function in functions.items()
        for dtype in (torch.int32, torch.int64)
    } | {
        "left_shift": (lambda a: a << 2, (INTS,)),
        "right_shift": (lambda a, b: a >> b, (INTS, ints(0, 6, 4, 5))),
        "bytes": (lambda a: a.abs().to(torch.uint8) - 5, (INTS,)),
        "wrapped": (lambda a: a.to(torch.int8) + 127, (INTS,)),
    }


FORMS: dict[str, Form] = {
    **_pooling(), **_images(), **_reductions_by_index(), **_integers(),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0),
              (drawn(5), drawn(3, 8), drawn(8, 5))),
    "attention": (functional.scaled_dot_product_attention, (Q, K, V)),
    "attention_causal": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        (Q, K, V)),
    "attention_grouped": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (Q, K[:, :2].contiguous(), V[:, :2].contiguous())),
    "attention_masked": (functional.scaled_dot_product_attention,
                         (Q, K, V, drawn(2, 1, 5, 7) > -1)),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2.0),
                (drawn(3, 4, 5), SQUARE, drawn(3, 4, 5))),
    "conv": (lambda x, w: functional.conv2d(x, w, stride=(2, 1), padding=(0, 1), dilation=(1, 2)),
             (X4, drawn(4, 6, 3, 3))),
    "conv_grouped": (lambda x, w: functional.conv2d(x, w, groups=6, padding=1),
                     (X4, drawn(6, 1, 3, 3))),
    "conv_of_one_image": (functional.conv2d, (X4[0], drawn(4, 6, 3, 3))),
    "conv_same": (lambda x, w: functional.conv2d(x, w, padding="same"),
                  (X4, drawn(4, 6, 2, 4))),
    "conv_transposed": (
        lambda x, w: functional.conv_transpose2d(x, w, stride=2, dilation=2, output_padding=1),
        (X4, drawn(6, 4, 3, 3))),
    "cumprod": (lambda x: x.cumprod(1), (X2,)),
    "diag_embed": (lambda x: torch.diag_embed(x, 1), (X2,)),
    "einsum": (lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), (Q, K)),
    "embedding": (lambda w, i: functional.embedding(i, w), (X2, ints(0, 5, 2, 3))),
    "fold": (lambda x: functional.fold(x, (6, 6), 3, padding=1, stride=2), (drawn(1, 18, 9),)),
    "gather": (lambda x, i: x.gather(1, i), (X2, ints(0, 8, 5, 3))),
    "group_norm": (lambda x: functional.group_norm(x, 3), (X4,)),
    "index": (lambda x, i, j: x[i, :, j], (SQUARE, ints(0, 3, 5), ints(-4, 4, 5))),
    "index_add": (lambda x, i, s: x.index_add(0, i, s, alpha=2), (X2, ints(0, 5, 7), drawn(7, 8))),
    "index_fill": (lambda x, i: x.index_fill(1, i, 9.0), (X2, torch.tensor([3, 1, -1]))),
    "index_put": (lambda x, i, v: x.index_put((i,), v), (X2, torch.tensor([3, -1]), drawn(2, 8))),
    "index_put_added": (lambda x, i, j, v: x.index_put((i, j), v, accumulate=True),
                        (X2, ints(0, 5, 9), ints(-8, 8, 9), drawn(9))),
    "instance_norm": (functional.instance_norm, (X4,)),
    "local_response": (lambda x: functional.local_response_norm(x, 3, 1e-2, 0.7, 1.5), (X4,)),
    "masked_scatter": (lambda x, v: x.masked_scatter(x > 0, v), (X2, drawn(40))),
    "matmul": (torch.matmul, (drawn(2, 1, 3, 4), drawn(5, 4, 2))),
    "pixel_shuffle": (lambda x: functional.pixel_shuffle(x, 2), (drawn(2, 8, 3, 5),)),
    "pixel_unshuffle": (lambda x: functional.pixel_unshuffle(x, 2), (drawn(2, 3, 4, 6),)),
    "roll": (lambda x: x.roll(3), (X2,)),
    "roll_of_dims": (lambda x: x.roll((1, -2), (0, 1)), (X2,)),
    "sort": (lambda x: x.sort(1, descending=True), (X2,)),
    "topk": (lambda x: x.topk(3, 0, largest=False), (X2,)),
    "trilinear": (lambda x: functional.interpolate(x, size=(7, 4, 9), mode="trilinear"), (X5,)),
    "unfold": (lambda x: functional.unfold(x, (2, 3), dilation=2, padding=1), (X4,)),
    "windows": (lambda x: x.unfold(2, 4, 3), (X3,)),
}  # fmt: skip
"""Functions with their operands."""
