"""With a broken capture the report says what is known, what is not, and the one command that would settle it."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from tests.engine.runs import OOM, RAISED, analyse, finding, root, rulebook, steps

TMUX = "cd /data && tmux new-session -d -s run {quote}bash start.sh --lr 1e-4 2>&1 | tee /logs/run7.log{quote}\n"
IDLE = "no server running on /tmp/tmux-1000/default\n"


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_missing_log_is_settled_by_the_launchs_own_command(quote: str) -> None:
    """The command is what the launch wraps, in its folder, with the log opened first and the status kept."""
    report = analyse(launch_sh=TMUX.format(quote=quote), tmux_txt=IDLE)
    assert (report.verdict, root(report)) == ("unknown", "capture.log-missing")
    assert report.root is not None
    command = "cd /data && bash start.sh --lr 1e-4 > /logs/run7.log 2>&1; echo"
    assert command in report.root.fixes[0].detail
    assert "no progress" in report.reason
    assert "cannot tell how the run ended" in report.reason
    assert "the first fix would settle it" in report.reason


def test_a_log_in_the_folder_of_another_number_is_of_another_run() -> None:
    """Slurm could not open runs/exp14/..., and the log of exp13 with its failure is older; who looked knows the name."""
    looked = "$ tail -f runs/exp14/slurm-902.out\ntail: cannot open 'runs/exp14/slurm-902.out' for reading: No such file or directory\n"
    old = steps(1, 30) + RAISED.format(error="ValueError: odd")
    script = "#!/bin/bash\n#SBATCH --output=runs/exp14/slurm-%j.out\npython -u train.py\n"
    report = analyse(**{"runs/exp13/slurm-877.out": old, "job_sh": script, "session_txt": looked})
    assert root(report) == "capture.log-missing"
    assert finding(report, "capture.log-missing").facts["missing_path"] == "runs/exp14/slurm-902.out"


def test_what_is_known_is_said() -> None:
    """A log whose tail is lost still tells how far the run came."""
    report = analyse(train_log=steps(1, 40) + "\0" * 8192)
    assert (report.verdict, root(report)) == ("unknown", "capture.nul-tail")
    assert "step 40 of 100 was reached" in report.reason


@pytest.mark.parametrize(
    ("tmux", "known"),
    [
        ("duplicate session: run\n", "capture.tmux-duplicate"),
        ("bash: line 1: start_training: command not found\n", "capture.never-started"),
    ],
)
def test_a_run_that_was_never_started_has_failed(tmux: str, known: str) -> None:
    """Here nothing is left to be settled."""
    report = analyse(launch_sh=TMUX.format(quote="'"), tmux_txt=tmux)
    assert (report.verdict, root(report)) == ("failed", known)


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("python train.py --lr 1 > a.log 2>&1\n", "python train.py --lr 1"),
        ("nohup python train.py > a.log 2>&1 &\n", "python train.py"),
        ("source env.sh\nA=1 B='x y' torchrun --nproc_per_node 8 t.py | tee a.log\n", "source env.sh && A=1 B='x y' torchrun --nproc_per_node 8 t.py"),
        ("cd /a\nssh node1 'cd /b; python t.py 2>&1' > a.log\n", "cd /b && python t.py"),
        ("source /v/activate\ncd /a\ntmux new -d -s x 'python t.py > a.log'\n", "cd /a && python t.py"),
        ("HF_TOKEN=hf_abc python t.py > a.log\n", "HF_TOKEN='***' python t.py"),
    ],
    ids=["redirected", "background", "environment", "another machine", "a session", "a secret"],
)  # fmt: skip
def test_the_command_is_what_the_launch_wraps(script: str, command: str) -> None:
    """Sessions, pipes and files around it go; folder and environment stay, as far as the command would see them."""
    report = analyse(launch_sh=script, a_log="")
    assert finding(report, "capture.log-empty").facts["start_command"] == command


def test_a_clock_that_goes_back_is_noted_and_blames_nobody() -> None:
    """Whoever reads the timeline must know that its order is rough; a log that goes forward has no such note."""
    stamped = [f"2026-11-03 02:{m:02d}:00 step {n}/12 | loss 1.0\n" for n, m in enumerate((10, 11, 12, 13, 3, 4, 5), 6)]
    back, forth = analyse(train_log="".join(stamped)), analyse(train_log="".join(sorted(stamped)))
    assert (back.verdict, root(back)) == ("healthy", None)
    assert [n for n in back.notes if n.startswith("train.log:5: the clock goes back by 600 s")]
    assert not any("clock goes" in n for n in forth.notes)


def test_a_copy_of_an_older_log_is_no_word_of_a_later_try() -> None:
    """The same bytes under another name say nothing new; the logs of two ranks may well be equal."""
    text = steps(1, 30) + RAISED.format(error="ValueError: bad")
    copied = analyse(train_log=text, train2_log=text)
    ranks = analyse(rank0_log=text, rank1_log=text)
    assert [n for n in copied.notes if "holds the same as train" in n]
    assert not any("holds the same" in n for n in ranks.notes)


@pytest.mark.parametrize(("end", "said"), [("Target 0 on cuda:0...\r", True), (" 40%|####  | 4/10\r 50%|###", True), ("Target 0", False)])  # fmt: skip
def test_an_end_inside_a_rewritten_line_is_told_from_a_plain_torn_one(end: str, said: bool) -> None:  # noqa: FBT001 - a case
    """A carriage return says that the writer was about to write over that line."""
    report = analyse(train_log="Loading 5 target models...\n  " + end)
    (source,) = report.sources
    assert source.state == "torn"
    assert ("carriage return" in source.why) is said


@pytest.mark.parametrize(
    "command",
    ["journalctl -u train.service -n 30 --no-pager > train.log", "docker logs --tail 30 trainer > train.log 2>&1"],
)
def test_the_end_of_a_log_that_is_kept_elsewhere_is_a_window(command: str) -> None:
    """Exactly as many lines as were asked for: what came before them is where it is kept."""
    log = "".join(f"worker {n} waits for the engine\n" for n in range(30))
    files = {"train.log": log.encode(), "collect.sh": f"#!/bin/bash\n{command}\n".encode(), "exit_code": b"1\n"}
    assert root(analyze_files(files, rulebook())) == "capture.tail-window"
    longer = {**files, "train.log": (log + "one more\n").encode()}
    assert root(analyze_files(longer, rulebook())) != "capture.tail-window"
    typed = {"train.log": files["train.log"], "exit_code": b"1\n", "how.txt": f"$ {command}\n$ date\n".encode()}
    assert root(analyze_files(typed, rulebook())) == "capture.tail-window"


def test_a_pipeline_that_hid_an_early_end_failed_where_a_later_stage_raised() -> None:
    """The capture cannot tell why training stopped, but one program is known to have raised."""
    script = "#!/bin/bash\npython train.py 2> /dev/null | tee train.log\npython eval.py | tee eval.log\n"
    raised = RAISED.format(error="FileNotFoundError: [Errno 2] No such file or directory: 'exp/best_model.pth'")
    files = {"job_err.log": raised.replace("/root/train.py", "eval.py"), "run.sh": script, "exit_code": "0\n"}
    report = analyze_files({n: t.encode() for n, t in {**files, "train.log": steps(1, 40)}.items()}, rulebook())
    assert (root(report), report.verdict) == ("capture.pipe-status-masked", "failed")


@pytest.mark.parametrize(
    ("former", "cause"), [("slurm_88190.out", "capture.log-missing"), ("slurm_88230.out", "memory.gpu-oom")]
)
def test_the_log_of_a_former_job_says_nothing_of_one_whose_log_somebody_missed(former: str, cause: str) -> None:
    """Numbers of jobs rise: a log with a higher one was written later."""
    script = "#!/bin/bash\n#SBATCH --output=logs/lora_%j.out\nmkdir -p logs\nsrun python -u train.py\n"
    session = "$ sbatch job.sh\nSubmitted batch job 88213\n$ tail -f logs/lora_88213.out\ntail: cannot open 'logs/lora_88213.out' for reading: No such file or directory\n"
    files = {"job.sh": script, "terminal.txt": session, former: steps(1, 30) + OOM}
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == cause


def test_the_log_of_another_day_is_not_the_one_that_tee_could_not_open() -> None:
    """The launch names both after the day, and only the folder of one was made."""
    script = "EXP=exp-$(date +%m%d)\nmkdir -p out/$EXP\npython train.py 2>&1 | tee logs/$EXP/train.log\n"
    files = {
        "launch.sh": script,
        "launch.err": "tee: logs/exp-0318/train.log: No such file or directory\n",
        "logs/exp-0317/train.log": steps(1, 40) + OOM,
    }
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == "capture.log-missing"
    [missing] = [e for e in report.expected if e.state == "missing"]
    assert (missing.path, missing.nearest) == ("logs/exp-0318/train.log", "logs/exp-0317/train.log")


DATED = '#!/bin/bash\nset -e\ntorchrun train.py 2>&1 | grep step > train.log\necho "$(date +%T) stage train finished"\n'


@pytest.mark.parametrize("last", [73, 200])
def test_a_scripts_own_dated_word_of_the_end_proves_nothing(last: int) -> None:
    """It is printed whatever became of the program whose status the filter hid."""
    said = "2025-04-02 22:20:40 stage train finished\n"
    files = {"job.sh": DATED, "train.log": steps(1, last, total=200), "slurm-7.out": said, "exit_code": "0\n"}
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == ("capture.pipe-status-masked" if last < 200 else None)


PIPED = '#!/bin/bash\nonmt_train -config de.yaml | tee logs/train.$SLURM_JOB_ID.txt\necho "onmt_train finished with status $?"\n'
MAKEFILE = "train:\n\tpython -u -m recipe.train --epochs 40 2>&1 | grep '^Epoch' | tee $(TRAIN_LOG)\n"
MADE = '#!/bin/bash\nmake train\necho "training finished: exit code $?"\n'
HALF = {
    "steps": steps(1, 40),
    "epochs": "".join(f"Epoch [{n}/40] Iter [360/788] loss: 1{n % 10}.03 lr: 1.25e-04\n" for n in range(1, 18)),
}


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({"job.sh": PIPED, "logs/train.77.txt": HALF["steps"]}, "capture.pipe-status-masked"),
        ({"job.sh": PIPED, "logs/train.77.txt": steps(1, 100)}, None),
        ({"job.sbatch": MADE, "Makefile": MAKEFILE, "slurm-7.out": HALF["epochs"]}, "capture.pipe-status-masked"),
        (
            {"job.sbatch": MADE, "Makefile": f"SHELL := bash -o pipefail\n{MAKEFILE}", "slurm-7.out": HALF["epochs"]},
            None,
        ),
    ],
    ids=["a job's number in the name", "to the end", "in a makefile", "which has pipefail"],
)
def test_status_0_of_a_pipeline_whose_training_stopped_short(files: dict[str, str], cause: str | None) -> None:
    """The script's own last words come whatever became of the program."""
    said = {"steps": "onmt_train finished with status 0\n", "epochs": "training finished: exit code 0\n"}
    log = next(name for name in files if name.endswith((".txt", ".out")))
    ended = files | {log: files[log] + said["epochs" if "Makefile" in files else "steps"], "exit_code": "0\n"}
    assert root(analyze_files({name: text.encode() for name, text in ended.items()}, rulebook())) == cause


