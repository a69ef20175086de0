"""Attention on batches of different lengths that are consecutive in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from lowering_cases import DTYPES, Array, Case, Results, lower_case
from op_cases import op_case, uniform, wide
from oracle.attention import attend
from oracle.gradients import gradient
from oracle.tensors import visible

from hipgraft.dialects import hipdnn

SDPA = {"f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}
BACKWARD = {"f32": 1e-5, "f16": 8e-3, "bf16": 6e-2}
SCALE = 1 / math.sqrt(8)

random = np.random.default_rng(71)


@dataclass
class Ragged:
    """The memory layout of the test's ragged tensors `[B, H, S, D]`, tokens first.

    Attributes:
        lengths: tokens of each batch.
        room: tokens from the start of each batch to the start of the next; by default, `lengths`.
        token: elements between tokens, `H · D` if None.
        in_tokens: whether the offsets count tokens, not elements.
        dtype: dtype of the offsets.
        shape: shape of the offsets.
    """

    lengths: Sequence[int]
    room: Sequence[int] = ()
    token: int | None = None
    in_tokens: bool = False
    dtype: Any = np.int32
    starts: Array = field(init=False)

    def __post_init__(self) -> None:
        self.starts = np.concatenate([[0], np.cumsum(self.room or self.lengths)])

    def strides(self, shape: Sequence[int]) -> list[int]:
        _, heads, tokens, width = shape
        token = self.token or heads * width
        return [tokens * token, width, token, 1]

    def multiplier(self, shape: Sequence[int]) -> int:
        return self.strides(shape)[2] if self.in_tokens else 1

    def offsets(self, shape: Sequence[int]) -> Array:
        unit = 1 if self.in_tokens else self.strides(shape)[2]
        return (self.starts * unit).astype(self.dtype).reshape(-1, 1, 1, 1)

    def memory(self, value: Array, fill: float) -> Array:
        """Returns memory that holds the tokens in use, and `fill` everywhere else."""
        batches, _, tokens, _ = value.shape
        strides = self.strides(value.shape)
        flat = np.full(batches * strides[0], fill, value.dtype)
        for batch, length in enumerate(self.lengths):
            start = int(self.starts[batch]) * strides[2]
            steps = [stride * flat.itemsize for stride in strides[1:]]
            window = np.lib.stride_tricks.as_strided(
                flat[start:], (value.shape[1], length, value.shape[3]), steps
            )
            window[...] = value[batch, :, :length]
        assert max(self.lengths) <= tokens
        return flat


def as_ragged(case: Case, names: Sequence[str], results: Sequence[str], forms: Forms) -> Case:
    """Puts the tensors that `forms` names into ragged memory, with their offsets as operands.

    Unused memory is NaN in operands and 0 in results.
    """
    inputs, shapes = list(case.inputs), [list(value.shape) for value in case.inputs]
    layouts: dict[str, list[Any]] = {
        "arg_strides": [None] * len(inputs),
        "arg_ragged": [-1] * len(inputs),
        "arg_ragged_multipliers": [1] * len(inputs),
        "result_strides": [None] * len(results),
        "result_ragged": [-1] * len(results),
        "result_ragged_multipliers": [1] * len(results),
    }
    expected = list(case.expected)
    for name, form in forms.items():
        side, place, values, fill = (
            ("arg", names.index(name), inputs, math.nan)
            if name in names
            else ("result", results.index(name), expected, 0)
        )
        shape = list(np.shape(values[place]))
        layouts[f"{side}_strides"][place] = form.strides(shape)
        layouts[f"{side}_ragged"][place] = len(inputs)
        layouts[f"{side}_ragged_multipliers"][place] = form.multiplier(shape)
        values[place] = form.memory(np.asarray(values[place]), fill)
        inputs.append(form.offsets(shape))
        shapes.append(list(inputs[-1].shape))
        for key, default in (("arg_strides", None), ("arg_ragged", -1)):
            layouts[key].append(default)
        layouts["arg_ragged_multipliers"].append(1)
    build, count = case.build, len(names)
    return replace(
        case,
        inputs=inputs,
        shapes=shapes,
        expected=expected,
        logical_results=[np.shape(value) for value in case.expected],
        layouts=layouts,
        build=lambda *values: build(*values[:count]),
    )


Forms = dict[str, Ragged]


def in_use(queries: Sequence[int], keys: Sequence[int], shape: tuple[int, int]) -> Array:
    """Returns which scores of each batch exist."""
    rows = np.arange(shape[0])[None, :] < np.array(queries)[:, None]
    columns = np.arange(shape[1])[None, :] < np.array(keys)[:, None]
    return (rows[:, :, None] & columns[:, None, :])[:, None]


def last_aligned(queries: Sequence[int], keys: Sequence[int], shape: tuple[int, int]) -> Array:
    """Causal attention whose diagonal ends at the last query and key in use."""
    row, column = np.indices(shape)
    return np.stack(
        [column - row <= key - query for query, key in zip(queries, keys, strict=True)]
    )[:, None]


def forward_case(
    name: str,
    element: str,
    forms: Forms,
    lengths: tuple[Sequence[int], Sequence[int]],
    *,
    heads: tuple[int, int] = (4, 4),
    seen: Array | bool = True,
    extra: dict[str, Array] | None = None,
    results: Sequence[str] = ("o",),
    **attributes: Any,
) -> Case:
    batch, (queries, keys) = len(lengths[0]), (6, 7)
    values = {
        "q": uniform(random, (batch, heads[0], queries, 8), element, -2, 2),
        "k": uniform(random, (batch, heads[1], keys, 8), element, -2, 2),
        "v": uniform(random, (batch, heads[1], keys, 8), element),
    }
    visible_keys = in_use(*lengths, (queries, keys)) & seen
    expected = attend(**wide(values), scale=SCALE, seen=visible_keys)
    values |= extra or {}
    case = op_case(
        f"{name}_{element}",
        hipdnn.SdpaOp,
        values,
        {result: expected[result] for result in results},
        {"o": element, "stats": "f32"},
        SDPA[element],
        attn_scale_value=SCALE,
        **attributes,
    )
    return as_ragged(case, list(values), list(results), forms)


def backward_case(element: str) -> Case:
    """Queries and keys of different lengths, heads of keys shared, all tensors ragged."""
    queries, keys = [3, 0, 4], [2, 4, 5]
    q = uniform(random, (3, 2, 4, 8), element, -2, 2)
    k, v = (uniform(random, (3, 1, 5, 8), element) for _ in range(2))
    do = uniform(random, q.shape, element)
    for batch, length in enumerate(queries):
        do[batch, :, length:] = 0
    exact = wide({"q": q, "k": k, "v": v})
    options = {"scale": SCALE, "seen": in_use(queries, keys, (4, 5))}
    forward = attend(**exact, **options)
    expected = {
        f"d{name}": gradient(
            lambda x, name=name: attend(**(exact | {name: x}), **options)["o"],
            value,
            do.astype(np.float64),
        )
        for name, value in exact.items()
    }
    values = {"q": q, "k": k, "v": v, "o": forward["o"].astype(DTYPES[element]), "do": do}
    values["stats"] = forward["stats"].astype(np.float32)
    case = op_case(
        f"backward_ragged_{element}",
        hipdnn.SdpaBackwardOp,
        values,
        expected,
        element,
        BACKWARD[element],
        attn_scale_value=SCALE,
    )
    by_query, by_key = Ragged(queries), Ragged(keys, in_tokens=True)
    forms = dict.fromkeys(("q", "o", "do", "stats", "dq"), by_query)
    forms |= dict.fromkeys(("k", "v", "dk", "dv"), by_key)
    return as_ragged(case, list(values), list(expected), forms)


def packed(queries: Ragged, keys: Ragged) -> Forms:
    return {"q": queries, "k": keys, "v": keys, "o": queries}


ONE, OTHER = [3, 6, 1], [7, 2, 5]
CAUSAL = visible(6, 7, left=None, right=0, bottom_right=False)
LENGTHS = {
    "seq_len_q": np.array([2, 0, 3], np.int32),
    "seq_len_kv": np.array([4, 2, 3], np.int32),
}

CASES = [
    *(
        forward_case("packed", element, packed(Ragged(ONE), Ragged(OTHER)), (ONE, OTHER))
        for element in SDPA
    ),
    forward_case(
        "tokens",
        "f32",
        packed(Ragged(ONE, in_tokens=True), Ragged(OTHER, in_tokens=True, dtype=np.int64)),
        (ONE, OTHER),
        heads=(4, 2),
        seen=CAUSAL,
        right_bound=0,
    ),
    forward_case(
        "last_aligned",
        "f32",
        packed(Ragged(ONE), Ragged(OTHER)),
        (ONE, OTHER),
        seen=last_aligned(ONE, OTHER, (6, 7)),
        right_bound=0,
        diagonal_alignment="BOTTOM_RIGHT",
    ),
    # Queries, keys and values of one token beside each other.
    forward_case(
        "interleaved", "f16", packed(Ragged(ONE, token=96), Ragged(ONE, token=96)), (ONE, ONE)
    ),
    forward_case("only_keys", "f32", {"k": Ragged(OTHER), "v": Ragged(OTHER)}, ([6] * 3, OTHER)),
    forward_case(
        "statistics",
        "f32",
        packed(Ragged(ONE), Ragged(OTHER)) | {"stats": Ragged(ONE)},
        (ONE, OTHER),
        results=("o", "stats"),
        generate_stats=True,
    ),
    # Explicit lengths take precedence over the room between offsets.
    forward_case(
        "partly_packed",
        "f32",
        packed(Ragged([2, 0, 3], room=[4, 1, 6]), Ragged([4, 2, 3], room=[5, 5, 5])),
        ([2, 0, 3], [4, 2, 3]),
        extra=LENGTHS,
        padding_mask=True,
    ),
    *(backward_case(element) for element in BACKWARD),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ragged(case: Case, results: Results) -> None:
    case.check(results[case.name])


def broken(change: Callable[[dict[str, Any]], None]) -> Case:
    case = forward_case("broken", "f32", packed(Ragged(ONE), Ragged(OTHER)), (ONE, OTHER))
    change(case.layouts)
    return case


def test_ragged_attention_is_not_fused() -> None:
    """No size is fused, because the fused op has no operand for lengths."""
    values = {name: np.zeros((1, 2, 16, 16), np.float16) for name in ("q", "k", "v")}
    plain = op_case("sizes", hipdnn.SdpaOp, values, {"o": values["q"]}, "f16", 0, target="gfx942")
    ragged = as_ragged(plain, list(values), ["o"], packed(Ragged([16]), Ragged([16])))
    assert "iree_linalg_ext.attention" in lower_case(plain)
    assert "iree_linalg_ext.attention" not in lower_case(ragged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda layouts: layouts["arg_strides"][0].__setitem__(0, 32),
            "expected a batch stride of at least 192 of a ragged arg, but found 32",
        ),
        (
            lambda layouts: layouts["arg_ragged"].__setitem__(0, 1),
            "expected operand 1, which holds offsets, not to be ragged",
        ),
        (
            lambda layouts: layouts["result_ragged_multipliers"].__setitem__(0, 0),
            "expected values of at least 1 in 'result_ragged_multipliers'",
        ),
    ],
)
def test_what_is_no_ragged_tensor(change: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        lower_case(broken(change))
