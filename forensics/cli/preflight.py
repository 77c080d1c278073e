"""`preflight`: the hazards of launch scripts, and the scripts without them."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.evidence import explained, rules_option
from forensics.cli.output import say, write

if TYPE_CHECKING:
    from forensics.supervise.hostcheck import Check
    from forensics.supervise.preflight import Preflight

LONGEST = 1 << 20
WIDTH = 80


@click.command("preflight", context_settings={"ignore_unknown_options": False})
@click.argument("script", metavar="SCRIPT... | -- CMD", nargs=-1, required=True, type=click.Path())
@click.option("--fix", is_flag=True, help="Write the mended script beside the old one.")
@click.option("--host/--no-host", default=None, help="Look at this machine too. Default: for a command.")
@click.option("--probe", is_flag=True, help="Try the first compile on the GPU, in threads.")
@rules_option
def command(script: Sequence[str], rules: Sequence[str], *, fix: bool, host: bool | None, probe: bool) -> None:
    """Say how a launch would lose its evidence, before GPUs burn.

    Nothing of it is run. Exit status 1 says that a hazard is an error: the log
    would be lost, the status would lie, or this machine would stop the run.

    \b
    Examples:
      dflash-forensics preflight start_training.sh
      dflash-forensics preflight start_training.sh --fix
      dflash-forensics preflight -- 'python train.py 2>&1 | tee train.log'
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    given = [_given((word,)) for word in script] if _are_scripts(script) else [_given(script)]
    looked = []
    with explained():
        from forensics.rulebook.load import load
        from forensics.supervise.preflight import preflight

        book = load(rules)
        looked = [(preflight(text, name, book), path) for name, text, path in given]
    write("".join(f"{line}\n" for found, _ in looked for line in _lines(found)))
    commands = [found.text for found, _ in looked]
    here = any(path is None for _, path in looked) if host is None else host
    checks = [*(_host(commands) if here else ()), *(_probe(commands) if probe else ())]
    write("".join(f"{line}\n" for line in _told(checks, asked=here or probe)))
    for found, path in looked:
        if fix:
            _write_mended(found, path)
    failed = any(found.failed for found, _ in looked) or any(check.severity == "error" for check in checks)
    raise SystemExit(1 if failed else 0)


def _host(texts: Sequence[str]) -> list[Check]:
    from forensics.supervise.hostcheck import Needs, check

    return check(Needs(Path.cwd(), {}, _words(texts)))


def _probe(texts: Sequence[str]) -> list[Check]:
    from forensics.cli.patience import patience
    from forensics.supervise.hostcheck import probed
    from forensics.supervise.probe import asked, probe
    from forensics.supervise.surroundings import python_of

    words = _words(texts)
    with patience("compiling in threads"):
        return [probed(probe(asked(words), python=python_of(words, Path.cwd()) or sys.executable))]


def _words(texts: Sequence[str]) -> list[str]:
    """Return the words of the commands, comments and quotes gone."""
    words: list[str] = []
    for text in texts:
        try:
            words += shlex.split(text, comments=True)
        except ValueError:
            words += text.split()
    return words


def _told(checks: Sequence[Check], *, asked: bool) -> Iterator[str]:
    from forensics.text.ansi import visible

    if not asked:
        return
    wrong = [check for check in checks if check.severity != "ok"]
    yield "" if wrong else f"this machine: nothing against it ({len(checks)} things were looked at)"
    for check in sorted(wrong, key=lambda check: check.severity):
        yield f"this machine: {check.severity}: {visible(check.text)} [{check.id}]"


def _are_scripts(words: Sequence[str]) -> bool:
    """Tell whether several files were given, as pre-commit does, and not a command with its arguments."""
    return len(words) > 1 and all(Path(word).is_file() for word in words)


def _given(script: Sequence[str]) -> tuple[str, str, Path | None]:
    """Return name, text and path of what is to be looked at: one file, or a command line."""
    path = Path(script[0])
    if len(script) > 1 and any(map(_is_line, script)):
        # Quoted once more it would be one word, and nothing in it would be seen.
        raise click.UsageError("give the whole command line as one word, with options before --")
    if len(script) > 1 or (" " in script[0] and not path.exists()):
        return "command", (script[0] if len(script) == 1 else shlex.join(script)) + "\n", None
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder; give a script in it")
    if not path.is_file():
        raise click.UsageError(f"no such script: {path}")
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}") from None
    return str(path), text, path


def _is_line(word: str) -> bool:
    """Tell whether a word is a command line of its own: `python train.py | tee log`."""
    return " " in word and any(mark in word for mark in ("|", ">", "&&", ";", "2>&1"))


def _lines(found: Preflight) -> Iterator[str]:
    from forensics.render import words
    from forensics.text.ansi import visible

    if not found.hazards:
        yield f"{visible(found.name)}: no hazard found"
        return
    for hazard in found.hazards:
        place = hazard.evidence[0]
        yield f"{visible(found.name)}:{place.line}: {hazard.severity}: {hazard.title} [{hazard.id}]"
        yield f"    {_cut(visible(place.text.strip()))}"
        for fix in hazard.fixes:
            yield f"    {fix.title}."
    yield ""
    yield f"{words.count(len(found.hazards), 'hazard')}; `explain ID` says more."
    if found.diff:
        yield ""
        yield from (visible(line) for line in found.diff.splitlines())
    if found.left:
        yield ""
        yield f"Left to you: {', '.join(found.left)}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _write_mended(found: Preflight, path: Path | None) -> None:
    """Write `name.mended.sh` beside the script; never over a file that is there."""
    if path is None:
        raise click.UsageError("--fix needs a script in a file")
    if not found.diff:
        say("nothing to mend by machine")
        return
    number = 0
    while True:
        target = path.with_name(f"{path.stem}.mended{number or ''}{path.suffix}")
        try:
            with target.open("x", encoding="utf-8", errors="surrogateescape") as file:
                file.write(found.mended.text)
            target.chmod(stat.S_IMODE(path.stat().st_mode))
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise click.UsageError(f"{target} cannot be written: {error.strerror}") from None
        say(f"wrote {os.fspath(target)}")
        return
