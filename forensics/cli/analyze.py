"""`analyze`: a run in, its report out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO

import click

from forensics.cli.engine import engine_option, executor_of
from forensics.cli.evidence import explained, paths_argument, rules_option, standard_input, tz_option
from forensics.cli.output import check_target, colored, output_option, rows, write
from forensics.cli.patience import leave_if_stopped, reading

if TYPE_CHECKING:
    from forensics.engine.executor import Executor
    from forensics.model import Report
    from forensics.sources import Watch


@click.command("analyze")
@paths_argument
@click.option(
    "--format",
    "form",
    metavar="FORM",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="text for a person, json for a program, markdown for an issue, html for a browser.",
)
@output_option
@rules_option
@tz_option
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in text.",
)
@engine_option
@click.option("--no-color", is_flag=True, help="The same as --color never.")
def command(
    paths: Sequence[str],
    form: str,
    output: str,
    rules: Sequence[str],
    tz: str | None,
    color: str,
    engine: str,
    *,
    no_color: bool,
) -> None:
    """Say what went wrong in a run, and prove it.

    PATH is the folder that a run left behind, or files of it; - is standard input.
    Exit status 0 says that an analysis was made, whatever it found. Ctrl-C ends the
    reading: the report of what was read so far is written, with status 130.

    \b
    Examples:
      dflash-forensics analyze run_dir/
      dflash-forensics analyze train.log dmesg.txt --format json -o report.json
      dflash-forensics analyze run_dir/ --format html -o report.html
      ssh node dmesg | dflash-forensics analyze - train.log
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    check_target(output)
    stdin = standard_input(paths)
    choice = "never" if no_color else color
    with explained(), executor_of(engine, paths) as executor, reading(stoppable=executor is None) as watch:
        if form == "html":
            answer: str | bytes = _html(paths, rules, tz, stdin, watch, executor)
        else:
            from forensics.analyze import analyze

            report = analyze(paths, rules=rules, tz=tz, stdin=stdin, watch=watch, executor=executor)
            answer = FORMATS[form](report, choice, output)
    write(answer, output)
    leave_if_stopped(watch)


def _text(report: Report, choice: str, output: str) -> str:
    from forensics.render.terminal import render

    width = shutil.get_terminal_size().columns
    return render(report, width, color=colored(choice, output), height=rows(output))


def _json(report: Report, _choice: str, _output: str) -> bytes:
    from forensics.render.json_v1 import to_json

    return to_json(report)


def _markdown(report: Report, _choice: str, _output: str) -> str:
    from forensics.render.markdown import render

    return render(report)


def _html(
    paths: Sequence[str],
    rules: Sequence[str],
    tz: str | None,
    stdin: BinaryIO | None,
    watch: Watch,
    executor: Executor | None,
) -> bytes:
    """Return the page on a run; it shows what a report does not carry: steps, events, the lines around."""
    from forensics.analyze import conclude
    from forensics.engine.executor import spread
    from forensics.render.html import render
    from forensics.render.html.around import around
    from forensics.rulebook.load import load
    from forensics.sources import find

    book = load(rules)
    found = find(paths, stdin, watch, spread)
    analysis = conclude(found, book, tz, executor)
    # Bytes, so that no encoding of a terminal changes what the page declares, and what its hashes vouch for.
    return render(analysis, around(found, analysis.report)).encode("utf-8", "backslashreplace")


FORMATS: dict[str, Callable[[Report, str, str], str | bytes]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
}
