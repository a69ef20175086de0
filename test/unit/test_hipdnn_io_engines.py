"""Tables of engines and plans: read by FlatBuffers' own generic access, and written by it.

The slots here are those of hipDNN's generated headers, by hand: a field's offset in the vtable is
four bytes and two for each slot.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import flatbuffers
import pytest
from flatbuffers import number_types as numbers
from flatbuffers.table import Table

from hipgraft.hipdnn_io.engine_tables import (
    EngineCandidate,
    EngineCandidatePage,
    EngineConfig,
    EngineDetails,
    EnginePrediction,
    EngineTable,
    FloatConstraint,
    IntConstraint,
    Knob,
    KnobSetting,
    PredictionKind,
    PredictionStatus,
    SerializedExecutionPlan,
    SerializedGraphAndPlan,
    StringConstraint,
)
from hipgraft.ir.diagnostics import HipgraftError

SETTINGS = (KnobSetting("a.b.count", 7), KnobSetting("a.b.mode", "fast"), KnobSetting("f", -0.5))
CONFIG = EngineConfig(-5, SETTINGS, "time")
PAGE = EngineCandidatePage(
    graph_id="g",
    device_id="d",
    device_arch="gfx942",
    problem_features="{}",
    device_features='{"cu": 304}',
    total_count=2**63 + 1,
    offset=3,
    candidates=(EngineCandidate("one", SETTINGS[:1], "{}"), EngineCandidate("two")),
    engine_name="E",
    engine_descriptor_id="u",
)
DETAILS = EngineDetails(
    engine_id=2**63 - 1,
    knobs=(
        Knob("i", "an integer", 4, IntConstraint(-1, 8, 3, (2, 4))),
        Knob("f", "", 0.25, FloatConstraint(-1.5, 1e300), deprecated=True),
        Knob("s", "a text", "x", StringConstraint(9, ("x", "", "yy"))),
        Knob("any", "", ""),
    ),
    behavior_notes=(0, 4),
    name="E",
    candidate_page=PAGE,
)
PREDICTION = EnginePrediction(
    engine_id=1,
    kind=PredictionKind.CONFIGURATION,
    status=PredictionStatus.AVAILABLE,
    value=181.5,
    uhd_id="h",
    reason="r",
    engine_config=CONFIG,
    binding_json="{}",
    features_json="[]",
    metric="tflops",
)
PLAN = SerializedExecutionPlan(
    engine_id=-(2**63), workspace_size=2**40, tensor_uids=(3, -1, 2**62), plugin_payload=b"\0abc"
)
BOTH = SerializedGraphAndPlan(b"graph", b"plan and more")
TABLES = [*SETTINGS, CONFIG, PAGE, *DETAILS.knobs, DETAILS, PREDICTION, PLAN, BOTH]


class Read:
    """A table, by FlatBuffers' generic access."""

    def __init__(self, data: bytes, at: int | None = None):
        at = flatbuffers.encode.Get(flatbuffers.packer.uoffset, data, 0) if at is None else at
        self.table = Table(bytearray(data), at)

    def scalar(self, slot: int, flags: Any, default: Any = 0) -> Any:
        return self.table.GetSlot(4 + 2 * slot, default, flags)

    def text(self, slot: int) -> str:
        offset = self.table.Offset(4 + 2 * slot)
        return self.table.String(offset + self.table.Pos).decode() if offset else ""

    def inner(self, slot: int) -> Read:
        offset = self.table.Offset(4 + 2 * slot)
        return Read(self.table.Bytes, self.table.Indirect(offset + self.table.Pos))

    def vector(self, slot: int) -> tuple[int, int]:
        """The place of the first element, and the number of elements."""
        offset = self.table.Offset(4 + 2 * slot)
        return self.table.Vector(offset), self.table.VectorLen(offset)

    def scalars(self, slot: int, flags: Any) -> list[Any]:
        start, count = self.vector(slot)
        return [self.table.Get(flags, start + flags.bytewidth * at) for at in range(count)]

    def tables(self, slot: int) -> list[Read]:
        start, count = self.vector(slot)
        places = [self.table.Indirect(start + 4 * at) for at in range(count)]
        return [Read(self.table.Bytes, at) for at in places]

    def texts(self, slot: int) -> list[str]:
        start, count = self.vector(slot)
        return [self.table.String(start + 4 * at).decode() for at in range(count)]


@pytest.mark.parametrize("table", TABLES, ids=lambda one: type(one).__name__)
def test_table_comes_back(table: EngineTable):
    assert type(table).from_bytes(table.to_bytes()) == table


def test_plan_by_generic_access():
    plan = Read(PLAN.to_bytes())
    assert plan.scalar(0, numbers.Uint32Flags) == 1
    assert plan.scalar(1, numbers.Int64Flags) == -(2**63)
    assert plan.scalar(2, numbers.Int64Flags) == 2**40
    assert plan.scalars(3, numbers.Int64Flags) == [3, -1, 2**62]
    assert bytes(plan.scalars(4, numbers.Uint8Flags)) == b"\0abc"
    assert plan.scalar(5, numbers.BoolFlags, default=False) is False
    overriding = SerializedExecutionPlan(1, 0, (1,), b"x", is_override_shape_enabled=True)
    assert Read(overriding.to_bytes()).scalar(5, numbers.BoolFlags)


