"""Snapshots of the caching allocator."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.memory_snapshot import PARSER

CPP = {"filename": "CUDACachingAllocator.cpp", "line": 0, "name": "malloc"}
LIBRARY = {"filename": "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", "line": 125, "name": "forward"}
OWN = {"filename": "/root/train.py", "line": 20, "name": "step"}
GIB = 1 << 30


def block(size: int, state: str = "active_allocated", **more: Any) -> dict[str, Any]:
    return {"address": 1, "size": size, "requested_size": size, "state": state, "frames": [CPP, LIBRARY, OWN], **more}


def segment(*blocks: dict[str, Any]) -> dict[str, Any]:
    active = sum(b["size"] for b in blocks if b["state"] != "inactive")
    return {"device": 0, "total_size": sum(b["size"] for b in blocks), "allocated_size": active, "blocks": list(blocks)}


SNAPSHOT = {
    "segments": [segment(block(4 * GIB), block(GIB, "inactive")), segment(block(2 * GIB, frames=[CPP]))],
    "device_traces": [
        [
            {"action": "oom", "size": GIB, "device_free": 7, "frames": [OWN], "time_us": 1_700_000_000_000_000},
            {"action": "alloc", "addr": 1, "size": 4 * GIB, "frames": [OWN], "time_us": 1_700_000_001_000_000},
            {
                "action": "oom",
                "size": 9 * GIB,
                "device_free": GIB,
                "frames": [CPP, LIBRARY, OWN],
                "time_us": 1_700_000_002_000_000,
            },
            {"action": "snapshot", "addr": 0, "size": 0, "frames": []},
        ]
    ],
}


def parse(data: bytes) -> list[Event]:
    return list(PARSER.parse(data, Context(Source("snapshot.pickle", "memory-snapshot", len(data)))))


def test_the_last_failed_request_is_told_with_its_place() -> None:
    """Exact bytes, and the innermost frame that is neither C++ nor torch's own."""
    oom = parse(pickle.dumps(SNAPSHOT))[0]
    assert (oom.kind, oom.line, oom.time) == ("oom", 0, 1_700_000_002.0)
    assert (oom.fields["requested_bytes"], oom.fields["free_bytes"], oom.fields["device"]) == (9 * GIB, GIB, 0)
    assert (oom.fields["file"], oom.fields["file_line"], oom.fields["function"]) == ("/root/train.py", 20, "step")
    assert str(oom.fields["frames"]).startswith('File "/venv/')


def test_the_totals_tell_fragmentation_and_the_largest_consumers() -> None:
    """Reserved against allocated, the largest free block, and who holds most."""
    totals = parse(pickle.dumps(SNAPSHOT))[1]
    assert totals.kind == "snapshot"
    assert totals.fields["reserved_bytes"] == 7 * GIB
    assert totals.fields["allocated_bytes"] == 6 * GIB
    assert totals.fields["reserved_unallocated_bytes"] == GIB
    assert totals.fields["largest_free_bytes"] == GIB
    assert totals.fields["consumers"] == (("/root/train.py:20 step", 4 * GIB, 1), ("unknown", 2 * GIB, 1))


def test_a_snapshot_without_a_failure_has_totals_only() -> None:
    """Taken by hand, or with the trace switched off."""
    assert [e.kind for e in parse(pickle.dumps({"segments": SNAPSHOT["segments"], "device_traces": [[]]}))] == [
        "snapshot"
    ]


def test_the_list_of_segments_that_old_releases_write_is_read() -> None:
    """Up to 2.0 there is no dict around it, and frames stand in the history of a block."""
    old = segment(block(GIB, frames=[], history=[{"frames": [OWN]}]))
    (totals,) = parse(pickle.dumps([old]))
    assert totals.fields["consumers"] == (("/root/train.py:20 step", GIB, 1),)


def test_a_torn_snapshot_says_so() -> None:
    """What was written before the kill is counted."""
    data = pickle.dumps({"segments": [segment(block(GIB)) for _ in range(50)], "device_traces": []})
    (totals,) = parse(data[: len(data) * 2 // 3])
    assert totals.fields["torn"] is True


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"hello", pickle.dumps({}), pickle.dumps(7), pickle.dumps({"segments": 7})]
)
def test_other_files_give_nothing(data: bytes) -> None:
    """A pickle that is no snapshot says nothing."""
    assert parse(data) == []


@given(value=st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3) |
    st.dictionaries(st.sampled_from(["action", "size", "frames", "blocks", "state", "filename", "line", "time_us",
    "device_free"]), inner | st.just("oom"), max_size=4), max_leaves=12))  # fmt: skip
def test_keys_of_the_format_with_values_of_any_type_raise_nothing(value: object) -> None:
    """A later version, or a hostile one, gives events or nothing."""
    parse(pickle.dumps({"segments": [value], "device_traces": [[value], value]}))
    parse(pickle.dumps({"segments": value, "device_traces": value}))
