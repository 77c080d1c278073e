"""`relaunch` end to end: a failed run, its plan, the second try, the good end; and when it must not start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import ROOT, run
from tests.live import supervised

TRAINER = r"""
import os, pickle, sys, zipfile
steps, folder, fail = 12, sys.argv[sys.argv.index("--out") + 1], sys.argv[sys.argv.index("--fail") + 1]
start = 0
if fail == "args":
    import argparse
    argparse.ArgumentParser().error("unrecognized arguments: --anchor")
if "--resume" in sys.argv:
    with zipfile.ZipFile(sys.argv[sys.argv.index("--resume") + 1]) as archive:
        start = pickle.loads(archive.read("archive/data.pkl"))["step"]
    print(f"resumed from step {start}", flush=True)
for step in range(start + 1, steps + 1):
    print(f"step {step}/{steps} loss {4 - step / 8:.4f}", flush=True)
    if step % 4 == 0:
        path = os.path.join(folder, f"step-{step:06d}.pt")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps({"step": step}))
        print(f"saved checkpoint {path} (step {step})", flush=True)
    if step == 10 and not start and fail == "kill":
        open(os.path.join(folder, "step-000010.pt"), "wb").write(b"PK\x03\x04 cut")
        os.kill(os.getpid(), 9)
print("Training complete", flush=True)
"""


@pytest.fixture
def trainer(tmp_path: Path) -> tuple[str, ...]:
    """A trainer that fails at step 10, having saved at 4 and 8."""
    (tmp_path / "train.py").write_text(TRAINER)
    (tmp_path / "out").mkdir()
    return (sys.executable, str(tmp_path / "train.py"), "--out", str(tmp_path / "out"), "--fail")


def relaunch(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Call `relaunch` on a folder."""
    return run("relaunch", str(folder), *words)


def losses(folder: Path, number: int) -> dict[int, str]:
    """Return the loss of each step that an attempt printed."""
    text = (folder / f"attempt-{number:03d}" / "train.log").read_text()
    rows = [line.split() for line in text.splitlines() if line.startswith("step ")]
    return {int(row[1].partition("/")[0]): row[3] for row in rows}


def test_a_killed_run_goes_on_from_the_newest_whole_checkpoint(tmp_path: Path, trainer: tuple[str, ...]) -> None:
    """Plan first, and nothing changed by it; then the try, the same curve, a healthy report, and the story."""
    folder = tmp_path / "runs"
    assert run("run", "--run-dir", str(folder), "--", *trainer, "kill").returncode == 137
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    plan = relaunch(folder, "--resume-option", "--resume")
    shown = plan.stdout.decode()
    assert plan.returncode == 0, plan.stderr
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before
    assert "host.killed-signal, attempt-001/" in shown
    assert f"+  --resume {tmp_path}/out/step-000008.pt" in shown
    assert f"passed over: {tmp_path}/out/step-000010.pt" in shown
    assert "Nothing was changed; --yes starts it." in shown

    done = relaunch(folder, "--resume-option", "--resume", "--yes")
    assert done.returncode == 0, done.stderr
    first, second = losses(folder, 1), losses(folder, 2)
    assert min(second) == 9
    assert {step: first[step] for step in (9, 10)} == {step: second[step] for step in (9, 10)}
    report: dict[str, Any] = json.loads(run("analyze", str(folder), "--format", "json").stdout)
    assert (report["verdict"], report["run"]["last_step"]) == ("healthy", 12)
    journal = supervised.record(folder, 2)["relaunch"]
    assert (journal["after"], journal["cause"], journal["checkpoint_step"]) == (1, "host.killed-signal", 8)

    story = run("history", str(folder)).stdout.decode()
    for words in (
        "Attempt 1",
        "was killed by signal 9",
        "after attempt 1 ended by host.killed-signal",
        "went on from",
        "2 attempts; the last one: healthy.",
    ):
        assert words in story
    told = json.loads(run("history", str(folder), "--format", "json").stdout)
    assert [(c["attempt"], c["verdict"], c["root"]) for c in told] == [
        (1, "failed", "host.killed-signal"),
        (2, "healthy", None),
    ]
    assert relaunch(folder).returncode == 1  # a healthy run is not repeated


