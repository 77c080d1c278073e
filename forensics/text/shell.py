"""Shell scripts read by a real parser, never executed: the simple commands and how they are joined.

The grammar is tree-sitter-bash. Words are unquoted; a variable whose value the script
itself sets is filled in, any other stays as `$NAME`, so a reader can tell a known path
from an unknown one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from forensics.text.lazy import lazy

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_SCRIPT = 1 << 20
"""Bytes of a script that are parsed; launch scripts are thousands of times smaller."""
MAX_NODES = 50_000
"""Statements, and the parts they are made of, that are visited in one script."""
MAX_DEPTH = 200
"""Statements within statements that are entered."""
MAX_WORDS = 2000
"""Words of one command that are kept."""
MAX_REDIRECTS = 16
"""Redirections that one command keeps, its own before those of what stands around it."""
MAX_VALUE = 8192
"""Characters of a variable's value that is filled in; a longer one stays as `$NAME`."""

_VARIABLE = lazy(r"\$(\w+)")


class Redirect(Struct, frozen=True):
    """`2>> file` is Redirect(("2",), ">>", "file"); `&>` has both descriptors."""

    descriptors: tuple[str, ...]
    operator: str
    target: str


class Command(Struct, frozen=True):
    """A simple command: `words` unquoted, `line` from 1, `place` of `length` in its pipeline.

    `heredoc` is the text that a `<<` feeds it, which starts at line `heredoc_line`.
    """

    words: tuple[str, ...]
    line: int
    text: str
    redirects: tuple[Redirect, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    pipeline: int = 0
    place: int = 0
    length: int = 1
    background: bool = False
    heredoc: str = ""
    heredoc_line: int = 0

    @property
    def name(self) -> str:
        """Return the program's name without its folder; empty for a bare assignment."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class Statements(Struct, frozen=True):
    """What a script says: its commands in order, the variables it sets, and what was too much to read, in words."""

    commands: tuple[Command, ...]
    variables: Mapping[str, str]
    unread: tuple[str, ...]


def statements(script: str, first_line: int = 1, variables: Mapping[str, str] = MappingProxyType({})) -> Statements:
    """Return what a script says; a broken script gives what could be read.

    `variables` are values known from elsewhere, such as a sourced file; the script's own win.
    The work is linear in the script's size: what a hostile one has beyond the bounds above is named in `unread`.
    """
    data = script.encode("utf-8", "surrogateescape")
    reader = _Reader(first_line, dict(variables), fill=4 * min(len(data), MAX_SCRIPT) + (1 << 16))
    if len(data) > MAX_SCRIPT:
        reader.leave("size", f"only the first {MAX_SCRIPT >> 20} MiB of the script were read")
    reader.walk(_parser().parse(data[:MAX_SCRIPT]).root_node)
    return Statements(tuple(reader.found), reader.variables, tuple(reader.unread.values()))


def commands(script: str, first_line: int = 1, variables: Mapping[str, str] = MappingProxyType({})) -> list[Command]:
    """Return the simple commands of a script in order, as `statements` reads them."""
    return list(statements(script, first_line, variables).commands)


def _goes_on(node: Node) -> bool:
    """Tell whether a word stands right behind another one: the grammar parts `$A/b_$C` at its second sign."""
    before = node.prev_named_sibling
    return before is not None and before.end_byte == node.start_byte and (before.text or b"").endswith(b"$")


def variables(script: str) -> Mapping[str, str]:
    """Return the variables that a script sets to values it knows, for a script that sources it."""
    return statements(script).variables


class _Reader:
    def __init__(self, first_line: int, variables: dict[str, str], fill: int) -> None:
        self.found: list[Command] = []
        self.variables = variables
        self.unread: dict[str, str] = {}
        self._first_line = first_line
        self._pipelines = 0
        self._fed: dict[int, tuple[str, int]] = {}
        self._fill = fill  # characters that variables may still add: `A=$A$A` doubles with every line

    def leave(self, bound: str, why: str) -> None:
        """Say once that a bound was met, and where first."""
        self.unread.setdefault(bound, why)

    def walk(self, root: Node) -> None:
        """Visit statements without recursion: a hostile script may nest without end."""
        stack: list[_Visit] = [_Visit(root)]
        nodes = 0
        while stack:
            visit = stack.pop()
            node = visit.node
            nodes += 1
            if nodes > MAX_NODES:
                self.leave(
                    "nodes", f"line {self._line(node)}: the script was read only up to here, it goes on too long"
                )
                return
            if node.type == "command":
                self._command(node, visit)
            elif node.type in {"variable_assignment", "declaration_command"}:
                self._assign(node)
            elif visit.depth < MAX_DEPTH:
                stack.extend(reversed(self._inside(visit)))
            elif node.named_child_count:
                why = f"what is nested more than {MAX_DEPTH} statements deep was not read"
                self.leave("depth", f"line {self._line(node)}: {why}")

    def _inside(self, visit: _Visit) -> list[_Visit]:
        """Return what is to be visited of a statement, in its order."""
        node, shared = visit.node, visit.redirects
        children = _members(node)
        if node.type == "redirected_statement":
            shared = shared + tuple(r for c, _ in children for r in self._redirect(c))
            fed = [c for c, _ in children if c.type == "heredoc_redirect"]
            children = [(c, behind) for c, behind in children if not c.type.endswith("_redirect")]
            for heredoc in fed:
                parts = _members(heredoc)
                shared += tuple(r for c, _ in parts for r in self._redirect(c))
                self._feed(heredoc, children[0][0] if children else None)
                children += [(c, behind) for c, behind in parts if c.type == "pipeline"]
            shared = self._bounded(shared, node, slice(-MAX_REDIRECTS, None))
        piped = node.type == "pipeline"
        self._pipelines += piped
        return [
            _Visit(
                child,
                # What a whole pipeline is redirected to, its last member writes.
                () if piped and place < len(children) - 1 else shared,
                (self._pipelines, place, len(children)) if piped else visit.pipe,
                visit.background or behind,
                visit.depth + 1,
            )
            for place, (child, behind) in enumerate(children)
        ]

    def _feed(self, heredoc: Node, target: Node | None) -> None:
        """Remember the text of a `<<` for the command that it feeds."""
        body = next((c for c in heredoc.named_children if c.type == "heredoc_body"), None)
        while target is not None and target.type != "command":
            target = target.named_children[-1] if target.named_children else None
        if body is not None and target is not None:
            self._fed[target.id] = (self._text(body), self._line(body))

    def _command(self, node: Node, visit: _Visit) -> None:
        words: list[str] = []
        environment: list[tuple[str, str]] = []
        own: list[Redirect] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, _, value = self._text(child).partition("=")
                known = self._word(child.named_children[-1]) if child.named_child_count > 1 else value
                environment.append((name, known))
            elif child.type in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
                own.extend(self._redirect(child))
            elif words and _goes_on(child):
                words[-1] = self._rejoined(words[-1] + self._word(child), child)
            elif self._has_room(words, node):
                words.append(self._word(child))
        self.found.append(
            Command(
                tuple(words),
                self._line(node),
                self._text(node),
                self._bounded((*own, *visit.redirects), node, slice(MAX_REDIRECTS)),
                tuple(environment),
                *visit.pipe,
                visit.background,
                *self._fed.get(node.id, ("", 0)),
            )
        )

    def _assign(self, node: Node) -> None:
        if node.type == "declaration_command":
            words = [self._text(node.children[0])]
            for child in node.named_children:
                if self._has_room(words, node):
                    words.append(self._word(child))
            self.found.append(Command(tuple(words), self._line(node), self._text(node)))
            for child in node.named_children:
                if child.type == "variable_assignment":
                    self._assign(child)
        elif node.named_child_count > 1:
            self.variables[self._text(node.named_children[0])] = self._word(node.named_children[-1])

    def _redirect(self, node: Node) -> Iterator[Redirect]:
        if node.type != "file_redirect":
            return
        descriptor, operator, target = "1", ">", ""
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = self._text(child)
            elif child.is_named:
                target = self._rejoined(target + self._word(child), child) if _goes_on(child) else self._word(child)
            else:
                operator = child.type
        both = operator in {"&>", "&>>"}
        yield Redirect(("1", "2") if both else (descriptor,), operator, target)

    def _word(self, node: Node, depth: int = 0) -> str:
        text = self._text(node)
        if node.type == "raw_string":
            return text[1:-1]
        if node.type in {"simple_expansion", "expansion"}:
            name = text.strip("${}").split(":")[0]
            return self._filled(name, text, node)
        if node.type in {"string", "concatenation", "command_name", "variable_assignment"} and depth < 20:
            children = node.children
            parts, whole, at, base = [], node.text or b"", node.start_byte, node.start_byte
            for child in children:
                parts.append(whole[at - base : child.start_byte - base].decode("utf-8", "replace"))
                if child.type != '"':
                    parts.append(self._word(child, depth + 1))
                at = child.end_byte
            return "".join(parts) if children else text
        if node.type == "word":
            return text.replace("\\\n", "").replace("\\", "")
        return text

    def _rejoined(self, word: str, node: Node) -> str:
        """Return a word whose variable the grammar had cut in two behind its sign."""
        return _VARIABLE.sub(lambda found: self._filled(found[1], found[0], node), word)

    def _filled(self, name: str, text: str, node: Node) -> str:
        """Return a variable's value, or its name where that is not known or would be too long."""
        value = self.variables.get(name)
        if value is None:
            return text
        if len(value) > min(MAX_VALUE, self._fill):
            self.leave("value", f"line {self._line(node)}: ${name} is too long to be filled in")
            return text
        self._fill -= len(value)
        return value

    def _has_room(self, words: list[str], node: Node) -> bool:
        if len(words) < MAX_WORDS:
            return True
        self.leave("words", f"line {self._line(node)}: only the first {MAX_WORDS} words of this command were read")
        return False

    def _bounded(self, redirects: tuple[Redirect, ...], node: Node, nearest: slice) -> tuple[Redirect, ...]:
        if len(redirects) > MAX_REDIRECTS:
            why = f"only {MAX_REDIRECTS} of the redirections here were read"
            self.leave("redirects", f"line {self._line(node)}: {why}")
        return redirects[nearest]

    def _line(self, node: Node) -> int:
        return self._first_line + node.start_point[0]

    @staticmethod
    def _text(node: Node) -> str:
        return (node.text or b"").decode("utf-8", "replace")


class _Visit(Struct, frozen=True):
    """A node to be visited, with what the statements around it mean for it."""

    node: Node
    redirects: tuple[Redirect, ...] = ()
    pipe: tuple[int, int, int] = (0, 0, 1)
    background: bool = False
    depth: int = 0


def _members(node: Node) -> list[tuple[Node, bool]]:
    """Return the named children, each with whether a `&` follows; asking a child for its sibling is not O(1)."""
    children = node.children
    following: list[Node | None] = [*children[1:], None]
    return [
        (child, after is not None and after.type == "&")
        for child, after in zip(children, following, strict=False)
        if child.is_named
    ]
