"""`gate`: let a job fail when the run behind it failed, whatever its exit status says."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.evidence import NoEvidenceError, explained, paths_argument, rules_option, standard_input, tz_option
from forensics.cli.output import STDOUT, OutputError, check_target, write
from forensics.cli.patience import reading

if TYPE_CHECKING:
    from forensics.gate import Baseline, Policy
    from forensics.model import Decision

FORMATS = ("text", "json", "github", "sarif", "junit", "gitlab", "markdown", "decision")
SUFFIXES = {".sarif": "sarif", ".xml": "junit", ".md": "markdown", ".json": "json", ".txt": "text"}
POLICY = "The keys of a policy are described in docs/gate.md."


@click.command("gate")
@paths_argument
@click.option("--policy", metavar="FILE", help="The policy. Default: dflash-forensics.toml or pyproject.toml.")
@click.option("--fail-on", type=click.Choice(["error", "warning"]), help="Fail on findings of this severity.")
@click.option("--unknown", type=click.Choice(["fail", "pass"]), help="Status 3 or 0 where the files cannot tell.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="For the screen.")
@click.option("-o", "--output", "outputs", metavar="[FORMAT=]FILE", multiple=True, help="Write a file. Repeatable.")
@click.option("--baseline", metavar="FILE", help="Findings in it are known and may stay.")
@click.option("--update-baseline", is_flag=True, help="Write what was found into --baseline, and pass.")
@click.option("--against", metavar="GOOD_RUN", help="Compare speed, loss and warnings with a good run.")
@rules_option
@tz_option
@click.pass_context
def command(
    context: click.Context,
    *,
    paths: Sequence[str],
    policy: str | None,
    fail_on: str | None,
    unknown: str | None,
    form: str,
    outputs: Sequence[str],
    baseline: str | None,
    against: str | None,
    rules: Sequence[str],
    tz: str | None,
    update_baseline: bool,
) -> None:
    """Pass or fail a run in CI.

    Exit status 0: pass; 1: fail; 3: the files cannot tell.

    \b
    Examples:
      dflash-forensics gate run_dir/
      dflash-forensics gate run_dir/ --format github -o gate.sarif -o junit.xml
      dflash-forensics gate run_dir/ --against last_good_run/
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    targets = [_target(output) for output in outputs]
    for _, target in targets:
        check_target(target)
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs the file: --baseline FILE")
    stdin = standard_input(paths)
    with explained():
        from forensics.analyze import examine
        from forensics.gate import decide

        chosen = _policy(policy, fail_on, unknown)
        known = None if baseline is None else _baseline(Path(baseline), fresh=update_baseline)
        with reading(stoppable=False) as watch:  # half of a run passes or fails nothing
            run = examine(paths, rules=rules, tz=tz, stdin=stdin, watch=watch)
            good = None if against is None else examine([against], rules=rules, tz=tz, watch=watch)
        decision = decide(run, chosen, date.today(), known=known, good=good)  # noqa: DTZ011 - a person's calendar
    base = _base(paths)
    for kind, target in targets:
        write(_RENDERERS[kind](decision, base), target)
    if form == "github":
        _summarise(decision, base)
    write(_RENDERERS[form](decision, base))
    if update_baseline and known is not None:
        kept = known.with_these(decision.of("fail", "unknown", "known"))
        write(kept.dump(), str(baseline))
        click.echo(f"{baseline}: {len(kept.known)} known findings", err=True)
        return
    context.exit(decision.exit_status)


def _target(output: str) -> tuple[str, str]:
    """Return the format and the file of one `-o`.

    Raises:
        click.BadParameter: the format cannot be told from the name.
    """
    kind, equals, file = output.partition("=")
    if equals and kind in FORMATS:
        return kind, file
    name = Path(output).name.lower()
    if output == STDOUT:
        raise click.BadParameter("standard output takes one format: --format", param_hint="-o")
    if name.endswith(".json") and ("quality" in name or "gitlab" in name):
        return "gitlab", output
    if name.endswith(".sarif.json"):
        return "sarif", output
    found = SUFFIXES.get(Path(name).suffix)
    if found is None:
        raise click.BadParameter(f"the format of {output} is not told by its name; write FORMAT=FILE", param_hint="-o")
    return found, output


def _policy(named: str | None, fail_on: str | None, unknown: str | None) -> Policy:
    import msgspec

    from forensics.gate import Policy, PolicyError, find_policy, load_policy

    try:
        path = Path(named) if named is not None else find_policy(Path.cwd())
        found = load_policy(path) if path is not None else Policy()
    except PolicyError as wrong:
        raise NoEvidenceError(str(wrong), POLICY) from wrong
    given = {"fail_on": fail_on, "unknown": unknown}
    return msgspec.structs.replace(found, **{name: value for name, value in given.items() if value is not None})


def _baseline(path: Path, *, fresh: bool) -> Baseline:
    """Return the baseline; an empty one where the file is about to be made."""
    from forensics.gate import Baseline, BaselineError
    from forensics.gate.baseline import load_baseline

    if fresh and not path.exists():
        check_target(str(path))
        return Baseline(path=str(path))
    try:
        return load_baseline(path)
    except BaselineError as wrong:
        raise NoEvidenceError(str(wrong), "") from wrong


def _base(paths: Sequence[str]) -> str:
    """Return the folder that evidence paths are relative to, seen from the working directory where it lies below."""
    from forensics.sources import is_remote

    if len(paths) != 1 or paths[0] == STDOUT or is_remote(paths[0]):
        return ""
    path = Path(paths[0])
    folder = path if path.is_dir() else path.parent
    try:
        return str(folder.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(folder)


def _summarise(decision: Decision, base: str) -> None:
    """Append to the file that GitHub shows as the summary of the step.

    Raises:
        OutputError: the file cannot be written.
    """
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    from forensics.render.github import summary

    try:
        with Path(target).open("ab") as file:
            file.write(summary(decision, base).encode("utf-8", "backslashreplace"))
    except OSError as wrong:
        raise OutputError(f"cannot write the step summary {target}: {wrong.strerror or wrong}") from wrong


def _text(decision: Decision, base: str) -> str:
    from forensics.render.gate_text import render

    return render(decision, base)


def _json(decision: Decision, _base: str) -> bytes:
    from forensics.render.json_v1 import to_json

    return to_json(decision.report)


def _decision(decision: Decision, _base: str) -> bytes:
    from forensics.render.gate_json import render

    return render(decision)


def _github(decision: Decision, base: str) -> str:
    from forensics.render.gate_text import render
    from forensics.render.github import commands

    return render(decision, base) + commands(decision, base)


def _markdown(decision: Decision, base: str) -> str:
    from forensics.render.github import summary

    return summary(decision, base)


def _sarif(decision: Decision, base: str) -> bytes:
    from forensics.render.sarif import render

    return render(decision, base)


def _junit(decision: Decision, base: str) -> bytes:
    from forensics.render.junit import render

    return render(decision, base)


def _gitlab(decision: Decision, base: str) -> bytes:
    from forensics.render.gitlab import render

    return render(decision, base)


_RENDERERS: dict[str, Callable[[Decision, str], str | bytes]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
    "junit": _junit,
    "gitlab": _gitlab,
    "markdown": _markdown,
    "decision": _decision,
}
