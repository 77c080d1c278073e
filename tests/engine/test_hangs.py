"""A run that somebody ended after hours of silence hung; what ended it is only how that was noticed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.runs import analyse, finding, root

BEGIN = datetime(2026, 5, 25, 9, 0, tzinfo=UTC)
PRESSED = """^CTraceback (most recent call last):
  File "train.py", line 692, in train_one_epoch
    for batch in loader:
  File "/env/lib/python3.9/threading.py", line 316, in wait
    gotit = waiter.acquire(True, timeout)
KeyboardInterrupt
"""
CANCELLED = "slurmstepd: error: *** JOB 245 ON c002 CANCELLED AT {at:%Y-%m-%dT%H:%M:%S}{why} ***\n"


def stamped(at: datetime, text: str) -> str:
    return "".join(f"[{at:%Y-%m-%d %H:%M:%S}] {line}\n" for line in text.splitlines())


def progress(pauses: dict[int, timedelta] | None = None, count: int = 60) -> tuple[str, datetime]:
    """A step every twenty seconds, some of them after a pause; and when the last one was."""
    at, lines = BEGIN, []
    for step in range(1, count + 1):
        at += timedelta(seconds=20) + (pauses or {}).get(step, timedelta())
        lines.append(stamped(at, f"step {step}/600 | loss {3 - step / 100:.3f}"))
    return "".join(lines), at


@pytest.mark.parametrize(
    ("pause", "cause"),
    [
        (timedelta(hours=7), "train.hang"),
        (timedelta(minutes=20), "train.hang"),
        (timedelta(minutes=5), "host.interrupted"),
    ],
)
def test_an_interrupt_long_after_the_last_words(pause: timedelta, cause: str) -> None:
    """Far beyond the run's own rhythm, and longer than anybody waits for a step."""
    log, last = progress()
    report = analyse(train_log=log + stamped(last + pause, PRESSED))
    assert root(report) == cause
    if cause == "train.hang":
        found = finding(report, "train.hang")
        assert (found.facts["last_step"], found.facts["silent_ms"]) == (60, pause.total_seconds() * 1000)
        assert finding(report, "host.interrupted").because == ("train.hang",)


def test_a_pause_that_the_run_had_made_before_is_no_hang() -> None:
    """Every epoch is evaluated for half an hour, and this one was interrupted."""
    log, last = progress({20: timedelta(minutes=30), 40: timedelta(minutes=30)})
    report = analyse(train_log=log + stamped(last + timedelta(minutes=40), PRESSED))
    assert root(report) == "host.interrupted"


@pytest.mark.parametrize("words", ["warning: UserWarning: 7 rows", "wrote shard"])
def test_other_words_in_the_meantime_are_a_sign_of_life(words: str) -> None:
    """An export takes hours, and says so, be it in words that no rule knows."""
    log, last = progress()
    for minute in range(10, 420, 10):
        log += stamped(last + timedelta(minutes=minute), f"{words} {minute}")
    report = analyse(train_log=log + stamped(last + timedelta(hours=7), PRESSED))
    assert root(report) == "host.interrupted"


@pytest.mark.parametrize(("why", "cause"), [("", "train.hang"), (" DUE TO TIME LIMIT", "scheduler.time-limit")])
def test_a_job_that_was_cancelled_long_after_its_last_words(why: str, cause: str) -> None:
    """Somebody gave it up; a limit would have come anyway."""
    log, last = progress()
    report = analyse(slurm_log=log + CANCELLED.format(at=last + timedelta(hours=7), why=why))
    assert root(report) == cause


def test_a_run_at_its_end_may_stay_silent() -> None:
    """The last step was reached; the program waits for nobody."""
    log, last = progress(count=600)
    report = analyse(train_log=log + stamped(last + timedelta(hours=7), PRESSED))
    assert root(report) != "train.hang"


def looks(hours: int, load: int = 0) -> str:
    """Return what `nvidia-smi` shows every hour of a card on which a process holds memory."""
    shot = """{at:%a %b %d %H:%M:%S %Y}
| NVIDIA-SMI 580.159.03   Driver Version: 580.159.03   CUDA Version: 13.0 |
|=======================+======================+======================|
|   0  NVIDIA H200   On  |   00000000:0F:00.0 Off |   0 |
| N/A   31C    P0   76W /  700W | 71713MiB / 143771MiB |     {load}%      Default |
"""
    return "".join(shot.format(at=BEGIN + timedelta(hours=n), load=load) for n in range(hours))


@pytest.mark.parametrize(
    ("last", "hours", "load", "cause"),
    [
        ("Epoch: 0", 48, 0, "train.hang"),
        ("Epoch: 0", 48, 90, None),
        ("Epoch: 0", 1, 0, None),
        ("INFO:     Application startup complete.", 48, 0, None),
    ],
)
def test_gpus_that_are_held_for_hours_and_never_compute(last: str, hours: int, load: int, cause: str | None) -> None:
    """A run that never made a step waits; one that serves waits for requests, as it should."""
    assert root(analyse(train_log=f"loading the data\n{last}\n", nvidia_smi_txt=looks(hours, load))) == cause


@pytest.mark.parametrize(("hours", "cause"), [(4, "train.hang"), (0, None)])
def test_a_monitor_without_dates_shows_it_too(hours: int, cause: str | None) -> None:
    """`nvidia-smi dmon -o T`."""
    rows = "".join(
        f" {9 + n // 60:02d}:{n % 60:02d}:00      0    63     28     0     0 21614\n" for n in range(hours * 60 + 5)
    )
    dmon = f"#Time        gpu   pwr  gtemp    sm   mem    fb\n#HH:MM:SS    Idx     W      C     %     %    MB\n{rows}"
    assert root(analyse(train_log="loading the data\nEpoch: 0\n", dmon_txt=dmon)) == cause
