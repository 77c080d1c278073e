"""`rules`: list the causes, check and test the rules behind them, start a new one, export what they look for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from forensics.cli.evidence import explained, rules_option
from forensics.cli.explain import complete_id, known, listing
from forensics.cli.group import Group
from forensics.cli.output import OutputError, check_target, columns, output_option, write
from forensics.cli.patience import patience
from forensics.cli.skeleton import skeleton

if TYPE_CHECKING:
    from forensics.rulebook.load import Rulebook
    from forensics.rulebook.schema import Problem

UNSOUND = 1
IDENTITY = re.compile(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*")


@click.group("rules", cls=Group)
def command() -> None:
    """List, check, test, start and export rules.

    \b
    Examples:
      dflash-forensics rules list
      dflash-forensics rules new host.lost-mount --dir my-rules
      dflash-forensics rules test host.lost-mount --rules my-rules
    """  # noqa: D301 - \b is click's mark for "keep these lines"


@command.command("list")
@rules_option
def list_(rules: Sequence[str]) -> None:
    """List every cause: its id, severity and title.

    \b
    Example:
      dflash-forensics rules list | grep comm.
    """  # noqa: D301
    with explained():
        from forensics.rulebook.load import load

        found = load(rules).rules.values()
    write("".join(f"{row}\n" for row in listing(found, columns())))


@command.command("export")
@rules_option
@output_option
def export(rules: Sequence[str], output: str) -> None:
    """Write the literals that make a line worth a look, as patterns for ripgrep.

    They are what parsers and rules ask for. What they find is a superset of what a report stands on.

    \b
    Example:
      dflash-forensics rules export -o patterns.txt
      rg -a -n -b -f patterns.txt run_dir/
    """  # noqa: D301
    check_target(output)
    with explained():
        from forensics.engine.read import literals
        from forensics.rulebook.load import load
        from forensics.text.ripgrep import patterns

        answer = patterns(literals(load(rules)))
    write(answer, output)


@command.command("check", short_help="Check all rules and run their cases.")
@rules_option
def check(rules: Sequence[str]) -> None:
    """Check every rule, alone and against the others, and run all their cases.

    Problems are printed as file:line: text. Exit status 1 says that there are some.

    \b
    Example:
      dflash-forensics rules check --rules my-rules
    """  # noqa: D301
    rulebook = _load_to_prove(rules)
    _prove(rulebook, None)
    cases = sum(len(rule.case) for rule in rulebook.rules.values())
    write(f"{len(rulebook.rules)} rules hold, {cases} cases.\n")


@command.command("test")
@click.argument("identity", metavar="[ID]", required=False, shell_complete=complete_id)
@rules_option
def test(identity: str | None, rules: Sequence[str]) -> None:
    """Run the cases of one rule, of a family, or of all.

    \b
    Example:
      dflash-forensics rules test memory.gpu-oom
    """  # noqa: D301
    rulebook = _load_to_prove(rules)
    every = rulebook.rules.values()
    chosen = [rule for rule in every if not identity or f"{rule.id}.".startswith(f"{identity}.")]
    if identity and not chosen:
        known(rulebook, identity)
    _prove(rulebook, identity)
    for rule in chosen:
        for case in rule.case:
            outcome = "fires" if case.fires else "silent"
            write(f"{outcome:<6}  {rule.id}  {case.name}\n")


@command.command("new")
@click.argument("identity", metavar="ID")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    default="rules",
    show_default=True,
    type=click.Path(file_okay=False),
    help="The folder of rules.",
)
def new(identity: str, folder: str) -> None:
    """Write the skeleton of a rule, with the keys explained that most rules need.

    ID is family.kebab-cause; the file is DIR/family/kebab-cause.toml.

    \b
    Example:
      dflash-forensics rules new host.lost-mount --dir my-rules
    """  # noqa: D301
    from forensics.rulebook.lint import FAMILIES

    family, _, cause = identity.partition(".")
    if not IDENTITY.fullmatch(identity) or family not in FAMILIES:
        families = ", ".join(FAMILIES)
        raise click.UsageError(f"{identity!r} is not family.kebab-cause; families are {families}")
    path = Path(folder) / family / f"{cause}.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(skeleton(identity))
    except FileExistsError as wrong:
        raise OutputError(f"{path} is there already; it was left as it is") from wrong
    except OSError as wrong:
        raise OutputError(f"cannot write {path}: {wrong.strerror}") from wrong
    shipped = _shipped(identity)
    replaces = f"It replaces the shipped rule of that id wherever --rules {folder} is given.\n" if shipped else ""
    write(f"{path}\n{replaces}Fill it in, then: dflash-forensics rules test {identity} --rules {folder}\n")


def _shipped(identity: str) -> bool:
    from forensics.rulebook.load import builtin_folder

    family, _, cause = identity.partition(".")
    return (builtin_folder() / family / f"{cause}.toml").is_file()


def _load_to_prove(rules: Sequence[str]) -> Rulebook:
    from forensics.rulebook.load import RulebookError, load

    try:
        return load(rules, cases=True)
    except RulebookError as wrong:
        _refuse(wrong.problems)


def _prove(rulebook: Rulebook, only: str | None) -> None:
    from forensics.prove import prove

    with explained(), patience("running cases"):
        problems = prove(rulebook, only)
    if problems:
        _refuse(problems)


def _refuse(problems: Sequence[Problem]) -> NoReturn:
    from forensics.text.ansi import visible

    write("".join(f"{visible(str(problem), keep='')}\n" for problem in problems))
    count = f"{len(problems)} problems" if len(problems) != 1 else "1 problem"
    click.echo(f"{count}.", err=True)
    raise click.exceptions.Exit(UNSOUND)