def check_settings(settings: list[Read]) -> None:
    assert [one.text(0) for one in settings] == ["a.b.count", "a.b.mode", "f"]
    assert [one.scalar(1, numbers.Uint8Flags) for one in settings] == [1, 3, 2]
    values = [one.inner(2) for one in settings]
    assert values[0].scalar(0, numbers.Int64Flags) == 7
    assert values[1].text(0) == "fast"
    assert values[2].scalar(0, numbers.Float64Flags) == -0.5


def test_configuration_by_generic_access():
    config = Read(CONFIG.to_bytes())
    assert config.scalar(0, numbers.Int64Flags) == -5
    check_settings(config.tables(1))
    assert config.text(2) == "time"


def test_details_by_generic_access():
    details = Read(DETAILS.to_bytes())
    assert details.scalar(0, numbers.Int64Flags) == 2**63 - 1
    integer, number, text, anything = details.tables(1)
    assert (integer.text(0), integer.text(1)) == ("i", "an integer")
    assert integer.scalar(2, numbers.Uint8Flags) == 1
    assert integer.inner(3).scalar(0, numbers.Int64Flags) == 4
    assert integer.scalar(4, numbers.Uint8Flags) == 1
    limits = integer.inner(5)
    assert [limits.scalar(at, numbers.Int64Flags, 1) for at in range(3)] == [-1, 8, 3]
    assert limits.scalars(3, numbers.Int64Flags) == [2, 4]
    assert not integer.scalar(6, numbers.BoolFlags, default=False)
    assert [number.scalar(at, numbers.Uint8Flags) for at in (2, 4)] == [2, 2]
    range_ = number.inner(5)
    assert [range_.scalar(at, numbers.Float64Flags) for at in range(2)] == [-1.5, 1e300]
    assert number.scalar(6, numbers.BoolFlags, default=False)
    assert [text.scalar(at, numbers.Uint8Flags) for at in (2, 4)] == [3, 3]
    assert text.inner(5).scalar(0, numbers.Int32Flags) == 9
    assert text.inner(5).texts(1) == ["x", "", "yy"]
    assert anything.scalar(4, numbers.Uint8Flags) == 0
    assert details.scalars(2, numbers.Int32Flags) == [0, 4]
    assert details.text(3) == "E"
    page = details.inner(4)
    assert [page.text(at) for at in range(5)] == ["g", "d", "gfx942", "{}", '{"cu": 304}']
    assert page.scalar(5, numbers.Uint64Flags) == 2**63 + 1
    assert page.scalar(6, numbers.Uint64Flags) == 3
    one, two = page.tables(7)
    assert (one.text(0), one.text(2), two.text(0)) == ("one", "{}", "two")
    assert one.tables(1)[0].text(0) == "a.b.count"
    assert (page.text(8), page.text(9)) == ("E", "u")


def test_prediction_by_generic_access():
    prediction = Read(PREDICTION.to_bytes())
    assert prediction.scalar(0, numbers.Int64Flags) == 1
    assert [prediction.scalar(at, numbers.Uint8Flags) for at in (1, 2)] == [1, 1]
    assert prediction.scalar(3, numbers.Float64Flags) == 181.5
    assert (prediction.text(4), prediction.text(5)) == ("h", "r")
    check_settings(prediction.inner(6).tables(1))
    assert [prediction.text(at) for at in (7, 8, 9)] == ["{}", "[]", "tflops"]


# The readers of hipDNN read both in place.
def test_graph_and_plan_are_aligned():
    data = BOTH.to_bytes()
    assert data[4:8] == b"HDGP"
    both = Read(data)
    for slot, blob in enumerate((BOTH.graph_blob, BOTH.plan_blob)):
        start, count = both.vector(slot)
        assert data[start : start + count] == blob
        assert start % 8 == 0


def test_plan_that_hipdnn_wrote():
    """Builds fields in the order of hipDNN's own builder, with an unknown future field."""
    builder = flatbuffers.Builder(0)
    payload = builder.CreateByteVector(b"payload")
    builder.StartVector(8, 2, 8)
    for uid in (22, 11):
        builder.PrependInt64(uid)
    uids = builder.EndVector()
    builder.StartObject(7)
    builder.PrependInt64Slot(2, 1024, 0)
    builder.PrependInt64Slot(1, 77, 0)
    builder.PrependUOffsetTRelativeSlot(4, payload, 0)
    builder.PrependUOffsetTRelativeSlot(3, uids, 0)
    builder.PrependUint32Slot(0, 1, 0)
    builder.PrependUint32Slot(6, 9, 0)
    builder.Finish(builder.EndObject())
    plan = SerializedExecutionPlan.from_bytes(bytes(builder.Output()))
    assert plan == SerializedExecutionPlan(77, 1024, (11, 22), b"payload")


