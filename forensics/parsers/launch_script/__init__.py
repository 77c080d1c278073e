"""What a launch script promises, and what in it endangers the evidence.

    tmux new-session -d -s dflash "bash start_training.sh 2>&1 | tee /workspace/train.log"

Commands quoted for another shell (`tmux`, `bash -c`, `ssh`, `pct exec`, `nohup`, `srun`, a
here-document ...) are read as the scripts that they are. Events:

- `promise`: a file or folder that output goes to (fields missing_path, how; masks, where a
  pipeline into that file hides the status of what wrote it)
- `command`: the training command (its arguments as fields, `program`)
- `start`: the run's own command, to be typed by hand (start_command)
- `environment`, `session`, `time-limit` (limit_s), `include` (missing_path)
- `masked-status`: a pipeline whose status is not the run's; `tail-window` (tail_lines)
- the hazards that `hazards` lists
- `says`: what the script itself prints, as far as it is known before it runs (text)
- `unread`: what of the script was too much to read (the message says it); a note, not evidence
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.model import Context, Event, Value
from forensics.parsers.launch_script.hazards import hazards
from forensics.parsers.launch_script.makefile import recipes
from forensics.parsers.launch_script.promises import promises
from forensics.parsers.launch_script.record import RunRecord
from forensics.parsers.launch_script.sayings import says
from forensics.parsers.launch_script.scopes import Found, Script, read
from forensics.parsers.launch_script.training import settings
from forensics.sources.names import is_makefile

MOST_EVENTS = 2000
_NEAR = 30


class LaunchScript:
    """See the module's text."""

    speaker = "launch"
    kinds = frozenset({"launch-script"})

    def parse(self, data: bytes, context: Context) -> Iterator[Event]:
        """Yield what the script promises and endangers, in the order of its lines."""
        text = data.decode("utf-8", "replace")
        if is_makefile(context.source.path):
            text = recipes(text)
        script = read(text, {k: str(v) for k, v in context.hints.items()})
        found = [*promises(script), *settings(script), *hazards(script), *says(script)]
        told: list[Found] = []
        for line, kind, fields in sorted(found, key=lambda f: f[0]):
            if len(told) == MOST_EVENTS:
                script.unread.append(f"line {line}: only the first {MOST_EVENTS} promises and hazards are told")
                break
            if (line, kind, fields) not in told[-_NEAR:]:
                told.append((line, kind, fields))
                yield _event(script, line, kind, fields, context)
        for why in dict.fromkeys(script.unread):
            yield Event("launch", "unread", context.source.path, 0, "", why)


def _event(script: Script, line: int, kind: str, fields: dict[str, Value], context: Context) -> Event:
    text = script.lines[line - 1] if 0 < line <= len(script.lines) else ""
    return Event(
        speaker="launch",
        kind=kind,
        path=context.source.path,
        line=line,
        end_line=line,
        text=text,
        message=text,
        fields={k: v for k, v in fields.items() if v is not None},
    )


PARSER = LaunchScript()
RECORD = RunRecord()
