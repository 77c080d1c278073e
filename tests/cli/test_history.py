"""`history`: told of whatever attempts there are, torn ones too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.program import environment, run


def test_a_folder_without_attempts_says_what_to_do(tmp_path: Path) -> None:
    """Wrong usage, one line."""
    done = run("history", str(tmp_path))
    assert done.returncode == 2
    assert b"there is no attempt" in done.stderr


def test_an_attempt_whose_record_is_lost_is_still_told(tmp_path: Path) -> None:
    """By its log, without a made-up status."""
    run("run", "--run-dir", str(tmp_path), "--", sys.executable, "-S", "-c", "print('step 3/9 loss 1.0')")
    (tmp_path / "attempt-001" / "run.json").write_bytes(b"{ torn")
    done = run("history", str(tmp_path))
    assert done.returncode == 0
    assert b"nobody knows with which status" in done.stdout
    assert b"step 3 of 9" in done.stdout


def test_an_analysis_of_a_supervised_run_loads_nothing_of_the_supervisor(tmp_path: Path) -> None:
    """Reading must not cost what running costs."""
    run("run", "--run-dir", str(tmp_path), "--", "true")
    probe = (
        "import sys\nfrom forensics.cli import main\ntry:\n    main(['analyze', sys.argv[1]])\nexcept SystemExit:\n    pass\n"
        "print(sorted(m for m in sys.modules if m in ('psutil', 'pynvml') or m.startswith('forensics.supervise')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, str(tmp_path)], capture_output=True, env=environment(), check=True
    )
    assert done.stdout.decode().splitlines()[-1] == "[]"
