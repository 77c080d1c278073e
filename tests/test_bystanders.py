"""What lies beside a run says nothing of it: an earlier try under any usual name, a note that quotes, a help text.

Every shipped sample, and a run that is healthy, gets such a neighbour; the root must stay what it was.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from tests.engine.runs import OOM, root, rulebook, steps

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
HEALTHY = {"train.log": (steps(1, 100) + "Training complete\n").encode(), "exit_code": b"0\n"}
EARLIER = (steps(1, 60) + OOM).encode()
NAMES = (
    "train_prev.log", "train_old.log", "train_failed.log", "train_bs64_oom.log", "train.first_try.log",
    "train_attempt1.log", "train.log.bak", "train.log.1", "old/train.log", "failed_run/train.log",
    "attempt_1/train.log",
)  # fmt: skip
NOTES = {
    "notes.md": f"# Last week\n\nWe had this:\n\n```\n{OOM}```\n\nA smaller batch solved it.\n",
    "issue.txt": "A report that looks like ours:\n> " + OOM.replace("\n", "\n> ") + "\n",
    "README.md": f"# Trouble\n\nIf you see this, set `--batch-size 8`:\n\n```\n{OOM}```\n",
    "frage-mail.txt": f"Hallo,\nbei euch stand neulich\n\n{OOM}\nWar es das?\n",
}


@cache
def runs() -> dict[str, dict[str, bytes]]:
    """Return the files of each sample that has a log of its own under the name `train.log`."""
    found = {"healthy": HEALTHY}
    for sample in sorted(SAMPLES.iterdir()):
        files = {str(p.relative_to(sample / "run")): p.read_bytes() for p in sample.glob("run/**/*") if p.is_file()}
        if files.get("train.log"):
            found[sample.name] = files
    return found


@cache
def alone(name: str) -> Report:
    return analyze_files(dict(runs()[name]), rulebook())


def pairs() -> list[tuple[str, str]]:
    """Return each run with each neighbour; only of a log that begins anew is a rotated part no part of it."""
    again = {name for name, files in runs().items() if b"step 1/" in files["train.log"][:400]}
    return [(name, n) for name in runs() for n in NAMES if n != "train.log.1" or name in again]


@pytest.mark.parametrize(("name", "neighbour"), pairs())
def test_an_earlier_try_under_a_usual_name_changes_nothing(name: str, neighbour: str) -> None:
    """It trained in its own way and ran out of memory; that is known to whoever gave it that name."""
    report = analyze_files({**runs()[name], neighbour: EARLIER}, rulebook())
    assert (root(report), report.verdict) == (root(alone(name)), alone(name).verdict)


@pytest.mark.parametrize("name", runs())
@pytest.mark.parametrize("note", NOTES)
def test_what_a_note_quotes_is_not_what_the_run_said(name: str, note: str) -> None:
    """People paste the errors of another day, and of others."""
    report = analyze_files({**runs()[name], note: NOTES[note].encode()}, rulebook())
    assert (root(report), report.verdict) == (root(alone(name)), alone(name).verdict)


@pytest.mark.parametrize("name", runs())
def test_what_a_model_is_asked_about_is_not_what_the_run_said(name: str) -> None:
    """Prompts and answers stand in the log of a model that explains errors, behind the sign of a quotation."""
    files = dict(runs()[name])
    log = next(path for path in files if path.endswith(".log"))
    lines = files[log].decode().splitlines(keepends=True)
    asked = "".join(f"    > {line}\n" for line in (*OOM.splitlines(), "Fatal Python error: Bus error"))
    files[log] = "".join([*lines[:1], "--- prompt 4: what does this mean?\n", asked, *lines[1:]]).encode()
    report = analyze_files(files, rulebook())
    assert (root(report), report.verdict) == (root(alone(name)), alone(name).verdict)


def test_a_note_alone_is_believed() -> None:
    """Where it is all there is, what it quotes is what is asked about."""
    assert root(analyze_files({"notes.md": NOTES["notes.md"].encode()}, rulebook())) == "memory.gpu-oom"


def test_a_note_explains_a_run_that_failed_without_a_word() -> None:
    """The status is bad, the log ends in the middle and tells nothing."""
    files = {"train.log": steps(1, 60).encode(), "exit_code": b"1\n", "notes.md": NOTES["notes.md"].encode()}
    assert root(analyze_files(files, rulebook())) == "memory.gpu-oom"


@pytest.mark.parametrize(
    ("day", "found"),
    [(20, None), (28, None), (29, None), (30, "memory.gpu-oom")],
    ids=["before", "at", "same", "after"],
)
def test_a_name_says_old_unless_the_dates_in_it_say_otherwise(day: int, found: str | None) -> None:
    """Two logs at one time are two tries where one of them is called old; one that began later is the newer."""
    stamp = "2026-11-{day:02} 1{n}:00:00,000 INFO train: step {n}/9 loss 2.{n}\n"
    ours = "".join(stamp.format(day=29, n=n) for n in range(1, 10)) + "Training complete\n"
    old = "".join(stamp.format(day=day, n=n) for n in range(1, 10)) + OOM
    files = {"node0.log": ours.encode(), "node0_prev.log": old.encode()}
    assert root(analyze_files(files, rulebook())) == found
