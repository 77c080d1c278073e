"""How long ranks wait for their data, in tables of timers and in lines of a detector."""

from __future__ import annotations

import pytest

from forensics.parsers.rank_times import PARSER, SCORES
from tests.cutting import check_laws, one, parse

TABLE = """ times across ranks (ms):
  forward-backward:
     rank  0: 3810.48
     rank  1: 3811.03
  batch-generator:
     rank  0: 30.64
     rank  1: 1851.93
     rank  2: 19.15
 iteration       70/  120000 | elapsed time per iteration (ms): 4021.2 |
"""
SECTIONS = """=== Straggler Report at Step 70 ===

Section Timings (ms):

  optimizer:
    Min: 9.24ms, Max: 10.04ms, Avg: 9.65ms, Slowdown: 1.09x
    Rank 0: 10.04ms
    Rank 1: 9.24ms

  forward_backward:
    Min: 293.84ms, Max: 435.26ms, Avg: 314.36ms, Slowdown: 1.48x
    Rank 0: 295.07ms
    Rank 1: 435.26ms
    Rank 2: 293.84ms

GPU Performance Scores (higher=faster):
  Rank 0 (node1): 3.3891
"""
DETECTED = "| MnRtt/Rnk: 3340.69ms/11 | MxRtt/Rnk: 5079.37ms/6 | MnDRtt/Rnk: 14.71ms/10 | MxDRtt/Rnk: 1738.68ms/11 |"


def test_a_table_tells_the_slowest_and_the_others() -> None:
    """It stands at the row of the slowest; times in which ranks wait for each other are not read."""
    event = one(PARSER, TABLE)
    assert event.line == 7
    assert dict(event.fields) == {"rank": 1, "slowest_ms": 1851.93, "others_ms": 24.89}


def test_srun_labels_the_rows() -> None:
    """The label is the task that prints, not the one that waits."""
    labelled = "".join(f"15: {line}\n" for line in TABLE.splitlines())
    assert one(PARSER, labelled).fields["rank"] == 1


def test_the_detector_tells_least_and_most() -> None:
    """Of the batches, not of the round trips."""
    event = one(PARSER, f"INFO:megatron.core.utils:[2024-11-19 14:16:45] {DETECTED}")
    assert dict(event.fields) == {"rank": 11, "slowest_ms": 1738.68, "others_ms": 14.71}


def test_a_report_of_sections_tells_of_each() -> None:
    """Scores of another kind below it are no times."""
    told = [dict(event.fields) for event in parse(PARSER, SECTIONS)]
    assert told == [
        {"rank": 0, "slowest_ms": 10.04, "others_ms": 9.24, "section": "optimizer"},
        {"rank": 1, "slowest_ms": 435.26, "others_ms": 294.45, "section": "forward_backward"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "  batch-generator:\n     rank  0: 30.64\n",
        "    batch-generator ................................: (17.09, 1851.93)\n",
        "batch-generator: rank 3: 12.0\n",
        "| MnDRtt/Rnk: 14.71ms/10 | MxDRtt/Rnk: 17\n",
        "MxDRtt/Rnk: the rank with the longest get_batch\n",
    ],
)
def test_look_alikes_stay_silent(text: str) -> None:
    """One rank alone, a table without ranks, a line that was cut, and a word about it."""
    assert parse(PARSER, text) == []


def test_the_laws_hold() -> None:
    """However the text is cut."""
    check_laws(PARSER, TABLE)
    check_laws(PARSER, SECTIONS)
    check_laws(PARSER, DETECTED)


SCORED = """megatron.bridge.NVRxStragglerDetection: GPU relative performance:
  Rank=0 Node=22ca9bdcfc9a Score=1.00
  Rank=1 Node=22ca9bdcfc9a Score=0.98
  Rank=2 Node=b7c1e0f2a9d4 Score=0.58

megatron.bridge.NVRxStragglerDetection: GPU individual performance:
  Rank=0 Node=22ca9bdcfc9a Score=0.31
"""


def test_scores_tell_the_slowest_gpu_beside_the_others() -> None:
    """Those of a GPU beside its own past are no comparison of ranks."""
    event = one(SCORES, SCORED)
    assert event.line == 4
    assert dict(event.fields) == {"rank": 2, "node": "b7c1e0f2a9d4", "score": 0.58, "others_score": 0.99}
    check_laws(SCORES, SCORED)
