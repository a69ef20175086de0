"""A name that is registered twice is an error, in each of the registries."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from hipgraft.codegen.lowering import all_ops  # noqa: F401 - registers the lowerings
from hipgraft.codegen.lowering.context import ALTERNATIVES, LOWERINGS, alternative, lowers
from hipgraft.codegen.lowering.migraphx import MIGRAPHX_LOWERINGS
from hipgraft.dialects.hipdnn import MatmulOp
from hipgraft.dialects.hipdnn.op import OPS, HipdnnOp
from hipgraft.frontends.onnx.legalization import REWRITES
from hipgraft.hipdnn_io.forms import FORMS as FILE_FORMS
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.registration import Registry
from hipgraft.passmanager import registry as passes
from hipgraft.runtime.devices import registry as devices
from hipgraft.transforms.hipdnn_to_torch import FORMS
from hipgraft.transforms.migraphx_to_hipdnn import CONVERSIONS as MIGRAPHX_CONVERSIONS
from hipgraft.transforms.recognition import PATTERNS
from hipgraft.transforms.torch_to_hipdnn import CONVERSIONS

REGISTRIES = [
    LOWERINGS,
    *ALTERNATIVES.values(),
    MIGRAPHX_LOWERINGS,
    OPS,
    REWRITES,
    FORMS,
    FILE_FORMS,
    MIGRAPHX_CONVERSIONS,
    PATTERNS,
    CONVERSIONS,
    passes.entries(),
    devices.registered_devices(),
]


def test_entries_are_found_in_their_order() -> None:
    registry = Registry("pass", {"b": 1}, {"a": 2})
    registry.add("c", 3)
    assert dict(registry) == {"b": 1, "a": 2, "c": 3}
    assert list(registry) == ["b", "a", "c"]
    assert registry.get("d") is None


def test_tables_that_share_a_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="conversion 'a' is registered twice"):
        Registry("conversion", {"a": 1}, {"a": 1})


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_no_registry_takes_a_name_twice(registry: Registry[object]) -> None:
    name, before = next(iter(registry)), dict(registry)
    with pytest.raises(ValueError, match=f"{registry.kind} '{name}' is registered twice"):
        registry.add(name, registry[name])
    assert dict(registry) == before


def test_an_error_names_the_providers() -> None:
    registry = Registry("pass", {"a": 1}, provider="package {}".format)
    with pytest.raises(HipgraftError) as error:
        registry.add("a", 2)
    assert error.value.message == "pass 'a' is registered twice: by package 1 and by package 2"


def test_a_device_cannot_replace_another(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("cpu", "other:open_cpu", devices.ENTRY_POINT_GROUP)]
    monkeypatch.setattr(devices, "plugins", lambda group: points)
    with pytest.raises(HipgraftError, match=r"'cpu' is registered twice: .*'other:open_cpu'"):
        devices.open_device("cpu")


def test_decorators_and_classes_register_once() -> None:
    with pytest.raises(ValueError, match=r"lowering 'hipdnn.matmul' is registered twice"):
        lowers(MatmulOp)(lambda op, lowering: [])
    with pytest.raises(ValueError, match=r"alternative of 'hipdnn.matmul' 'swapped'"):
        alternative(MatmulOp, "swapped", lambda op, target: True)(lambda op, lowering: [])
    with pytest.raises(ValueError, match=r"op 'hipdnn.matmul' is registered twice"):

        class Again(HipdnnOp, mnemonic="matmul"):
            pass
