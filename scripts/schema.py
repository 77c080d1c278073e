"""Write the JSON Schema of the report from the structs that make it. Run after a new version only."""

from __future__ import annotations

from pathlib import Path

from forensics.render import json_v1

TARGET = Path(json_v1.__file__).with_name("report-1.schema.json")

if __name__ == "__main__":
    TARGET.write_bytes(json_v1.schema())
    print(TARGET)
