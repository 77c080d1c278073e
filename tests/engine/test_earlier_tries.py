"""What earlier tries left: it speaks of them, and of the try in question only where the two are compared."""

from __future__ import annotations

import json

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from tests.engine.runs import OOM, RAISED, analyse, finding, root, rulebook, steps

DONE = steps(1, 100) + "Training complete\n"
IDLE = """Fri Nov 27 11:02:10 2026
| NVIDIA-SMI 580.159.03   Driver Version: 580.159.03   CUDA Version: 13.0 |
|=======================+======================+======================|
|   0  NVIDIA H200   On  |   00000000:0F:00.0 Off |   0 |
| N/A   31C    P0   76W /  700W |    4MiB / 143771MiB |      0%      Default |
"""
PY_SPY = """Process 4711: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 4711 (idle): "MainThread"
    wait (threading.py:320)
"""


def folder(number: int, log: str, status: int) -> dict[str, bytes]:
    """Return what a supervisor leaves of one attempt."""
    record = {"schema": "dflash-forensics/run/1", "started": f"2026-11-29T1{number}:00:00+00:00"}
    names = {"train.log": log, "exit_code": f"{status}\n", "run.json": json.dumps(record)}
    return {f"attempt-00{number}/{name}": text.encode() for name, text in names.items()}


@pytest.mark.parametrize(
    "left",
    [
        {"exit_code": "124\n"},
        {"exit_code": "137\n"},
        {"nvidia-smi.txt": IDLE},
        {"py-spy.txt": PY_SPY},
        {"dmesg.txt": "[ 90.1] Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n"},
    ],
    ids=lambda left: next(iter(left)) + " " + next(iter(left.values()))[:3].strip(),
)
def test_what_an_earlier_attempt_left_says_nothing_of_the_last(left: dict[str, str]) -> None:
    """A time limit, a kill, a look at idle cards: in the folder of attempt 1 they are of attempt 1."""
    older = {f"attempt-001/{name}": text.encode() for name, text in left.items()}
    files = {**folder(1, steps(1, 20), 1), **older, **folder(2, DONE, 0)}
    report = analyze_files(files, rulebook())
    assert (report.verdict, root(report)) == ("healthy", None)


def resumed(level: float, *, first: int = 81) -> Report:
    """Analyse a first try that fell to a loss of 4.2, and one that begins at a step with the given level."""
    later = "".join(f"step {n}/200 | loss {level - n * 0.001:.4f} | grad_norm 1.0\n" for n in range(first, first + 60))
    return analyse(train_1_log=steps(1, 85), train_2_log=later + "Training complete\n")


def test_a_loss_that_stands_far_higher_after_a_resume_was_not_restored_well() -> None:
    """The new log alone shows a loss that falls, and an end that is good."""
    report = resumed(9.0)
    assert root(report) == "train.loss-spike"
    found = finding(report, "train.loss-spike")
    assert found.facts["first_bad_step"] == 81
    assert "train_2.log" in found.evidence[0].path


@pytest.mark.parametrize(("level", "first"), [(4.3, 81), (9.0, 1)], ids=["it goes on", "it begins anew"])
def test_a_resume_at_its_level_and_a_new_beginning_are_no_jump(level: float, first: int) -> None:
    """A run from scratch begins as high as any; so does one with a log of its own that counts from 1."""
    assert root(resumed(level, first=first)) is None


@pytest.mark.parametrize(("level", "cause"), [(9.0, "train.loss-spike"), (4.3, None)])
def test_a_resume_that_counts_its_place_in_epochs_only(level: float, cause: str | None) -> None:
    """The trainer of transformers prints no step beside its losses."""
    record = "{{'loss': {loss:.4f}, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': {epoch:.4f}}}\n"
    first = "".join(record.format(loss=5 - n * 0.01, epoch=n * 0.0033) for n in range(1, 81))
    later = "".join(record.format(loss=level - n * 0.001, epoch=n * 0.0033) for n in range(81, 141))
    done = "{'train_runtime': 6920.0, 'train_loss': 6.4, 'epoch': 0.46}\n"
    assert root(analyse(part1_log=first + done, part2_log=later + done)) == cause


LISTING = """$ ls -l --time-style=full-iso *.log
-rw-rw-r-- 1 u u 3216 {old} north.log
-rw-rw-r-- 1 u u    0 {new} south.log
"""


