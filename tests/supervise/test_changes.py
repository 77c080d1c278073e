"""Mended scripts: the same run, its evidence safe, and nothing called mended that is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.parsers.launch_script.hazards import hazards
from forensics.parsers.launch_script.scopes import read
from forensics.supervise.changes import mend

TMUX = 'tmux new-session -d -s dflash "bash /root/start_training.sh 2>&1 | tee /workspace/train_stdout_flex3.log"\n'


def test_the_storys_launch_line_is_mended_whole() -> None:
    """Log opened by the shell, status and start recorded, dead pane kept, name and start checked."""
    mended = mend(TMUX)
    assert mended.left == ()
    assert {"masked-status", "buffered", "no-remain-on-exit", "start-unchecked", "status-unrecorded"} <= set(
        mended.done
    )
    assert "| tee" not in mended.text
    assert (
        ">> /workspace/train_stdout_flex3.log 2>&1; echo \\$? > /workspace/train_stdout_flex3.log.exit_code"
        in mended.text
    )


@pytest.mark.parametrize(
    "script",
    [
        TMUX,
        "python3 train.py 2>&1 | tee logs/train.log\n",
        'ssh node7 "python3 -u train.py 2>&1 | tail -60" > last.log\n',
        "ssh node7 'python3 train.py > out.log 2>&1'\n",
        "python3 train.py > train.log 2>&1 &\n",
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py 2>&1 | tail -60 > last.txt\n",
        "docker run --rm image python train.py 2>&1 | tee train.log\n",
    ],
)
def test_a_mended_script_is_one_that_bash_accepts_and_has_fewer_hazards(script: str) -> None:
    """Syntax stays sound, and mending it again changes nothing."""
    mended = mend(script)
    assert mended.done
    subprocess.run(["bash", "-n"], input=mended.text, text=True, check=True, capture_output=True)
    assert mend(mended.text).text == mended.text


def test_a_sound_script_is_left_alone() -> None:
    """There is nothing to mend."""
    script = (
        "set -o pipefail\nmkdir -p logs\nexport PYTHONUNBUFFERED=1\n"
        "python3 train.py >> logs/train.log 2>&1\necho $? > exit_code\n"
    )
    mended = mend(script)
    assert (mended.text, mended.done, mended.left) == (script, (), ())


def test_what_cannot_be_found_once_is_left_to_a_person() -> None:
    """Two equal lines: changing the wrong one would be worse than changing none."""
    line = "python3 train.py 2>&1 | tee train.log\n"
    mended = mend(line + line)
    assert set(mended.left) <= {"masked-status", "buffered", "status-unrecorded", "truncates-log"}
    subprocess.run(["bash", "-n"], input=mended.text, text=True, check=True, capture_output=True)


def test_a_mended_pipeline_tells_the_true_status(tmp_path: Path) -> None:
    """Run for real: the program fails, and the script now knows."""
    (tmp_path / "train.py").write_text("print('step 1')\nraise SystemExit(3)\n")
    (tmp_path / "go.sh").write_text(mend("python3 train.py 2>&1 | tee logs/train.log\n").text)
    subprocess.run(["bash", "go.sh"], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "exit_code").read_text() == "3\n"
    assert (tmp_path / "logs" / "train.log").read_text() == "step 1\n"


@given(
    st.lists(
        st.sampled_from(
            [TMUX, "python3 t.py", " | ", "tee x", '"', "'", "\\\n", "&", "\n", "> a/b.log", "ssh h ", "#!/bin/bash\n"]
        )
    ).map("".join)
)
def test_mending_never_fails_and_never_adds_a_hazard(script: str) -> None:
    """Whatever the script, the result has no hazard that was not there."""
    had = {kind for _, kind, _ in hazards(read(script, {}))}
    mended = mend(script)
    assert set(mended.left) <= had
    assert set(mended.done) | set(mended.left) == had
