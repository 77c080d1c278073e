"""`preflight` through the command: hazards with their places, a diff, the promised status, `--fix`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.cli.program import ROOT, run

STORY = ROOT / "samples" / "001-story" / "run" / "launch.sh"


def test_the_storys_launch_line_shows_its_hazards() -> None:
    """What would have saved the hours: pipefail, the dead pane, the start, the status, the buffer."""
    done = run("preflight", str(STORY))
    shown = done.stdout.decode()
    for identity in ("no-pipefail", "no-remain-on-exit", "unchecked-start", "unrecorded-status", "buffered-output"):
        assert f"[launch.{identity}]" in shown
    assert f"{STORY}:4: error:" in shown
    assert "+++" in shown
    assert done.returncode == 1


def test_a_sound_script_passes(tmp_path: Path) -> None:
    """Status 0, one line."""
    script = tmp_path / "go.sh"
    script.write_text("export PYTHONUNBUFFERED=1\npython3 train.py >> train.log 2>&1\necho $? > exit_code\n")
    done = run("preflight", str(script))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no hazard found" in done.stdout


def test_fix_writes_beside_and_never_over(tmp_path: Path) -> None:
    """The old script stays; the new one has its mode; a second fix takes another name."""
    script = tmp_path / "go.sh"
    script.write_text("python3 train.py 2>&1 | tee train.log\n")
    script.chmod(0o750)
    before = script.read_text()
    for _ in range(2):
        run("preflight", str(script), "--fix")
    assert script.read_text() == before
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["go.mended.sh", "go.mended1.sh", "go.sh"]
    assert stat.S_IMODE((tmp_path / "go.mended.sh").stat().st_mode) == 0o750
    assert "set -o pipefail" in (tmp_path / "go.mended.sh").read_text()


def test_a_command_line_is_looked_at_as_well() -> None:
    """Before it is ever put into a script."""
    done = run("preflight", "--", "python3 train.py 2>&1 | tail -60")
    assert b"[launch.output-window]" in done.stdout
    assert done.returncode == 1


def test_a_script_that_is_not_there_is_a_mistake_of_use() -> None:
    """One clear line, status 2."""
    done = run("preflight", "/nowhere/go.sh")
    assert done.returncode == 2
    assert b"/nowhere/go.sh" in done.stderr
    assert b"Traceback" not in done.stderr


def test_nothing_of_a_script_is_run(tmp_path: Path) -> None:
    """Not even what would run while it is read."""
    script = tmp_path / "go.sh"
    script.write_text(f"python3 train.py > $(touch {tmp_path}/ran; echo x.log) 2>&1 | tee `touch {tmp_path}/ran2`\n")
    run("preflight", str(script), "--fix")
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "ran2").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "python train.py 2>&1 | tee train.log", "--fix"], b"one word"),
        ([str(STORY.parent)], b"is a folder"),
        ([str(STORY.parent / "none.sh")], b"no such script"),
    ],
    ids=["an option behind a quoted command line", "a folder", "nothing"],
)
def test_what_cannot_be_looked_at_is_said_and_never_called_sound(words: list[str], said: bytes) -> None:
    """A slip on the command line must not read as approval of the launch."""
    done = run("preflight", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert b"no hazard" not in done.stdout
