"""What is the same failure, and what is another one."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest

from forensics.gate.fingerprint import fingerprint, masked
from forensics.model import Finding
from forensics.rulebook.load import load
from tests.gate.runs import examined

RULES = load(cases=True)
PICKED = (
    "memory.gpu-oom", "memory.host-oom-kill", "memory.shm-exhausted", "compile.backend-failure",
    "compile.recompile-limit", "compile.fx-trace-race", "gpu.illegal-access", "gpu.driver-mismatch",
    "comm.port-in-use", "comm.rendezvous-failure", "host.disk-full", "host.permission", "host.file-missing",
    "scheduler.time-limit", "train.nan-loss", "train.data-error", "train.shape-mismatch", "train.state-dict-mismatch",
    "train.checkpoint-corrupt", "setup.import-error", "setup.cli-args", "setup.config", "setup.auth",
    "setup.hub-download",
)  # fmt: skip
STAMP = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)([ T])(\d\d):(\d\d):(\d\d)")


def later(found: re.Match[str]) -> str:
    """Return a time three hours and some minutes after."""
    year, month, day, sep, hour, minute, second = found.groups()
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    return (moment + timedelta(hours=3, minutes=17, seconds=9)).strftime(f"%Y-%m-%d{sep}%H:%M:%S")


def again(text: str) -> str:
    """Return the log of the same failure on another day, under other pids and paths, further down."""
    text = STAMP.sub(later, text)
    text = re.sub(r"\bpid[= ](\d{3,})", lambda m: m[0].replace(m[1], str(int(m[1]) + 4711)), text)
    text = re.sub(r"(/root|/home/\w+|/workspace|/w|/opt/conda)/", "/scratch/user7/job-88213/", text)
    return "".join(f"2026-11-29 02:0{n}:00 INFO loading shard {n}\n" for n in range(7)) + text


def cases() -> list[tuple[str, str, str]]:
    """Return a firing case with a log for each of the picked causes."""
    chosen = []
    for name in PICKED:
        rule = next(r for r in RULES.rules.values() if r.id == name)
        case = next(c for c in rule.case if c.fires and c.log and c.role in {"", "root"})
        chosen.append((name, case.name, case.log))
    return chosen


def prints(log: str) -> dict[str, str]:
    """Return the fingerprint of each finding of a run."""
    return {f.id: fingerprint(f) for f in examined({"train.log": log.encode()}).report.findings}


@pytest.mark.parametrize(("name", "case", "log"), cases(), ids=[name for name, _, _ in cases()])
def test_the_same_failure_on_another_day_has_the_same_fingerprint(name: str, case: str, log: str) -> None:
    """Other times, pids, paths and lines: a finding that was known stays known."""
    first, second = prints(log), prints(again(log))
    assert name in first, case
    assert second.get(name) == first[name], case


def recorded(name: str) -> dict[str, str]:
    """Return the fingerprint of each finding of a sample."""
    folder = Path(__file__).parent.parent.parent / "samples" / name / "run"
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {f.id: fingerprint(f) for f in examined(files).report.findings}


def test_two_recorded_races_are_the_same_finding() -> None:
    """One race of threads shows on other lines each time."""
    truth = tomllib.loads((Path(__file__).parent.parent.parent / "samples/004-compile-race/truth.toml").read_text())
    assert truth["root"] in recorded("004-compile-race")


def test_other_failures_have_other_fingerprints() -> None:
    """What a baseline accepts must not hide the next failure of the same kind: names are part of it."""
    template = 'step 1/9 loss 2.5\nTraceback (most recent call last):\n  File "/w/t.py", line 3, in f\n    g()\n{}\n'
    raised = (
        "KeyError: 'labels'",
        "KeyError: 'input_ids'",
        "ModuleNotFoundError: No module named 'flash_attn'",
        "ModuleNotFoundError: No module named 'apex'",
        "ValueError: could not determine the shape of object type",
        "RuntimeError: expected scalar type Half but found Float",
    )
    found = [next(iter(prints(template.format(words)).items())) for words in raised]
    for (one, first), (other, second) in combinations(found, 2):
        assert first != second, (one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at /home/a/run-1/x.bin: 12 of 40 bytes", "at /scratch/bb/y.bin: 7 of 1_024 bytes"),
        ("connect to [node-a.cluster]:29500 failed", "connect to [10.0.0.7]:29671 failed"),
        ("loss 2.5e-3 at step 14", "loss nan at step 200"),
        ("object at 0x7f11907c9b80", "object at 0x7ffe01"),
        ("https://hub/a/b?x=1 said 503", "https://hub/c said 429"),
        ("job 9f86d081-884c-4d65-9a2f-eaa0c55ad015 ended", "job 00000000-884c-4d65-9a2f-eaa0c55ad0ff ended"),
    ],
)
def test_what_varies_is_masked(one: str, other: str) -> None:
    """Paths, hosts, addresses, numbers and ids of jobs tell runs apart, not failures."""
    assert masked(one) == masked(other)


def test_words_are_not_masked() -> None:
    """Names of things stay, or everything would be the same."""
    assert masked("missing key 'lm_head.weight'") != masked("missing key 'embed.weight'")


def test_a_finding_without_an_exception_is_known_by_its_facts() -> None:
    """The last line of a log that stopped says nothing about why."""
    finding = Finding("train.hang", "It hangs", "error", "high", "root", ())
    assert fingerprint(finding) == fingerprint(finding)
    other = Finding("gpu.xid-other", "An Xid", "error", "high", "root", (), facts={"xid": 62})
    third = Finding("gpu.xid-other", "An Xid", "error", "high", "root", (), facts={"xid": 32})
    assert len({fingerprint(finding), fingerprint(other), fingerprint(third)}) == 3
