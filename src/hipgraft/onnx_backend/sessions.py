"""Runs cases in sessions of ONNX Runtime with hipgraft's provider."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper

from hipgraft.onnx_backend.cases import Case, Outcome, mismatch
from hipgraft.onnxruntime import PROVIDER, register

TAKEN = ("taken whole", "taken in part", "not taken")
"""The details of cases that pass."""

_OWN = "CPUExecutionProvider"

# The format of files that each supported release reads. The suite has the newest one.
_FORMAT = 10

_LATER = 3
"""How many opsets that a release does not know the suite may have."""


def check_session(case: Case) -> Outcome:
    """Runs a case in a session, on the CPU.

    A case that ONNX Runtime's own provider refuses, or computes with a result that differs from
    ONNX's definition, says nothing about hipgraft's provider: the case counts as refused unless
    hipgraft's result is right.
    """
    # Also for opsets that ONNX has not released.
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    register()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        try:
            got = _run(case, (PROVIDER, {"report": str(report)}), _OWN)
        except Exception as error:  # onnxruntime's have no common class
            outcome = Outcome("traceback", _first_line(error))
        else:
            reason = _mismatch(got, case)
            outcome = (
                Outcome("pass", _taken(report)) if reason is None else Outcome("wrong", reason)
            )
    if outcome.kind == "pass":
        return outcome
    try:
        reason = _mismatch(_run(case, _OWN), case)
    except Exception as error:
        return Outcome("refused", _first_line(error))
    if reason is None or reason != outcome.detail:
        return outcome
    return Outcome("refused", f"onnxruntime: {reason}")


def _run(case: Case, *providers: Any) -> Sequence[Any]:
    session = _session(case.model, providers)
    names = [one.name for one in session.get_inputs()]
    given = dict(zip(names, case.inputs, strict=True))
    if not any(_is_narrow(one) for one in (*case.inputs, *case.wanted)):
        return session.run(None, given)
    # Python's `run` takes and returns no arrays of types that NumPy itself does not have.
    values = {name: _value(one) for name, one in given.items()}
    return [_array(one) for one in session.run_with_ort_values(None, values)]


def _session(model: onnx.ModelProto, providers: Sequence[Any]) -> Any:
    """Returns a session for a model, of the newest opset up to its own that the release knows."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    known = onnx.ModelProto()
    known.CopyFrom(model)
    known.ir_version = min(model.ir_version, _FORMAT)
    for later in range(_LATER, -1, -1):
        try:
            return runtime.InferenceSession(known.SerializeToString(), options, providers=providers)
        except Exception as error:  # onnxruntime's have no common class
            if not later or "No Op registered" not in str(error):
                raise
        for one in known.opset_import:
            one.version -= one.domain in ("", "ai.onnx")
    return None


def _is_narrow(array: Any) -> bool:
    kind: Any = getattr(array, "dtype", None)
    return kind is not None and str(kind.type.__module__) == "ml_dtypes"


def _value(array: np.ndarray) -> Any:
    runtime: Any = import_module("onnxruntime")
    if not _is_narrow(array):
        return runtime.OrtValue.ortvalue_from_numpy(array)
    tensor = numpy_helper.from_array(array)
    # An element of storage for each, also where several are packed into the first bytes.
    storage = np.zeros(array.shape, f"u{array.dtype.itemsize}")
    packed = np.frombuffer(tensor.raw_data, np.uint8)
    storage.reshape(-1).view(np.uint8)[: packed.size] = packed
    return runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(storage, tensor.data_type)


def _array(value: Any) -> np.ndarray:
    if onnx.helper.tensor_dtype_to_np_dtype(value.element_type()).type.__module__ != "ml_dtypes":
        return value.numpy()
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    tensor = onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=data)
    return numpy_helper.to_array(tensor)


def _mismatch(got: Sequence[Any], case: Case) -> str | None:
    """Compares sequences by their tensors, and strings as a whole."""
    found, wanted = _tensors(got), _tensors(case.wanted)
    if len(found) != len(wanted):
        return f"{len(found)} tensors instead of {len(wanted)}"
    numbers: list[tuple[Any, Any]] = []
    for one, want in zip(found, wanted, strict=True):
        if np.asarray(want).dtype.kind in "OSU" and want is not None:
            if np.asarray(one).tolist() != np.asarray(want).tolist():
                return f"{one} instead of {want}"
        else:
            numbers.append((one, want))
    return mismatch([one for one, _ in numbers], replace(case, wanted=[two for _, two in numbers]))


def _tensors(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += _tensors(cast(Any, value)) if isinstance(value, list) else [value]
    return found


def _taken(report: Path) -> str:
    if not report.exists():  # onnxruntime evaluated all nodes before it asked
        return TAKEN[2]
    answers = [one["answer"] for one in json.loads(report.read_bytes())["graphs"]]
    taken, left = (sum(len(answer[which]) for answer in answers) for which in ("groups", "left"))
    return TAKEN[2 if not taken else 1 if left else 0]


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
