"""What a launch script promises, also through the quotes of another shell."""

from __future__ import annotations

import pytest

from forensics.model import Context, Event, Source
from forensics.parsers.launch_script import PARSER

CONTEXT = Context(Source("launch.sh", "launch-script", 1))


def parse(script: str) -> list[Event]:
    return list(PARSER.parse(script.encode(), CONTEXT))


def promises(script: str) -> list[object]:
    return [e.fields["missing_path"] for e in parse(script) if e.kind == "promise"]


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        ('tmux new-session -d -s d "bash start.sh 2>&1 | tee /w/flex3.log"', ["/w/flex3.log"]),
        ("python3 train.py > out.log 2> err.log", ["out.log", "err.log"]),
        ("python3 train.py &> all.log &", ["all.log"]),
        ("python3 train.py 2>&1 | tee -a a.log b.log", ["a.log", "b.log"]),
        ("LOG=/w/x.log\npython3 train.py >> $LOG", ["/w/x.log"]),
        ("ssh host 'nohup python3 train.py > far.log 2>&1 &'", ["far.log"]),
        ("ssh h 'pct exec 200 -- bash -c \"python3 t.py > deep.log\"'", ["deep.log"]),
        ("#SBATCH --output=slurm-%j.out\n#SBATCH -e err-%j.txt\nsrun python t.py", ["slurm-%j.out", "err-%j.txt"]),
        ("python3 train.py > /dev/null 2>&1", []),
        ("# python3 train.py > no.log", []),
        ("echo 'python3 train.py > no.log'", []),
    ],
)
def test_every_file_that_the_output_goes_to_is_a_promise(script: str, paths: list[str]) -> None:
    """Redirections and tee, plain or quoted; comments and echoes promise nothing."""
    assert promises(script) == paths


def test_the_session_and_the_command_are_told() -> None:
    """The name of the session, and the arguments of the training command as typed values."""
    events = {e.kind: e for e in parse("tmux new -d -s dflash 'torchrun --nproc-per-node 8 t.py --lr=1e-4 --compile'")}
    assert events["session"].fields["session"] == "dflash"
    assert events["command"].fields == {"program": "t.py", "nproc_per_node": 8, "lr": "1e-4", "compile": True}


def test_a_window_and_a_masked_status_are_told() -> None:
    """`| tail -60` throws the beginning away, and its status hides the program's."""
    events = {e.kind: e for e in parse("ssh h 'python3 -u t.py 2>&1 | tail -60' > last.log")}
    assert events["tail-window"].fields["tail_lines"] == 60
    assert "masked-status" in events


def test_pipefail_unmasks_the_status() -> None:
    """With pipefail the pipeline fails when the program fails."""
    assert "masked-status" not in {e.kind for e in parse("set -o pipefail\npython3 t.py | tee t.log")}


@pytest.mark.parametrize("asked", ["exit ${PIPESTATUS[0]}", 'echo "${PIPESTATUS[0]}" > exit_code', "rc=$pipestatus[1]"])
def test_who_asks_for_all_statuses_gets_the_programs(asked: str) -> None:
    """In bash and zsh, right behind the pipeline."""
    for run in ("python3 t.py", "make train"):
        events = parse(f"{run} 2>&1 | tee t.log\n{asked}\n")
        assert "masked-status" not in {e.kind for e in events}
        assert not any(e.fields.get("masks") for e in events)


@pytest.mark.parametrize(
    ("script", "masks"),
    [
        ("make train 2>&1 | tee t.log", "yes"),
        ("./go | tee -a logs/t.log", "yes"),
        ("set -o pipefail\nmake train | tee t.log", ""),
        ("make train | tee t.log | tail -1", ""),
        ("docker logs -f trainer 2>&1 | tee t.log", ""),
        ("date | tee t.log", ""),
        ("make train > t.log", ""),
    ],
)
def test_what_writes_a_file_through_a_pipeline_loses_its_status(script: str, masks: str) -> None:
    """Whatever command it is; not what only copies a log, or prints a word."""
    promise = next(e for e in parse(script) if e.kind == "promise")
    assert promise.fields.get("masks", False) is bool(masks)


def test_lines_are_those_of_the_script() -> None:
    """A promise cites the line that makes it."""
    (event,) = [e for e in parse("#!/bin/bash\n\ncd /w\npython3 t.py > t.log\n") if e.kind == "promise"]
    assert (event.line, event.text) == (4, "python3 t.py > t.log")


@pytest.mark.parametrize(
    "script", ["", "((((", 'x="', "a" * 5000 + "|" * 50, "`" * 99, "\x00\xff" * 9, "if then fi" * 20]
)
def test_a_broken_script_is_read_as_far_as_it_goes(script: str) -> None:
    """No script makes the parser fail."""
    parse(script)


MAKEFILE = """SHELL := /bin/bash{options}
TRAIN_LOG ?= logs/train.log

train:
\t@python -u -m recipe.train --epochs 40 2>&1 | tee $(TRAIN_LOG)
\techo $$HOME
"""


@pytest.mark.parametrize(("options", "masked"), [("", True), (" -o pipefail", False)])
def test_the_recipes_of_a_makefile_are_read_as_a_shell_reads_them(options: str, masked: bool) -> None:  # noqa: FBT001
    """Line for line, with make's variables filled in."""
    context = Context(Source("Makefile", "launch-script", 1))
    found = list(PARSER.parse(MAKEFILE.format(options=options).encode(), context))
    assert [(e.line, e.fields["missing_path"]) for e in found if e.kind == "promise"] == [(5, "logs/train.log")]
    assert [e.fields.get("epochs") for e in found if e.kind == "command"] == [40]
    assert any(e.kind == "masked-status" for e in found) == masked


def test_what_a_script_prints_is_told_up_to_its_first_variable() -> None:
    """What is too short to be told from other words is left out."""
    script = 'echo "training finished: exit code $?"\nprintf "ok\\n"\necho -e "All stages are done"\n'
    assert [e.fields["text"] for e in parse(script) if e.kind == "says"] == [
        "training finished: exit code",
        "All stages are done",
    ]


def test_a_command_within_a_word_is_one_too() -> None:
    """DGL's launcher is handed the training as one word."""
    script = 'python3 launch.py --num_trainers 4 "python3 gsgnn_ec.py --cf ml.yaml --num-epochs 10"'
    assert [e.fields.get("num_epochs") for e in parse(script) if e.kind == "command"] == [None, 10]