@pytest.mark.parametrize(
    ("old", "new", "empty"),
    [
        ("2026-03-11 05:02:00", "2026-03-17 18:31:00", True),
        ("2026-03-17 18:31:00", "2026-03-11 05:02:00", False),
        ("2026-03-17 18:31:00", "2026-03-17 18:28:00", False),
    ],
    ids=["days after the other", "days before it", "the begin of a run that then spoke"],
)
def test_an_empty_log_that_is_younger_than_all_others_is_the_run_in_question(old: str, new: str, empty: bool) -> None:  # noqa: FBT001 - a case
    """A listing tells which of two logs was last: the words in the older one are of the run before."""
    report = analyse(north_log=steps(1, 100), south_log="", session_txt=LISTING.format(old=old, new=new))
    assert (root(report) == "capture.log-empty") is empty


SCRIPT = "#!/bin/bash\n#SBATCH --output=train.log\npython train.py compile=true\n"
REFUSED = (
    'Traceback (most recent call last):\n  File "t.py", line 7, in <module>\nValueError: the head size must be even\n'
)
STOPPED = steps(1, 40) + "\nDetected KeyboardInterrupt, attempting graceful shutdown ...\n"


@pytest.mark.parametrize("other", [STOPPED, steps(1, 40) + OOM, DONE], ids=["stopped", "failed", "done"])
def test_the_log_that_the_launch_promised_is_of_the_run_in_question(other: str) -> None:
    """A log beside it that nobody promised, with an end of its own, is of another run."""
    report = analyse(train_sh=SCRIPT, train_log=REFUSED, eager_log=other)
    assert report.verdict == "failed"
    assert [(f.id, f.evidence[0].path) for f in report.findings if f.role == "root"] == [
        ("setup.python-exception", "train.log")
    ]


def test_what_failed_beside_a_run_that_ended_well_was_another() -> None:
    """A first try that never got to a step."""
    report = analyse(train_sh=SCRIPT, train_log=DONE, first_log=REFUSED)
    assert (report.verdict, root(report)) == ("healthy", None)


def test_a_server_beside_the_promised_log_is_of_the_same_run() -> None:
    """It ended otherwise than the training that it served, and is the cause of its end."""
    gone = REFUSED.replace("ValueError: the head size must be even", "ConnectionError: reward server is gone")
    report = analyse(train_sh=SCRIPT, train_log=steps(1, 9) + gone, reward_log="model loaded\n" + OOM)
    assert "memory.gpu-oom" in {f.id for f in report.findings if f.role != "note"}


@pytest.mark.parametrize("other", [steps(1, 40), steps(1, 40) + REFUSED], ids=["no end", "the same end"])
def test_a_log_beside_the_promised_one_may_be_of_the_same_run(other: str) -> None:
    """What the program writes itself is promised by nobody: without another end of its own it counts."""
    report = analyse(train_sh=SCRIPT, train_log=REFUSED, metrics_log=other)
    assert report.run.last_step == 40


STAGES = """#!/bin/bash
python -u pretrain.py > stage1.log 2>&1
python -u train.py --from stage1 {output}
"""


@pytest.mark.parametrize(
    ("second", "output", "verdict", "cause"),
    [
        ("", "> stage2.log 2>&1 &", "unknown", "capture.log-empty"),
        (steps(1, 40), "> stage2.log 2>&1 &", "unknown", None),
        (DONE, "> stage2.log 2>&1", "healthy", None),
        ("", "> stage2.out 2> stage2.log", "healthy", None),
    ],
    ids=["nothing", "in the middle", "well", "only its errors"],
)
def test_the_end_of_a_stage_is_not_that_of_the_next(second: str, output: str, verdict: str, cause: str | None) -> None:
    """The first stage ended well; how the run ended is for the last one to tell."""
    files = {"run.sh": STAGES.format(output=output), "stage1.log": DONE, "stage2.log": second}
    if "stage2.out" in output:
        files["stage2.out"] = DONE
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert (report.verdict, root(report)) == (verdict, cause)


SUBMITTED = "[mh@login2 runs]$ sbatch train_b16.sbatch\nsbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("", "capture.never-started"),
        ("[mh@login2 runs]$ sbatch b.sbatch\nSubmitted batch job 881204\n", "memory.gpu-oom"),
    ],
    ids=["refused", "and then accepted"],
)
def test_what_slurm_refused_is_the_last_try_unless_it_was_submitted_again(after: str, found: str) -> None:
    """The output beside it is of the job before."""
    files = {"slurm-881204.out": steps(1, 40) + OOM, "submit.txt": SUBMITTED + after}
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == found


