"""`explain`: what a cause is, how it is recognised, and what to do about it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from forensics.cli.evidence import explained, rules_option
from forensics.cli.output import columns, output_option, write

if TYPE_CHECKING:
    from forensics.rulebook.load import Rulebook
    from forensics.rulebook.schema import FixSpec, Rule, Signal

WIDTH = 80
PLACE = re.compile(r"\{\w+\}")
RESTARTS = {
    "no": "a plain restart does not help",
    "maybe": "a plain restart may help",
    "yes": "a plain restart can help",
}


def complete_id(context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Return the ids that begin so, those of the user's rules included."""
    from forensics.rulebook.load import RulebookError, load

    try:
        rules = load(context.params.get("rules") or ()).rules
    except RulebookError:
        return []
    return sorted(identity for identity in rules if identity.startswith(begun))


def untold(text: str) -> str:
    """Return a text of a rule with a mark wherever a report fills in a fact."""
    return PLACE.sub("…", text)


@click.command("explain")
@click.argument("identity", metavar="ID", shell_complete=complete_id)
@output_option
@rules_option
def command(identity: str, output: str, rules: Sequence[str]) -> None:
    """Say what a cause is, how it shows, and how to fix it.

    ID is a cause as reports name it; `rules list` has them all. A family alone
    lists its causes.

    \b
    Examples:
      dflash-forensics explain memory.gpu-oom
      dflash-forensics explain memory
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    with explained():
        from forensics.rulebook.load import load

        rulebook = load(rules, cases=True)
    family = identity.removesuffix(".*").removesuffix(".")
    causes = [rule for rule in rulebook.rules.values() if rule.id.startswith(f"{family}.")]
    page = listing(causes, columns(output)) if causes else _page(known(rulebook, identity), rulebook)
    write("".join(f"{line}\n" for line in _lines(page)), output)


def known(rulebook: Rulebook, identity: str) -> Rule:
    """Return the rule of that id.

    Raises:
        click.UsageError: there is none; the message has the nearest ids.
    """
    if identity in rulebook.rules:
        return rulebook.rules[identity]
    from difflib import get_close_matches

    by_cause = {name.partition(".")[2]: name for name in rulebook.rules}
    near = get_close_matches(identity, rulebook.rules, n=3, cutoff=0.5)
    near += [by_cause[cause] for cause in get_close_matches(identity.rpartition(".")[2], by_cause, n=3)]
    near += [name for name in rulebook.rules if name.startswith(f"{identity}.")]
    meant = ", ".join(dict.fromkeys(near[:6]))
    advice = f"did you mean {meant}?" if meant else "`dflash-forensics rules list` has them all"
    raise click.UsageError(f"there is no cause {identity}; {advice}")


def _lines(page: Iterator[str]) -> Iterator[str]:
    from forensics.text.ansi import visible

    for line in page:
        yield visible(line)


def listing(rules: Iterable[Rule], screen: int) -> Iterator[str]:
    """Yield a row for each rule, in the order of ids, for a screen so many columns wide or for none."""
    from forensics.text.ansi import visible

    ordered = sorted(rules, key=lambda rule: rule.id)
    wide = max((len(rule.id) for rule in ordered), default=0)
    rows = (f"{rule.id:<{wide}}  {rule.severity:<7}  {visible(untold(rule.title))}" for rule in ordered)
    if not screen:
        yield from rows
        return
    from forensics.render.excerpt import crop

    yield from (crop(row, screen) for row in rows)


def _page(rule: Rule, rulebook: Rulebook) -> Iterator[str]:
    from forensics.rulebook.groups import members

    yield f"{rule.id}: {untold(rule.title)}"
    yield f"{rule.severity}, confidence {rule.confidence}; {RESTARTS[rule.restart]}"
    for paragraph in rule.why.strip().split("\n\n"):
        yield from ("", *_wrap(untold(paragraph)))
    if rule.fix:
        yield from ("", "Fix")
    first = {fix.id: fix for fix in reversed(rule.fix)}
    for fix in (fix for fix in rule.fix if first[fix.id] is fix):
        yield from _fix(fix)
    ids = tuple(rulebook.rules)
    yield from _section("Explains", sorted(members(rule.explains, ids, rule.id)))
    causes = (other.id for other in rulebook.rules.values() if rule.id in members(other.explains, ids, other.id))
    yield from _section("Can be explained by", causes)
    yield from _section("Facts", (f"{name} ({kind})" for name, kind in rule.facts.items()))
    wordings = dict.fromkeys((case.name, case.version) for case in rule.case if case.fires)
    yield from _section(
        "Wordings it is proved on",
        (f"{name} ({version})" if version else name for name, version in wordings),
    )
    yield from _section("References", rule.references, wrap=False)
    yield from ("", f"Rule file: {rule.path}")
    yield from ("", "Recognised by")
    for signal in rule.signal:
        yield from _signal(signal)


def _signal(signal: Signal) -> Iterator[str]:
    who = " or ".join(signal.speaker)
    kinds = f" ({', '.join(signal.kind)})" if signal.kind else ""
    role = "" if signal.role == "cause" else f", as a {signal.role}"
    yield f"  {who}{kinds}{role}"
    for label, text in (
        ("says", signal.pattern),
        ("in frames", signal.frames),
        ("unless", signal.unless),
        ("where", " and ".join(signal.where)),
    ):
        for row in text.strip().splitlines():
            yield f"    {label:<9} {row}"
            label = " " * len(label)  # noqa: PLW2901 - the label stands on the first row only


def _fix(fix: FixSpec) -> Iterator[str]:
    yield from _wrap(f"{untold(fix.title)}{' (safe to apply)' if fix.safe else ''}", "  ")
    yield from _wrap(untold(fix.detail), "    ")
    yield from (f"    {name}={untold(value)}" for name, value in fix.env.items())
    yield from (f"    {untold(name)} {untold(value)}".rstrip() for name, value in fix.args.items())


def _section(heading: str, items: Sequence[str] | Iterator[str], *, wrap: bool = True) -> Iterator[str]:
    rows = list(items)
    if rows:
        yield from ("", heading)
    for row in rows:
        yield from _wrap(row, "  ") if wrap else [f"  {row}"]


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
