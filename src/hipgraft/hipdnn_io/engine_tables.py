"""What hipDNN and its engines exchange besides graphs: knobs, configurations, details, plans.

Each class is a table of `hipdnn.fbs`, with its field names; `to_bytes` and `from_bytes` write and
read it as the root of a FlatBuffer. Empty strings and lists are absent in the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias, cast

from hipgraft.hipdnn_io.schema import SCHEMA, SchemaField
from hipgraft.hipdnn_io.tables import Record, Table, damaged, read_table, write_table
from hipgraft.ir.diagnostics import HipgraftError

KnobValue: TypeAlias = int | float | str
"""The value of a knob: hipDNN has 64-bit integers, doubles and strings."""


class PredictionKind(StrEnum):
    """What a prediction is of: an engine's best configuration, or a given one."""

    ENGINE = "ENGINE"
    CONFIGURATION = "CONFIGURATION"


class PredictionStatus(StrEnum):
    """Whether there is a prediction."""

    UNAVAILABLE = "UNAVAILABLE"
    AVAILABLE = "AVAILABLE"
    INVALID = "INVALID"


class EngineTable:
    """Base of the tables.

    Attributes:
        IDENTIFIER: four bytes that tell the kind of file; empty for none.
    """

    IDENTIFIER: ClassVar[bytes] = b""

    def to_bytes(self) -> bytes:
        """Returns a finished FlatBuffer with the table as its root.

        Raises:
            HipgraftError: a value is not one that the schema has; the field is named.
        """
        self.check("")
        return write_table(
            type(self).__name__, _record(self), warnings=[], identifier=self.IDENTIFIER
        )

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "<engine data>") -> Self:
        """Reads the table from a finished FlatBuffer.

        Args:
            data: the buffer.
            source: name of the file, for messages.

        Raises:
            HipgraftError: it is no such buffer, or one that hipDNN would refuse; located.
        """
        with damaged(f"hipDNN's table '{cls.__name__}'", source):
            written = read_table(cls.__name__, data, cls.IDENTIFIER)
            cls.check_layout(written, source)
            table = _object(written)
        found = cast(Self, table)
        found.check(source)
        return found

    @classmethod
    def check_layout(cls, table: Table, source: str) -> None:
        """Checks that the fields are in the order of the schema, where there was another one.

        Raises:
            HipgraftError: they are in the other; located in `source`.
        """

    def check(self, source: str) -> None:
        """Checks what hipDNN checks besides the buffer's structure.

        Raises:
            HipgraftError: hipDNN would refuse it; located in `source`.
        """


@dataclass(frozen=True)
class IntConstraint(EngineTable):
    """Integers that a knob may have: of a range by steps, or the listed ones."""

    min_value: int = 0
    max_value: int = 0
    step: int = 1
    valid_values: Sequence[int] = ()


@dataclass(frozen=True)
class FloatConstraint(EngineTable):
    """Numbers that a knob may have."""

    min_value: float = 0.0
    max_value: float = 0.0


@dataclass(frozen=True)
class StringConstraint(EngineTable):
    """Texts that a knob may have: of limited length, or the listed ones."""

    max_length: int = 0
    valid_values: Sequence[str] = ()


@dataclass(frozen=True)
class Knob(EngineTable):
    """A knob of an engine.

    Attributes:
        knob_id: its name, `<plugin>.<category>.<knob>` or `global.<knob>`.
        description: for people.
        default_value: its value where nobody sets it; its type is the knob's.
        constraint: what it may be set to; None for anything of its type.
        deprecated: whether it only serves old callers.
    """

    knob_id: str
    description: str
    default_value: KnobValue
    constraint: IntConstraint | FloatConstraint | StringConstraint | None = None
    deprecated: bool = False


@dataclass(frozen=True)
class KnobSetting(EngineTable):
    """A knob's value in a configuration."""

    knob_id: str
    value: KnobValue | None = None


@dataclass(frozen=True)
class EngineConfig(EngineTable):
    """An engine with the settings of its knobs.

    Attributes:
        engine_id: hash of the engine's name.
        knobs: settings that differ from the defaults.
        ranking_metric: what the configuration was selected by; empty for `tflops`.
    """

    engine_id: int = 0
    knobs: Sequence[KnobSetting] = ()
    ranking_metric: str = ""


@dataclass(frozen=True)
class EngineCandidate(EngineTable):
    """A configuration in an engine's catalog; its features are JSON."""

    id: str
    knob_settings: Sequence[KnobSetting] = ()
    kernel_features: str = "{}"


@dataclass(frozen=True)
class EngineCandidatePage(EngineTable):
    """A part of an engine's catalog for one graph and device; features are JSON."""

    graph_id: str
    device_id: str
    device_arch: str
    problem_features: str
    device_features: str
    total_count: int = 0
    offset: int = 0
    candidates: Sequence[EngineCandidate] = ()
    engine_name: str = ""
    engine_descriptor_id: str = ""


@dataclass(frozen=True)
class EngineDetails(EngineTable):
    """What an engine says of itself for a graph.

    Attributes:
        engine_id: hash of its name.
        knobs: what can be set.
        behavior_notes: numbers of hipDNN's behaviour notes.
        name: its name, which does not name it: a plugin's entry point does.
        candidate_page: only in answers to an enumeration.
    """

    engine_id: int = 0
    knobs: Sequence[Knob] = ()
    behavior_notes: Sequence[int] = ()
    name: str = ""
    candidate_page: EngineCandidatePage | None = None


