"""Shells and small programs: what could not start, open, or go on."""

from __future__ import annotations

import pytest

from forensics.parsers.shell import PARSER
from tests.cutting import check_laws, one, parse


@pytest.mark.parametrize(
    ("line", "signal", "facts"),
    [
        (
            "launch.sh: line 12: 4242 Killed                  python train.py",
            9,
            {"pid": 4242, "script": "launch.sh", "script_line": 12, "command": "python train.py"},
        ),
        (
            "/var/spool/slurmd/job77/slurm_script: line 9:  4242 Segmentation fault      (core dumped) python -u x.py",
            11,
            {"core_dumped": True, "command": "python -u x.py"},
        ),
        ("a.sh: line 3: 99 Aborted                 (core dumped) python x.py", 6, {"core_dumped": True}),
        ("a.sh: line 3: 99 Bus error               python x.py", 7, {}),
        ("a.sh: line 3: 99 Terminated              python x.py", 15, {}),
        ("a.sh: line 3: 99 Illegal instruction     python x.py", 4, {}),
        ("50%|##  | 5/10 [0:01<0:01]a.sh: line 3: 99 Killed                  python x.py", 9, {"pid": 99}),
        ("[1]+  Killed                  python train.py", 9, {"command": "python train.py"}),
        ("[1]   4242 Segmentation fault  (core dumped) python train.py", 11, {"pid": 4242}),
        ("zsh: killed     python train.py", 9, {"command": "python train.py"}),
        ("zsh: segmentation fault (core dumped)  python train.py", 11, {"core_dumped": True}),
        ("Killed", 9, {}),
        ("Terminated", 15, {}),
        ("Segmentation fault (core dumped)", 11, {"core_dumped": True}),
        ("Aborted (core dumped)", 6, {}),
        ("Bus error", 7, {}),
    ],
)
def test_a_job_that_a_signal_ended_is_told(line: str, signal: int, facts: dict[str, object]) -> None:
    """Of bash in scripts and at a prompt, of zsh, and the bare word."""
    event = one(PARSER, line)
    assert (event.kind, event.fields["signal"]) == ("signalled", signal)
    assert facts.items() <= event.fields.items()


def test_the_killed_member_of_a_pipeline_is_told() -> None:
    """With pipefail bash reports each member in a line of its own; the first had ended well."""
    event = one(
        PARSER,
        "a.sh: line 3:  1234 Done                    cat x\n      1235 Killed                  | python train.py",
    )
    assert (event.line, event.fields["pid"], event.fields["signal"]) == (2, 1235, 9)


def test_an_interrupt_and_an_exit_status_are_told() -> None:
    """The terminal's echo of Ctrl-C, and a background job that failed."""
    assert [
        (e.kind, e.fields.get("exit_code")) for e in parse(PARSER, "^C\n[1]+  Exit 3                  python x.py")
    ] == [
        ("interrupt", None),
        ("job-exit", 3),
    ]


