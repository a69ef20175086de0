"""Graphs with changed attributes round-trip as JSON and as FlatBuffers if they are read."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hipdnn_graphs import GRAPHS

from hipgraft import hipdnn_io
from hipgraft.hipdnn_io.forms import FORMS
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError

Json = Any

NUMBERS = (0.0, -0.0, 1.0, -2.5, 0.1, 1 / 3, 3.4e38, 1e-45, 1e-30)
INTEGERS = (0, 1, 2, 3, -1, 7, 2**31 - 1)
TENSOR_FIELDS = {
    "alignment": (1, 16, 64, 256),
    "is_runtime_pass_by_value": (True, False),
    "ragged_offset_multiplier": (0, 2, 7, -1),  # 1 is left out
    "name": ("", "x", "é", "a b"),
}


def attributes(graph: Json) -> Iterator[tuple[Json, str, Any]]:
    """Yields each attribute of each node: the object that has it, its key, and the op's field."""
    for one in graph["nodes"]:
        form = FORMS[one["type"]]
        keys = {form.key(field): field for field in form.written_attributes}
        for section in (one, *(value for value in one.values() if isinstance(value, dict))):
            for key in section.keys() & keys.keys():
                yield section, key, keys[key]


def changed(value: Json, field: Any, generator: random.Random) -> Json:
    """Returns another value of the attribute's type."""
    if field.kind.values:
        return generator.choice(sorted(map(str, field.kind.values)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return [generator.choice((0, 1, 2, 3)) for _ in value]
    if isinstance(value, int):
        # No dimensions are those that the scale implies, and written as such.
        return generator.choice(INTEGERS[field.name == "normalized_dim_count" :])
    return generator.choice(NUMBERS) if isinstance(value, float) else value


def comparable(value: Json) -> Json:
    """Returns a document as a FlatBuffer holds it: floats in single precision, and no nulls."""
    if isinstance(value, float):
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items() if one is not None}
    return value


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_changed_attributes_come_back(seed: int):
    generator, context = random.Random(seed), make_context()
    accepted = 0
    for name in sorted(GRAPHS) * 4:
        source = copy.deepcopy(GRAPHS[name])
        for section, key, field in sorted(attributes(source), key=lambda one: one[1]):
            if generator.random() < 0.4:
                section[key] = changed(section[key], field, generator)
        tensor = generator.choice(source["tensors"])
        key = generator.choice(sorted(TENSOR_FIELDS))
        if key != "ragged_offset_multiplier" or "ragged_offset_tensor_uid" in tensor:
            tensor[key] = generator.choice(TENSOR_FIELDS[key])
        try:
            module = hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source)), context)
        except HipgraftError:
            continue
        accepted += 1
        document = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
        assert json.loads(hipdnn_io.write_json(document)) == source, name
        again = hipdnn_io.read_flatbuffer(hipdnn_io.write_flatbuffer(document))
        module = hipdnn_io.import_document(again, context)
        back = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
        expected = source | {"is_override_shape_enabled": False}
        assert comparable(json.loads(hipdnn_io.write_json(back))) == comparable(expected), name
    assert accepted > len(GRAPHS)