@dataclass(frozen=True)
class EnginePrediction(EngineTable):
    """How well an engine, or a configuration of it, is expected to do on a graph.

    Attributes:
        engine_id: hash of the engine's name.
        kind: what is predicted.
        status: whether `value` means anything.
        value: in the units of `metric`.
        uhd_id: the heuristic that predicts.
        reason: why there is no value.
        engine_config: the configuration of an available prediction of one.
        binding_json: how the heuristic's inputs are bound.
        features_json: published features by name.
        metric: ranking metric of `value`, e.g. `tflops`.
    """

    engine_id: int = 0
    kind: PredictionKind = PredictionKind.ENGINE
    status: PredictionStatus = PredictionStatus.UNAVAILABLE
    value: float = 0.0
    uhd_id: str = ""
    reason: str = ""
    engine_config: EngineConfig | None = None
    binding_json: str = ""
    features_json: str = ""
    metric: str = ""


PLAN_VERSION = 1
"""The version of the plans that hipDNN reads."""


@dataclass(frozen=True)
class SerializedExecutionPlan(EngineTable):
    """A compiled plan as hipDNN stores and restores it.

    Attributes:
        engine_id: hash of the name of the engine that restores it.
        workspace_size: bytes that the caller provides at execution.
        tensor_uids: tensors that the caller may pass.
        plugin_payload: what the engine's plugin stores, for itself alone.
        is_override_shape_enabled: whether executions may give other extents.
        version: of this table.
    """

    engine_id: int
    workspace_size: int
    tensor_uids: Sequence[int]
    plugin_payload: bytes
    is_override_shape_enabled: bool = False
    version: int = PLAN_VERSION

    @classmethod
    def check_layout(cls, table: Table, source: str) -> None:
        """Refuses plans of the order in which an engine configuration is before the payload.

        There the payload has the number that is now the flag's, so that the place of the flag has
        an offset, which is a multiple of four and not zero. A flag is 0 or 1, with zeros after it.

        Raises:
            HipgraftError: the plan is in that order.
        """
        if table.has_offset("is_override_shape_enabled"):
            raise HipgraftError(
                "the plan is of an older hipDNN, with an engine configuration before the payload: "
                "build and serialize it again",
                location=source,
            )

    def check(self, source: str) -> None:
        """Checks what hipDNN checks before it asks a plugin.

        Raises:
            HipgraftError: hipDNN would refuse it; located in `source`.
        """
        fault = ""
        if self.version != PLAN_VERSION:
            fault = f"has version {self.version}; expected {PLAN_VERSION}"
        elif self.workspace_size < 0:
            fault = f"has a workspace of {self.workspace_size} bytes"
        elif not self.tensor_uids:
            fault = "names no tensors"
        elif not self.plugin_payload:
            fault = "has no payload"
        if fault:
            raise HipgraftError(f"the plan {fault}", location=source)


@dataclass(frozen=True)
class SerializedGraphAndPlan(EngineTable):
    """A graph and a plan of it in one file, each a FlatBuffer of its own.

    Attributes:
        graph_blob: the graph.
        plan_blob: the `SerializedExecutionPlan`; empty for a graph alone.
    """

    IDENTIFIER: ClassVar[bytes] = b"HDGP"

    graph_blob: bytes
    plan_blob: bytes = b""

    def check(self, source: str) -> None:
        """Checks that there is a graph.

        Raises:
            HipgraftError: there is none; located in `source`.
        """
        if not self.graph_blob:
            raise HipgraftError("the file has no graph", location=source)


_CLASSES: dict[str, type[EngineTable]] = {cls.__name__: cls for cls in EngineTable.__subclasses__()}
_ENUMS = {"PredictionKind": PredictionKind, "PredictionStatus": PredictionStatus}
_VALUES: dict[type, str] = {int: "IntValue", float: "FloatValue", str: "StringValue"}


def _record(table: EngineTable) -> Record:
    name = type(table).__name__
    known = SCHEMA.tables[name]
    given = {one.name: getattr(table, one.name) for one in fields(cast(Any, table))}
    values = {key: _written(known[key], value) for key, value in given.items()}
    return Record(values, f"'{name}'")


def _written(field: SchemaField, value: Any) -> Any:
    if field.type == "KnobValue":
        return None if value is None else _knob_value(value)
    if field.type == "KnobConstraint":
        return None if value is None else (type(value).__name__, _record(value))
    if not field.is_required and (value is None or value in ("", b"", (), [])):
        return None
    if field.type not in _CLASSES:
        return value
    return [_record(one) for one in value] if field.is_vector else _record(value)


def _knob_value(value: KnobValue) -> tuple[str, Record]:
    name = next((name for kind, name in _VALUES.items() if isinstance(value, kind)), None)
    if name is None:
        raise HipgraftError(f"a knob's value is an integer, a number or a text, not {value!r}")
    return name, Record({"value": value}, f"'{name}'")


def _object(table: Table) -> EngineTable:
    given = table.read()
    known = SCHEMA.tables[table.name]
    values = {key: _read(known[key], value) for key, value in given.items()}
    for key, field in known.items():
        # An absent string is an empty one.
        if field.type == "string" and not field.is_vector:
            values.setdefault(key, "")
    return _CLASSES[table.name](**values)


def _read(field: SchemaField, value: Any) -> Any:
    if field.type == "KnobValue":
        member, content = value
        return content.get("value", "") if member == "StringValue" else content["value"]
    if field.type == "KnobConstraint":
        member, content = cast(tuple[str, dict[str, Any]], value)
        return _CLASSES[member](**{key: _frozen(one) for key, one in content.items()})
    if field.type in _ENUMS:
        return _ENUMS[field.type](value)
    if field.type in _CLASSES:
        return tuple(map(_object, value)) if field.is_vector else _object(value)
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value
