"""`run` as its users call it: statuses, signals, attempts, secrets, terminals, a full disk."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import COMMAND, environment, run, run_on_terminal
from tests.live import supervised

PYTHON = (sys.executable, "-S", "-c")


def supervise(
    folder: Path, *words: str, options: tuple[str, ...] = (), **changes: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a program under the supervisor to its end."""
    return run("run", "--run-dir", str(folder), *options, "--", *words, given=b"", **changes)


def analyze(folder: Path) -> dict[str, Any]:
    """Return the report on a folder."""
    report: dict[str, Any] = json.loads(run("analyze", str(folder), "--format", "json").stdout)
    return report


@pytest.mark.parametrize(
    ("program", "status", "number"),
    [("pass", 0, None), ("raise SystemExit(3)", 3, None), ("import os; os.kill(os.getpid(), 9)", 137, 9)],
    ids=["good", "bad", "killed"],
)
def test_the_status_is_the_programs(tmp_path: Path, program: str, status: int, number: int | None) -> None:
    """As a shell gives it, on leaving, in exit_code and in run.json."""
    assert supervise(tmp_path, *PYTHON, program).returncode == status
    record = supervised.record(tmp_path)
    assert (record["status"], record["exit_code"], record["signal"]) == ("exited", status, number)
    assert (tmp_path / "attempt-001" / "exit_code").read_text() == f"{status}\n"
    assert record["started"] <= record["ended"]


def test_streams_are_kept_raw_apart_and_merged_by_lines(tmp_path: Path) -> None:
    """Bytes that are no text, lines without an end and carriage returns stay as they came."""
    program = r"""
import os, time
os.write(1, b"step 1 loss "); os.write(2, b"warning\n"); os.write(1, b"2.0\n\xff\x00\x1b[31m\r 50%|\r")
time.sleep(0.1); os.write(1, b"no end")
"""
    done = supervise(tmp_path, *PYTHON, program)
    attempt = tmp_path / "attempt-001"
    out = b"step 1 loss 2.0\n\xff\x00\x1b[31m\r 50%|\rno end"
    assert (attempt / "stdout.log").read_bytes() == done.stdout == out
    assert (attempt / "stderr.log").read_bytes() == b"warning\n"
    assert b"warning\n" in done.stderr
    train = (attempt / "train.log").read_bytes()
    assert train.replace(b"warning\n", b"") == out
    assert b"step 1 loss 2.0\n" in train
    rows = [line.split("\t") for line in (attempt / "index").read_text().splitlines()[1:]]
    assert sum(int(row[3]) for row in rows) == len(train)
    assert [int(row[2]) for row in rows] == [sum(int(r[3]) for r in rows[:i]) for i in range(len(rows))]


def test_each_start_is_an_attempt_and_the_last_is_analysed(tmp_path: Path) -> None:
    """Nothing of an earlier attempt is overwritten, and only the last one is judged."""
    supervise(tmp_path, *PYTHON, "print('step 3/9 loss 1.0'); import os; os.kill(os.getpid(), 9)")
    first = analyze(tmp_path)
    assert (first["verdict"], first["run"]["exit_code"], first["run"]["last_step"]) == ("failed", 137, 3)
    assert next(f["id"] for f in first["findings"] if f["role"] == "root") == "host.killed-signal"
    before = {p.name: p.read_bytes() for p in (tmp_path / "attempt-001").iterdir()}
    supervise(tmp_path, *PYTHON, "for i in range(1, 10): print(f'step {i}/9 loss 1.0')")
    assert {p.name: p.read_bytes() for p in (tmp_path / "attempt-001").iterdir()} == before
    second = analyze(tmp_path)
    assert (second["verdict"], second["run"]["exit_code"], second["run"]["last_step"]) == ("healthy", 0, 9)
    assert second["run"]["started"] is not None


def test_an_exception_is_the_root_of_a_supervised_run_once(tmp_path: Path) -> None:
    """The streams beside the log do not make two of it."""
    supervise(tmp_path, *PYTHON, "print('step 1 loss 2.0')\nraise ValueError('bad shard 17')")
    report = analyze(tmp_path)
    roots = [f for f in report["findings"] if f["role"] == "root"]
    assert [f["id"] for f in roots] == ["setup.python-exception"]
    assert {e["path"] for e in roots[0]["evidence"]} == {"attempt-001/train.log"}
    assert report["run"]["exit_code"] == 1


@pytest.mark.parametrize(
    ("word", "status", "why"),
    [("no-such-program", 127, "command not found"), ("/dev/null", 126, "Permission denied")],
)
def test_what_cannot_be_started_is_an_attempt_too(tmp_path: Path, word: str, status: int, why: str) -> None:
    """With the status that a shell gives, and the reason in the log."""
    done = supervise(tmp_path, word)
    assert done.returncode == status
    assert why in (tmp_path / "attempt-001" / "train.log").read_text()
    assert supervised.record(tmp_path)["status"] == "not-started"
    assert analyze(tmp_path)["verdict"] == "failed"


