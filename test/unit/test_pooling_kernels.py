"""How many kernels pooling and the ops around it take."""

from __future__ import annotations

from typing import Any

import numpy as np
from emulator import requires_emulator
from lowering_cases import Case, tensor_type
from test_blocks import check, compiled
from test_lowering_resample import attributes, window

from hipgraft.dialects import hipdnn


@requires_emulator
def test_a_maximum_that_is_read_twice_takes_one_kernel() -> None:
    x = np.random.default_rng(0).standard_normal((1, 5, 9, 9)).astype(np.float32)
    pads = [(0, 0), (0, 0), (1, 1), (1, 1)]
    rows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, pads, constant_values=-np.inf), (3, 3), (2, 3)
    )[:, :, ::2, ::2]
    largest = rows.max((-1, -2))
    windows = attributes(window((3, 3), (2, 2), (1, 1), (1, 1)), "MAXPOOL", "NEG_INF_PAD")

    def build(x: Any) -> Any:
        form = tensor_type(largest.shape, "f32")
        y = hipdnn.resample_fwd(x, result_type=form, **windows)
        return [y, hipdnn.pointwise(y, mode="relu_fwd", result_type=form)]

    case = Case("twice", [x], build, [largest, np.maximum(largest, 0)], ["f32", "f32"], 0, 0)
    assert len(compiled(case, "gfx942").dispatches) == 1
    check(case, "gfx942")
