"""What shells say in other languages."""

from __future__ import annotations

import pytest

from forensics.parsers.shell import PARSER
from forensics.text.locales import in_english
from tests.cutting import one


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("tee: logs/a.log: Aucun fichier ou dossier de ce type", "tee: logs/a.log: No such file or directory"),
        ("tee: logs/a.log: Datei oder Verzeichnis nicht gefunden", "tee: logs/a.log: No such file or directory"),
        ("run.sh: Zeile 3: torchrun: Befehl nicht gefunden.", "run.sh: line 3: torchrun: command not found"),
        ("run.sh: ligne 3 : torchrun : commande introuvable", "run.sh: line 3: torchrun: command not found"),
        ("run.sh: 第 3 行: torchrun: 未找到命令", "run.sh: line 3: torchrun: command not found"),
        (
            "tail: impossible d'ouvrir 'logs/a.log' en lecture: Aucun fichier ou dossier de ce type",
            "tail: cannot open 'logs/a.log' for reading: No such file or directory",
        ),
        ("step 3 | perte 2.5 : aucun problème", "step 3 | perte 2.5 : aucun problème"),
    ],
)
def test_errors_of_shells_are_put_into_english(text: str, english: str) -> None:
    """What else stands in a line in another language stays what it is."""
    assert in_english(text) == english


def test_a_shell_is_understood_in_french() -> None:
    """The path is a fact, and the line is quoted as it stands."""
    text = "tee: logs/run7/train.log: Aucun fichier ou dossier de ce type"
    event = one(PARSER, text)
    assert (event.kind, event.fields["missing_path"], event.text) == ("tee-missing", "logs/run7/train.log", text)
