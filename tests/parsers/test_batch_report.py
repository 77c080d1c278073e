"""Which job a report of a batch system is about."""

from __future__ import annotations

import pytest

from forensics.parsers.batch_report import PARSER
from tests.cutting import check_hostile_lines, check_laws, one, parse

TOLD = [
    ("Subject: Job 88120: <ldif24> in cluster <hpc> Exited", {"job_id": 88120}),
    ("Subject: Job 88120[7]: <sweep[1-8]> in cluster <hpc> Done", {"job_id": 88120}),
    ("Job was executed on host(s) <16*gpu-sxm-09>, in queue <gpu_long>, as user <me>", {"node": "gpu-sxm-09"}),
    ("Job was executed on host(s) <n01>, in queue <gpu>", {"node": "n01"}),
    ("PBS Job Id: 48211.pbs01", {"job_id": 48211}),
    ("Subject: PBS JOB 48211.pbs01", {"job_id": 48211}),
    ("Job ID:        88412.pbs1", {"job_id": 88412}),
]


@pytest.mark.parametrize(("line", "fields"), TOLD)
def test_each_system_names_its_jobs(line: str, fields: dict[str, object]) -> None:
    """As IBM's LSF and the two descendants of PBS write it."""
    event = one(PARSER, line)
    assert (event.speaker, event.kind, dict(event.fields)) == ("scheduler", "job-report", fields)
    assert any(trigger in line for trigger in PARSER.triggers)


@pytest.mark.parametrize("line", ["Job ID: unknown", "Subject: Job offer", "the Job ID: 5 was lost", "Job ID: 7 of 9"])
def test_a_sentence_is_no_report(line: str) -> None:
    """Words about jobs."""
    assert parse(PARSER, line) == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other; no line costs more than its reading."""
    check_laws(PARSER, [line for line, _ in TOLD])
    check_hostile_lines(PARSER)