def test_what_a_restart_repeats_is_not_started_until_something_is_changed(
    tmp_path: Path, trainer: tuple[str, ...]
) -> None:
    """Refused with the reason, even with --yes; with an option changed by hand it runs."""
    folder = tmp_path / "runs"
    run("run", "--run-dir", str(folder), "--", *trainer, "args")
    refused = relaunch(folder, "--yes")
    assert refused.returncode == 1
    assert b"No further try:" in refused.stdout
    assert not (folder / "attempt-002").exists()
    done = relaunch(folder, "--arg", "--fail=none", "--yes")
    assert done.returncode == 0, done.stderr
    assert "--fail none" in " ".join(supervised.record(folder, 2)["command"])
    assert "you asked for it" in done.stdout.decode()


def test_no_new_checkpoint_since_the_last_try_ends_the_chain(tmp_path: Path) -> None:
    """Killed again and again at one place, it is not started for ever."""
    folder = tmp_path / "runs"
    program = "print('step 1/9 loss 1.0', flush=True); import os; os.kill(os.getpid(), 9)"
    run("run", "--run-dir", str(folder), "--", sys.executable, "-S", "-c", program)
    assert relaunch(folder, "--yes").returncode == 137
    third = relaunch(folder)
    assert third.returncode in {0, 1}
    record = supervised.record(folder, 2)
    record["ended"] = "2020-01-01T00:00:00.000Z"  # long ago, so that nothing waits
    (folder / "attempt-002" / "run.json").write_text(json.dumps(record))
    statuses = [relaunch(folder, "--yes").returncode for _ in range(2)]
    assert statuses[-1] == 1
    assert b"no new checkpoint" in relaunch(folder).stdout or b"in a row" in relaunch(folder).stdout


def test_a_command_with_secrets_has_to_be_given_again(tmp_path: Path) -> None:
    """What was not kept cannot be started, and is said."""
    folder = tmp_path / "runs"
    program = "import os; os.kill(os.getpid(), 9)"
    run("run", "--run-dir", str(folder), "--", sys.executable, "-S", "-c", program, "--token", "pa55word")
    done = relaunch(folder, "--yes")
    assert done.returncode == 2
    assert b"give the whole command after --" in done.stderr
    again = relaunch(folder, "--yes", "--", "true", "--token", "pa55word")
    assert again.returncode == 0, again.stderr
    kept = b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file()) + done.stdout + again.stdout
    assert b"pa55word" not in kept


def test_a_folder_without_a_command_says_what_is_missing(tmp_path: Path) -> None:
    """Wrong usage, with what to do."""
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    done = relaunch(tmp_path)
    assert done.returncode == 2
    assert b"give it after --" in done.stderr
    assert relaunch(tmp_path, "--fix", "no-such-fix", "--", "true").returncode == 2
    assert relaunch(tmp_path, "--arg", "--x", "--", "true").returncode == 2


def test_a_launch_script_is_command_enough(tmp_path: Path) -> None:
    """Of a folder that no supervisor made: the run's own command, without the tmux around it."""
    (tmp_path / "launch.sh").write_text(
        'tmux new-session -d -s x "cd /w; python3 train.py --lr 1 2>&1 | tee /w/train.log"\n'
    )
    (tmp_path / "exit_code").write_text("137\n")
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    shown = relaunch(tmp_path, "--arg", "--lr=2", "--emit", "tmux").stdout.decode()
    assert "train.py --lr 2" in shown
    assert "dflash-forensics run" in shown