LOOP = "+ python finetune.py --model_name_or_path /models/roberta --task_name mnli --seed {seed} --output_dir /out/{seed}\n"
ENDED = "{'loss': 0.3, 'epoch': 0.5}\n{'loss': 0.2, 'epoch': 1.0}\n{'train_runtime': 4236.04, 'train_loss': 0.34, 'epoch': 1.0}\n"


@pytest.mark.parametrize(
    ("second", "verdict"),
    [(RAISED.format(error="RuntimeError: No CUDA GPUs are available"), "failed"), (ENDED, "healthy"), ("", "healthy")],
    ids=["raised", "trained", "has only begun"],
)
def test_a_loop_over_seeds_is_judged_by_its_last_run(second: str, verdict: str) -> None:
    """The first run's good end says nothing of a second one that raised before it trained."""
    log = LOOP.format(seed=11) + ENDED + LOOP.format(seed=12) + second
    assert analyze_files({"nightly.log": log.encode()}, rulebook()).verdict == verdict


PORT = (
    "[E socket.cpp:435] [c10d] The server socket has failed to listen on any local network address.\n"
    "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed "
    "to bind to [::]:29500 (errno: 98 - Address already in use).\n"
)
REFUSED_FLAG = "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --local-rank=1\n"
MISSING = "ModuleNotFoundError: No module named 'torch_geometric'\n"
SYMBOL = RAISED.format(error="OSError: /usr/lib/_version_cuda.so: undefined symbol: _ZN3c106detail23torchInternal")


@pytest.mark.parametrize(
    ("name", "before", "first", "second", "found"),
    [
        ("dist.log", "+ torchrun --master-port {} train.py\n", PORT, REFUSED_FLAG, "setup.cli-args"),
        ("session.log", "$ python3 gait.py fit --seed {}\n", MISSING, SYMBOL, "setup.abi-mismatch"),
        ("cell.txt", "$ rave train --batch {}\n", steps(1, 40) + OOM, SYMBOL, "setup.abi-mismatch"),
        ("cell.txt", "$ rave train --batch {}\n", steps(1, 40) + "^C\n", OOM, "memory.gpu-oom"),
        ("nb.log", "!python train.py --batch {}\n", OOM, DONE, None),
    ],
    ids=["traced", "typed", "a program of its own", "interrupted", "a notebook"],
)
def test_a_program_that_is_started_again_failed_before(
    name: str, before: str, first: str, second: str, found: str | None
) -> None:
    """What ended the last start counts: the one before was answered by starting it again."""
    log = before.format(1) + first + before.format(2) + second
    assert root(analyze_files({name: log.encode()}, rulebook())) == found


@pytest.mark.parametrize(
    "banner",
    [
        "=== resubmitted 2026-11-29T09:03, micro_batch_size 2 -> 1 ===\n",
        "==== attempt 2  Sun Nov 29 21:02:11 CET 2026 ====\n",
        "--- restarting ---\n",
        "### Rerun #2 ###\n",
        "===== 2021-08-30 09:41 fold 0 (after runtime restart, smaller patch) ====\n",
        "==== Thu Jun 13 17:39:12 2024 python -m torch.distributed.launch train.py -b 128 (reduced)\n",
        "$ ACCELERATE_LOG_LEVEL=info accelerate launch run_dpo.py --bs 2 2>&1 | tee -a all.log\n",
    ],
)
def test_a_banner_between_two_tries_parts_them(banner: str) -> None:
    """What stands above it was answered; but where nothing is told below it, that is all there is."""
    log = "==== attempt 1 ====\n" + steps(1, 40) + OOM + banner
    assert root(analyze_files({"all.log": (log + SYMBOL).encode()}, rulebook())) == "setup.abi-mismatch"
    assert root(analyze_files({"all.log": log.encode()}, rulebook())) == "memory.gpu-oom"


def test_a_stage_that_is_added_to_a_log_is_no_other_try() -> None:
    """Nothing above its command had failed, so what stands there is of the run too."""
    limit = "W0719 10:11:40.114000 21170 torch/_dynamo/convert_frame.py:964] [12/8] torch._dynamo hit config.recompile_limit (8)\n"
    command = "$ python {name}.py 2>&1 | tee -a all.log\n"
    saved = "saved checkpoint at step 59 to ckpt/step_59.pt\n"
    log = command.format(name="warm") + limit + steps(1, 30) + command.format(name="tune") + steps(31, 59) + saved
    assert root(analyze_files({"all.log": log.encode()}, rulebook())) == "compile.recompile-limit"


