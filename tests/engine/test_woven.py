"""Records of several writers cut into each other: told only where a program failed on exactly such a record."""

from __future__ import annotations

import gzip
import json

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from forensics.rulebook.load import load

LOG = "step 3/3 | loss 2.1 | lr 1e-4\n"


def record(rank: int, step: int) -> str:
    return json.dumps({"rank": rank, "step": step, "loss": 2.5 - step / 1000, "tok_s": 4000 + rank})


def failed(row: str) -> str:
    """Return how a program that reads this row ends, in the interpreter's own words."""
    try:
        json.loads(row)
    except json.JSONDecodeError as error:
        words = f"json.decoder.JSONDecodeError: {error}"
    return (
        f'{LOG}Traceback (most recent call last):\n  File "sum.py", line 5, in <module>\n    json.loads(l)\n{words}\n'
    )


def root(files: dict[str, bytes]) -> tuple[str, str, int] | None:
    found = report(files).root
    return None if found is None else (found.id, found.evidence[0].path, found.evidence[0].line)


def report(files: dict[str, bytes]) -> Report:
    return analyze_files(files, load())


def torn(at: int, *, with_rest: bool = True) -> tuple[list[str], str]:
    """Return rows of which the third is cut at a character, the last one's place taken by another rank's record."""
    whole = record(0, 2)
    row = whole[:at] + record(1, 2)
    rest = [whole[at:]] if with_rest else []
    return [record(0, 1), record(1, 1), row, *rest, *(record(0, n) for n in range(3, 40))], row


@pytest.mark.parametrize("at", [12, 25, 34, 38, 45, len(record(0, 2)) - 1])
@pytest.mark.parametrize("with_rest", [True, False])
def test_a_record_cut_anywhere_is_found_where_the_reader_failed_on_it(at: int, with_rest: bool) -> None:  # noqa: FBT001
    """Wherever the other record begins, the line is named."""
    rows, row = torn(at, with_rest=with_rest)
    files = {"metrics.jsonl": "\n".join(rows).encode() + b"\n", "job.out": failed(row).encode()}
    assert root(files) == ("capture.torn-line", "metrics.jsonl", 3)


def test_a_record_that_another_one_was_written_over_is_found_too() -> None:
    """Neither is whole: the later writer began in the middle of a number, and the rest of the first stands behind it."""
    whole, other = record(0, 2), record(1, 1)
    at = whole.index("2.4") + 2
    row = whole[:at] + other[:20] + whole[at + 20 :]
    rows = [record(0, 1), record(1, 1), row, *(record(0, n) for n in range(3, 40))]
    files = {"metrics.jsonl": "\n".join(rows).encode() + b"\n", "job.out": failed(row).encode()}
    assert root(files) == ("capture.torn-line", "metrics.jsonl", 3)


def test_it_is_found_far_down_in_a_packed_log() -> None:
    """Pieces of a stream end anywhere, also in the middle of that line."""
    rows, row = torn(34)
    many = [record(0, n) for n in range(60_000)]
    data = gzip.compress("\n".join([*many, *rows]).encode() + b"\n", mtime=0)
    assert root({"metrics.jsonl.gz": data, "job.out": failed(row).encode()}) == (
        "capture.torn-line",
        "metrics.jsonl.gz",
        60_003,
    )


@pytest.mark.parametrize(
    "rows",
    [
        [record(0, 1), record(0, 2)[:30] + "nope}", record(0, 3)],
        [record(0, 1), record(0, 2)[:30], record(0, 3)],
        [record(0, 1), record(0, 2) + record(0, 3), record(0, 4)],
        [record(0, 1), record(0, 2), record(0, 3)[:30]],
    ],
    ids=["spoiled", "cut short", "no line feed between", "cut at the end"],
)
def test_what_one_writer_may_have_left_is_not_called_torn_by_another(rows: list[str]) -> None:
    """A record that is only spoiled or cut short proves nothing of a second writer."""
    broken = next(row for row in rows if not parses(row))
    found = report({"metrics.jsonl": "\n".join(rows).encode() + b"\n", "job.out": failed(broken).encode()})
    assert not any(e.text == broken for f in found.findings if f.id == "capture.torn-line" for e in f.evidence)
    assert found.root is not None
    assert found.root.id != "capture.torn-line"


def parses(row: str) -> bool:
    try:
        json.loads(row)
    except json.JSONDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    "line",
    [
        '{"a": ' + "[" * 4000 + '{"a": 1}',
        '{"a": 1' + "x" * 3_000_000 + '{"a": 1}',
        '{"a": ' + '"é' * 2000,
        '{"a": \x00{"a": 1}',
    ],
    ids=["deep", "long", "no end", "nul"],
)
def test_odd_records_take_no_time_and_no_memory(line: str) -> None:
    """Whatever a program failed to read, and however the record looks."""
    rows = [record(0, 1), line, record(0, 3), '1, "tok_s": 4000}']
    found = report({"metrics.jsonl": "\n".join(rows).encode() + b"\n", "job.out": failed('{"a": ,}').encode()})
    assert found.root is not None


def test_torn_records_that_nothing_failed_on_are_no_cause() -> None:
    """A run that ended well stays healthy, however its ranks wrote into one file."""
    rows, _ = torn(34)
    found = report(
        {"metrics.jsonl": "\n".join(rows).encode() + b"\n", "train.log": f"{LOG}Training complete\n".encode()}
    )
    assert found.verdict == "healthy"
