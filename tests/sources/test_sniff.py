"""Kinds are told by content; names decide only what content leaves open."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources.sniff import KINDS, sniff

SAMPLES = Path(__file__).parents[2] / "samples"
TABLE = (SAMPLES / "001-story" / "run" / "nvidia-smi.txt").read_text(encoding="utf-8")
STEPS = "".join(f"step {i} | loss {9 - i / 100:.3f} | lr 1e-4\n" for i in range(30))
FAILURE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nRuntimeError: x\n'
KERNEL = "[12345.678901] NVRM: Xid (PCI:0000:3d:00): 79, pid=3, GPU has fallen off the bus.\n"

TEXTS = {
    "nvidia-smi-table": TABLE,
    "nvidia-smi-query": "\n==============NVSMI LOG==============\n\nTimestamp      : Sun Nov 29 12:43:15 2026\nAttached GPUs  : 1\n",
    "nvidia-smi-xml": '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n',
    "nvidia-smi-csv": "timestamp, index, memory.used [MiB]\n2026/11/29 12:52:12.712, 0, 0 MiB\n2026/11/29 12:52:13.014, 0, 4 MiB\n",
    "nvidia-smi-dmon": "# gpu    pwr  gtemp\n# Idx      W      C\n    0     80     32\n",
    "nvidia-smi-pmon": "# gpu         pid   type     sm    command\n# Idx           #    C/G      %    name\n    0          -     -      -    -\n",
    "nvidia-smi-topo": "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\x1b[0m\nGPU0\t X \tNV18\t0-31\t0\nGPU1\tNV18\t X \t0-31\t0\n",
    "nvidia-smi-nvlink": "GPU 0: NVIDIA H200 (UUID: GPU-5f1c0de0-1111-4222-8333-0123456789ab)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
    "nvidia-smi-list": "GPU 0: NVIDIA H200 (UUID: GPU-5f1c0de0-1111-4222-8333-0123456789ab)\n  MIG 1g.18gb Device 0: (UUID: MIG-5f1c)\n",
    "kernel-log": KERNEL * 3,
    "torch-trace": 'V1129 12:43:15.000001 12 torch/_dynamo/x.py:1] {"str": ["a", 0]}\n\tpayload\n',
    "stack-dump": 'Process 12: python train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\nThread 12 (active): "MainThread"\n    f (x.py:3)\n',
    "torchelastic-error": '{"message": {"message": "RuntimeError: x", "extraInfo": {"py_callstack": "Traceback", "timestamp": "1"}}}',
    "flight-recorder": '{"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": []}',
    "metrics-json": '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": NaN}\n',
    "scheduler-record": "JobID           JobName      State ExitCode\n------- -------- ---------- --------\n551200 vit COMPLETED 0:0\n",
    "host-record": "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs            24K   24K     0 100% /mnt/s1\n",
    "launch-script": "#!/usr/bin/env bash\nset -e\ntorchrun train.py 2>&1 | tee train.log\n",
    "transcript": "$ tmux ls\nno server running on /tmp/tmux-1000/default\n$ date\nSun Nov 29 12:43:15 UTC 2026\n",
    "training-log": STEPS,
    "tmux-capture": STEPS + "\nPane is dead (signal 9, Sun Nov 29 13:00:38 2026)\n",
    "slurm-log": STEPS + "slurmstepd: error: *** JOB 1 ON gn07 CANCELLED AT 2026-11-29T12:00:00 ***\n",
    "text": "bought a new fan for the box\nask Jo about the other one\n",
}  # fmt: skip


def test_a_look_full_of_times_is_no_log() -> None:
    """What a prompt and `stat` or `sacct` begin is a session, however many of its lines begin with a time."""
    times = "".join(f"2026-11-29 12:0{n}:12.883051204 +0000 3628{n} out/{n}.log\n" for n in range(5))
    assert sniff("ls.txt", f"$ date; stat -c '%y %s %n' out/*.log\n{times}".encode()) == "transcript"
    assert sniff("ls.txt", f"$ python train.py\n{times}".encode()) == "training-log"


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", ["a", "odd.txt"])
def test_content_alone_tells_the_kind(kind: str, name: str) -> None:
    """A file whose name says nothing is what it holds."""
    assert sniff(name, TEXTS[kind].encode()) == kind


@pytest.mark.parametrize(
    "name", ["job.err", "3.out", "output.log", "nvidia-smi.txt", "dmesg.txt", "exit_code", "tee.txt"]
)
def test_a_misleading_name_does_not_turn_a_log_into_something_else(name: str) -> None:
    """Progress lines are a log, whatever the file is called."""
    assert sniff(name, STEPS.encode()) == "training-log"


@pytest.mark.parametrize("name", ["nvidia-smi.txt", "gpu.csv", "dmesg.txt", "topo.txt"])
def test_a_promising_name_without_the_content_is_not_believed(name: str) -> None:
    """An error message in a file named for a table is no table."""
    assert sniff(name, b"Failed to initialize NVML: Driver/library version mismatch\n") == "text"


@pytest.mark.parametrize("opening", [TABLE, TEXTS["host-record"], TEXTS["scheduler-record"], TEXTS["nvidia-smi-csv"]])
def test_a_log_that_begins_with_a_record_is_still_a_log(opening: str) -> None:
    """Job scripts print the GPUs, the disks or the job first; the failure comes after."""
    log = (opening + STEPS + FAILURE).encode()
    assert sniff("slurm-12.out", log) == "slurm-log"
    assert sniff("train.log", log) == "training-log"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("slurm-12.out", STEPS, "slurm-log"),
        ("exit_code", "137\n", "exit-code"),
        ("train.rc", "0", "exit-code"),
        ("exit_code", "two words\n", "text"),
        ("exit.txt", "ml@gpu3:~/runs$ echo $?\n0\n", "exit-code"),
        ("exit.txt", "ml@gpu3:~/runs$ ls\n0\n", "transcript"),
        ("steps.txt", "137\n", "text"),
        ("pane.txt", "some words\nand more\n", "tmux-capture"),
        ("launch.sh", "cd /root && python3 train.py", "launch-script"),
        ("run.sbatch", "#SBATCH --nodes 2\nsrun python x.py\n", "launch-script"),
        ("session.txt", "PS D:\\AI> pip list\ntorch 2.1\nPS D:\\AI> exit\n", "transcript"),
        ("env.txt", "HOME=/root\nlang=C\n", "host-record"),
        ("freeze.txt", "torch==2.4.0\nnumpy==2.0.1\n", "host-record"),
        ("config.yaml", "model:\n  layers: 2\nlr: 0.1\n", "config"),
        ("pyproject.toml", '[project]\nname = "x"\n', "config"),
        ("config.json", '{\n "a": 1\n}\n', "config"),
        ("debug.log", '{"level": "INFO", "msg": "x"}\n{"level": "INFO", "msg": "y"}\n', "training-log"),
        ("bare.csv", "2026/11/29 12:43:15.686, 0, 0, 0\n", "nvidia-smi-csv"),
        ("gpu.csv", "0, 35, 120.5\n1, 36, 121.0\n", "nvidia-smi-csv"),
        ("rows.csv", "0, 35, 120.5\n1, 36, 121.0\n", "text"),
        ("metrics.csv", "epoch,step,train_loss\n0,49,2.3\n", "text"),
        ("dump.log", "10.0.0.7: kern: warning: [2026-04-22T21:26:20.5Z]: NVRM: Xid (PCI:0000:48:00): 74\n" * 3, "kernel-log"),
        ("journal.txt", "Nov 29 12:50:41 gn07 kernel: NVRM: Xid\nNov 29 12:50:42 gn07 sshd[1]: x\n", "kernel-log"),
        ("crash.txt", "Fatal Python error: Aborted\n\nCurrent thread 0x00007f11907c9b80 (most recent call first):\n"
                      '  File "x.py", line 3 in f\n', "stack-dump"),
        ("train.log", "$ tune run --nproc 4 x\n" + STEPS, "training-log"),
    ],
)  # fmt: skip
def test_name_and_content_together(name: str, content: str, kind: str) -> None:
    """Names settle what short or plain content leaves open."""
    assert sniff(name, content.encode()) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("train.log", "training-log"), ("slurm-9.out", "slurm-log"), ("x.sh", "launch-script"), ("nvlink.txt", "text")],
)
def test_an_empty_file_is_what_its_name_promises(name: str, kind: str) -> None:
    """Nothing was written, or only NUL bytes: the name is all there is."""
    assert sniff(name, b"") == kind
    assert sniff(name, bytes(4096), bytes(4096), 8192) == kind


def test_a_log_behind_a_hole_is_found_by_its_tail() -> None:
    """A file that was truncated while its writer went on begins with NUL bytes."""
    assert sniff("weird", bytes(1 << 16), STEPS.encode(), 1 << 20) == "training-log"


BINARIES = {
    "checkpoint": [
        ("x", (2**33).to_bytes(8, "little")[:0] + (1200).to_bytes(8, "little") + b'{"__metadata__":{}'),
        ("model.pt", b"PK\x03\x04" + bytes(22) + (16).to_bytes(2, "little") + bytes(2) + b"archive/data.pkl"),
        ("model.bin", pickle.dumps({"a": 1})),
        ("old.tar", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."),
        ("w.h5", b"\x89HDF\r\n\x1a\n" + bytes(100)),
    ],
    "memory-snapshot": [("snap.pickle", pickle.dumps({"segments": [{"total_size": 1}], "device_traces": []}))],
    "flight-recorder": [("nccl_trace_rank_0", pickle.dumps({"version": "2.10", "pg_config": {}, "entries": []}))],
    "binary": [
        ("core.12", b"\x7fELF\x02\x01\x01" + bytes(200)),
        ("plot.png", b"\x89PNG\r\n\x1a\n" + bytes(200)),
        ("x.pickle", pickle.dumps([1, 2, 3])),
        ("noise", bytes(range(256)) * 40),
        ("events.out.tfevents.1.host.2.0", b"\x18\x00\x00\x00\x00\x00\x00\x00abc"),
    ],
}


@pytest.mark.parametrize(("kind", "name", "data"), [(k, n, d) for k, rows in BINARIES.items() for n, d in rows])
def test_files_that_are_no_text_are_told_apart(kind: str, name: str, data: bytes) -> None:
    """Dumps that a parser reads are recognised without loading them; weights and the rest are left alone."""
    assert sniff(name, data) == kind


def test_text_in_other_encodings_is_text() -> None:
    """Latin-1 letters and colours do not make a log binary."""
    assert sniff("a", ("\x1b[32mépoque\x1b[0m " + STEPS).encode("latin-1")) == "training-log"


@given(
    st.binary(max_size=400), st.sampled_from(["a", "train.log", "gpu.csv", "x.json", "pane.txt", "x.sh", "exit_code"])
)
def test_any_bytes_have_a_kind(data: bytes, name: str) -> None:
    """Sniffing never raises and knows only the kinds it lists."""
    assert sniff(name, data, data) in KINDS


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=8
    )
)
def test_any_json_document_is_data(value: object) -> None:
    """A file that is one JSON value is a configuration, unless a parser claims it."""
    assert sniff("x.json", json.dumps([value]).encode()) in {"config", "text"}


@pytest.mark.parametrize("program", ["ssh", "docker", "srun", "sbatch", "tmux", "bash"])
def test_what_a_program_complains_is_not_a_script(program: str) -> None:
    """`ssh: connect to host ...` is said by ssh, not to it."""
    data = f"{program}: something could not be done\n".encode()
    assert sniff("terminal.txt", data, data, len(data)) != "launch-script"


@pytest.mark.parametrize(
    "name", ["README.md", "readme", "README_zh.md", "CHANGELOG.rst", "contributing.md", "MODEL_CARD.md"]
)
def test_a_document_is_no_voice_of_the_run(name: str) -> None:
    """What a page about the program quotes, a traceback among it, no run printed."""
    quoted = b'# Trainer\n\n```\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n```\n'
    assert sniff(name, quoted) == "document"
    assert sniff("notes.md", quoted) != "document"
    assert sniff("readme.log", quoted) == "training-log"


def test_a_trace_whose_beginning_was_lost_is_no_log() -> None:
    """What torch.compile traced quotes whole programs and tracebacks: none of it was said by this run."""
    tail = b'\tTraceback (most recent call last):\n\tValueError: x\nV1129 12:43:15.000001 12 torch/_dynamo/x.py:1] {"str": ["a", 0]}\n'
    assert sniff("dedicated_log_torch_trace_rank_0_a1.log", tail) == "torch-trace"
    assert sniff("trace.log", b"\tValueError: x\n") != "torch-trace"


@pytest.mark.parametrize(
    "date",
    [
        "Fri May 29 03:42:11 2026",
        "Sun Sep 12 13:01:40 EDT 2021",
        "Fri May 29 03:42:11 AM UTC 2026",
        "Fri 29 May 2026 03:42:11 PM CEST",
    ],
)
def test_a_table_below_a_date_is_still_a_table(date: str) -> None:
    """`squeue -l` prints one above its own, and `date; squeue > file` does."""
    table = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
    row = "             90412     batch  gpt3-2b      ana  R    1:02:10      1 hgx-114\n"
    assert sniff("squeue.txt", f"{date}\n{table}{row}".encode()) == "scheduler-record"
    assert sniff("train.log", f"{date}\nstep 1 | loss 2.5\nstep 2 | loss 2.4\n".encode()) == "training-log"


@pytest.mark.parametrize(
    "head",
    [
        "CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES",
        "NAME      IMAGE     COMMAND   SERVICE   CREATED   STATUS    PORTS",
        "NAME     IMAGE                       STATUS                    PORTS",
        "    Name                   Command               State           Ports",
    ],
)
def test_a_list_of_containers_is_a_record(head: str) -> None:
    """As docker, podman and both generations of compose begin it."""
    assert sniff("ps.txt", f"{head}\nvllm-1   vllm/vllm-openai   Up 2 hours\n".encode()) == "scheduler-record"
