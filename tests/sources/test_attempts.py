"""Several tries in one folder are told from the many files of one try."""

from __future__ import annotations

import pytest

from forensics.sources import find_in_memory


def log(hour: int, *, stamped: bool = True, first: int = 0) -> bytes:
    """A log of three minutes, with or without times."""
    stamp = f"2026-11-29 {hour:02d}:0%d:00 INFO " if stamped else ""
    return "".join((stamp % i if stamped else "") + f"step {first + i} | loss 2.5\n" for i in range(4)).encode()


def quiet(hour: int) -> bytes:
    """A log of some minutes that tells of no training."""
    return log(hour).replace(b"loss", b"items")


def attempts(files: dict[str, bytes]) -> dict[str, int]:
    return {made.source.path: made.source.attempt for made in find_in_memory(files).inputs}


BARE = log(0, stamped=False)


@pytest.mark.parametrize(
    "files",
    [
        {"attempt1.log": log(10), "attempt2.log": log(12)},
        {"try1.log": BARE, "try2.log": BARE},
        {"a/attempt_0/0/stdout.log": log(10), "a/attempt_1/0/stdout.log": log(10)},
        {"train_old.log": BARE, "train_new.log": BARE},
        {"train.log": log(12), "train2.log": log(14)},
        {"train2.log": log(10), "train.log": log(12)},
        {"slurm-123.out": BARE, "slurm-124.out": BARE},
        {"run1/train.log": log(10), "run2/train.log": log(14)},
        {"train_20260301_1000.log": BARE, "train_20260302_0900.log": BARE},
        {"train.log": BARE, "train_retry1.log": BARE},
        {"train.log.1": BARE, "train.log": BARE},
        {"node0_prev.log": log(10), "node0.log": log(10)},
        {"failed_run/train.log": BARE, "train.log": BARE},
        {"slurm-123_attempt1.out": BARE, "slurm-123.out": BARE},
        {"train_20260301_1000.log": log(10), "train.log": log(12)},
        {"attempt1-train.log": BARE, "train.log": BARE},
        {"out/train.log": BARE, "out/train_attempt2.log": BARE},
        {"run.log": log(10), "output.log": log(12)},
        {
            "nohup.out.1": b"nohup: ignoring input\nGlobal seed set to 1234\n" + BARE,
            "nohup.out": b"nohup: ignoring input\nGlobal seed set to 1234\n" + BARE,
        },
        {"pretrain_0711.log": BARE, "pretrain_tp.log": BARE},
        {"logs/run_0423.log": BARE, "logs/resume_0425.log": BARE},
        {"stage1.log": log(10), "continue.log": log(12)},
        {"work_dirs/r101_bs8/train.log": log(10), "session_r50.log": log(14)},
        {"old/train.log": BARE, "train.log": BARE},
        {"previous/2026-11-28/train.log": BARE, "train.log": BARE},
        {"main_log.2023-08-26_1.txt": BARE, "main_log.txt": BARE},
        {"old/grpo-488107.out": log(10), "grpo-488213.out": log(10)},
        {"logs_attempt1/slurm-771204.out": BARE, "slurm-771390.out": BARE},
        {"attempt_1/job-771204.log": log(10), "job-771390.log": log(12)},
        {"0209_run1/master-0.log": log(10), "0212_run2/llm-pre-worker-0.log": log(12)},
        {"exp-1/stdout.txt": log(10), "exp-2/console.log": log(12)},
        {"run_a.log": BARE, "run_b.log": BARE},
        {"attempts/1/grpo.log": BARE, "attempts/2/grpo.log": BARE},
        {"train_mirror.bs4096.log": BARE, "train_mirror.log": BARE},
        {"train.oom.log": BARE, "train.log": BARE},
        {"train_ok.log": BARE, "train_failed.log": BARE},
        {
            "train_0801.log": BARE,
            "train_0802.log": b"me@host:~/tts$ python3 train.py\n" + BARE + b"me@host:~/tts$ date\n",
        },
        {"train_hd64_ok.log": BARE, "train_hd80.log": BARE},
        {"train_4gpu_1009.log": BARE, "train.log": BARE},
        {
            "attempts/2-resume100.log": log(10),
            "run.log": b"2026-11-29 12:00:00 loading\n2026-11-29 12:01:00 no such key\n",
        },
    ],
)
def test_tries_are_numbered_oldest_first(files: dict[str, bytes]) -> None:
    """Names that count, dates in names, and times that do not overlap make tries; the last one is the highest."""
    assert list(map(attempts(files).get, files)) == [0, 1]


