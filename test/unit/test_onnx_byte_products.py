"""Products of bytes minus their zero points, against 64-bit integers in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper, numpy_helper
from small_onnx import results_of, save

import hipgraft
from hipgraft.codegen.objects.matrix_code import count_matrix_instructions
from hipgraft.frontends.onnx.model import read_model

SIGNS = [(a, b) for a in (np.uint8, np.int8) for b in (np.uint8, np.int8)]


@dataclass(frozen=True)
class Product:
    """Operands of `MatMulInteger` by their names, and which of them are constants."""

    operands: Mapping[str, np.ndarray | None]
    constants: frozenset[str]

    def save(self, path: Path) -> Path:
        names = [name if array is not None else "" for name, array in self.operands.items()]
        given = {name: array for name, array in self.operands.items() if array is not None}
        node = helper.make_node("MatMulInteger", names, ["y"])
        inputs = {name: given[name] for name in given if name not in self.constants}
        constants = {name: given[name] for name in given if name in self.constants}
        return save(path, [node], inputs, [("y", TensorProto.INT32)], constants)

    def inputs(self) -> list[np.ndarray]:
        return [
            array
            for name, array in self.operands.items()
            if array is not None and name not in self.constants
        ]

    def wanted(self) -> np.ndarray:
        """The sums of ONNX's definition, modulo 2³²."""
        a, b, p, q = (
            np.zeros([], np.int64) if array is None else array.astype(np.int64)
            for array in self.operands.values()
        )
        return ((a - (p[:, None] if p.ndim == 1 and p.size > 1 else p)) @ (b - q)).astype(np.int32)


def drawn(seed: int) -> Product:
    """Random shapes, signs, zero points and constants; half of the operands are extremes."""
    random = np.random.default_rng(seed)
    a_type, b_type = SIGNS[seed % len(SIGNS)]
    m, k, n = (int(random.integers(1, 70)) for _ in range(3))
    batch = [[], [], [3], [2, 3]][random.integers(4)]

    def numbers(dtype: type, *shape: int) -> np.ndarray:
        info = np.iinfo(dtype)
        if random.integers(2):
            return random.choice([info.min, info.max], shape).astype(dtype)
        return random.integers(info.min, info.max + 1, shape).astype(dtype)

    def zero(dtype: type, count: int) -> np.ndarray | None:
        middle = np.array(128 if dtype == np.uint8 else 0, dtype)
        forms = [None, middle, numbers(dtype), numbers(dtype, 1), numbers(dtype, count)]
        return forms[random.integers(len(forms))]

    a, b = numbers(a_type, *batch, m, k), numbers(b_type, *batch[: random.integers(3)], k, n)
    if b.ndim > 2 and b.ndim != a.ndim:
        b = b[0]
    form = random.integers(4)
    if form == 0 and not batch:
        a = a[0]
    operands = {"a": a, "b": b, "p": zero(a_type, m), "q": zero(b_type, n)}
    if a.ndim != 2 and operands["p"] is not None:
        operands["p"] = operands["p"].reshape(-1)[:1]
    constants = [name for name in ("b", "q", "p") if random.integers(3)]
    return Product(operands, frozenset(constants))


@pytest.mark.sampled(24)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_on_the_cpu(seed: int, tmp_path: Path) -> None:
    product = drawn(seed)
    (found,) = results_of(product.save(tmp_path / "m.onnx"), product.inputs())
    np.testing.assert_array_equal(found, product.wanted())


def wide(a_type: type, b_type: type, zero: int) -> Product:
    """A product of extremes with matrices that tiles of matrix instructions fill."""
    random = np.random.default_rng(0)
    a, b = (
        random.choice([np.iinfo(kind).min, np.iinfo(kind).max], shape).astype(kind)
        for kind, shape in ((a_type, (32, 128)), (b_type, (128, 32)))
    )
    p, q = (np.array(np.iinfo(kind).min + zero, kind) for kind in (a_type, b_type))
    return Product({"a": a, "b": b, "p": p, "q": q}, frozenset("bq"))


@pytest.mark.sampled(6)
@requires_emulator
@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("signs", "zero"), [*zip(SIGNS, (0, 255, 128, 3), strict=True)])
def test_by_matrix_instructions(
    target: str, signs: tuple[type, type], zero: int, tmp_path: Path
) -> None:
    product = wide(*signs, zero)
    program = hipgraft.compile(product.save(tmp_path / "m.onnx"), target)
    (found,) = program.run(product.inputs(), open_emulator(target))
    np.testing.assert_array_equal(found, product.wanted())
    (recording,) = program.recordings(target)
    counts = [count_matrix_instructions(code, target) for code in recording.objects]
    assert sum(sum(each.values()) for each in counts) > 0


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("per_row", [False, True])
def test_quantized_results(signs: tuple[type, type], per_row: bool, tmp_path: Path) -> None:
    """Scales are powers of two, so that the products and their quotients are exact."""
    random = np.random.default_rng(1)
    (a, b), (p, q) = (
        [
            random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)
            for kind, shape in zip(signs, shapes, strict=True)
        ]
        for shapes in (((9, 33), (33, 7)), ((9,), (7,)) if per_row else ((), ()))
    )
    s, t = (np.float32(2.0) ** random.integers(-6, -3, zero.shape) for zero in (p, q))
    s, t = s.astype(np.float32), t.astype(np.float32)
    rows = [one[:, None] if per_row else one for one in (p, s)]
    exact = (a.astype(np.int64) - rows[0]) @ (b.astype(np.int64) - q) * rows[1].astype(float) * t
    wanted = np.clip(np.rint(exact / 4) + 100, 0, 255).astype(np.uint8)
    constants = {"as": s, "p": p, "b": b, "bs": t, "q": q, "ys": np.float32(4), "z": np.uint8(100)}
    node = helper.make_node("QLinearMatMul", ["a", *constants], ["y"])
    path = save(tmp_path / "m.onnx", [node], {"a": a}, [("y", TensorProto.UINT8)], constants)
    (found,) = hipgraft.compile(path, "cpu").run([a])
    np.testing.assert_array_equal(found, wanted)


def test_large_weights_need_no_sums_at_run_time(tmp_path: Path) -> None:
    """The contribution of their zero points is computed while the model is read."""
    weights = np.full((300, 300), 7, np.uint8)
    product = Product(
        {"a": np.zeros((2, 300), np.uint8), "b": weights, "p": np.array(3, np.uint8),
         "q": np.array(128, np.uint8)}, frozenset("bq"),
    )  # fmt: skip
    model = read_model(product.save(tmp_path / "m.onnx"))
    assert "ReduceSum" not in {node.op_type for node in model.graph.node}
    read = {name for node in model.graph.node for name in node.input}
    arrays = [numpy_helper.to_array(one) for one in model.graph.initializer if one.name in read]
    (signed,) = [array for array in arrays if array.size == weights.size]
    assert (signed == 7 - 128).all()
