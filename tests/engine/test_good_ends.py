"""Ends that no word tells: the last planned epoch, saved, and a helper that stumbles after the end."""

from __future__ import annotations

import pytest

from forensics.analyze import analyze_files
from forensics.model import Report
from forensics.rulebook.load import load

BOOK = load()


def report(log: str, **files: str) -> Report:
    """Return the report on a log, with other files beside it."""
    made = {name.replace("dmesg_txt", "dmesg.txt"): text.encode() for name, text in files.items()}
    return analyze_files({"train.log": log.encode(), **made}, BOOK)


def epochs(last: int, planned: int) -> str:
    """Return the log of a trainer that counts epochs, and saves at the end of each."""
    return "".join(
        f"[2023/09/17 20:0{n}:50] ppocr INFO: epoch: [{n}/{planned}], global_step: {62 * n}, lr: 0.001, loss: {2 - n / 10}\n"
        f"[2023/09/17 20:0{n}:55] ppocr INFO: save model in ./output/det/latest\n"
        for n in range(1, last + 1)
    )


def test_the_last_planned_epoch_that_was_saved_is_a_good_end() -> None:
    """The counter of epochs is full, and what was learned is on the disk."""
    assert report(epochs(9, 9)).verdict == "healthy"
    assert report(epochs(5, 9)).verdict == "unknown"
    unsaved = epochs(9, 9).rpartition("[2023")[0]
    assert report(unsaved).verdict == "unknown"


VITS = "".join(
    f"INFO:vits:Train Epoch: {n} [{p}%]\nINFO:vits:[2.2, 3.0, 11.7, 20.5, 2.4, {200 * n + p}, 0.00016]\n"
    for n in range(1, 9)
    for p in (2, 61)
)


def test_a_worker_that_crashed_between_two_places_in_an_epoch_is_survived() -> None:
    """VITS prints where it is and a bare list of numbers: progress all the same."""
    lines = VITS.splitlines(keepends=True)
    crash = "ERROR: Unexpected segmentation fault encountered in worker.\n"
    log = "".join([*lines[:10], crash, *lines[10:]])
    assert report(log, exit_code="0\n").verdict == "healthy"
    assert report(VITS + crash, exit_code="139\n").verdict == "failed"


THREAD = """\
Exception in thread ChkStopThr:
Traceback (most recent call last):
  File "/e/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/e/lib/python3.11/site-packages/wandb/sdk/lib/sock_client.py", line 130, in _sendall_with_error_handle
    sent = self._sock.send(data)
BrokenPipeError: [Errno 32] Broken pipe
"""


@pytest.mark.parametrize(("status", "verdict"), [("0\n", "healthy"), ("1\n", "failed")])
def test_a_thread_that_stumbles_after_the_end_changes_nothing(status: str, verdict: str) -> None:
    """Training had said that it was done, and the program left with status 0."""
    log = "step 8/9 loss 1.0\nstep 9/9 loss 0.9\nwandb: Synced 7 W&B file(s), 0 media file(s)\n" + THREAD
    assert report(log, exit_code=status).verdict == verdict


def test_a_thread_that_dies_before_the_end_is_a_failure() -> None:
    """One drafter of several is gone, whatever the status says."""
    log = "step 1/9 loss 2.0\n" + THREAD.replace("BrokenPipeError: [Errno 32] Broken pipe", "KeyError: 'labels'")
    assert report(log, exit_code="0\n").verdict == "failed"


def test_submitits_head_has_its_time_and_level() -> None:
    """What stands behind the head is the message."""
    log = "submitit WARNING (2022-07-12 04:18:45,881) - Caught signal SIGHUP on node7: this job is preempted.\n"
    found = report("step 1/9 loss 2.0\n" + log)
    assert found.root is not None
    assert found.root.id == "scheduler.preempted"
    assert found.root.time == 1657599525.881


