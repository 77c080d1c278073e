"""A launch script of any size costs work in proportion to it, and what is too much to read is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from forensics.analyze import analyze_files
from forensics.model import Context, Event, Source
from forensics.parsers.launch_script import MOST_EVENTS, PARSER
from forensics.parsers.launch_script.scopes import MOST_SCOPES
from forensics.rulebook.load import load
from tests.effort import grows_evenly

CONTEXT = Context(Source("launch.sh", "launch-script", 1))
LONG = {
    "background runs": "export V{n}=x\npython train.py --lr {n} > /w/d{n}/log.txt 2>&1 &\necho $? >> status\n",
    "runs in folders": "cd d{n}; mkdir -p w{n}\npython t.py 2>&1 | tee w{n}/q/log.txt; echo ${{PIPESTATUS[0]}} > s\n",
    "sessions": "tmux new-session -d -s s{n} 'cd /w && python train.py | tee w{n}/q/log.txt'\n",
    "runs elsewhere": "ssh node{n} 'python train.py --seed {n} > far{n}.log'\n",
    "tees": "tee f{n}; ",
    "waits": "python train.py &\nwait; A{n}=$B{n}\n",
}


def parse(script: str) -> list[Event]:
    return list(PARSER.parse(script.encode(), CONTEXT))


def unread(script: str) -> list[str]:
    return [e.message for e in parse(script) if e.kind == "unread"]


@pytest.mark.parametrize("line", LONG.values(), ids=LONG)
def test_twice_the_script_is_twice_the_work(line: str) -> None:
    """No command is compared with every other command or shell of the script."""

    def work(lines: int) -> Callable[[], object]:
        return partial(parse, "".join(line.format(n=n) for n in range(lines)))

    assert grows_evenly(work, 60)


def test_more_events_than_are_kept_are_told() -> None:
    """The first promises and hazards count, and the report says that there are more."""
    events = parse("".join(f"python train.py > log{n}.txt\n" for n in range(MOST_EVENTS)))
    assert len(events) == MOST_EVENTS + 1
    assert str(MOST_EVENTS) in events[-1].message


def test_more_shells_than_are_read_are_told() -> None:
    """So it is with scripts quoted inside a script."""
    (why,) = unread("".join(f"bash -c 'echo {n}'\n" for n in range(MOST_SCOPES + 10)))
    assert why.startswith(f"line {MOST_SCOPES}: ")


def test_what_is_not_read_of_a_script_is_a_note_of_the_report() -> None:
    """A hostile script is never passed over in silence, and no event of a run."""
    report = analyze_files({"launch.sh": b"#!/bin/bash\n" + b"{ " * 300 + b"python train.py; " + b"}; " * 300}, load())
    assert any(note.startswith("launch.sh: line 2: ") and "nested" in note for note in report.notes)


def test_an_ordinary_script_leaves_nothing_unread() -> None:
    """Five hundred lines of a launch are read to their end."""
    assert not unread("#!/bin/bash\n" + "".join(f"export A{n}=1\npython train.py --n {n}\n" for n in range(250)))
