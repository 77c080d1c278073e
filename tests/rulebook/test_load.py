"""Unsound rules are refused, all at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.rulebook.load import RulebookError, builtin_folder, load

SOUND = """
title = "t"
severity = "error"
confidence = "high"
restart = "no"
why = "w"

[[signal]]
speaker = ["exception"]
pattern = 'QuiteSpecialError: (?P<key>\\w+)'

[facts]
key = "str"

[[case]]
name = "fires"
fires = true
log = "x"

[[case]]
name = "does not"
fires = false
log = "y"
"""


def refusal(folder: Path, text: str, name: str = "train/special.toml") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(RulebookError) as caught:
        load([str(folder)], builtin=False)
    return str(caught.value)


def test_a_sound_rule_is_loaded_under_the_id_of_its_path(tmp_path: Path) -> None:
    """The path is the id."""
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "special.toml").write_text(SOUND)
    book = load([str(tmp_path)], builtin=False)
    assert list(book.rules) == ["train.special"]
    assert book.foreign == {"train.special"}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('severity = "error"', 'severity = "fatal"'), "special.toml:3: Invalid enum value 'fatal'"),
        (('why = "w"', 'why = "w"\nwherefore = 1'), "unknown key `wherefore`"),
        (('why = "w"', "why = "), "not valid TOML"),
        (("(?P<key>\\w+)", "(?P<key>\\w+"), "not a valid regular expression"),
        (('key = "str"', ""), "captures 'key', which [facts] gives no type"),
        (("fires = false", "fires = true"), "has no look-alike"),
        (("fires = true", "fires = false"), "has no case that fires"),
        (('speaker = ["exception"]', 'speaker = ["output"]\nanchors = []'), ""),
        (
            ("pattern = 'QuiteSpecialError: (?P<key>\\w+)'", "pattern = '(?i)(?P<key>ab)'\nwhere = ['a ~ b']"),
            "where 'a ~ b'",
        ),
        (('why = "w"', 'why = "w"\nexplains = ["train.nothing"]'), "explains 'train.nothing', which no rule has"),
        (('log = "y"', ""), "has neither log nor files"),
    ],
)
def test_an_unsound_rule_is_refused_with_its_reason(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    """Each way to be unsound has its own words."""
    assert change[0] in SOUND
    text = SOUND.replace(change[0], change[1], 1)
    if complaint:
        assert complaint in refusal(tmp_path, text)


def test_output_rules_need_a_literal(tmp_path: Path) -> None:
    """A rule on plain output without a literal would have the scan hand over every line."""
    text = SOUND.replace('["exception"]', '["output"]').replace("'QuiteSpecialError: (?P<key>\\w+)'", "'(?P<key>\\d+)'")
    assert "give `anchors`" in refusal(tmp_path, text)


def test_an_id_must_be_family_and_cause(tmp_path: Path) -> None:
    """A rule outside the families would have no place in the taxonomy."""
    assert "is not family.kebab-cause" in refusal(tmp_path, SOUND, "misc/special.toml")
    assert "is not family.kebab-cause" in refusal(tmp_path / "b", SOUND, "train/Not_Kebab.toml")


def test_two_rules_that_explain_each_other_are_refused(tmp_path: Path) -> None:
    """A circle has no root."""
    (tmp_path / "train").mkdir()
    for name, other in (("a", "b"), ("b", "a")):
        text = SOUND.replace('why = "w"', f'why = "w"\nexplains = ["train.{other}"]')
        (tmp_path / "train" / f"{name}.toml").write_text(text)
    with pytest.raises(RulebookError, match="in a circle"):
        load([str(tmp_path)], builtin=False)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Nobody wants to repair rules one error a run."""
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.toml").write_text("title = 3")
    (tmp_path / "train" / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RulebookError) as caught:
        load([str(tmp_path), str(tmp_path / "nowhere")], builtin=False)
    assert len(caught.value.problems) == 3


def test_the_shipped_rules_load_and_name_their_sources() -> None:
    """Every shipped rule is sound, and says where its wording comes from."""
    book = load(cases=True)
    assert len(book.rules) >= 45
    assert all(rule.references for rule in book.rules.values())


def test_cases_stand_last_in_every_shipped_file() -> None:
    """What stands before the first case is all that an analysis reads."""
    for path in builtin_folder().rglob("*.toml"):
        head, _, tail = path.read_text().partition("\n[[case]]")
        assert head
        assert not [line for line in tail.split("\n") if line.startswith(("[[signal]]", "[[fix]]", "[facts]"))], path