def test_a_session_beside_a_log_that_was_put_away_is_of_the_last_try() -> None:
    """Only logs tell how many tries there were."""
    session = b"me@host:~$ python -V\nPython 3.8.16\nme@host:~$ pip list\nnumpy 1.2\n"
    files = {"train.bs64.log": BARE, "train.log": BARE, "env.txt": session, "exit_code": b"1\n"}
    assert attempts(files) == {"train.bs64.log": 0, "train.log": 1, "env.txt": 1, "exit_code": 1}


def test_names_that_grow_are_tries_even_without_times() -> None:
    """`train`, `train_flex`, `train_flex2`: each relaunch got a longer name."""
    files = {"train_stdout.log": BARE, "train_stdout_flex.log": BARE, "train_stdout_flex2.log": BARE}
    assert list(attempts(files).values()) == [0, 1, 2]


@pytest.mark.parametrize(
    "files",
    [
        {"rank_0.log": log(10), "rank_1.log": log(10)},
        {"node0.log": log(10), "node1.log": log(12)},
        {"worker-0.log": BARE, "worker-1.log": BARE},
        {"log.cn101": BARE, "log.cn102": BARE, "log.cn104": BARE},
        {"train-gpu-a11.log": BARE, "train-gpu-a12.log": BARE},
        {"0/stdout.log": BARE, "1/stdout.log": BARE, "1/stderr.log": BARE},
        {"log.0": BARE, "log.1": BARE},
        {"log/workerlog.0": log(10), "log/workerlog.1": quiet(10), "log/workerlog.2": quiet(10)},
        {"0.log": BARE, "1.log": BARE},
        {"job.out": BARE, "job.err": BARE},
        {"slurm-123_0.out": BARE, "slurm-123_1.out": BARE},
        {"run1.log": log(10), "run2.log": log(10)},
        {"train.log": log(10), "eval.log": log(12)},
        {"train.log": log(10), "train_eval.log": log(12)},
        {"train.log": BARE, "train_b.log": BARE},
        {"model_a.log": BARE, "model_b.log": BARE},
        {"train.err.log": BARE, "train.log": BARE},
        {"train.rank1.log": BARE, "train.log": BARE},
        {"workers/1/stdout.log": BARE, "workers/2/stdout.log": BARE},
        {"run1/master-0.log": log(10), "run2/worker.log": log(10)},
        {"run2/master-0.log": quiet(10), "run1/worker.log": quiet(12)},
        {"shard1/master-0.log": quiet(10), "shard2/worker.log": quiet(12)},
        {"logs/none_7k2m1q0c/attempt_0/0/stderr.log": BARE, "console.txt": BARE},
        {"logs/none_7k2m1q0c/attempt_0/0/stderr.log": BARE, "slurm-771390.out": BARE},
        {"attempt1/train.log": BARE, "slurm-771390.out": BARE},
        {"attempt_0/3/stdout.log": log(10), "attempt_0/4/stdout.log": log(10), "torchrun.log": log(10)},
        {"train.log": log(10), "train_summary.log": b"2026-11-29 13:00:00 wrote 3 plots\n2026-11-29 13:01:00 done\n"},
        {"run.log": log(10), "debug_repro.log": log(12)},
        {"train-20241025.log": BARE, "pip-transcript.txt": BARE},
        {"a/train.log": BARE, "b/resume.log": BARE},
        {"train_20241025.log": BARE, "conda_list.txt": BARE},
        {"train.log.2": log(9), "train.log.1": log(10, first=4), "train.log": log(11, first=8)},
    ],
)
def test_files_of_one_try_share_its_number(files: dict[str, bytes]) -> None:
    """Ranks, nodes, streams, rotated parts, and logs that ran at the same time or serve another purpose."""
    assert set(attempts(files).values()) == {0}


def test_what_is_no_log_belongs_to_the_last_try_unless_its_folder_says_otherwise() -> None:
    """The exit code and the GPU table describe the run in question."""
    files = {
        "attempt1/train.log": log(10),
        "attempt1/exit_code": b"1\n",
        "attempt2/train.log": log(12),
        "nvidia-smi.txt": b"No devices were found\n",
        "launch.sh": b"#!/bin/bash\ntorchrun x.py\n",
    }
    assert attempts(files) == {
        "attempt1/train.log": 0,
        "attempt1/exit_code": 0,
        "attempt2/train.log": 1,
        "nvidia-smi.txt": 1,
        "launch.sh": 1,
    }


def test_a_log_of_another_purpose_belongs_to_the_last_try() -> None:
    """One server log beside three training logs is not the oldest of four."""
    files = {"train1.log": log(9), "train2.log": log(10), "train3.log": log(11), "server.log": log(11)}
    assert attempts(files) == {"train1.log": 0, "train2.log": 1, "train3.log": 2, "server.log": 2}


