"""Writes the plugin's description of its engine, a FlatBuffer `EngineDetails`, as C++."""

from pathlib import Path

from hipgraft.helper.settings import TEXT_KNOBS
from hipgraft.hipdnn_io.engine_tables import (
    EngineDetails,
    IntConstraint,
    Knob,
    StringConstraint,
)
from hipgraft.hipdnn_io.plan_payload import ENGINE_NAME, engine_id

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "src" / "hipgraft" / "native" / "plugin" / "engine_details.inc"
# `BehaviorNote.h`: RUNTIME_COMPILATION, SUPPORTS_GRAPH_CAPTURE,
# SUPPORTS_EXECUTION_PLAN_SERIALIZATION
NOTES = (0, 2, 4)
MOST_TEXT = 100  # bytes of a knob's value; requests to the helper have one short line
KNOBS = (
    *(
        Knob(
            f"hipgraft.compile.{one.name}",
            one.description,
            one.default,
            StringConstraint(MOST_TEXT, one.values),
        )
        for one in TEXT_KNOBS
    ),
    Knob(
        "global.workspace_size_limit",
        "bytes of scratch memory; graphs that need more are refused; -1 for any",
        -1,
        IntConstraint(-1, 2**63 - 1),
    ),
    Knob(
        "hipgraft.overrides.compile",
        "whether the first execution with other shapes has them compiled; else they must be cached",
        1,
        IntConstraint(0, 1),
    ),
    Knob(
        "global.deterministic",
        "whether results are the same bits each time, as those of all kernels here are",
        0,
        IntConstraint(0, 1),
    ),
)


def text() -> str:
    """Returns the file's text."""
    details = EngineDetails(engine_id(ENGINE_NAME), knobs=KNOBS, behavior_notes=NOTES)
    data = details.to_bytes()
    rows = [
        ", ".join(f"0x{byte:02x}" for byte in data[i : i + 12]) for i in range(0, len(data), 12)
    ]
    body = ",\n    ".join(rows)
    names = ",\n    ".join(
        f'{{"hipgraft.compile.{one.name}", "{one.name}", "{one.default}"}}' for one in TEXT_KNOBS
    )
    return (
        "// Made by tools/dev/gen_engine_details.py.\n"
        f"alignas(8) static const unsigned char kEngineDetails[] = {{\n    {body}}};\n\n"
        "// The knobs whose values go to the helper: id, name in targets, default.\n"
        f"static const char *const kTextKnobs[][3] = {{\n    {names}}};\n"
        f"static const size_t kMostText = {MOST_TEXT};\n"
    )


if __name__ == "__main__":
    TARGET.write_text(text())