@pytest.mark.parametrize("flag", [None, False, True])
def test_plan_of_the_older_order_is_refused(flag: bool | None):
    """There an engine configuration is before the payload; hipDNN's newer readers refuse it too."""
    for padding in range(0, 600, 4):  # any low byte of the payload's offset
        builder = flatbuffers.Builder(0)
        payload = builder.CreateByteVector(b"payload")
        builder.CreateByteVector(b"?" * padding)
        config = builder.CreateByteVector(CONFIG.to_bytes())
        builder.StartVector(8, 1, 8)
        builder.PrependInt64(11)
        uids = builder.EndVector()
        builder.StartObject(7)
        builder.PrependInt64Slot(1, 77, 0)
        builder.PrependUOffsetTRelativeSlot(5, payload, 0)
        builder.PrependUOffsetTRelativeSlot(4, config, 0)
        builder.PrependUOffsetTRelativeSlot(3, uids, 0)
        builder.PrependUint32Slot(0, 1, 0)
        if flag is not None:
            builder.PrependBoolSlot(6, flag, None)
        builder.Finish(builder.EndObject())
        with pytest.raises(HipgraftError, match=r"x\.plan: .*is of an older hipDNN"):
            SerializedExecutionPlan.from_bytes(bytes(builder.Output()), "x.plan")


@pytest.mark.parametrize("size", range(9))
@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_flag_of_a_plan_is_no_offset(size: int, flag: bool, is_first: bool):
    """Wherever the byte is in the table."""
    builder = flatbuffers.Builder(0)
    payload = builder.CreateByteVector(b"p" * (size + 1))
    builder.StartVector(8, 1, 8)
    builder.PrependInt64(11)
    uids = builder.EndVector()
    builder.StartObject(8)
    if is_first:
        builder.PrependBoolSlot(5, flag, None)
    builder.PrependInt64Slot(1, 77, 0)
    builder.PrependUOffsetTRelativeSlot(4, payload, 0)
    builder.PrependUOffsetTRelativeSlot(3, uids, 0)
    builder.PrependUint32Slot(0, 1, 0)
    for slot in (6, 7)[: size % 3]:
        builder.PrependBoolSlot(slot, True, None)  # of the future
    if not is_first:
        builder.PrependBoolSlot(5, flag, None)
    builder.Finish(builder.EndObject())
    plan = SerializedExecutionPlan.from_bytes(bytes(builder.Output()))
    assert plan.is_override_shape_enabled is flag
    assert plan.plugin_payload == b"p" * (size + 1)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "the plan has version 2; expected 1"),
    ({"workspace_size": -1}, "the plan has a workspace of -1 bytes"),
    ({"tensor_uids": ()}, "the plan names no tensors"),
    ({"plugin_payload": b""}, "the plan has no payload"),
    ({"engine_id": 2**63}, "field 'engine_id' cannot hold 9223372036854775808"),
    ({"tensor_uids": (2**63,)}, "field 'tensor_uids' cannot hold 9223372036854775808"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_hipdnn_refuses(change: dict[str, Any], message: str):
    given = {"engine_id": 1, "workspace_size": 0, "tensor_uids": (1,), "plugin_payload": b"x"}
    plan = SerializedExecutionPlan(**(given | change))
    with pytest.raises(HipgraftError, match=message):
        plan.to_bytes()


def test_required_fields():
    builder = flatbuffers.Builder(0)
    builder.StartObject(3)
    builder.Finish(builder.EndObject())
    data = bytes(builder.Output())
    for table in (EngineCandidate, EngineCandidatePage, Knob):
        with pytest.raises(
            HipgraftError, match=f"not a FlatBuffer of hipDNN's table '{table.__name__}'"
        ):
            table.from_bytes(data, "file.fb")
    builder = flatbuffers.Builder(0)
    builder.StartObject(3)
    builder.Finish(builder.EndObject(), b"HDGP")
    with pytest.raises(HipgraftError, match=r"file.fb: error: not a FlatBuffer"):
        SerializedGraphAndPlan.from_bytes(bytes(builder.Output()), "file.fb")
    with pytest.raises(HipgraftError, match="a knob's value is"):
        KnobSetting("x", object()).to_bytes()  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [DETAILS, PREDICTION, PLAN, BOTH], ids=lambda one: type(one).__name__
)
def test_damaged_tables_are_refused_or_read(table: EngineTable):
    """Each byte changed, and each end cut off: another table or an error with the file's name."""
    generator = random.Random(0)
    data = table.to_bytes()
    errors: set[str] = set()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << generator.randrange(8)
        for broken in (bytes(changed), data[:at]):
            try:
                type(table).from_bytes(broken, "file.fb")
            except HipgraftError as error:
                errors.add(str(error)[:17])
    assert errors == {"file.fb: error: n"} or errors == {"file.fb: error: n", "file.fb: error: t"}


def test_vectors_longer_than_the_buffer():
    data = bytearray(PLAN.to_bytes())
    start, _ = Read(bytes(data)).vector(4)
    struct.pack_into("<I", data, start - 4, 2**31)
    with pytest.raises(HipgraftError, match="not a FlatBuffer of hipDNN's table"):
        SerializedExecutionPlan.from_bytes(bytes(data))