def test_logs_without_years_are_ordered_beside_those_with_years() -> None:
    """A glog line prints no year; it is taken from the logs that have one."""
    glog = b"".join(b"W1128 10:0%d:00.000000 12 x.py:1] step\n" % i for i in range(4))
    assert attempts({"train2.log": glog, "train.log": log(12)}) == {"train.log": 1, "train2.log": 0}


def test_rotated_parts_stand_oldest_first_each_with_its_own_lines() -> None:
    """Parts keep their own path, so that a line number can be opened; dates are older than numbers."""
    files = {
        "train.log": log(12),
        "train.log.1": log(11),
        "train.log.10": log(9),
        "train.log.2": log(10),
        "train.log-20261128": log(8),
    }
    order = ["train.log-20261128", "train.log.10", "train.log.2", "train.log.1", "train.log"]
    assert [made.source.path for made in find_in_memory(files).inputs] == order
    dotted = find_in_memory({"train.log": log(12), "train.1.log": log(11), "train.2.log": log(10)})
    assert [made.source.path for made in dotted.inputs] == ["train.2.log", "train.1.log", "train.log"]


@pytest.mark.parametrize(
    ("path", "rank", "host"),
    [
        ("rank_3.log", 3, None),
        ("logs/train.rank12.log", 12, None),
        ("nccl_trace_rank_1", 1, None),
        ("attempt_0/3/stderr.log", 3, None),
        ("log.3", 3, None),
        ("node0.log", None, "node0"),
        ("dmesg-node07.txt", None, "node07"),
        ("worker-1/train.log", None, "worker-1"),
        ("node1_rank_5.log.gz", 5, "node1"),
        ("train.log", None, None),
        ("frank7.log", None, None),
        ("2026/train.log", None, None),
    ],
)
def test_names_hint_at_ranks_and_hosts(path: str, rank: int | None, host: str | None) -> None:
    """A file of one rank or node says so in its name."""
    (made,) = find_in_memory({path: BARE}).inputs
    assert (made.source.rank, made.source.host) == (rank, host)


def test_numbered_logs_that_ran_together_are_ranks() -> None:
    """`0.log`, `1.log` and `train.log.0`, `train.log.1` without a `train.log` tell their ranks by number."""
    for names in (("0.log", "1.log", "2.log"), ("train.log.0", "train.log.1", "train.log.2")):
        found = find_in_memory(dict.fromkeys(names, BARE))
        assert {made.source.path: made.source.rank for made in found.inputs} == dict(zip(names, range(3), strict=True))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("training_log_2024_9_18_09_12_40.txt", "training_log_2024_9_19_18_05_03.txt"),
        ("training_log_2024_9_19_09_12_40.txt", "training_log_2024_9_19_18_05_03.txt"),
        ("train_bs512_0501.log", "train.log"),
        ("attempts/2025-01-20_first.log", "maxtext_stdout.log"),
        ("nightly/train-2024-08-05.log", "nightly/train.log"),
    ],
)
def test_days_and_hours_in_names_tell_tries(older: str, newer: str) -> None:
    """nnU-Net writes them without zeros, and so do people."""
    found = attempts({older: BARE, newer: BARE})
    assert found[older] < found[newer]


def test_the_folder_in_which_all_lies_tells_nothing() -> None:
    """Its number is not that of a try."""
    names = {"train.log": log(12), "train_20260301_1000.log": log(10), "slurm-7.out": log(12)}
    assert list(attempts({f"exp7/run/{name}": data for name, data in names.items()}).values()) == list(
        attempts(names).values()
    )


def test_a_log_of_the_folder_makes_those_of_days_no_older_than_they_are() -> None:
    """What cron says stands beside them, and is none of their programs."""
    files = {
        "nightly/2024-08-05.log": BARE,
        "nightly/2024-08-06.log": b"nohup: ignoring input\n",
        "nightly/cron.log": BARE,
    }
    found = attempts(files)
    assert found["nightly/2024-08-06.log"] == max(found.values()) > found["nightly/2024-08-05.log"]


def test_the_folder_of_all_logs_is_no_purpose_of_theirs() -> None:
    """Whatever else lies above it: the run is called `mi-test`, and trains."""
    files = {"logs/mi-test/train_20230618.log": BARE, "logs/mi-test/train.log": BARE, "run.yaml": b"lr: 1\n"}
    found = attempts(files)
    assert found["logs/mi-test/train_20230618.log"] < found["logs/mi-test/train.log"]


def test_a_server_that_failed_before_is_known_by_its_name() -> None:
    """No loss tells that it is of the same program, but the word it begins with."""
    log_ = b"(APIServer pid=1) INFO api_server.py: starting\n" * 4
    found = attempts({"server_0.90_wrong_gpu.log": log_, "server.log": log_})
    assert found["server_0.90_wrong_gpu.log"] < found["server.log"]