def test_of_two_starts_at_once_one_wins_and_the_other_says_why(tmp_path: Path) -> None:
    """Status 2, the attempt, the pid and the machine; nothing is written by the one that lost."""
    first = supervised.start(tmp_path, "sleep", "30")
    supervised.wait_for(lambda: supervised.record(tmp_path).get("pid"), "the first")
    second = supervise(tmp_path, "true")
    assert second.returncode == 2
    assert b"attempt-001, pid" in second.stderr
    assert not (tmp_path / "attempt-002").exists()
    first.terminate()
    first.communicate(timeout=supervised.BOUND_S)
    assert first.returncode == 143


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_program_and_are_written_down(tmp_path: Path, number: signal.Signals) -> None:
    """The program may end as it likes; its status is told, and who was sent what."""
    program = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: (print("saving", flush=True), sys.exit(5)))
print("ready", flush=True)
time.sleep(30)
"""
    front = supervised.start(tmp_path, *PYTHON, program)
    supervised.wait_for(lambda: b"ready" in log(tmp_path), "the program")
    front.send_signal(number)
    front.communicate(timeout=supervised.BOUND_S)
    assert front.returncode == 5
    assert log(tmp_path).endswith(b"saving\n")
    assert [s["signal"] for s in supervised.record(tmp_path)["signals"]] == [number.name]


def test_a_program_that_does_not_end_in_the_grace_time_is_killed_with_its_children(tmp_path: Path) -> None:
    """Its whole process group, and the log says nothing that it did not say itself."""
    program = "trap '' TERM; sleep 300 & echo $! ; while :; do sleep 0.1; done"
    front = supervised.start(tmp_path, "bash", "-c", program, options=("--grace", "0.3"))
    supervised.wait_for(lambda: log(tmp_path).endswith(b"\n"), "the program")
    front.terminate()
    front.communicate(timeout=supervised.BOUND_S)
    assert front.returncode == 137
    child = int(log(tmp_path))
    supervised.wait_for(lambda: supervised.journal_identity(child) is None, "the end of the child")


def test_secrets_never_reach_the_journal_or_the_report(tmp_path: Path) -> None:
    """In arguments, in quoted scripts, in the environment, in addresses; what is harmless stays."""
    secrets = ["hf_" + "Ab1" * 10, "tok-very-secret", "pa55word!", "s3cr3t-key", "ghp_" + "x1Y" * 12]
    supervise(
        tmp_path, "bash", "-c", f"API_KEY={secrets[3]} true --token {secrets[1]}", secrets[0], "--password", secrets[2],
        "--max-tokens", "4096", f"https://me:{secrets[2]}@host/x",
        WANDB_API_KEY=secrets[3], DB_URL=f"postgres://u:{secrets[2]}@db/x", ODD=secrets[4], MY_TOKEN=secrets[1],
    )  # fmt: skip
    kept = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()).decode()
    report = run("analyze", str(tmp_path), "--format", "json").stdout.decode()
    for secret in secrets:
        assert secret not in kept
        assert secret not in report
    assert "4096" in kept
    assert "WANDB_API_KEY" in kept


def test_detached_it_outlives_the_session_of_its_caller(tmp_path: Path) -> None:
    """The caller is back at once, its session is hung up, and the run is recorded to its end."""
    program = "import time\nfor i in range(20): print(f'step {i + 1}/20 loss 1.0', flush=True); time.sleep(0.05)"
    done = subprocess.run(
        [*COMMAND, "run", "--run-dir", str(tmp_path), "--detach", "--", *PYTHON, program],
        capture_output=True, start_new_session=True, env=environment(), check=False, timeout=supervised.BOUND_S,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"tail -f" in done.stderr
    assert supervised.finished(tmp_path)["exit_code"] == 0
    assert log(tmp_path).count(b"\n") == 20


def test_detached_it_says_what_ended_at_once(tmp_path: Path) -> None:
    """Five minutes later would be too late."""
    done = supervise(tmp_path, *PYTHON, "raise SystemExit(9)", options=("--detach",))
    assert done.returncode == 9
    assert b"ended with status 9" in done.stderr


def test_at_a_terminal_the_program_has_one(tmp_path: Path) -> None:
    """One stream, raw: no carriage returns that the program did not write."""
    program = "import os; print('tty', os.isatty(1), os.get_terminal_size().columns > 0)"
    shown = run_on_terminal("run", "--run-dir", str(tmp_path), "--", *PYTHON, program)
    assert "tty True True" in shown
    assert log(tmp_path) == b"tty True True\n"
    assert not (tmp_path / "attempt-001" / "stdout.log").exists()
    assert analyze(tmp_path)["verdict"] == "healthy"


def test_a_reader_that_leaves_does_not_end_the_program(tmp_path: Path) -> None:
    """As `run ... | head -1` does."""
    front = supervised.start(tmp_path, *PYTHON, "for i in range(50000): print('line', i)")
    assert front.stdout is not None
    assert front.stderr is not None
    front.stdout.readline()
    front.stdout.close()
    front.stderr.close()
    assert front.wait(supervised.BOUND_S) == 0
    assert log(tmp_path).count(b"\n") == 50000


def test_rotation_keeps_every_part_and_analysis_reads_them_in_order(tmp_path: Path) -> None:
    """Parts are numbered as logrotate numbers them, and nothing is thrown away."""
    program = "import time\nfor i in range(1, 401):\n    print(f'step {i}/400 loss 1.0', flush=True)\n    i % 20 or time.sleep(0.02)"
    supervise(tmp_path, *PYTHON, program, options=("--rotate", "2K"))
    attempt = tmp_path / "attempt-001"
    parts = sorted(attempt.glob("train.log.*"), key=lambda p: -int(p.suffix[1:]))
    assert len(parts) > 1
    joined = b"".join(p.read_bytes() for p in [*parts, attempt / "train.log"])
    assert joined == b"".join(b"step %d/400 loss 1.0\n" % i for i in range(1, 401))
    assert analyze(tmp_path)["run"]["last_step"] == 400


def test_a_full_disk_is_said_and_the_program_lives(small_disk: Path) -> None:
    """Its last words and its status are kept in the room held back for them, and what was lost is counted."""
    program = "import sys\nfor i in range(400000): print('x' * 60, i)\nprint('the last word'); sys.exit(4)"
    done = supervise(small_disk / "run", *PYTHON, program)
    assert done.returncode == 4
    assert b"cannot be written (No space left on device): the program goes on" in done.stderr
    attempt = small_disk / "run" / "attempt-001"
    record = supervised.record(small_disk / "run")
    assert (record["status"], record["exit_code"]) == ("exited", 4)
    assert (attempt / "exit_code").read_text() == "4\n"
    kept = (attempt / "stdout.log").read_bytes()
    assert kept.endswith(b"the last word\n")
    assert (
        len(kept) + record["lost_bytes"]["stdout"]
        == len(b"x" * 61) * 400000 + sum(len(str(i)) + 1 for i in range(400000)) + 14
    )
    assert log(small_disk / "run").endswith(b"the last word\n")


def test_a_limit_on_files_does_not_end_the_run(tmp_path: Path) -> None:
    """Where the system refuses a file to grow, the program goes on as with a full disk."""
    program = "for i in range(3000): print('y' * 99)\nprint('done')"
    command = f'ulimit -f 100; exec {" ".join(COMMAND)} run --run-dir {tmp_path} -- {PYTHON[0]} -S -c "$PROGRAM"'
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment(PROGRAM=program),
        capture_output=True,
        check=False,
        timeout=supervised.BOUND_S,
    )
    assert done.returncode == 0
    assert b"File too large" in done.stderr
    assert supervised.record(tmp_path)["exit_code"] == 0


def test_wrong_usage_is_said(tmp_path: Path) -> None:
    """Status 2, and nothing is made."""
    done = run("run", "--run-dir", str(tmp_path / "new"))
    assert done.returncode == 2
    assert not (tmp_path / "new").exists()
    file = tmp_path / "file"
    file.write_text("")
    assert run("run", "--run-dir", str(file), "--", "true").returncode == 2
    assert run("run", "--run-dir", "/proc/nowhere", "--", "true").returncode == 2


def log(folder: Path) -> bytes:
    """Return train.log of the first attempt as it stands."""
    path = folder / "attempt-001" / "train.log"
    return path.read_bytes() if path.exists() else b""


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False)


def test_the_fronts_death_by_a_torn_terminal_reaches_the_program_as_a_hangup(tmp_path: Path) -> None:
    """A closed terminal is SIGHUP for the program too, unless it was detached; the journal says so."""
    ours, theirs = pty.openpty()
    words = [*COMMAND, "run", "--run-dir", str(tmp_path), "--pipe", "--", "sleep", "30"]
    torn = f"import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, {words!r})"
    front = subprocess.Popen(
        [sys.executable, "-S", "-c", torn],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    supervised.wait_for(lambda: supervised.record(tmp_path).get("pid"), "the program")
    time.sleep(0.1)
    os.close(ours)
    record = supervised.finished(tmp_path)
    front.wait(supervised.BOUND_S)
    assert (record["exit_code"], record["signal"]) == (129, 1)
    assert [s["signal"] for s in record["signals"]] == ["SIGHUP"]
