"""Shell scripts as a shell would read them, without running anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.shell import commands


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("python3 train.py --lr 1e-4", [("python3", "train.py", "--lr", "1e-4")]),
        ("cd /w && python3 a.py; echo done", [("cd", "/w"), ("python3", "a.py"), ("echo", "done")]),
        ("if [[ -f x ]]; then sbatch job.sh; fi", [("sbatch", "job.sh")]),
        ("for i in 1 2; do\n python a.py\ndone", [("python", "a.py")]),
        ("A=/x\npython $A/t.py ${A}.log", [("python", "/x/t.py", "/x.log")]),
        ("python $UNKNOWN/t.py", [("python", "$UNKNOWN/t.py")]),
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
