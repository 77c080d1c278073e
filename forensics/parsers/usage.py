"""A program's command line refuses its arguments.

    usage: train.py [-h] --data DATA
    train.py: error: unrecognized arguments: --flash

argparse's own words are known by themselves; what a program says through `parser.error`
is known by the usage that argparse prints above it. click says `Error: No such option`,
or draws a box around it (rich), as tyro does.

Kind `refused`, fields program, argument. Formats: CPython Lib/argparse.py; click; typer; tyro; fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_ARGPARSE = lazy(
    r"(?P<program>[\w./\-][\w./<>\[\] \-]{0,200}): error: (?P<what>unrecognized arguments"
    r"|the following arguments are required|one of the arguments|ambiguous option|too few arguments"
    r"|argument (?!unused )(?P<name>[^:]{1,200}))(?::? (?P<rest>.*))?"
)
_OWN = lazy(r"(?P<program>[\w./\-][\w./<>\[\] \-]{0,200}): error: (?P<rest>\S.*)")
_USAGE = lazy(r"usage: (?P<program>[\w./\-]{1,200})(?: |$)")
_CLICK = lazy(
    r"(?:Error: |│ )(?P<what>No such (?:option|command)|Missing (?:option|argument|parameter|command)|Invalid value for"
    r"|Got unexpected extra argument)s?:? ?(?P<rest>.*)"
)
_TYRO = lazy(
    r"│ (?P<what>Unrecognized options|The following arguments? (?:are|is) required|[^│]{0,80}? required)\b"
    r":? ?(?P<rest>.*)"
)
_FIRE = lazy(
    r"ERROR: (?P<what>The function received no value for the required argument|Could not consume arg): ?(?P<rest>.*)"
)
_BOX = lazy(r"╭─+ (?P<title>Error|Required options|Parsing error|Unrecognized options|Missing option) ─")
_BOXES = (
    "╭─ Error ─",
    "╭─ Required options ─",
    "╭─ Parsing error ─",
    "╭─ Unrecognized options ─",
    "╭─ Missing option ─",
)
_OPTION = lazy(r"-{1,2}[A-Za-z][\w\-.]*")
_USAGE_LINES = 200
"""How far below `usage:` the refusal may stand: a usage names every option."""


class Usage:
    """See the module's text."""

    speaker = "usage"
    triggers = (
        "usage: ",
        ": error: ",
        "Error: No such ",
        "Error: Missing ",
        "Error: Invalid value for",
        "Error: Got unexpected extra",
        "ERROR: The function received no value",
        "ERROR: Could not consume arg",
        *_BOXES,
    )
    follow = 1
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a refusal."""
        usage, program, box = -_USAGE_LINES - 1, "", ""
        for record in records:
            text = record.text
            if shown := _USAGE.match(text):
                usage, program = record.line.number, shown["program"]
            title, box = box, (opened["title"] if (opened := _BOX.match(text)) else "")
            found = _ARGPARSE.match(text) or _FIRE.match(text) or (_CLICK.match(text) if text[:1] != "│" else None)
            if found is None and title:
                found = _CLICK.match(text) if title == "Error" else _TYRO.match(text)
            if found is None and record.line.number - usage <= _USAGE_LINES and text.startswith(program):
                found = _OWN.match(text)
            if found:
                usage = -_USAGE_LINES - 1
                yield quote("usage", "refused", [record], context, _fields(found.groupdict()))


def _fields(groups: dict[str, str | None]) -> dict[str, Value]:
    rest = (groups.get("rest") or "").strip(" │")
    option = _OPTION.search(groups.get("name") or rest)
    fields: dict[str, Value] = {"argument": option[0] if option else (groups.get("name") or rest)[:200]}
    if program := groups.get("program"):
        fields["program"] = program
    return fields


PARSER = Usage()