@pytest.mark.parametrize(
    ("line", "kind", "facts"),
    [
        (
            "launch.sh: line 3: torchrun: command not found",
            "command-not-found",
            {"command": "torchrun", "script_line": 3},
        ),
        ("bash: line 1: nvidia-smi: command not found", "command-not-found", {"command": "nvidia-smi"}),
        ("-bash: tmux: command not found", "command-not-found", {"command": "tmux"}),
        ("sh: 1: torchrun: not found", "command-not-found", {"command": "torchrun"}),
        ("x.sh: 3: x.sh: torchrun: not found", "command-not-found", {"command": "torchrun"}),
        ("zsh: command not found: torchrun", "command-not-found", {"command": "torchrun"}),
        ("launch.sh: line 4: /logs/x.log: No such file or directory", "no-such-file", {"missing_path": "/logs/x.log"}),
        ("launch.sh: line 4: cd: /work: No such file or directory", "no-such-file", {"missing_path": "/work"}),
        ("x.sh: 5: cannot create /a/b: Directory nonexistent", "no-such-file", {"missing_path": "/a/b"}),
        ("bash: train.sh: No such file or directory", "no-such-file", {"missing_path": "train.sh"}),
        ("cat: /x/y: No such file or directory", "no-such-file", {"program": "cat", "missing_path": "/x/y"}),
        (
            "tail: cannot open 'flex3.log' for reading: No such file or directory",
            "no-such-file",
            {"program": "tail", "missing_path": "flex3.log"},
        ),
        ("ls: cannot access 'out': No such file or directory", "no-such-file", {"missing_path": "out"}),
        ("tail: train.log: file truncated", "tail-truncated", {"missing_path": "train.log"}),
        ("launch.sh: line 5: ./run.sh: Permission denied", "denied", {"path": "./run.sh"}),
        ("mkdir: cannot create directory ‘/data’: Permission denied", "denied", {"path": "/data"}),
        (
            "launch.sh: line 7: ./a.out: cannot execute binary file: Exec format error",
            "cannot-execute",
            {"path": "./a.out"},
        ),
        ("./x: cannot execute: required file not found", "cannot-execute", {"path": "./x"}),
        ("bash: ./x.sh: /bin/bash^M: bad interpreter: No such file or directory", "cannot-execute", {"crlf": True}),
        ("env: 'bash\\r': No such file or directory", "cannot-run", {"crlf": True}),
        ("/usr/bin/env: ‘python’: No such file or directory", "cannot-run", {"command": "python"}),
        ("nohup: failed to run command 'torchrunn': No such file or directory", "cannot-run", {"command": "torchrunn"}),
        ("timeout: failed to run command ‘x’: No such file or directory", "cannot-run", {"program": "timeout"}),
        ("nohup: ignoring input and appending output to 'nohup.out'", "nohup", {}),
        ("launch.sh: line 9: RANK: unbound variable", "script-error", {"command": "RANK"}),
        ("launch.sh: line 9: syntax error near unexpected token `fi'", "script-error", {"script_line": 9}),
        ('x.sh: 2: Syntax error: "(" unexpected', "script-error", {"script_line": 2}),
        ("launch.sh: fork: retry: Resource temporarily unavailable", "fork-failed", {}),
        ("-bash: fork: Cannot allocate memory", "fork-failed", {"reason": "Cannot allocate memory"}),
        (
            "tee: /logs/run7/train.log: No such file or directory",
            "tee-missing",
            {"missing_path": "/logs/run7/train.log"},
        ),
        ("tee: /mnt/s1/train.log: No space left on device", "tee-full", {"missing_path": "/mnt/s1/train.log"}),
        ("tee: 'a b.log': Permission denied", "tee-denied", {"missing_path": "a b.log"}),
        ("tee: 'standard output': Broken pipe", "tee-failed", {"reason": "Broken pipe"}),
        ("dd: error writing '/mnt/x': No space left on device", "disk-full", {"path": "/mnt/x"}),
        ("cp: error writing '/home/u/x.pt': Disk quota exceeded", "quota", {"path": "/home/u/x.pt"}),
        ("printf: write error: No space left on device", "disk-full", {"program": "printf"}),
        ("touch: cannot touch '/data/x': Read-only file system", "read-only", {"path": "/data/x"}),
        ("cat: /nfs/x: Stale file handle", "io-error", {"path": "/nfs/x"}),
        (
            "python3: can't open file '/w/train.py': [Errno 2] No such file or directory",
            "script-missing",
            {"missing_path": "/w/train.py", "errno": 2},
        ),
        ("/usr/bin/python3: No module named torch", "module-missing", {"module": "torch"}),
        (
            "/usr/bin/python: Error while finding module specification for 'train.main' (ModuleNotFoundError: No module "
            "named 'train')",
            "module-missing",
            {"module": "train.main"},
        ),
        (
            "python: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file: No such file",
            "library-missing",
            {"library": "libpython3.11.so.1.0"},
        ),
        (
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "docker",
            {"reason": 'could not select device driver "" with capabilities: [[gpu]]'},
        ),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?", "docker", {}),
        ('error: unable to upgrade connection: container not found ("c")', "kubectl", {}),
        ('Error from server (NotFound): pods "trainer-0" not found', "kubectl", {}),
        ("Error: container '101' not running!", "container", {"container": "101"}),
        ("Configuration file 'nodes/pve/lxc/101.conf' does not exist", "container", {}),
        ("lxc-attach: 101: attach.c: get_attach_context: 409 Connection refused", "container", {}),
    ],
)
def test_every_refusal_has_its_kind_and_names_its_thing(line: str, kind: str, facts: dict[str, object]) -> None:
    """bash, dash, zsh, coreutils, the loader, containers."""
    event = one(PARSER, line)
    assert event.kind == kind
    assert facts.items() <= event.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "2024-01-01 10:00:00,123 - INFO - watcher - launch.sh: line 12: 4242 Killed                  python",
        "worker 3 was Killed",
        "Killed by user request",
        "Terminated workers: 0",
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        "ERROR: /path: No such file or directory",
        "OSError: [Errno 28] No space left on device",
        "RuntimeError: unable to write to file </torch_1_2_3>: No space left on device (28)",
        "ModuleNotFoundError: No module named 'flash_attn'",
        '  File "/root/train.py", line 12, in step',
        "HTTP 404: not found",
        "Checkpoint: not found",
        "docker: pulling image",
        "learning rate schedule: line 3: constant",
        "^Cutoff reached",
    ],
)
def test_look_alikes_stay_silent(line: str) -> None:
    """Python's exceptions, a logger's line, prose."""
    assert parse(PARSER, line) == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other."""
    check_laws(
        PARSER,
        [
            "a.sh: line 3:  1234 Done                    cat x",
            "      1235 Killed                  | python train.py",
            "launch.sh: line 12: 4242 Killed                  python train.py",
            "tee: /logs/x: No such file or directory",
            "^C",
            "Killed",
        ],
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('rsync: [receiver] write failed on "/scratch/a.pt": No space left on device (28)', "disk-full"),
        ("error: unable to write file foo: No space left on device", "disk-full"),
        ("Cannot write to 'model.bin' (No space left on device).", "disk-full"),
        ("fatal: write error: Disk quota exceeded", "quota"),
        ("launch.sh: redirection error: cannot duplicate fd: Too many open files", "too-many-files"),
        ("bash: pipe error: Too many open files", "too-many-files"),
        ("Command 'torchrun' not found, did you mean:", "command-not-found"),
        ("sudo: torchrun: command not found", "command-not-found"),
        ("exec /usr/bin/python: exec format error", "cannot-execute"),
        ("bash: -c: line 1: syntax error near unexpected token `('", "script-error"),
        ("mpirun was unable to find the specified executable file, and therefore", "cannot-run"),
        ("Error: No such container: train", "docker"),
        ('FATAL:   "torchrun": executable file not found in $PATH', "container"),
        ("CT 200 not running", "container"),
    ],
)
def test_the_programs_around_a_run_are_told_apart(line: str, kind: str) -> None:
    """Copies, containers, launchers and shells that were handed a command."""
    assert one(PARSER, line).kind == kind


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("kubectl cp --retries=10 llm/trainer-0:logs/a.log ./a.log", 'Error from server (NotFound): pods "trainer-0" not found'),
        ("kubectl -n llm logs trainer-0 --tail=50", 'Error from server (NotFound): pods "trainer-0" not found'),
        ("oc describe pod trainer-0", 'Error from server (NotFound): pods "trainer-0" not found'),
        ("docker logs trainer", "Error response from daemon: No such container: trainer"),
        ("docker container inspect trainer", "Error: No such container: trainer"),
    ],
)  # fmt: skip
def test_who_looks_for_a_container_has_not_started_one(command: str, answer: str) -> None:
    """That it is gone says nothing of a launch; the same answer to a command that runs something does."""
    assert parse(PARSER, f"$ {command}\n{answer}") == []
    [event] = parse(PARSER, f"$ kubectl exec trainer-0 -- bash start.sh\n{answer}")
    assert event.kind in {"kubectl", "docker"}


def test_a_job_in_the_background_speaks_behind_the_prompt() -> None:
    """The shell had already printed its prompt when the script could not open its log."""
    [event] = parse(PARSER, "(env) me@gpu07:~/train$ run.sh: line 1: logs/out.txt: No such file or directory")
    assert (event.kind, event.fields["missing_path"]) == ("no-such-file", "logs/out.txt")
    assert parse(PARSER, "(env) me@gpu07:~/train$ grep 'line 1: a: No such file or directory' run.log") == []
