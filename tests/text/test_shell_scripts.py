"""Shell scripts as a shell would read them, without running anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.shell import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_REDIRECTS,
    MAX_SCRIPT,
    MAX_VALUE,
    MAX_WORDS,
    commands,
    statements,
)
from tests.effort import grows_evenly


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("python3 train.py --lr 1e-4", [("python3", "train.py", "--lr", "1e-4")]),
        ("cd /w && python3 a.py; echo done", [("cd", "/w"), ("python3", "a.py"), ("echo", "done")]),
        ("if [[ -f x ]]; then sbatch job.sh; fi", [("sbatch", "job.sh")]),
        ("for i in 1 2; do\n python a.py\ndone", [("python", "a.py")]),
        ("A=/x\npython $A/t.py ${A}.log", [("python", "/x/t.py", "/x.log")]),
        ("python $UNKNOWN/t.py", [("python", "$UNKNOWN/t.py")]),
        ("tee $A/b_$C.log $D", [("tee", "$A/b_$C.log", "$D")]),
        ("C=7\ntee $A/b_$C.log", [("tee", "$A/b_7.log")]),
        ("python a.py \\\n  --steps 5", [("python", "a.py", "--steps", "5")]),
        ("echo 'a b' \"c d\" e\\ f", [("echo", "a b", "c d", "e f")]),
        ("(cd x; make) | tee log", [("cd", "x"), ("make",), ("tee", "log")]),
        ("# python a.py", []),
    ],
)
def test_the_commands_of_a_script(script: str, words: list[tuple[str, ...]]) -> None:
    """Words come out as the program would get them."""
    assert [c.words for c in commands(script) if c.words] == words


def test_redirections_belong_to_their_command() -> None:
    """Which descriptor goes where, and whether it is appended."""
    (command,) = commands("python a.py > out.log 2>> err.log")
    assert [(r.descriptors, r.operator, r.target) for r in command.redirects] == [
        (("1",), ">", "out.log"),
        (("2",), ">>", "err.log"),
    ]
    (part,) = commands("python a.py > $SLURM_TMPDIR/train_$SLURM_JOB_ID.log 2>&1")
    assert part.redirects[0].target == "$SLURM_TMPDIR/train_$SLURM_JOB_ID.log"
    (both,) = commands("python a.py &> all.log")
    assert both.redirects[0].descriptors == ("1", "2")


def test_a_pipeline_tells_the_place_of_its_members() -> None:
    """The status of a pipeline is that of the last place."""
    first, last = commands("python a.py 2>&1 | tee log")
    assert (first.place, last.place, last.length) == (0, 1, 2)
    assert first.pipeline == last.pipeline > 0


def test_a_here_document_is_handed_to_its_command_with_its_line() -> None:
    """What is fed to ssh or bash is a script too."""
    command, after = commands("ssh host <<'EOF' > far.log\npython a.py\nEOF\nsbatch job.sh")
    assert (command.heredoc, command.heredoc_line) == ("python a.py\n", 2)
    assert command.redirects[0].target == "far.log"
    assert (after.words, after.heredoc) == (("sbatch", "job.sh"), "")


def test_background_and_environment_are_told() -> None:
    """`A=1 cmd &`."""
    (command,) = commands("NCCL_DEBUG=INFO python a.py &")
    assert (command.environment, command.background) == ((("NCCL_DEBUG", "INFO"),), True)


def test_values_known_from_elsewhere_fill_in_but_the_scripts_own_win() -> None:
    """A sourced file sets what the script does not."""
    known = {"OUT": "/far", "LOG": "/far.log"}
    assert [c.words for c in commands("LOG=/near.log\ncp $OUT $LOG", 1, known) if c.words] == [
        ("cp", "/far", "/near.log")
    ]


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["$(", "`", "'", '"', "<<EOF\n", "|", "&&", "{", "}", "\\", "\n", "x "])).map("".join)
)
def test_no_script_is_too_broken_to_be_read(script: str) -> None:
    """Whatever is in it, reading ends with commands or none."""
    for command in commands(script):
        assert command.line >= 1


def test_deep_nesting_does_not_overflow() -> None:
    """A hostile script may nest as deep as it likes."""
    commands("(" * 3000 + "x" + ")" * 3000)
    commands('"' + "$(" * 500 + "x")


@pytest.mark.parametrize(
    "part",
    [
        "for i in 1; do ",
        "x=${x:-",
        '"$(echo \\\n',
        "f() {\n",
        "''",
        "if true; then\n",
        '"$A"',
        "a | ",
        "{ a; ",
        "> b ",
        "<<E\n",
    ],
)
def test_twice_a_hostile_script_is_twice_the_work(part: str) -> None:
    """Whether it nests, repeats or breaks: no part of it is looked at again for each other part."""
    assert grows_evenly(lambda times: lambda: commands(part * times), 100)


def test_nesting_without_end_is_entered_so_deep_and_the_rest_is_told() -> None:
    """Commands above the bound are read; a line says where it was met."""
    read = statements("{ a; " * (2 * MAX_DEPTH) + "}; " * (2 * MAX_DEPTH))
    assert 10 < len(read.commands) <= MAX_DEPTH
    assert [w.partition(":")[0] for w in read.unread] == ["line 1"]
    assert str(MAX_DEPTH) in read.unread[0]


@pytest.mark.parametrize(
    ("script", "bound"),
    [
        ("a\n" * (MAX_NODES + 1), "goes on too long"),
        ("a b\n" + "#" * MAX_SCRIPT, "of the script were read"),
        ("a" + " b" * MAX_WORDS, f"first {MAX_WORDS} words"),
        ("export" + " b" * MAX_WORDS, f"first {MAX_WORDS} words"),
        ("a" + " > b" * (MAX_REDIRECTS + 1), f"only {MAX_REDIRECTS} of the redirections"),
        ("A=" + "b" * (MAX_VALUE + 1) + "\nc $A", "$A is too long"),
    ],
    ids=["statements", "bytes", "words", "declared", "redirections", "value"],
)
def test_what_is_beyond_a_bound_is_told(script: str, bound: str) -> None:
    """Each bound that bites is named once, and what stands before it is read."""
    read = statements(script)
    assert read.commands
    assert len(read.unread) == 1
    assert bound in read.unread[0]


def test_a_variable_that_doubles_itself_fills_no_memory() -> None:
    """Values are filled in only as far as a script's own size warrants."""
    script = "A=12345678\n" + "A=$A$A\n" * 60 + "echo $A\n"
    read = statements(script)
    assert sum(len(w) for c in read.commands for w in c.words) < MAX_VALUE + 100
    assert read.unread


def test_a_redirection_keeps_the_nearest() -> None:
    """Of very many around a command its own stay."""
    script = "{ " * 20 + "a > own; " + "} > out; " * 20
    (command,) = commands(script)
    assert "own" in {r.target for r in command.redirects}
    assert len(command.redirects) == MAX_REDIRECTS
