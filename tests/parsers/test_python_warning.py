"""Warnings, with and without a category."""

from __future__ import annotations

from forensics.parsers.python_warning import PARSER
from tests.cutting import one, parse


def test_lightning_prints_its_warnings_without_a_category() -> None:
    """That the GPU lies idle is one of them; its other words in that form are no warnings."""
    place = "/v/lib/python3.12/site-packages/lightning/pytorch/trainer/setup.py:177: "
    event = one(PARSER, f"{place}GPU available but not used. You can set it by doing `Trainer(accelerator='gpu')`.")
    assert (event.fields["category"], event.fields["file_line"]) == ("UserWarning", 177)
    assert event.message.startswith("GPU available but not used")
    assert parse(PARSER, f"{place}Detected KeyboardInterrupt, attempting graceful shutdown...") == []
