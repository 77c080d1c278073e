"""What is shipped works outside the checkout, rules included."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from forensics.rulebook.load import builtin_folder
from tests.cli.program import ROOT, environment


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release would."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_rule_and_nothing_of_the_tests(wheel: Path) -> None:
    """The rules folder of the checkout is the package's own in the wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {n.removeprefix("forensics/_rules/") for n in names if n.startswith("forensics/_rules/")}
    assert shipped == {str(p.relative_to(ROOT / "rules")) for p in (ROOT / "rules").rglob("*") if p.is_file()}
    assert "forensics/render/report-1.schema.json" in names
    assert not [n for n in names if n.startswith(("tests/", "samples/"))]


def test_the_installed_program_analyses_a_sample_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Installed, it finds its rules beside itself."""
    installed = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(installed)
    done = subprocess.run(
        [sys.executable, "-m", "forensics", "analyze", str(ROOT / "samples" / "002-dense-276" / "run")],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": os.fspath(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compile.dense-fallback" in done.stdout


def test_a_checkout_finds_its_rules_beside_the_package() -> None:
    """An editable install has no copy of the rules; it reads the ones that are edited."""
    assert builtin_folder() == ROOT / "rules"
