"""A program's command line refuses its arguments.

    usage: train.py [-h] --data DATA
    train.py: error: unrecognized arguments: --flash

Kind `refused`, fields program, argument. Formats: CPython Lib/argparse.py; click; fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Context, Event, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_ARGPARSE = lazy(
    r"(?P<program>[\w./\-]{1,200}): error: (?P<what>unrecognized arguments|the following arguments are required"
    r"|one of the arguments|ambiguous option|argument (?P<name>[^:]{1,200}))(?::? (?P<rest>.*))?"
)
_CLICK = lazy(
    r"Error: (?P<what>No such option|Missing (?:option|argument|parameter)|Invalid value for"
    r"|Got unexpected extra argument)s?:? ?(?P<rest>.*)"
)
_FIRE = lazy(
    r"ERROR: (?P<what>The function received no value for the required argument|Could not consume arg): ?(?P<rest>.*)"
)
_OPTION = lazy(r"-{1,2}[A-Za-z][\w\-]*")


class Usage:
    """See the module's text."""

    speaker = "usage"
    triggers = (
        ": error: unrecognized arguments",
        ": error: the following arguments are required",
        ": error: one of the arguments",
        ": error: ambiguous option",
        ": error: argument ",
        "Error: No such option",
        "Error: Missing ",
        "Error: Invalid value for",
        "Error: Got unexpected extra",
        "ERROR: The function received no value",
        "ERROR: Could not consume arg",
    )  # fmt: skip
    follow = 0

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a refusal."""
        for record in records:
            text = record.text
            found = _ARGPARSE.match(text) or _CLICK.match(text) or _FIRE.match(text)
            if found:
                groups = found.groupdict()
                rest = groups.get("rest") or ""
                option = _OPTION.search(groups.get("name") or rest)
                fields: dict[str, Value] = {"argument": option[0] if option else (groups.get("name") or rest)[:200]}
                if program := groups.get("program"):
                    fields["program"] = program
                yield quote("usage", "refused", [record], context, fields)


PARSER = Usage()
