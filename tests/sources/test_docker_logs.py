"""What docker's driver json-file keeps of a container is read as the program's own lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from forensics.analyze import analyze, analyze_files
from forensics.model import Report
from tests.engine.runs import RAISED, rulebook, steps

SAID = steps(1, 400) + RAISED.format(error='ValueError: "labels" has 3 rows — not 4')


def kept(text: str, *, attrs: bool = False) -> bytes:
    """Return the text as docker writes it."""
    rows = [
        {
            "log": f"{line}\n",
            "stream": "stderr",
            **({"attrs": {"tag": "t"}} if attrs else {}),
            "time": f"2025-03-03T10:{n // 60:02}:{n % 60:02}.123456789Z",
        }
        for n, line in enumerate(text.splitlines())
    ]
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()


def told(report: Report) -> tuple[object, ...]:
    root = report.root
    assert root is not None
    line = root.evidence[0].line
    return root.id, line, root.facts["exception"], root.facts["file_line"], report.run.last_step


@pytest.mark.parametrize("attrs", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_a_containers_log_tells_what_its_text_does(attrs: bool, packed: bool) -> None:  # noqa: FBT001
    """Escaped quotes and letters hide no frame, and the numbers of lines are those of the file."""
    data = kept(SAID, attrs=attrs)
    name, data = ("c-json.log.gz", gzip.compress(data, mtime=0)) if packed else ("c-json.log", data)
    plain = analyze_files({"train.log": SAID.encode()}, rulebook())
    report = analyze_files({name: data}, rulebook())
    assert told(report) == told(plain)
    assert report.root is not None
    assert report.root.evidence[0].text.endswith('ValueError: "labels" has 3 rows — not 4')
    assert report.root.time == pytest.approx(1740996000.12 + 403, abs=1)


def test_a_torn_last_line_and_a_large_file_change_nothing(tmp_path: Path) -> None:
    """It is a line like any other that does not parse, and the parts of a large file are read as one."""
    data = kept(steps(1, 60_000, total=60_000) + SAID)
    (tmp_path / "c-json.log").write_bytes(data + b'{"log":"step 7')
    report = analyze([str(tmp_path)])
    assert report.root is not None
    assert (report.root.id, report.root.evidence[0].line) == ("setup.python-exception", 60_404)
    source = next(s for s in report.sources if s.path == "c-json.log")
    assert (source.state, source.lines) == ("torn", 60_405)


def test_nul_bytes_at_its_end_are_those_of_a_power_cut(tmp_path: Path) -> None:
    """They stand behind the last line, on disk and in memory."""
    data = kept(steps(1, 40)) + b"\0" * 2891
    (tmp_path / "c-json.log").write_bytes(data)
    for report in (analyze([str(tmp_path)]), analyze_files({"c-json.log": data}, rulebook())):
        source = report.sources[0]
        assert (source.state, source.nul_bytes) == ("nul-tail", 2891)


def test_what_only_begins_like_it_is_left_as_it_is() -> None:
    """A structured log of one's own has other keys."""
    rows = b'{"log":"step 1 loss 2.0","level":"info"}\n' * 20
    report = analyze_files({"train.log": rows}, rulebook())
    assert next(s for s in report.sources).bytes == len(rows)