def test_dmesg_for_people_is_the_kernels_voice() -> None:
    """`dmesg -H` prints a day once, and then how much later each line came."""
    kernel = (
        "[Jan 2 09:50] pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0\n"
        "[  +0.000005] pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer\n"
        "[Jan 2 09:52] NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        "[  +0.000007] NVRM: GPU 0000:03:00.0: GPU has fallen off the bus.\n"
    )
    found = report("step 1/9 loss 2.0\nstep 2/9 loss 1.9\n", dmesg_txt=kernel)
    assert found.root is not None
    assert found.root.id == "gpu.fell-off-bus"


STATUS = """● llama-server.service - llama.cpp server
     Loaded: loaded (/etc/systemd/system/llama-server.service; enabled; preset: enabled)
     Active: {state} since Mon 2026-02-09 06:41:13 UTC; 1h 42min ago
   Main PID: {pid} (llama-server)
"""
JOURNAL = "".join(
    f"Feb 09 06:4{n}:02 strix llama-server[{pid}]: srv  update_slots: all slots are idle\n"
    for n, pid in ((0, 9917), (1, 9984), (2, 9984), (3, 9984))
)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (STATUS.format(state="active (running)", pid=9984), "healthy"),
        (STATUS.format(state="active (running)", pid=71), "unknown"),
        (STATUS.format(state="activating (auto-restart)", pid=9984), "unknown"),
        (STATUS.format(state="active (running)", pid=9984).partition("Main")[0], "unknown"),
        ("the service is active (running), says the operator\n", "unknown"),
    ],
    ids=["the process of the log", "another process", "between two starts", "cut", "in prose"],
)
def test_a_service_whose_process_wrote_the_last_lines_is_still_running(status: str, verdict: str) -> None:
    """A server that waits for requests prints no end and no progress."""
    files = {"journal.txt": JOURNAL.encode(), "status.txt": status.encode()}
    assert analyze_files(files, BOOK).verdict == verdict


RAISED = """ERROR [12/20 18:37:22 d2.engine.train_loop]: Exception during training:
Traceback (most recent call last):
  File "/v/site-packages/torch/serialization.py", line 604, in _save
    zip_file.write_record(name, storage.data_ptr(), num_bytes)
OSError: [Errno 28] No space left on device
"""
CLOCK = "[12/20 18:37:22 d2.engine.hooks]: Total training time: 0:47:12 (0:00:17 on hooks)\n"


def test_how_long_training_took_is_no_end_where_an_error_had_ended_it() -> None:
    """detectron2 tells it on the way out; after the last step, and no error, it is the end."""
    steps = "".join(f"[12/20 18:3{n}:00 d2.utils.events]: iter: {n * 20}  total_loss: {9 - n}\n" for n in range(1, 7))
    assert report(steps + CLOCK).verdict == "healthy"
    found = report(steps + RAISED + CLOCK)
    assert (found.verdict, found.root and found.root.id) == ("failed", "host.disk-full")
    survived = RAISED.replace("ERROR", "WARNING") + steps
    assert report(survived + CLOCK).verdict == "healthy"


LAUNCHER = (
    "[2023-03-27 10:48:29,904] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 91822\n"
    "[2023-03-27 10:48:32,664] [ERROR] [launch.py:324:sigkill_handler] ['/e/bin/python', '-u', 'train.py'] "
    "exits with return code = {code}\n"
)
RACED = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 215, in train\n'
    "    shutil.rmtree(checkpoint)\n"
    "FileNotFoundError: [Errno 2] No such file or directory: 'rng_state_3.pth'\n"
)
DONE = "{'train_runtime': 16393.4453, 'train_samples_per_second': 6.208, 'train_loss': 1.175, 'epoch': 2.0}\n"


