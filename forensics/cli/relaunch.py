"""`relaunch`: the plan of the next try; with --yes, the try."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.evidence import explained
from forensics.cli.output import output_option, say, write
from forensics.cli.patience import patience

if TYPE_CHECKING:
    from forensics.supervise.hostcheck import Check
    from forensics.supervise.relaunch import Plan, Wish

EMITTED = ("sbatch", "torchrun", "k8s", "tmux")
WIDTH = 100


def _pairs(_context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        if not text.partition("=")[1]:
            raise click.BadParameter(f"{text!r} has no value; give {option.metavar}")
    return {text.partition("=")[0]: text.partition("=")[2] for text in texts}


@click.command("relaunch", context_settings={"allow_interspersed_args": True})
@click.argument("path", type=click.Path(exists=True, file_okay=False))
@click.argument("words", metavar="[-- CMD...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--fix", "fixes", metavar="ID", multiple=True, help="Apply this fix. Default: those that are safe.")
@click.option("--env", "variables", metavar="NAME=VALUE", multiple=True, callback=_pairs, help="Set a variable.")
@click.option("--arg", "options", metavar="--OPTION=VALUE", multiple=True, callback=_pairs, help="Set an option.")
@click.option("--resume-option", metavar="--OPTION", help="The option that takes the checkpoint.")
@click.option("--checkpoints", metavar="DIR", type=click.Path(exists=True), help="Where the checkpoints are.")
@click.option("--run-dir", metavar="DIR", help="Where the next attempt goes. Default: PATH.")
@click.option("--emit", type=click.Choice(EMITTED), help="Print a script for that engine instead.")
@output_option
@click.option("--detach", is_flag=True, help="With --yes: leave it running.")
@click.option("--yes", is_flag=True, help="Start it. Without, nothing is changed.")
def command(  # noqa: PLR0917 - click passes them by name
    path: str,
    words: Sequence[str],
    fixes: Sequence[str],
    variables: dict[str, str],
    options: dict[str, str],
    resume_option: str | None,
    checkpoints: str | None,
    run_dir: str | None,
    emit: str | None,
    output: str,
    *,
    detach: bool,
    yes: bool,
) -> None:
    """Show how a failed run should be tried again, and whether that helps.

    Exit status 1: a try cannot help, or may not be made.

    \b
    Examples:
      dflash-forensics relaunch dflash-run
      dflash-forensics relaunch dflash-run --resume-option --resume --yes
      dflash-forensics relaunch run_dir --emit sbatch -o again.sbatch
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    from forensics.supervise.relaunch import NoPlanError, Wish

    places = (Path(checkpoints),) if checkpoints else ()
    wish = Wish(tuple(fixes), tuple(words), variables, options, resume_option, places)
    with explained(), patience(f"reading {path}"):
        try:
            plan = _plan(Path(path), wish)
        except NoPlanError as wrong:
            raise click.UsageError(str(wrong)) from wrong
    if emit:
        from forensics.supervise.emit import emit as emitted

        write(emitted(plan, emit, _script(Path(path))), output)
        raise SystemExit(0 if plan.decision.may else 1)
    checks = _checks(plan, run_dir or path)
    write("".join(f"{line}\n" for line in _lines(plan, checks, yes=yes)), output)
    if not plan.decision.may:
        raise SystemExit(1)
    if yes:
        raise SystemExit(_start(plan, Path(run_dir or path), detach=detach))


def _plan(path: Path, wish: Wish) -> Plan:
    from forensics.supervise import gpus
    from forensics.supervise.policy import Policy
    from forensics.supervise.relaunch import plan

    return plan(path, wish, Policy(), time.time(), gpus.buses())


def _checks(plan: Plan, folder: str) -> list[Check]:
    from forensics.supervise.hostcheck import Needs, check

    needs = Needs(Path(folder), {**plan.environment}, plan.command)
    return [one for one in check(needs) if one.severity != "ok"]


def _start(plan: Plan, folder: Path, *, detach: bool) -> int:
    from forensics.cli.run import start
    from forensics.supervise.process import Asked

    if plan.withheld:
        raise click.UsageError("the command had secrets, which were not kept; give the whole command after --")
    if plan.decision.wait_s > 0:
        say(f"waiting {plan.decision.wait_s:.0f} s before the next try")
        time.sleep(plan.decision.wait_s)
    asked = Asked(
        plan.command,
        folder,
        detach=detach,
        environment=plan.environment,
        relaunch=plan.journalled(),
        cwd=plan.cwd if plan.cwd is not None and plan.cwd.is_dir() else None,
    )
    return start(asked)


def _script(folder: Path) -> str:
    """Return the sbatch script that lies in the folder of the run, if there is one."""
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in {".sbatch", ".slurm", ".sh"} and file.stat().st_size < 1 << 20:
            text = file.read_text(errors="replace")
            if "#SBATCH" in text:
                return text
    return ""


def _lines(plan: Plan, checks: Sequence[Check], *, yes: bool) -> Iterator[str]:
    from forensics.supervise.secrets import redact_text
    from forensics.text.ansi import visible

    for line in _told(plan, checks, yes=yes):
        yield visible(redact_text(line))


def _told(plan: Plan, checks: Sequence[Check], *, yes: bool) -> Iterator[str]:
    root = plan.report.root
    yield f"{plan.report.verdict.upper()}  {root.title if root else plan.report.reason}"
    if root is not None:
        place = root.evidence[0]
        yield f"{root.id}, {place.path}:{place.line}"
    yield ""
    yield from _changes(plan)
    yield f"Goes on from: {plan.resumes}"
    yield from (f"  passed over: {c.path} ({c.problem})" for c in plan.checkpoints.passed_over)
    yield ""
    yield "Preflight: " + ("nothing against it" if not checks else "")
    yield from (f"  {check.severity}: {check.text}" for check in checks)
    yield ""
    decision = plan.decision
    yield f"Will it help: {decision.helps}" if decision.may else "No further try:"
    yield from (f"  {reason}" for reason in decision.reasons)
    if decision.may and decision.wait_s > 0:
        yield f"  it waits {decision.wait_s:.0f} s before it starts"
    if plan.offers:
        yield ""
        yield "Fixes that are not applied:"
        yield from (f"  {'--fix ' + o.id if o.machine else 'by hand'}: {o.title} ({o.cause})" for o in plan.offers)
    if decision.may and not yes:
        yield ""
        yield "Nothing was changed; --yes starts it."


def _changes(plan: Plan) -> Iterator[str]:
    from forensics.supervise.emit import launch_lines

    if not plan.changes:
        yield "No change: the same command again."
        yield ""
        return
    for change in plan.changes:
        yield f"{change.name}: {change.before or 'not set'} -> {change.after}"
        yield f"  {change.reason}"
        yield from (f"  {e.path}:{e.line}  {_cut(e.text.strip())}" for e in change.evidence)
    yield ""
    set_before = {c.name: c.before for c in plan.changes if c.kind == "env" and c.before is not None}
    before = launch_lines(plan.before, set_before, plan.cwd)
    after = launch_lines(plan.command, plan.environment, plan.cwd)
    number = plan.tries[-1].number if plan.tries else 0
    yield from difflib.unified_diff(before, after, f"attempt {number}", f"attempt {number + 1}", lineterm="", n=9)
    yield ""


def _cut(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= WIDTH else f"{first[: WIDTH - 1]}…"
