"""Names with numbers out of a line, whatever stands between them, and what they add up to.

One pattern reads `step=5`, `loss: 1.31`, `lm loss: 8.66E+00 |`, `loss 9.18 | lr 6.00e-04`,
`Iter(train) [ 50/80000]` and `mem 71.2/96.0 GiB`. Every repeat in it is bounded or
possessive, so the time is linear in the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from forensics.parsers.metrics.meaning import Meaning, meaning
from forensics.parsers.metrics.values import NUMBER, Values, number, per_second, size_bytes, whole
from forensics.text.lazy import lazy

_WORD = r"[A-Za-z_][\w./@#%'*-]{0,80}+(?:\([A-Za-z][\w/%]{0,20}\))?+"
_UNIT = (
    r"(?:\s?+([KMGTkmgt]i?[Bb]|ms|s(?:ec(?:ond)?s?)?|min|(?:steps?|it|iters?|batch(?:es)?)/s(?:ec)?|[KMGTkmgt])"
    r"(?![\w/]))?+"
)
_PAIR = lazy(
    rf"(?<![\w.'-])(?<![A-Za-z]/)(?!s )({_WORD}(?: (?:{_WORD}|\([A-Za-z][\w/% ]{{0,20}}\))){{0,5}}?)"
    r"(?:\s{0,8}[:=]\s{0,16}|\s{1,16}|(?=[\[(]))(?:tensor)?[\[(]?\s{0,12}"
    rf"({NUMBER})(?:\s{{0,8}}(?:/|of\b)\s{{0,8}}({NUMBER}))?+{_UNIT}(?!\w|\.\d|[-:]\d)",
    re.ASCII,
)
_TOKEN_RATE = lazy(rf"({NUMBER})\s?([kKmM]?)\s?tok(?:en)?s?/s", re.ASCII)
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0}
_THOUSANDS = {"k": 1e3, "m": 1e6}
_HELD_OUT = 50
"""Added to the rank of a loss that was measured on held-out data."""
_NO_LOSS = 99
"""The rank of a loss that was not printed."""
_MOST_KEYS = 32
_MOST_PAIRS = 128


class Pair(NamedTuple):
    """One named number as printed; `of` is what it was counted against, or empty."""

    key: str
    value: str
    of: str
    unit: str


def pairs(text: str) -> list[Pair]:
    """Find the named numbers of a text in their order."""
    return [Pair._make(found) for found in _PAIR.findall(text)[:_MOST_PAIRS]]


class Sum:
    """What the pairs of one record add up to."""

    __slots__ = ("_loss_rank", "_memory_rank", "config", "counter", "keys", "score", "step_rank", "values", "weak")

    def __init__(self, found: Iterable[Pair]) -> None:
        self.values: Values = {}
        self.keys: list[str] = []
        self.counter = ""
        """The key of the counter, as printed."""
        self.step_rank = 99
        self.config = False
        self.score = False
        self.weak = False
        self._loss_rank = _NO_LOSS
        self._memory_rank = 99
        for pair in found:
            self._add(pair, meaning(pair.key))

    @property
    def strong(self) -> bool:
        """Tell whether a number was there that only a running model has."""
        values = self.values
        return self.score or "loss" in values or "grad_norm" in values or "tokens_per_s" in values

    def _add(self, pair: Pair, what: Meaning) -> None:
        values, field = self.values, what.field
        if what.name != "eta" and len(self.keys) < _MOST_KEYS:
            self.keys.append(what.name)
        if field == "loss":
            self._loss(number(pair.value), what)
        elif field == "counter":
            self._count(pair, what)
        elif field == "epoch":
            values.setdefault("epoch", number(pair.value))
        elif field in {"lr", "grad_norm"}:
            self._plain(pair, what)
        elif field == "memory_bytes":
            self._memory(pair, what)
        elif field == "config":
            self.config = True
        elif field in {"score", "other"}:
            self.score |= field == "score"
            if "/s" in pair.unit:
                self._step_rate(number(pair.value))
        else:
            self._rate(pair, what)

    @property
    def evaluation(self) -> bool:
        """Tell whether the only losses were measured on held-out data."""
        return _HELD_OUT <= self._loss_rank < _NO_LOSS

    def _loss(self, value: float, what: Meaning) -> None:
        """Keep the loss with the plainest name; of several partial ones, the one that is no number."""
        rank = what.rank + (_HELD_OUT if what.evaluation else 0)
        partial = 1 < rank < _HELD_OUT and self._loss_rank > 1
        if rank < self._loss_rank or (partial and not math.isfinite(value)):
            self._loss_rank = min(rank, self._loss_rank)
            self.values["loss"] = value

    def _count(self, pair: Pair, what: Meaning) -> None:
        step = whole(pair.value)
        if step is None or what.rank >= self.step_rank:
            return
        self.step_rank = what.rank
        self.counter = pair.key
        self.values["step"] = step
        self.values["total"] = whole(pair.of)

    def _plain(self, pair: Pair, what: Meaning) -> None:
        if what.field == "lr":
            self.weak = True
            self.values.setdefault("lr", number(pair.value))
        else:
            self.values.setdefault("grad_norm", number(pair.value))

    def _memory(self, pair: Pair, what: Meaning) -> None:
        self.weak = True
        if what.rank < self._memory_rank and (size := size_bytes(pair.value, pair.unit or what.unit)) is not None:
            self._memory_rank = what.rank
            self.values["memory_bytes"] = size

    def _rate(self, pair: Pair, what: Meaning) -> None:
        value = number(pair.value)
        unit = pair.unit.lower()
        self.weak = True
        if what.field == "tokens_per_s":
            self.values.setdefault("tokens_per_s", value * _THOUSANDS.get(unit, 1.0))
        elif what.field == "steps_per_s" or "/s" in unit:
            self._step_rate(value)
        elif what.field == "data_time_s":
            self.values.setdefault("data_time_s", value * _SECONDS.get(unit, what.scale))
        elif what.field == "step_time_s":
            self.values.setdefault("step_time_s", value * _SECONDS.get(unit, what.scale))

    def _step_rate(self, rate: float) -> None:
        """A rate says what a step takes; a `time` beside it may be that of many."""
        if (seconds := per_second(rate)) is not None:
            self.weak = True
            self.values["step_time_s"] = seconds

    def add_token_rate(self, text: str) -> None:
        """Read `4.7k tok/s` and `12040/9310 tok/s`, where the name follows the number."""
        if "tokens_per_s" not in self.values and "tok" in text and (found := _TOKEN_RATE.search(text)):
            self.values["tokens_per_s"] = number(found[1]) * _THOUSANDS.get(found[2].lower(), 1.0)
            self.keys.append("tok/s")
