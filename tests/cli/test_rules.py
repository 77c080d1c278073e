"""`rules` and `explain` from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import ROOT, run, run_on_terminal


def test_a_new_rule_proves_itself(tmp_path: Path) -> None:
    """The skeleton of a rule loads, its cases hold, and it is explained, before a word of it is changed."""
    done = run("rules", "new", "host.lost-mount", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "host" / "lost-mount.toml").is_file()
    tested = run("rules", "test", "host.lost-mount", "--rules", str(tmp_path))
    assert (tested.returncode, tested.stderr) == (0, b""), tested.stdout
    assert tested.stdout.decode().splitlines() == [
        "fires   host.lost-mount  the plain message",
        "silent  host.lost-mount  a look-alike",
    ]
    told = run("explain", "host.lost-mount", "--rules", str(tmp_path)).stdout.decode()
    assert told.startswith("host.lost-mount: One line for the head of a report")
    assert "lost mount" in told


def test_a_rule_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """`rules new` overwrites nothing."""
    path = tmp_path / "host" / "lost-mount.toml"
    path.parent.mkdir()
    path.write_text("mine")
    done = run("rules", "new", "host.lost-mount", "--dir", str(tmp_path))
    assert done.returncode == 2
    assert b"is there already" in done.stderr
    assert path.read_text() == "mine"


@pytest.mark.parametrize("identity", ["lost-mount", "host.Lost", "weather.rain", "host.../../x", "host."])
def test_an_id_has_a_family_and_a_cause(tmp_path: Path, identity: str) -> None:
    """A name that is no id is refused, with the families there are, and nothing is written."""
    done = run("rules", "new", identity, "--dir", str(tmp_path))
    assert done.returncode == 2
    assert b"families are memory, compile" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_broken_rules_are_listed_with_their_lines(tmp_path: Path) -> None:
    """`rules check` lists every problem as file:line: text, with status 1."""
    run("rules", "new", "host.lost-mount", "--dir", str(tmp_path))
    path = tmp_path / "host" / "lost-mount.toml"
    text = path.read_text().replace("severity = 'error'", "severity = 'grave'")
    path.write_text(text)
    line = text.split("\n").index(next(row for row in text.split("\n") if row.startswith("severity"))) + 1
    for words in (["rules", "check"], ["rules", "test"]):
        done = run(*words, "--rules", str(tmp_path))
        assert done.returncode == 1
        assert done.stdout.decode().startswith(f"{path}:{line}: ")
    done = run("analyze", str(tmp_path), "--rules", str(tmp_path))
    assert done.returncode == 2
    assert f"{path}:{line}: ".encode() in done.stderr


def test_a_case_that_does_not_hold_is_a_problem(tmp_path: Path) -> None:
    """A look-alike on which the rule fires after all is reported, with status 1."""
    run("rules", "new", "host.lost-mount", "--dir", str(tmp_path))
    path = tmp_path / "host" / "lost-mount.toml"
    path.write_text(
        path.read_text().replace("fires = true", "fires = false", 1).replace("fires = false\nlog", "fires = true\nlog")
    )
    done = run("rules", "test", "host.lost-mount", "--rules", str(tmp_path))
    assert done.returncode == 1
    assert str(path).encode() in done.stdout


def test_shipped_rules_are_listed_and_explained() -> None:
    """Each shipped cause is listed with its severity and title, and can be explained."""
    listed = run("rules", "list").stdout.decode().splitlines()
    row = next(row for row in listed if row.startswith("memory.gpu-oom "))
    assert row.split()[1] == "error"
    told = run("explain", "memory.gpu-oom").stdout.decode()
    for part in ("memory.gpu-oom: ", "Recognised by", "Fix", "a plain restart"):
        assert part in told


@pytest.mark.parametrize(
    ("identity", "meant"), [("memory.gpu-omm", "memory.gpu-oom"), ("import-error", "setup.import-error")]
)
def test_an_unknown_cause_suggests_near_ones(identity: str, meant: str) -> None:
    """A misspelt id, or one without its family, is met with the ids that may be meant."""
    done = run("explain", identity)
    assert done.returncode == 2
    assert f"there is no cause {identity}; did you mean" in done.stderr.decode()
    assert meant in done.stderr.decode()


def test_a_rule_that_replaces_a_shipped_one_says_so(tmp_path: Path) -> None:
    """Starting a rule under a shipped id warns that it takes the other's place."""
    assert b"It replaces the shipped rule" in run("rules", "new", "memory.gpu-oom", "--dir", str(tmp_path)).stdout
    assert b"It replaces" not in run("rules", "new", "host.lost-mount", "--dir", str(tmp_path)).stdout


@pytest.mark.parametrize("family", ["memory", "memory.", "memory.*"])
def test_a_family_is_listed(family: str) -> None:
    """`explain` of a family lists its causes."""
    told = run("explain", family).stdout.decode().splitlines()
    assert len(told) > 3
    assert all(row.startswith("memory.") for row in told)


def test_what_to_do_comes_before_how_it_is_recognised() -> None:
    """An explanation says what it is, then how to fix it; the patterns stand last."""
    told = run("explain", "memory.gpu-oom").stdout.decode()
    assert told.index("\nFix\n") < told.index("\nFacts\n") < told.index("\nRecognised by\n")
    assert "{" not in told.partition("Recognised by")[0]


def test_the_list_fits_a_terminal() -> None:
    """On a terminal a row of the list is a line, cut where it must be; titles show no names of facts."""
    shown = run_on_terminal("rules", "list", COLUMNS="60").splitlines()
    assert max(map(len, shown)) <= 60
    assert any(row.endswith("…") for row in shown)
    piped = run("rules", "list").stdout.decode()
    assert len(piped.splitlines()) == len(shown)
    assert "{" not in piped


def test_the_example_of_the_documentation_holds(tmp_path: Path) -> None:
    """The rule that docs/rules.md shows as an example loads, and its cases hold."""
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    path = tmp_path / "host" / "lost-mount.toml"
    path.parent.mkdir()
    path.write_text(text.rpartition("```toml\n")[2].partition("```")[0])
    done = run("rules", "test", "host.lost-mount", "--rules", str(tmp_path))
    assert done.returncode == 0, done.stdout


def test_literals_are_exported_for_ripgrep(tmp_path: Path) -> None:
    """One pattern a line, special characters escaped, on the screen or in a file."""
    shown = run("rules", "export").stdout
    assert "Traceback \\(most recent call last\\)" in shown.decode().splitlines()
    done = run("rules", "export", "-o", str(tmp_path / "patterns.txt"))
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert (tmp_path / "patterns.txt").read_bytes() == shown
