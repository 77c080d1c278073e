"""An anchor that healthy runs print all the time is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.analyze import analyze_files
from forensics.rulebook import benign
from forensics.rulebook.lint import MOST_PER_MB, UNSPOKEN, noisy
from forensics.rulebook.load import Rulebook, builtin_folder, load
from forensics.scan import required_literals
from tests.cli.program import run
from tests.healthy.trainers import TRAINED
from tests.rulebook.test_load import SOUND, refusal

SPOKEN = SOUND.replace('["exception"]', '["output", "log"]')
PATTERN = "pattern = 'QuiteSpecialError: (?P<key>\\w+)'"


def anchors(book: Rulebook) -> set[str]:
    return {
        anchor
        for rule in book.rules.values()
        for signal in rule.signal
        if UNSPOKEN & set(signal.speaker)
        for anchor in signal.anchors or required_literals(signal.pattern)
    }


@pytest.mark.parametrize(
    "literal", [" | lm loss: ", "grad_norm", "it/s, ", "NCCL INFO", "memory ", "Warning: ", "heckpoint"]
)
def test_what_stands_on_progress_lines_is_no_anchor(tmp_path: Path, literal: str) -> None:
    """Given or derived, it is refused with its place, its rate, and a line that has it."""
    given = refusal(tmp_path / "a", SPOKEN.replace(PATTERN, f"{PATTERN}\nanchors = ['Special', '{literal}']"))
    assert f"special.toml:8: the anchor {literal!r} stands " in given
    derived = refusal(
        tmp_path / "b", SPOKEN.replace(PATTERN, f"pattern = '{literal.replace('|', '[|]')[-9:]}(?P<key>\\w+)'")
    )
    assert "derived from the pattern, stands " in derived
    assert "give longer `anchors`" in derived


def test_what_healthy_runs_hardly_print_is_an_anchor(tmp_path: Path) -> None:
    """A rare literal passes, and so does a common one of a speaker that the scan does not look for by it."""
    for name, text in (("special", SPOKEN), ("spoken", SOUND.replace("QuiteSpecialError: ", "lm loss: "))):
        (tmp_path / "train").mkdir(exist_ok=True)
        (tmp_path / "train" / f"{name}.toml").write_text(text)
    assert len(load([str(tmp_path)], builtin=False).rules) == 2


def test_the_shipped_rules_leave_healthy_logs_alone() -> None:
    """None of their anchors is noise, in what they are measured against nor in other healthy logs."""
    book = load(cases=True)
    assert not [problem for rule in book.rules.values() for problem in noisy(rule)]
    others = "\n".join(trained.log for trained in TRAINED)
    assert {anchor: others.count(anchor) for anchor in anchors(book) if others.count(anchor) > MOST_PER_MB} == {}


def test_what_anchors_are_measured_against_is_healthy() -> None:
    """By the judgement of the rules themselves, and large enough that one line too many weighs little."""
    assert benign.megabytes() > 2
    log = benign.corpus()[: len(benign.corpus()) // benign.RUNS]
    report = analyze_files({"train.log": log.encode()}, load())
    assert [finding.id for finding in report.findings if finding.role != "note"] == []


def test_a_users_rule_is_measured_as_well(tmp_path: Path) -> None:
    """`rules check` and `analyze` refuse it before it makes them slow."""
    path = tmp_path / "train" / "special.toml"
    path.parent.mkdir()
    path.write_text(SPOKEN.replace(PATTERN, f"{PATTERN}\nanchors = ['loss']"))
    checked = run("rules", "check", "--rules", str(tmp_path))
    assert checked.returncode == 1
    assert checked.stdout.decode().startswith(f"{path}:8: the anchor 'loss' stands ")
    assert run("analyze", str(tmp_path), "--rules", str(tmp_path)).returncode == 2


def test_it_is_shipped() -> None:
    """The lines stand beside the module, not beside the rules, where only rules may stand."""
    assert Path(benign.__file__).with_name("benign.txt").is_file()
    assert not list(builtin_folder().glob("*.txt"))
