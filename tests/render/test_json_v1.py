"""The JSON contract, version 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forensics.model import Evidence, Finding, Report, Run
from forensics.render import json_v1
from tests.render.reports import EVERY, FAILED, HOSTILE, UNKNOWN, inert

SHIPPED = json.loads(Path(json_v1.__file__).with_name("report-1.schema.json").read_bytes())


def loads(report: Report) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    decoded: dict[str, Any] = json.loads(json_v1.to_json(report), parse_constant=refuse)
    return decoded


def with_facts(**facts: Any) -> Report:
    evidence = (Evidence("a", 1, 1, "a"),)
    finding = Finding("train.nan-loss", "t", "error", "high", "root", evidence, facts=facts)
    return Report(Run("r"), "failed", "no", (), findings=(finding,))


@pytest.mark.parametrize("name", EVERY)
def test_output_satisfies_the_shipped_schema(name: str) -> None:
    """Every report, even one a hostile log wrote, validates against the schema that ships."""
    jsonschema.Draft202012Validator.check_schema(SHIPPED)
    jsonschema.validate(loads(EVERY[name]), SHIPPED, cls=jsonschema.Draft202012Validator)


def test_shipped_schema_is_the_generated_one() -> None:
    """The schema file says what the structs say; `scripts/schema.py` writes it."""
    assert json.loads(json_v1.schema()) == SHIPPED


def test_keys_are_the_contract() -> None:
    """The keys and their order are those of the contract, no more and no fewer."""
    report = loads(FAILED)
    assert list(report) == [
        "schema",
        "tool",
        "run",
        "sources",
        "expected",
        "verdict",
        "restart_helps",
        "findings",
        "notes",
    ]
    assert report["schema"] == "dflash-forensics/report/1"
    assert report["tool"] == {"version": "0.1.0", "rules": "3f0c"}
    assert list(report["run"]) == [
        "path",
        "started",
        "ended",
        "last_step",
        "total_steps",
        "last_checkpoint_step",
        "exit_code",
        "signal",
        "world_size",
        "programs",
    ]
    assert list(report["sources"][0]) == ["path", "kind", "bytes", "lines", "state", "read", "why"]
    assert report["expected"][0] == {
        "path": "/workspace/train_stdout_3.log",
        "state": "missing",
        "promised_by": {"path": "launch.sh", "line": 12},
    }
    root = report["findings"][0]
    assert list(root) == [
        "id",
        "title",
        "severity",
        "confidence",
        "role",
        "ranks",
        "time",
        "evidence",
        "facts",
        "because",
        "explanation",
        "fixes",
    ]
    assert list(root["fixes"][0]) == ["id", "title", "detail", "safe", "change"]
    assert list(root["fixes"][0]["change"]) == ["env", "args", "script"]


def test_unknown_values_are_null_and_times_are_utc() -> None:
    """What is not known is null; a known time is ISO 8601 in UTC with a fraction only where it has one."""
    run = loads(FAILED)["run"]
    assert (run["started"], run["ended"]) == ("2026-11-29T12:50:06Z", "2026-11-29T13:50:15.5Z")
    assert run["signal"] is None
    assert run["last_checkpoint_step"] is None
    assert loads(UNKNOWN)["run"]["started"] is None


def test_column_is_there_for_carriage_return_records_only() -> None:
    """A record after a carriage return adds its column; other lines have no such key."""
    findings = loads(FAILED)["findings"]
    assert findings[2]["evidence"][0]["column"] == 12
    assert "column" not in findings[0]["evidence"][0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ((1, (2.5, None)), [1, [2.5, None]]),
    ],
)
def test_numbers_json_lacks_become_words_and_tuples_lists(value: Any, said: Any) -> None:
    """NaN and the infinities are strings, since JSON has no such numbers; tuples are lists."""
    assert loads(with_facts(loss=value))["findings"][0]["facts"] == {"loss": said}


def test_reason_of_the_verdict_is_the_first_note() -> None:
    """Why a verdict was reached is the first note, once."""
    assert loads(UNKNOWN)["notes"] == [UNKNOWN.reason]
    twice = replace(UNKNOWN, notes=("cap", UNKNOWN.reason))
    assert loads(twice)["notes"] == ["cap", UNKNOWN.reason]


def test_evidence_is_verbatim_but_inert() -> None:
    """Evidence decodes to the very text, while the bytes hold nothing that a terminal obeys."""
    raw = json_v1.to_json(HOSTILE)
    text = json.loads(raw)["findings"][0]["evidence"][0]["text"]
    assert text == HOSTILE.findings[0].evidence[0].text.replace("\udc80", r"\x80")
    assert inert(raw.decode())


def test_the_same_report_gives_the_same_bytes() -> None:
    """Two renderings of a report are byte for byte the same and end in a line end."""
    assert json_v1.to_json(FAILED) == json_v1.to_json(FAILED)
    assert json_v1.to_json(FAILED).endswith(b"}\n")


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.floats() | st.booleans() | st.none(), max_size=4),
    st.floats() | st.none(),
    st.text(alphabet=st.characters(), max_size=40),
)
def test_any_report_is_json(facts: dict[str, Any], time: float | None, text: str) -> None:
    """Whatever facts, times and words a report holds, the output parses and validates."""
    evidence = (Evidence(text, 1, 0, text),)
    finding = Finding("a.b", text, "error", "high", "root", evidence, facts=facts, time=time)
    report = Report(Run(text, started=time), "failed", "no", (), findings=(finding,), reason=text)
    jsonschema.validate(loads(report), SHIPPED, cls=jsonschema.Draft202012Validator)