def test_a_step_of_preparation_that_was_mended_is_not_why_training_failed() -> None:
    """A look at the GPUs stands between them, and was given twice too."""
    log = (
        "$ nvidia-smi -L\nGPU 0: NVIDIA H200\n$ eole build_vocab --config a.yaml\n"
        + RAISED.format(error="FileNotFoundError: [Errno 2] No such file or directory: '/data/vocab/a.src'")
        + "$ mkdir -p vocab && eole build_vocab --config a.yaml\nSaving vocab to /data/vocab\n"
        + "$ nvidia-smi -L\nGPU 0: NVIDIA H200\n$ eole train --config a.yaml\n"
        + SYMBOL
    )
    assert root(analyze_files({"session.txt": log.encode()}, rulebook())) == "setup.abi-mismatch"


POOL = """Exception in initializer:
Traceback (most recent call last):
  File "/usr/lib/python3.11/concurrent/futures/process.py", line 235, in _process_worker
    initializer(*initargs)
  File "/w/preprocess.py", line 92, in init_worker
    model = Vocoder(device=device)
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method
"""


def test_bars_of_a_pool_that_is_broken_are_no_sign_of_life() -> None:
    """Every task comes back at once, with an error of its own, and then the next stage misses its files."""
    bars = "".join(f"{n * 10}%|{'#' * n}| {n}/10 [00:00<00:00, 1411.22it/s]\n" for n in range(1, 11))
    missed = RAISED.format(error="FileNotFoundError: [Errno 2] No such file or directory: 'data/f0/a.npy'")
    log = "$ python preprocess.py\n" + POOL + bars + "$ python train.py\n"
    for below in ("", missed):
        assert root(analyze_files({"session.txt": (log + below).encode()}, rulebook())) == "gpu.fork-init"


@pytest.mark.parametrize(
    "again",
    [
        "",
        "$ python3 train.py --batch 2\n",
        "$ tail -n 3 train.log\nsome line\n",
        "$ python3 eval.py\nno checkpoint yet\n",
    ],
    ids=["nothing", "nothing said", "a look", "another program"],
)
def test_a_fault_below_which_nothing_was_tried_again_is_of_the_last_try(again: str) -> None:
    """A look at the log, another program, and a start of which nothing is shown are no answer to it."""
    log = "$ python3 train.py --batch 4\n" + steps(1, 20) + OOM + again
    assert root(analyze_files({"session.log": log.encode()}, rulebook())) == "memory.gpu-oom"


@pytest.mark.parametrize(("number", "found"), [(54777, "capture.log-missing"), (55300, "memory.gpu-oom")])
def test_a_log_on_a_disk_that_is_gone_was_not_that_of_the_job_before(number: int, found: str) -> None:
    """The script names its log by the job, and somebody looked for that of job 55120."""
    files = {
        "job.sh": "#!/bin/bash\npython -u tune.py > $SLURM_TMPDIR/train_$SLURM_JOB_ID.log 2>&1\n",
        "session.txt": "$ ssh gn031 tail /local/train_55120.log\n"
        "tail: cannot open '/local/train_55120.log' for reading: No such file or directory\n",
        f"logs/train_{number}.log": steps(1, 40) + OOM,
    }
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == found


def test_two_nodes_of_one_run_in_one_log_are_no_two_tries() -> None:
    """What stands below was written before what stands above: somebody put two logs together."""
    node = "+ torchrun train.py\n" + "".join(f"2026-11-29 12:0{n}:00 INFO loading shard {n}\n" for n in range(5))
    log = node + OOM + node + "2026-11-29 12:06:00 INFO waiting for the others\n"
    assert root(analyze_files({"all.log": log.encode()}, rulebook())) == "memory.gpu-oom"


@pytest.mark.parametrize(("number", "found"), [(48102, "capture.log-missing"), (48300, "memory.gpu-oom")])
def test_the_output_of_an_earlier_job_tells_nothing_of_one_whose_output_somebody_missed(
    number: int, found: str
) -> None:
    """Job 48211 left no output where somebody looked for it; that of a later job would tell of itself."""
    terminal = (
        "ml@login1:~$ tail -100 /scratch/logs/moco.o48211\n"
        "tail: cannot open '/scratch/logs/moco.o48211' for reading: No such file or directory\n"
    )
    mail = "Unable to copy file 48211.pbs01.OU to /scratch/logs/moco.o48211\n>>> error from copy\n"
    files = {f"moco.o{number}": steps(1, 40) + OOM, "terminal.txt": terminal, "mail.txt": mail}
    report = analyze_files({name: text.encode() for name, text in files.items()}, rulebook())
    assert root(report) == found