def test_a_launcher_that_fails_after_the_good_word_of_one_rank_has_the_last_word() -> None:
    """One rank was done; another raised, and the launcher ended them all."""
    found = report(f"{epochs(5, 9)}{RACED}{DONE}{LAUNCHER.format(code=1)}")
    assert (found.verdict, found.root and found.root.id) == ("failed", "host.file-missing")
    assert report(f"{epochs(5, 9)}{DONE}{LAUNCHER.format(code=1)}").verdict == "failed"


def test_without_that_the_good_word_stands() -> None:
    """The launcher ends well or only ends the others, or began anew and training went on."""
    assert report(f"{epochs(5, 9)}{RACED}{DONE}").verdict == "healthy"
    assert report(f"{epochs(5, 9)}{DONE}{LAUNCHER.format(code=0)}").verdict == "healthy"
    assert report(f"{epochs(5, 9)}{DONE}{LAUNCHER.format(code=-15)}").verdict == "healthy"
    assert report(f"{LAUNCHER.format(code=1)}{epochs(9, 9)}{DONE}").verdict == "healthy"


@pytest.mark.parametrize(
    "form", ["{n}/30 * Train batch {at}/316 | loss=0.3{at}", "Epoch {n}/30 batch {at}/316 loss: 0.3{at}"]
)
def test_a_full_epoch_is_no_end_where_more_were_planned(form: str) -> None:
    """Batch 316 of 316 in epoch 12 of 30 is not the end; the last epoch is, saved."""

    def log(n: int) -> str:
        return "".join(f"[2020-07-22 09:{at % 60:02d}:28] {form.format(n=n, at=at)}\n" for at in range(79, 317, 79))

    saved = "=> saving checkpoints/best.pth\nsaved checkpoint checkpoints/last.pth\n"
    assert report(log(12)).verdict == "unknown"
    assert report(log(12) + saved).verdict == "unknown"
    assert report(log(30) + saved).verdict == "healthy"


RAY = "".join(f"(TaskRunner pid=20114) step:{n} - actor/pg_loss:0.01{n} - actor/grad_norm:0.1\n" for n in range(1, 21))
SCORER = """(WorkerDict pid=25019, ip=10.0.4.250) Traceback (most recent call last):
(WorkerDict pid=25019, ip=10.0.4.250)   File "/tmp/tmpq01.py", line 7, in <module>
(WorkerDict pid=25019, ip=10.0.4.250)     print(solve(int(input())))
(WorkerDict pid=25019, ip=10.0.4.250) ValueError: invalid literal for int() with base 10: '3 4'
"""


@pytest.mark.parametrize(
    ("end", "verdict"), [("Job 'raysubmit_n2bF4V7i' succeeded\n", "healthy"), ("", "failed")], ids=["ended", "open"]
)
def test_a_worker_that_reports_no_progress_and_raised_once(end: str, verdict: str) -> None:
    """A program that a worker scored raised; the trainer, another process, went on to the end of the job."""
    lines = RAY.splitlines(keepends=True)
    assert report("".join([*lines[:8], SCORER, *lines[8:]]) + end).verdict == verdict


EVENTS = """LAST SEEN   TYPE      REASON                OBJECT                     MESSAGE
39m         Warning   NodeNotReady          pod/gemma2b-0-1-77abz      Node is not ready
35m         Normal    TaintManagerEviction  pod/gemma2b-0-1-77abz      Marking for deletion Pod default/gemma2b-0-1-77abz
"""
COMPLETED = "2m          Normal    AllJobsCompleted      jobset/gemma2b             jobset completed successfully\n"


def test_a_node_that_was_lost_and_replaced() -> None:
    """The controller says that all its jobs completed; without that word the node is why the run stands where it does."""
    log = "".join(f"completed step: {n}, seconds: 1.9, loss: 2.{n}\n" for n in range(10, 60))
    assert report(log, **{"events.txt": EVENTS + COMPLETED}).verdict == "healthy"
    lost = report(log, **{"events.txt": EVENTS}).root
    assert lost is not None
    assert lost.id.startswith("scheduler.")


