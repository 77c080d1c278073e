"""Shell scripts read by a real parser, never executed: the simple commands and how they are joined.

The grammar is tree-sitter-bash. Words are unquoted; a variable whose value the script
itself sets is filled in, any other stays as `$NAME`, so a reader can tell a known path
from an unknown one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_SCRIPT = 1 << 20
"""Bytes of a script that are parsed; launch scripts are thousands of times smaller."""
_COMPOUND = frozenset({"list", "compound_statement", "subshell", "program"})


@dataclass(frozen=True, slots=True)
class Redirect:
    """`2>> file` is Redirect(("2",), ">>", "file"); `&>` has both descriptors."""

    descriptors: tuple[str, ...]
    operator: str
    target: str


@dataclass(frozen=True, slots=True)
class Command:
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


def commands(script: str, first_line: int = 1, variables: Mapping[str, str] = MappingProxyType({})) -> list[Command]:
    """Return the simple commands of a script in order; a broken script gives what could be read.

    `variables` are values known from elsewhere, such as a sourced file; the script's own win.
    """
    data = script.encode("utf-8", "surrogateescape")[:MAX_SCRIPT]
    reader = _Reader(first_line, dict(variables))
    reader.walk(_parser().parse(data).root_node)
    return reader.found


def variables(script: str) -> dict[str, str]:
    """Return the variables that a script sets to values it knows, for a script that sources it."""
    data = script.encode("utf-8", "surrogateescape")[:MAX_SCRIPT]
    reader = _Reader(1, {})
    reader.walk(_parser().parse(data).root_node)
    return reader.variables


class _Reader:
    def __init__(self, first_line: int, variables: dict[str, str]) -> None:
        self.found: list[Command] = []
        self.variables = variables
        self._first_line = first_line
        self._pipelines = 0
        self._fed: dict[int, tuple[str, int]] = {}

    def walk(self, root: Node) -> None:
        """Visit statements without recursion: a hostile script may nest without end."""
        stack: list[tuple[Node, tuple[Redirect, ...], tuple[int, int, int], bool]] = [(root, (), (0, 0, 1), False)]
        while stack:
            node, redirects, pipe, background = stack.pop()
            if node.type == "command":
                self._command(node, redirects, pipe, background=background)
                continue
            if node.type in {"variable_assignment", "declaration_command"}:
                self._assign(node)
                continue
            children = node.named_children
            if node.type == "redirected_statement":
                redirects = redirects + tuple(r for c in children for r in self._redirect(c))
                fed = [c for c in children if c.type == "heredoc_redirect"]
                children = [c for c in children if not c.type.endswith("_redirect")]
                for heredoc in fed:
                    redirects += tuple(r for c in heredoc.named_children for r in self._redirect(c))
                    self._feed(heredoc, children)
                    children = children + [c for c in heredoc.named_children if c.type == "pipeline"]
            if node.type == "pipeline":
                self._pipelines += 1
                pipes = [(self._pipelines, i, len(children)) for i in range(len(children))]
            else:
                pipes = [pipe] * len(children)
            pending = []
            shared = redirects
            for child, place in zip(children, pipes, strict=True):
                # What a whole pipeline is redirected to, its last member writes.
                redirects = () if node.type == "pipeline" and child is not children[-1] else shared
                following = child.next_sibling
                behind = background or (following is not None and following.type == "&")
                pending.append((child, redirects, place, behind))
            stack.extend(reversed(pending))

    def _feed(self, heredoc: Node, children: list[Node]) -> None:
        """Remember the text of a `<<` for the command that it feeds."""
        body = next((c for c in heredoc.named_children if c.type == "heredoc_body"), None)
        target = children[0] if children else None
        while target is not None and target.type != "command":
            target = target.named_children[-1] if target.named_children else None
        if body is not None and target is not None:
            self._fed[target.id] = (self._text(body), self._first_line + body.start_point[0])

    def _command(
        self, node: Node, redirects: tuple[Redirect, ...], pipe: tuple[int, int, int], *, background: bool
    ) -> None:
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
            else:
                words.append(self._word(child))
        self.found.append(
            Command(
                tuple(words),
                self._first_line + node.start_point[0],
                self._text(node),
                (*own, *redirects),
                tuple(environment),
                *pipe,
                background,
                *self._fed.get(node.id, ("", 0)),
            )
        )

    def _assign(self, node: Node) -> None:
        if node.type == "declaration_command":
            self.found.append(
                Command(
                    (self._text(node.children[0]), *(self._word(c) for c in node.named_children)),
                    self._first_line + node.start_point[0],
                    self._text(node),
                )
            )
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
                target = self._word(child)
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
            return self.variables.get(name, text)
        if node.type in {"string", "concatenation", "command_name", "variable_assignment"} and depth < 20:
            parts, at = [], node.start_byte
            for child in node.children:
                parts.append(self._between(node, at, child.start_byte))
                if child.type != '"':
                    parts.append(self._word(child, depth + 1))
                at = child.end_byte
            return "".join(parts) if node.children else text
        if node.type == "word":
            return text.replace("\\\n", "").replace("\\", "")
        return text

    @staticmethod
    def _text(node: Node) -> str:
        return (node.text or b"").decode("utf-8", "replace")

    @staticmethod
    def _between(node: Node, start: int, end: int) -> str:
        base = node.start_byte
        return (node.text or b"")[start - base : end - base].decode("utf-8", "replace")
