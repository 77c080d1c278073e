"""Programs that somebody started at a prompt, or a script that shows its commands."""

from __future__ import annotations

import pytest

from forensics.parsers.typed import PARSER, program_of
from tests.cutting import check_hostile_lines, check_laws, one, parse

STARTS = [
    ("$ python3 gait.py fit --config a.yaml", "gait.py"),
    ("+ python -m torch.distributed.launch --nproc_per_node=8 train.py --launcher pytorch", "train.py"),
    ("++ torchrun --nproc_per_node=8 /w/src/train.py", "train.py"),
    ("root@autodl:~/DDSP-SVC# python preprocess.py -c configs/reflow.yaml", "preprocess.py"),
    ("(base) ml@gpu3:/w$ CUDA_VISIBLE_DEVICES=0 nohup python -m axolotl.cli.train cfg.yml", "axolotl.cli.train"),
    ("[me@node dir]$ srun --gres=gpu:8 bash run.sh", "run.sh"),
    ("!python train.py --lr 1e-4", "train.py"),
    ("+ accelerate launch train.py", "train.py"),
]
WINDOWS = "(tf1.13) C:\\models\\research>python legacy/train.py --logtostderr"


@pytest.mark.parametrize(("line", "program"), STARTS)
def test_what_is_started_is_told_by_its_script_or_module(line: str, program: str) -> None:
    """Whatever launches it, and with which options."""
    assert program_of(line) == program
    event = one(PARSER, line)
    assert (event.speaker, event.kind) == ("host", "command")
    assert any(trigger in line for trigger in PARSER.triggers)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("$ rave train --config v2", "rave train"),
        ("$ tune run lora_finetune", "tune run"),
        ("user@h:~$ nnUNetv2_train 1 3d_fullres", "nnUNetv2_train 1"),
        ("$ ./run.sh", "run.sh"),
        ("$ mkdir -p vocab && eole build_vocab --config a.yaml", "eole build_vocab"),
        ("$ python train.py 2>&1 | tee train.log; echo done", "train.py"),
        ("$ nvidia-smi -L", "nvidia-smi -L"),
        ("$ docker compose up", "docker compose"),
        (WINDOWS, "train.py"),
        ("PS C:\\w> python train.py", "train.py"),
    ],
)
def test_a_session_may_start_what_no_list_names(line: str, program: str) -> None:
    """Any command: whether it failed is for what it says to tell."""
    assert program_of(line) == program


@pytest.mark.parametrize(
    "line",
    [
        "$ tail -f train.log",
        "$ docker compose logs trainer",
        "$ kubectl -n ml get pods",
        "(tf1.13) C:\\models>dir data",
        "$ grep train run.py",
        "$ cat train.sh",
        '$ python -c "import torch"',
        "$ bash",
        "$ pip install -e .",
        "# python train.py starts it",
        "step 3 + python 3.11",
        "usage: $ python train.py",
    ],
)
def test_what_only_looks_or_explains_starts_nothing(line: str) -> None:
    """A comment, a look at a log, an interactive shell."""
    assert program_of(line) == ""
    assert parse(PARSER, line) == []


def test_what_was_typed_in_a_session_is_told_elsewhere() -> None:
    """Its own parser tells all commands, once."""
    assert parse(PARSER, STARTS[0][0], "transcript") == []


def test_the_laws_hold() -> None:
    """Cutting shortens the last event and alters no other; no line costs more than its reading."""
    check_laws(PARSER, [line for line, _ in STARTS])
    check_hostile_lines(PARSER)
