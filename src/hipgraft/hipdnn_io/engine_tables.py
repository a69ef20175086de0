"""Defines the tables that hipDNN and its engines exchange: knobs, configurations, details, plans.

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
    """The subject of a prediction: an engine's best configuration, or a given one."""

    ENGINE = "ENGINE"
    CONFIGURATION = "CONFIGURATION"


class PredictionStatus(StrEnum):
    """Whether there is a prediction."""

    UNAVAILABLE = "UNAVAILABLE"
    AVAILABLE = "AVAILABLE"
    INVALID = "INVALID"


class EngineTable:
    """The base of the tables.

    Attributes:
        IDENTIFIER: four bytes that identify the kind of file; empty for none.
    """

    IDENTIFIER: ClassVar[bytes] = b""

    def to_bytes(self) -> bytes:
        """Returns a finished FlatBuffer with the table as its root.

        Raises:
            HipgraftError: the schema does not allow a value; the message names the field.
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
            HipgraftError: the buffer is malformed, or hipDNN would reject it; located.
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
        """Checks that the fields are in the order of the current schema, if there was an older one.

        Raises:
            HipgraftError: the fields are in the older order; located in `source`.
        """

    def check(self, source: str) -> None:
        """Checks hipDNN's rules besides the buffer's structure.

        Raises:
            HipgraftError: hipDNN would reject it; located in `source`.
        """


@dataclass(frozen=True)
class IntConstraint(EngineTable):
    """The integers that a knob allows: a range with steps, or a list."""

    min_value: int = 0
    max_value: int = 0
    step: int = 1
    valid_values: Sequence[int] = ()


@dataclass(frozen=True)
class FloatConstraint(EngineTable):
    """The range of numbers that a knob allows."""

    min_value: float = 0.0
    max_value: float = 0.0


@dataclass(frozen=True)
class StringConstraint(EngineTable):
    """The texts that a knob allows: limited in length, or from a list."""

    max_length: int = 0
    valid_values: Sequence[str] = ()


@dataclass(frozen=True)
class Knob(EngineTable):
    """A knob of an engine.

    Attributes:
        knob_id: name of the knob, `<plugin>.<category>.<knob>` or `global.<knob>`.
        description: description for users.
        default_value: value if the user does not set it; its type is the knob's.
        constraint: allowed values; None for any value of its type.
        deprecated: whether the knob only serves old callers.
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
        ranking_metric: metric that selected the configuration; empty for `tflops`.
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
    """The self-description of an engine for a graph.

    Attributes:
        engine_id: hash of the engine's name.
        knobs: knobs that can be set.
        behavior_notes: numbers of hipDNN's behaviour notes.
        name: name for display; a plugin's entry point defines the name that counts.
        candidate_page: page of the catalog, only in answers to an enumeration.
    """

    engine_id: int = 0
    knobs: Sequence[Knob] = ()
    behavior_notes: Sequence[int] = ()
    name: str = ""
    candidate_page: EngineCandidatePage | None = None


@dataclass(frozen=True)
class EnginePrediction(EngineTable):
    """The predicted performance of an engine, or a configuration of it, for a graph.

    Attributes:
        engine_id: hash of the engine's name.
        kind: subject of the prediction.
        status: whether `value` is valid.
        value: predicted value in the units of `metric`.
        uhd_id: id of the heuristic that predicts.
        reason: reason why there is no value.
        engine_config: the predicted configuration, if the prediction is of one.
        binding_json: binding of the heuristic's inputs.
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
"""The version of the plans that hipDNN supports."""


@dataclass(frozen=True)
class SerializedExecutionPlan(EngineTable):
    """A compiled plan as hipDNN stores and restores it.

    Attributes:
        engine_id: hash of the name of the engine that restores it.
        workspace_size: bytes that the caller provides at execution.
        tensor_uids: tensors that the caller may pass.
        plugin_payload: data of the engine's plugin, which only the plugin interprets.
        is_override_shape_enabled: whether executions may override extents.
        version: version of this table.
    """

    engine_id: int
    workspace_size: int
    tensor_uids: Sequence[int]
    plugin_payload: bytes
    is_override_shape_enabled: bool = False
    version: int = PLAN_VERSION

    @classmethod
    def check_layout(cls, table: Table, source: str) -> None:
        """Rejects plans in the old field order, with an engine configuration before the payload.

        The old payload has the field number of today's flag, so the flag's position holds an
        offset, which is a nonzero multiple of four. A flag is 0 or 1, followed by zeros.

        Raises:
            HipgraftError: the plan has the old order.
        """
        if table.has_offset("is_override_shape_enabled"):
            raise HipgraftError(
                "the plan is of an older hipDNN, with an engine configuration before the payload: "
                "build and serialize it again",
                location=source,
            )

    def check(self, source: str) -> None:
        """Checks the properties that hipDNN checks before it calls a plugin.

        Raises:
            HipgraftError: hipDNN would reject it; located in `source`.
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
    """A graph and its plan in one file, each as a separate FlatBuffer.

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
        # An absent string equals an empty one.
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
