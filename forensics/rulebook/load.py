"""Find rule files, read them, and refuse all that are unsound, every problem with its file and line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomli
from msgspec import Struct, field

from forensics.rulebook.groups import FOLLOWED, GROUPS
from forensics.rulebook.lint import lint, noisy
from forensics.rulebook.schema import Problem, Rule
from forensics.scan import required_literals

LITERALS = "literals.json"
CASES = "[[case]]"
"""Cases stand last in a rule file, so that a run of `analyze` need not read them."""


class RulebookError(Exception):
    """Rules that cannot be used. `problems` lists all of them; the text has one a line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in problems))


class Rulebook(Struct, frozen=True):
    """The loaded rules by id, and a digest of their text that reports carry.

    `foreign` names the ids that came from the user's folders: their patterns run with
    a time limit. `literals` holds what each pattern needs a message to contain, as far as
    that was worked out beforehand: deriving it takes a third of a small run's time.
    """

    rules: dict[str, Rule]
    digest: str
    foreign: frozenset[str] = field(default_factory=frozenset)
    literals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def required(self, pattern: str) -> tuple[str, ...]:
        """Return literals of which every text that the pattern matches has one; none where there are none."""
        known = self.literals.get(pattern)
        return required_literals(pattern) if known is None else known


class Literals(msgspec.Struct, frozen=True):
    """The file of literals: good for the rules of that digest only, so that an old one is just not used."""

    digest: str
    literals: dict[str, tuple[str, ...]]


def builtin_folder() -> Path:
    """Return the folder of the shipped rules: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def load(folders: Sequence[str] = (), *, cases: bool = False, builtin: bool = True) -> Rulebook:
    """Return the shipped rules together with those of `folders`.

    A rule of a folder replaces a shipped one of the same id. Rules of folders are always
    read with their cases and looked through, since nobody has proved them yet; shipped ones
    only if `cases`.
    Raises RulebookError with every problem found.
    """
    digest = hashlib.sha256()
    rules: dict[str, Rule] = {}
    problems: list[Problem] = []
    foreign: set[str] = set()
    literals: Mapping[str, tuple[str, ...]] = {}
    places = [(builtin_folder(), False)] if builtin else []
    places += [(Path(folder), True) for folder in folders]
    for folder, theirs in places:
        if not folder.is_dir():
            problems.append(Problem(str(folder), 0, "no such folder of rules"))
            continue
        for path in sorted(folder.rglob("*.toml")):
            whole = cases or theirs
            found = _read(path, folder, whole=whole, digest=digest)
            if isinstance(found, Problem):
                problems.append(found)
                continue
            rules[found.id] = found
            foreign |= {found.id} if theirs else set()
            if whole:  # the shipped ones were proved when they were shipped, and a start must be quick
                sound = list(lint(found))
                problems.extend(sound or noisy(found))
        if not theirs:
            literals = _literals(folder / LITERALS, _short(digest))
    problems.extend(_between(rules))
    if problems:
        raise RulebookError(sorted(problems, key=lambda p: (p.path, p.line)))
    return Rulebook(rules, _short(digest), frozenset(foreign), literals)


def _short(digest: Any) -> str:
    return str(digest.hexdigest()[:12])


def worked_out() -> bytes:
    """Return what the file of literals should hold for the shipped rules, as JSON."""
    book = load()
    patterns = {signal.pattern for rule in book.rules.values() for signal in rule.signal if signal.pattern}
    made = Literals(book.digest, {pattern: required_literals(pattern) for pattern in sorted(patterns)})
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _literals(path: Path, digest: str) -> Mapping[str, tuple[str, ...]]:
    try:
        known = msgspec.json.decode(path.read_bytes(), type=Literals)
    except (OSError, msgspec.DecodeError):
        return {}
    return known.literals if known.digest == digest else {}


def _read(path: Path, folder: Path, *, whole: bool, digest: Any) -> Rule | Problem:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return Problem(str(path), 0, f"cannot be read: {error}")
    digest.update(text.encode())
    head = text if whole else text.partition("\n" + CASES)[0]
    try:
        data = tomli.loads(head)
        rule = msgspec.convert(data, Rule)
    except tomli.TOMLDecodeError as error:
        return Problem(str(path), _line_in(str(error)), f"not valid TOML: {error}")
    except msgspec.ValidationError as error:
        return Problem(str(path), _locate(text, str(error)), _plain(str(error)))
    identity = ".".join(path.relative_to(folder).with_suffix("").parts)
    return msgspec.structs.replace(rule, id=identity, path=str(path))


def _between(rules: dict[str, Rule]) -> Iterator[Problem]:
    """Yield what is wrong between rules: unknown names and cycles in `explains`."""
    families = {identity.partition(".")[0] for identity in rules}
    graph: dict[str, list[str]] = {}
    for identity, rule in rules.items():
        for name in (*rule.explains, *(n for signal in rule.signal for n in signal.explains)):
            family, _, cause = name.partition(".")
            if name not in {*rules, *GROUPS, FOLLOWED} and not (cause == "*" and family in families):
                yield Problem(rule.path, 0, f"explains {name!r}, which no rule has")
        # Groups and families are left out: what the rest of a job prints may, in another
        # job, be the start of it. Which of the two it is, time and rank decide.
        graph[identity] = [n for n in rule.explains if n in rules]
    for cycle in _cycles(graph):
        yield Problem(rules[cycle[0]].path, 0, "explains goes in a circle: " + " -> ".join([*cycle, cycle[0]]))


def _cycles(graph: dict[str, list[str]]) -> Iterator[list[str]]:
    """Yield one cycle for each node at which a depth-first walk meets its own path."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            node, index = stack.pop()
            if index == 0:
                if node in path:
                    yield path[path.index(node) :]
                    continue
                if node in done:
                    continue
                path.append(node)
            if index < len(graph[node]):
                stack.extend([(node, index + 1), (graph[node][index], 0)])
            else:
                path.pop()
                done.add(node)


def _line_in(message: str) -> int:
    found = re.search(r"at line (\d+)", message)
    return int(found[1]) if found else 0


def _plain(message: str) -> str:
    return message.replace("Object contains unknown field", "unknown key").replace(
        "Object missing required field", "missing key"
    )


def _locate(text: str, message: str) -> int:
    """Return the line that a message such as `... - at `$.signal[1].pattern`` speaks of, or 1."""
    found = re.search(r"at `\$\.?([^`]*)`", message)
    named = re.search(r"field `(\w+)`", message)
    lines = text.split("\n")
    at = 0
    for part in re.findall(r"\w+", found[1] if found else ""):
        if part.isdigit():
            continue
        at = next((i for i in range(at, len(lines)) if re.match(rf"\s*(?:\[+{part}\b|{part}\s*=)", lines[i])), at)
        index = re.search(rf"{part}\[(\d+)\]", found[1] if found else "")
        for _ in range(int(index[1]) if index else 0):
            at = next((i for i in range(at + 1, len(lines)) if lines[i].startswith(f"[[{part}]]")), at)
    if named:
        at = next((i for i in range(at, len(lines)) if re.match(rf"\s*{named[1]}\s*=", lines[i])), at)
    return at + 1
