"""`analyze` from end to end."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import jsonschema
import pytest

from forensics.render import json_v1
from tests.cli.program import COMMAND, OOM, ROOT, environment, interrupted, run, run_on_terminal
from tests.render.reports import ATTACK, inert

EMPTY = str(ROOT / "tests" / "render")
"""A folder that is there, and has no rule."""
SCHEMA = json.loads(Path(json_v1.__file__).with_name("report-1.schema.json").read_bytes())


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    """A run that ran out of GPU memory."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train.log").write_text(OOM)
    return folder


def test_a_dead_run_is_an_analysis_made(dead: Path) -> None:
    """A failed run is no failure of the program: status 0, the verdict first, nothing on stderr."""
    done = run("analyze", str(dead))
    assert done.returncode == 0
    assert done.stdout.startswith(b"FAILED  ")
    assert b"train.log:5" in done.stdout
    assert done.stderr == b""


def test_json_validates_against_the_shipped_schema(dead: Path) -> None:
    """The JSON of a real analysis is what the shipped schema promises."""
    done = run("analyze", str(dead), "--format", "json")
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert report["verdict"] == "failed"
    assert [f["role"] for f in report["findings"]].count("root") == 1


def test_an_empty_folder_is_unknown(tmp_path: Path) -> None:
    """A folder without evidence is analysed: unknown, with a reason."""
    done = run("analyze", str(tmp_path), "--format", "json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert report["verdict"] == "unknown"
    assert report["findings"] == []
    assert report["notes"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    """A wrong path is one clear line and a hint on stderr, status 2, and no output."""
    path = str(tmp_path / "nothing")
    done = run("analyze", path)
    assert done.returncode == 2
    assert done.stdout == b""
    first, hint = done.stderr.decode().splitlines()
    assert first == f"dflash-forensics: no such file or folder: {path}"
    assert "standard input" in hint


def test_a_path_that_is_nearly_there(dead: Path) -> None:
    """A slip anywhere in a path is met with the path that may be meant."""
    (dead / "rank0").mkdir()
    for wrong, meant in ((dead.parent / "rum", dead), (dead.parent / "runn" / "rank0", dead / "rank0")):
        done = run("analyze", str(wrong))
        assert f"{wrong}; did you mean {meant}?" in done.stderr.decode()


def test_a_terminal_shows_the_answer_last(dead: Path) -> None:
    """On a terminal lower than the report the answer stands at its end too; a pipe gets it once."""
    shown = run_on_terminal("analyze", str(dead), "--no-color", LINES="10", COLUMNS="80").splitlines()
    assert shown[-3] == shown[0]
    assert shown[-2].startswith("memory.gpu-oom · ")
    assert shown[-2].endswith("train.log:5")
    assert shown[-1].startswith("Fix: ")
    tall = run_on_terminal("analyze", str(dead), "--no-color", LINES="100", COLUMNS="80")
    assert tall.count("FAILED") == run("analyze", str(dead)).stdout.count(b"FAILED") == 1


def test_standard_input_is_named_in_text() -> None:
    """Evidence of standard input stands at `<stdin>`, while JSON keeps the dash that was given."""
    shown = run("analyze", "-", given=OOM.encode()).stdout.decode()
    assert "\n  <stdin>:5\n" in shown
    assert "Read in <stdin>: 1 file, read whole\n" in shown
    made = json.loads(run("analyze", "-", "--format", "json", given=OOM.encode()).stdout)
    assert made["findings"][0]["evidence"][0]["path"] == "-"


@pytest.mark.parametrize(
    ("sample", "label"), [("001-story", "(earlier attempt)"), ("002-dense-276", "= 276.00 GiB = attention scores")]
)
def test_samples_show_what_convinces(sample: str, label: str) -> None:
    """What the engine says of attempts and of arithmetic reaches the text and the Markdown."""
    for form in ("text", "markdown"):
        shown = run("analyze", str(ROOT / "samples" / sample / "run"), "--format", form).stdout.decode()
        assert label in " ".join(shown.split())


def test_standard_input_is_a_path() -> None:
    """A dash reads standard input."""
    done = run("analyze", "-", "--format", "json", given=OOM.encode())
    roots = [found for found in json.loads(done.stdout)["findings"] if found["role"] == "root"]
    assert [root["id"] for root in roots] == ["memory.gpu-oom"]


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_nothing_a_log_says_is_obeyed(tmp_path: Path, form: str) -> None:
    """Escape sequences, control characters and markup of a log, and of its name, reach no output alive."""
    attack = ATTACK.encode("utf-8", "surrogateescape")
    name = b"\x1b[31m[red]x`|\xff.log"
    (Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))).write_bytes(  # noqa: PTH118 - a name that is no text
        attack + b'\nTraceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: ' + attack
    )
    done = run("analyze", str(tmp_path), "--format", form)
    assert done.returncode == 0, done.stderr
    assert inert(done.stdout.decode().replace("\t", ""))


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_file_holds_what_the_screen_would(dead: Path, tmp_path: Path, form: str) -> None:
    """`-o` writes the very bytes that standard output gets, and leaves nothing else behind."""
    target = tmp_path / "out" / "report"
    target.parent.mkdir()
    done = run("analyze", str(dead), "--format", form, "-o", str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert target.read_bytes() == run("analyze", str(dead), "--format", form).stdout
    assert list(target.parent.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~_mask()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_and_permissions_survive(dead: Path, tmp_path: Path) -> None:
    """Writing through a link leaves the link, and the file keeps its permissions."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    assert run("analyze", str(dead), "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert real.read_bytes().startswith(b"FAILED")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("target", "said"),
    [("no/such/folder/out", "there is no folder"), (".", "it is a folder"), ("/dev/full", "No space left on device")],
)
def test_a_place_that_cannot_be_written(dead: Path, target: str, said: str) -> None:
    """A full disk or a missing folder is one line that names the file, and status 2."""
    done = run("analyze", str(dead), "-o", target)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"dflash-forensics: cannot write {target}: ")
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_full_disk_behind_standard_output(dead: Path) -> None:
    """Output that cannot be written is not taken for written."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "analyze", str(dead)], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"dflash-forensics: cannot write to standard output: No space left on device\n"


def test_a_closed_pipe_is_silent(dead: Path) -> None:
    """When the reader has gone, as `head` does, the program ends without a word and with status 0."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*COMMAND, "analyze", str(dead)], stdout=theirs, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def test_interrupted() -> None:
    """Ctrl-C ends the reading: a report that says so, status 130, no traceback."""
    status, out, err = interrupted("analyze")
    assert status == 130
    assert out.startswith(b"UNKNOWN  <stdin>\n")
    assert b"\nWhy: partial: reading was stopped after " in out
    assert err == b"dflash-forensics: interrupted: this is on what was read so far\n"


def test_colours_are_for_a_terminal(dead: Path) -> None:
    """A terminal gets colours; a pipe, NO_COLOR, CI and --no-color get none; a clear wish decides."""
    assert "\x1b[" in run_on_terminal("analyze", str(dead))
    assert "\x1b[" not in run_on_terminal("analyze", str(dead), NO_COLOR="1")
    assert "\x1b[" not in run_on_terminal("analyze", str(dead), CI="true")
    assert "\x1b[" not in run_on_terminal("analyze", str(dead), "--no-color")
    assert "\x1b[" in run_on_terminal("analyze", str(dead), "--color", "always", NO_COLOR="1")
    assert b"\x1b[" not in run("analyze", str(dead)).stdout
    assert b"\x1b[" in run("analyze", str(dead), "--color", "always").stdout


def test_a_terminal_that_knows_ascii_only(dead: Path) -> None:
    """Where the encoding has no bars and arrows, plain characters stand for them."""
    done = run("analyze", str(dead), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert b"| torch.OutOfMemoryError" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["analyze"], "Missing argument 'PATH...'."),
        (["analyze", ".", "--tz", "Mars/Olympus"], "there is no zone 'Mars/Olympus'"),
        (["analyze", ".", "--rules", "no-such-folder"], "Directory 'no-such-folder' does not exist."),
        (["analyze", ".", "--format", "xml"], "'xml' is not one of"),
        (["analyze", ".", "--rules", EMPTY], f"there is no rule in {EMPTY}"),
        (["analyse", "."], "No such command 'analyse'; did you mean 'analyze'?"),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["rules", "lst"], "No such command 'lst'; did you mean 'list'?"),
        ([EMPTY], f"to read that path: dflash-forensics analyze {EMPTY}"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(args: list[str], said: str) -> None:
    """Wrong usage is said in one line, with the help to look at, and status 2."""
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    first, hint = done.stderr.decode().splitlines()
    assert first.startswith("dflash-forensics: ")
    assert said in first
    assert hint.endswith("--help'.")