@pytest.mark.parametrize("form", ["sbatch", "torchrun", "k8s", "tmux"])
def test_scripts_for_other_engines_are_sound_and_have_the_fixes(
    tmp_path: Path, trainer: tuple[str, ...], form: str
) -> None:
    """Bash accepts them, YAML is YAML, and all of the plan is in them."""
    folder = tmp_path / "runs"
    run("run", "--run-dir", str(folder), "--", *trainer, "kill")
    (folder / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --job-name=d\n#SBATCH --gres=gpu:8\nsrun x\n")
    options = ("--resume-option", "--resume", "--env", "A=b 'c' $d", "--emit", form)
    done = relaunch(folder, *options, "-o", str(tmp_path / "script"))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "script").read_text()
    assert "step-000008.pt" in text
    if form == "k8s":
        job = yaml.safe_load(text)
        container = job["spec"]["template"]["spec"]["containers"][0]
        assert container["env"] == [{"name": "A", "value": "b 'c' $d"}]
        assert container["command"][:2] == ["dflash-forensics", "run"]
        assert (job["kind"], job["spec"]["backoffLimit"]) == ("Job", 0)
        return
    subprocess.run(["bash", "-n"], input=text, text=True, check=True, capture_output=True)
    if form == "sbatch":
        assert "#SBATCH --gres=gpu:8\n" in text
        shown = subprocess.run(
            ["bash"], input=text.replace("exec ", 'echo "$A"; exit; '), text=True, capture_output=True, check=True
        )
        assert shown.stdout == "b 'c' $d\n"


def test_a_fault_of_a_gpu_leaves_that_gpu_out(tmp_path: Path) -> None:
    """By the number that the program gave it, among those it saw."""
    folder = tmp_path / "runs"
    line = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
    program = f"print('step 1 loss 2.0'); raise SystemExit({line!r})"
    run("run", "--run-dir", str(folder), "--", sys.executable, "-S", "-c", program, CUDA_VISIBLE_DEVICES="4,5,6")
    report = json.loads(run("analyze", str(folder), "--format", "json").stdout)
    root = next(f for f in report["findings"] if f["role"] == "root")
    done = relaunch(folder)
    if "device" not in root["facts"]:
        assert done.returncode == 1
        assert b"say which to leave out" in done.stdout
    by_hand = relaunch(folder, "--env", "CUDA_VISIBLE_DEVICES=4,6")
    assert by_hand.returncode == 0
    assert b"+export CUDA_VISIBLE_DEVICES=4,6" in by_hand.stdout


FULL = """
import sys
from pathlib import Path
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
lines = Path(sys.argv[1]).read_text().splitlines()
print("\\n".join(lines[:2]))
if int(given["--batch"]) > 4:
    print("\\n".join(lines[2:]))
    sys.exit(1)
print("step 2/2 loss 1.0")
print("Training complete")
"""


def test_a_batch_that_did_not_fit_is_made_smaller_on_demand(tmp_path: Path) -> None:
    """A batch that fits and the accumulation that goes with it are set in the command, however it spells them."""
    (tmp_path / "train.py").write_text(FULL)
    folder, log = tmp_path / "runs", ROOT / "tests" / "memory" / "measured" / "llama-3.2-1b.log"
    options = ("--batch", "16", "--gradient-accumulation-steps", "1")
    run("run", "--run-dir", str(folder), "--", sys.executable, str(tmp_path / "train.py"), str(log), *options)
    refused = relaunch(folder)
    assert refused.returncode == 1
    assert (
        b"--fix what-fits: Make the step fit the card: set batch to 4, with 4 times the gradient accumulation"
        in refused.stdout
    )
    planned = relaunch(folder, "--fix", "what-fits").stdout.decode()
    assert "--batch: 16 -> 4" in planned
    assert "--gradient_accumulation_steps: 1 -> 4" in planned
    assert "Will it help: yes" in planned
    assert relaunch(folder, "--fix", "what-fits", "--yes").returncode == 0
    command = supervised.record(folder, 2)["command"]
    assert command[-4:] == ["--batch", "4", "--gradient-accumulation-steps", "4"]
