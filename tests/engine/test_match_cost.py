"""What matching costs on a log that repeats itself, and that the shortcut changes no answer."""

from __future__ import annotations

from forensics.engine.match import match
from forensics.model import Event, Source
from forensics.rulebook.load import load

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 139.80 GiB"
SOURCES = [Source("train.log", "training-log", 1)]


class Watched(str):
    """A message that counts how often something is looked for in it."""

    __slots__ = ()
    looked = 0

    def __contains__(self, part: object) -> bool:
        """Look as any text does."""
        Watched.looked += 1
        return isinstance(part, str) and super().__contains__(part)


def events(count: int, message: str = OOM) -> list[Event]:
    return [Event("exception", "OutOfMemoryError", "train.log", n, message, Watched(message)) for n in range(count)]


def searches(count: int) -> int:
    Watched.looked = 0
    assert len(match(events(count), load(), SOURCES).matches) >= count
    return Watched.looked


def test_a_line_that_is_repeated_is_looked_through_once() -> None:
    """Thousands of copies of one message cost no more searches for the rules' words than one."""
    assert searches(3000) == searches(1) > 0


def test_the_place_of_an_event_counts_though_its_words_were_heard_before() -> None:
    """The same words fit other signals where another speaks them: what is remembered of one is not told of the other."""
    (spoken,) = events(1)
    silent = Event("nobody", "OutOfMemoryError", "train.log", 2, OOM, OOM)
    together = match([spoken, silent, spoken], load(), SOURCES).matches
    alone = match([spoken], load(), SOURCES).matches
    assert [(m.rule.id, m.event.line) for m in together] == [(m.rule.id, m.event.line) for m in (*alone, *alone)]


def test_more_messages_than_are_remembered_are_all_matched() -> None:
    """What is remembered is bounded, and forgetting it loses no match."""
    many = [Event("exception", "OutOfMemoryError", "train.log", n, "", f"{OOM} {n}") for n in range(5000)]
    (rule,) = {m.rule.id for m in match(many[:1], load(), SOURCES).matches}
    assert [m.event.line for m in match(many, load(), SOURCES).matches if m.rule.id == rule] == list(range(5000))
