"""How long each rank waits for its data, as Megatron's timers and its straggler detector tell.

     times across ranks (ms):
      batch-generator:
         rank  0: 27.37
         rank  1: 1851.93
      forward_backward:
        Min: 293.84ms, Max: 435.26ms, Avg: 314.36ms, Slowdown: 1.48x
        Rank 0: 295.07ms
    GPU relative performance:
      Rank=5 Node=b7c1e0f2a9d4 Score=0.58
         Train MinThroughput/Rank: 61.68TF/5
         Train MaxThroughput/Rank: 129.70TF/2
    | MnRtt/Rnk: 3340.69ms/11 | ... | MnDRtt/Rnk: 14.71ms/10 | MxDRtt/Rnk: 1738.68ms/11 | ...

Events `data-times`, `compute-times` and `work-times` (rank, slowest_ms, others_ms, section of the
work), which stand at the slowest rank. `others_ms` is the median of the others, or the least where no more is
told. Event `scores` (rank, node, score, others_score): how fast the slowest GPU is beside the others, of
the detector by the clocks that it tells.
Times of sections in which ranks wait for each other say nothing of who is slow, and are not
read. Sources: Megatron-LM megatron/core/timers.py (`--timing-log-option all`) and
megatron/core/utils.py (StragglerDetector); NVIDIA's resiliency extension in Megatron-Bridge;
Composer's global straggler detector;
FlagScale's straggler report, whose sections are timed on each rank by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from forensics.model import Context, Event, Hears, Record, Value
from forensics.text.lazy import lazy
from forensics.text.quote import quote

_SECTION = lazy(r"\s{1,12}(?:batch-generator|get-batch|(?P<compute>(?:forward|backward)-compute)):\s*$")
_ROW = lazy(r"\s{1,16}rank {1,8}(?P<rank>\d{1,7}): (?P<ms>\d{1,12}\.\d{1,4})\s*$")
_WORK = lazy(r"\s{1,16}Min: \d{1,12}\.\d{1,4}ms, Max: \d{1,12}\.\d{1,4}ms, ")
_WORK_ROW = lazy(r"\s{1,16}Rank (?P<rank>\d{1,7}): (?P<ms>\d{1,12}\.\d{1,4})ms\s*$")
_SCORE = lazy(r"\s{1,8}Rank=(?P<rank>\d{1,7}) Node=(?P<node>\S{1,100}) Score=(?P<score>\d\.\d{1,4})\s*$")
_THROUGHPUT = lazy(
    r"\s{1,8}Train (?P<which>Min|Max)Throughput/Rank: (?P<flops>\d{1,9}(?:\.\d{1,4})?)TF/(?P<rank>\d{1,7})\s*$"
)
_SCORED = "GPU relative performance:"
_LONGEST = 60
_DETECTED = lazy(
    r"\bMnDRtt/Rnk: (?P<least>\d{1,12}\.\d{1,4})ms/\d{1,7} "
    r"\| MxDRtt/Rnk: (?P<most>\d{1,12}\.\d{1,4})ms/(?P<rank>\d{1,7})\b"
)
_CLOCKS = lazy(
    r"\bMnClk/Rnk: (?P<least>\d{1,5}\.\d{1,4})MHz/(?P<rank>\d{1,7}) \| MxClk/Rnk: (?P<most>\d{1,5}\.\d{1,4})MHz/"
)


class RankTimes:
    """See the module's text."""

    speaker = "timers"
    triggers = ("batch-generator:", "get-batch:", "ward-compute:", "MxDRtt/Rnk: ", "ms, Slowdown: ")
    follow = 130
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a table, and one a line of the detector."""
        rows: list[tuple[float, int, Record]] | None = None
        kind, form, above, section = "data-times", _ROW, "", ""
        for record in records:
            row = form.match(record.text) if rows is not None and not record.line.gap else None
            if row is not None and rows is not None:
                rows.append((float(row["ms"]), int(row["rank"]), record))
                continue
            if rows:
                yield from _slowest(kind, section, rows, context)
            work, table = _WORK.match(record.text) is not None, _SECTION.match(record.text)
            rows = [] if work or table else None
            timed = "compute-times" if table and table["compute"] else "data-times"
            kind, form = ("work-times", _WORK_ROW) if work else (timed, _ROW)
            section, above = above if work else "", record.text.strip(" :")[:_LONGEST]
            if "MxDRtt" in record.text and (found := _DETECTED.search(record.text)):
                fields = {"slowest_ms": float(found["most"]), "others_ms": float(found["least"])}
                yield quote("timers", "data-times", [record], context, {"rank": int(found["rank"]), **fields})
                yield from _clocks(record, context)
        if rows:
            yield from _slowest(kind, section, rows, context)


def _clocks(record: Record, context: Context) -> Iterator[Event]:
    if (found := _CLOCKS.search(record.text)) and (most := float(found["most"])) > 0:
        score = round(float(found["least"]) / most, 2)
        fields: dict[str, Value] = {"rank": int(found["rank"]), "score": score, "others_score": 1.0}
        yield quote("timers", "scores", [record], context, fields)


class RankScores:
    """How fast the GPU of each rank is beside the fastest one, as NVIDIA's resiliency extension and Composer tell."""

    speaker = "timers"
    triggers = (_SCORED, "MinThroughput/Rank: ")
    follow = 130
    hears: Hears = "blocks"

    def parse(self, records: Iterable[Record], context: Context) -> Iterator[Event]:
        """Yield one event a table."""
        rows: list[tuple[float, int, str, Record]] | None = None
        least: tuple[float, int, Record] | None = None
        for record in records:
            if "Throughput/Rank: " in record.text and (told := _THROUGHPUT.match(record.text)):
                if told["which"] == "Min":
                    least = float(told["flops"]), int(told["rank"]), record
                elif least is not None:
                    yield _throughput(least, float(told["flops"]), context)
                    least = None
                continue
            row = _SCORE.match(record.text) if rows is not None and not record.line.gap else None
            if row is not None and rows is not None:
                rows.append((float(row["score"]), int(row["rank"]), row["node"], record))
                continue
            yield from _lowest(rows or [], context)
            rows = [] if _SCORED in record.text else None
        yield from _lowest(rows or [], context)


def _throughput(least: tuple[float, int, Record], most: float, context: Context) -> Event:
    flops, rank, record = least
    score = round(flops / most, 2) if most else 1.0
    fields: dict[str, Value] = {"rank": rank, "score": score, "others_score": 1.0}
    return quote("timers", "scores", [record], context, fields)


def _lowest(rows: list[tuple[float, int, str, Record]], context: Context) -> Iterator[Event]:
    if len(rows) > 1:
        score, rank, node, record = min(rows, key=lambda row: row[0])
        others = [score for score, other, _, _ in rows if other != rank]
        fields: dict[str, Value] = {"rank": rank, "node": node, "score": score, "others_score": median(others)}
        yield quote("timers", "scores", [record], context, fields)


def _slowest(kind: str, section: str, rows: list[tuple[float, int, Record]], context: Context) -> Iterator[Event]:
    most, rank, record = max(rows, key=lambda row: row[0])
    others = [ms for ms, other, _ in rows if other != rank]
    if others:
        fields: dict[str, Value] = {"rank": rank, "slowest_ms": most, "others_ms": round(median(others), 2)}
        if section:
            fields["section"] = section
        yield quote("timers", kind, [record], context, fields)


PARSER = RankTimes()
SCORES = RankScores()