def test_an_empty_log_and_one_of_that_name_in_another_folder() -> None:
    """A listing of the folder dates the empty one a week after the other log's own last words."""
    listed = "user@t630:~/logs/b$ ls -l\n-rw-r--r--. 1 user user      0 Sep 29 11:23 train.log\n"
    other = "".join(f"2024-09-21 20:3{n}:02,551 INFO Epoch: {n} loss: 2.{n}\n" for n in range(8))
    files = {
        "logs/a/train.log": other,
        "logs/b/train.log": "",
        "look.txt": f"user@t630:~$ date\nSun Sep 29 14:40:03 CST 2024\n{listed}",
    }
    assert root(analyze_files({name: text.encode() for name, text in files.items()}, rulebook())) == "capture.log-empty"


COLLECT = "#!/bin/bash\nkubectl -n llm logs $POD --timestamps --limit-bytes={limit} > $POD.log\n"


@pytest.mark.parametrize(
    ("size", "limit", "found"),
    [
        (4321, 4321, "capture.log-truncated"),
        (4321, 9999, "capture.torn-line"),
        (30_000, None, "capture.log-truncated"),
        (30_001, None, "capture.torn-line"),
    ],
)
def test_a_log_that_ends_at_a_limit_was_cut_by_it(size: int, limit: int | None, found: str) -> None:
    """The script that fetched it names the limit, or the size is a round number that no writer stops at."""
    log = steps(1, 900, total=1000).encode()[:size]
    assert not log.endswith(b"\n")
    script = {"collect.sh": COLLECT.format(limit=limit).encode()} if limit else {}
    report = analyze_files({"train.log": log, **script}, rulebook())
    assert root(report) == found


def test_a_number_of_a_process_that_was_promised_is_no_log() -> None:
    """Only the log itself is missed, or empty."""
    script = "#!/bin/bash\nnohup python -u train.py > logs/train.log 2>&1 &\necho $! > logs/train.pid\n"
    files = {"launch.sh": script, "logs/train.log": "", "logs/train_0808.txt": steps(1, 40)}
    assert root(analyze_files({n: t.encode() for n, t in files.items()}, rulebook())) == "capture.log-empty"