@pytest.mark.parametrize(
    ("tail", "verdict"),
    [
        ("(base) root@ip-172-31-18-125:/tests# echo $?\n0\n", "healthy"),
        ("(base) root@ip-172-31-18-125:/tests# echo $?\n1\n", "failed"),
        ("all tasks finished, job rc=0\n", "healthy"),
        ("all tasks finished, job rc=3\n", "failed"),
        ("", "unknown"),
    ],
)
def test_a_status_that_was_asked_for_below_the_output(tail: str, verdict: str) -> None:
    """In a log a prompt follows what the program printed."""
    log = "".join(f"[{n}]\ttrain-error:0.0{n}\n" for n in range(30))
    assert report(log + tail).verdict == verdict


@pytest.mark.parametrize(("state", "verdict"), [("exited 0 OOMKilled=false", "healthy"), ("exited 3", "failed")])
def test_docker_tells_of_a_container_in_a_template(state: str, verdict: str) -> None:
    """`docker inspect -f '{{.State.Status}} {{.State.ExitCode}}'`, typed by hand."""
    log = "".join(f"[{n}]\ttrain-error:0.0{n}\n" for n in range(30))
    assert (
        report(log, **{"inspect.txt": f"$ docker inspect -f '{{{{.State.Status}}}}' scorer\n{state}\n"}).verdict
        == verdict
    )


@pytest.mark.parametrize(("more", "verdict"), [(0, "healthy"), (30, "unknown")])
def test_a_good_word_above_long_training_was_that_of_a_trial(more: int, verdict: str) -> None:
    """A finder of batch sizes ends trials of its own; what trained on has not told its end."""
    trial = (
        "".join(f"step {n}/3 | loss 2.{n}\n" for n in range(1, 4)) + "`Trainer.fit` stopped: `max_steps=3` reached.\n"
    )
    run = "".join(f"step {n}/900 | loss 1.{n}\n" for n in range(1, more + 1))
    assert report(trial + run).verdict == verdict


def test_ray_tune_tells_the_end_of_each_iteration() -> None:
    """Which is none of the training."""
    log = "".join(
        f"epoch {n} loss 2.{n}\nTraining finished iteration {n} at 2024-06-04 10:36:44.\n" for n in range(1, 6)
    )
    assert report(log).verdict == "unknown"


@pytest.mark.parametrize(
    ("above", "verdict"),
    [("Exception ignored in: <function _ConnectionBase.__del__ at 0x7f1a>\n", "healthy"), ("", "failed")],
)
def test_an_ignored_exception_without_its_traceback_is_no_end(above: str, verdict: str) -> None:
    """The interpreter says in the line above that it goes on."""
    log = "step 8/90 loss 1.0\nstep 9/90 loss 0.9\n" + above + "OSError: [Errno 9] Bad file descriptor\n"
    assert report(log, exit_code="0\n" if above else "1\n").verdict == verdict


@pytest.mark.parametrize(("epoch", "verdict"), [(4, "healthy"), (3, "unknown")])
def test_mmcv_ends_without_a_word_after_its_last_validation(epoch: int, verdict: str) -> None:
    """How many epochs there are stands at the beginning."""
    head = "2021-11-22 01:20:03,911 - mmocr - INFO - workflow: [('train', 1)], max: 4 epochs\n"
    steps = "".join(
        f"2021-11-22 0{n}:36:01,641 - mmocr - INFO - Epoch [{n}][6200/6259]\tlr: 1.000e-03, time: 0.561, loss: 0.087\n"
        for n in range(1, epoch + 1)
    )
    ends = (
        f"2021-11-22 0{epoch}:37:01,500 - mmocr - INFO - Saving checkpoint at {epoch} epochs\n"
        f"2021-11-22 0{epoch}:38:01,980 - mmocr - INFO - Epoch(val) [{epoch}][500]\t0_word_acc: 0.7800\n"
    )
    assert report(head + steps + ends).verdict == verdict
    assert report(head + steps).verdict == "unknown"
