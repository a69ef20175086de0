"""Writes what the plugin tells hipDNN of its engine: a FlatBuffer `EngineDetails`, as C++."""

from pathlib import Path

from hipgraft.hipdnn_io.engine_tables import EngineDetails
from hipgraft.hipdnn_io.plan_payload import ENGINE_NAME, engine_id

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "src" / "hipgraft" / "native" / "plugin" / "engine_details.inc"
# `BehaviorNote.h`: RUNTIME_COMPILATION, SUPPORTS_GRAPH_CAPTURE,
# SUPPORTS_EXECUTION_PLAN_SERIALIZATION
NOTES = (0, 2, 4)


def text() -> str:
    """Returns the file's text."""
    data = EngineDetails(engine_id(ENGINE_NAME), behavior_notes=NOTES).to_bytes()
    rows = [
        ", ".join(f"0x{byte:02x}" for byte in data[i : i + 12]) for i in range(0, len(data), 12)
    ]
    body = ",\n    ".join(rows)
    return (
        "// Made by tools/dev/gen_engine_details.py.\n"
        f"alignas(8) static const unsigned char kEngineDetails[] = {{\n    {body}}};\n"
    )


if __name__ == "__main__":
    TARGET.write_text(text())
