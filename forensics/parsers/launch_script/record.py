"""What `run` writes down of a start (`run.json`): the command, read as a launch script's is.

Only the training command is told of it: a supervised start has none of the hazards of a script.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from forensics.model import Context, Event
from forensics.parsers.launch_script.scopes import read
from forensics.parsers.launch_script.training import settings

SCHEMA = "dflash-forensics/run/"
_LARGEST = 1 << 20
_MOST_WORDS = 2000


class RunRecord:
    """See the module's text."""

    speaker = "launch"
    kinds = frozenset({"config"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield `command` with the arguments of the training, at the line that holds it."""
        if SCHEMA.encode() not in data[:_LARGEST] or len(data) > _LARGEST:
            return
        try:
            record = json.loads(data)
        except (ValueError, RecursionError):
            return
        words = record.get("command") if isinstance(record, dict) else None
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            return
        text = shlex.join(words[:_MOST_WORDS]).replace("\n", " ")
        line = data[: max(data.find(b'"command"'), 0)].count(b"\n") + 1
        for _, kind, fields in settings(read(text, {})):
            if kind == "command":
                told = {k: v for k, v in fields.items() if v is not None}
                yield Event("launch", kind, context.source.path, line, text, text, end_line=line, fields=told)
                return
