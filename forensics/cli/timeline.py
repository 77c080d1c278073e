"""`timeline`: who said what, when, as a table."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias
from zoneinfo import ZoneInfo

import click

from forensics.cli.evidence import explained, paths_argument, standard_input, tz_option
from forensics.cli.output import STDOUT, check_target, columns, lent, output_option, write
from forensics.cli.patience import leave_if_stopped, reading

if TYPE_CHECKING:
    import polars as pl

    from forensics.analyze import Collected
    from forensics.model import Event, Step
    from forensics.sources import Watch
    from forensics.timeline import Choice

Format: TypeAlias = Literal["table", "csv", "json", "parquet"]
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LAST = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")


def _kinds(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Return the kinds and speakers that begin so: those that a rule can name."""
    from forensics.rulebook.load import load

    signals = [signal for rule in load().rules.values() for signal in rule.signal]
    every = {"step", *(name for signal in signals for name in (*signal.kind, *signal.speaker))}
    return sorted(name for name in every if name.startswith(begun))


@click.command("timeline")
@paths_argument
@click.option("--rank", type=int, metavar="N", help="Only what this rank said.")
@click.option("--kind", metavar="K", shell_complete=_kinds, help="Only one kind or speaker, such as step or nccl.")
@click.option("--since", metavar="T", help="Only from a time on, or the last 10m, 2h, 1d.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
    help="For people or for programs.",
)
@click.option("--full", is_flag=True, help="All progress records of large logs too, as parquet always has them.")
@output_option
@tz_option
def command(
    paths: Sequence[str],
    rank: int | None,
    kind: str | None,
    since: str | None,
    form: Format,
    full: bool,  # noqa: FBT001 - click passes options by name
    output: str,
    tz: str | None,
) -> None:
    """List who said what in a run, in the order of time.

    \b
    Examples:
      dflash-forensics timeline run_dir/ --rank 3 --since 10m
      dflash-forensics timeline run_dir/ --format parquet -o run.parquet
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    check_target(output)
    if form == "parquet" and output == STDOUT and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError("parquet is not for reading on a terminal; name a file with -o")
    if full and form == "table":
        raise click.UsageError("--full is for programs; choose csv, json or parquet with --format")
    stdin = standard_input(paths)
    with explained(), reading() as watch:
        from forensics.analyze import events
        from forensics.timeline import Choice

        seen = events(paths, tz=tz, stdin=stdin, watch=watch)
        choice = Choice(rank, kind, None if since is None else _start(since, tz, seen.events, seen.steps))
        every = bool(seen.thinned) and (full or form == "parquet")
        answer = None if every else _in_order_of_time(seen, choice, form, output)
        if every:
            _write_every_row(seen, choice, form, output, watch)
    for note in _notes(seen, every=every):
        click.echo(f"note: {_inert(note)}", err=True)
    if answer is not None:
        write(answer, output)
    leave_if_stopped(watch)


def _in_order_of_time(seen: Collected, choice: Choice, form: Format, output: str) -> str | bytes:
    """Return the rows that were chosen, sorted by time."""
    from forensics import timeline

    frame = timeline.table(seen.events, seen.steps, seen.sources)
    chosen = timeline.filter(frame, rank=choice.rank, kind=choice.kind, since=choice.since)
    if not len(chosen):
        _tell_what_there_is(frame, choice.rank, choice.kind)
    if form == "table":
        from forensics.render.rows import render

        return render(timeline.written(chosen).iter_rows(named=True), columns(output))
    stream = io.BytesIO()
    timeline.write(chosen, form, stream)
    return stream.getvalue()


def _write_every_row(seen: Collected, choice: Choice, form: Format, output: str, watch: Watch) -> None:
    """Write the rows that were chosen, with all progress records; they never stand in memory together."""
    from forensics import timeline
    from forensics.analyze import write_every_row

    with lent(output) as stream:
        count = write_every_row(seen, "csv" if form == "table" else form, stream, choice, watch)
    if not count:
        frame = timeline.table(seen.events, seen.steps, seen.sources)
        _tell_what_there_is(frame, choice.rank, choice.kind)


def _notes(seen: Collected, *, every: bool) -> Sequence[str]:
    if not every:
        return seen.notes
    from forensics.engine.reader import THINNED

    there = f"all progress records are rows ({len(seen.thinned)} large logs were read again for them)"
    return (
        *(note for note in seen.notes if THINNED not in note),
        f"{there}; rows are in the order of files and lines, not of time, and steps are as they were printed",
    )


def _tell_what_there_is(frame: pl.DataFrame, rank: int | None, kind: str | None) -> None:
    """Say on stderr why no row was chosen, and what could have been."""
    kinds = sorted({*frame["kind"].drop_nulls(), *frame["speaker"].drop_nulls()})
    ranks = sorted(frame["rank"].drop_nulls().unique())
    if kind is not None and kind not in kinds:
        click.echo(f"nothing is of kind {_inert(kind)}; there is {_inert(', '.join(kinds)) or 'nothing'}", err=True)
    if rank is not None and rank not in ranks:
        from forensics.render.words import ranks as spelled

        there = f"there is {spelled(ranks)}" if len(ranks) == 1 else f"there are {spelled(ranks)}"
        click.echo(f"nothing is of rank {rank}; {there if ranks else 'no line names a rank'}", err=True)
    elif len(frame) and (kind is None or kind in kinds):
        click.echo("nothing fits all the options together", err=True)


def _start(since: str, tz: str | None, events: Sequence[Event], steps: Sequence[Step]) -> float:
    """Return the time to start from, in seconds since the epoch.

    Raises:
        click.BadParameter: it is no time, or it counts back from an end that nothing tells.
    """
    from forensics.timeline import span

    if last := LAST.fullmatch(since):
        told = span(events, steps)
        if told is None:
            raise click.UsageError(f"--since {since} counts back from the last time, and no line tells one")
        return told[1] - float(last[1]) * SECONDS[last[2]]
    try:
        moment = datetime.fromisoformat(since)
    except ValueError as wrong:
        raise click.UsageError(f"--since {since} is no time; write 2026-11-29T12:50:06 or 10m") from wrong
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(tz) if tz else UTC)
    return moment.timestamp()


def _inert(text: str) -> str:
    from forensics.text.ansi import visible

    return visible(text, keep="")
