"""Dumps of the flight recorder."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.flight_recorder import MOST_COLLECTIVES, PARSER


def entry(n: int, state: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "record_id": n,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": n + 1,
        "p2p_seq_id": 0,
        "op_id": n + 1,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[1543168], [2, 3]],
        "output_sizes": [[1543168]],
        "state": state,
        "time_created_ns": 1_716_890_590_000_000_000 + n,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "frames": [{"name": "step", "filename": "/root/train.py", "line": 12}],
        **more,
    }


def dump(entries: list[dict[str, Any]]) -> dict[str, Any]:
    status = {"last_enqueued_collective": len(entries), "last_started_collective": -1, "last_completed_collective": 2}
    return {"version": "2.10", "pg_config": {"0": {"name": "0"}}, "pg_status": {"0": status}, "entries": entries}


def parse(data: bytes, path: str = "nccl_trace_rank_3", rank: int | None = None) -> list[Event]:
    return list(PARSER.parse(data, Context(Source(path, "flight-recorder", len(data), rank=rank))))


@pytest.mark.parametrize("write", [pickle.dumps, lambda value: json.dumps(value).encode()], ids=["pickle", "JSON"])
def test_a_dump_tells_how_far_its_rank_got(write: Any) -> None:
    """One event for the file: the newest collectives, how far the group got, where the oldest open one was called."""
    (event,) = parse(write(dump([entry(0), entry(1), entry(2, "started"), entry(3, "scheduled")])))
    assert (event.kind, event.line, event.rank) == ("recorder", 0, 3)
    assert (event.fields["entries"], event.fields["unfinished"]) == (4, 2)
    assert event.fields["last_enqueued"] == 4
    assert event.fields["last_completed"] == 2
    collectives = event.fields["collectives"]
    assert isinstance(collectives, tuple)
    assert collectives[-1] == ("0", 4, "nccl:all_reduce", "1543168 2x3", "scheduled", "/root/train.py:12")
    assert event.fields["frames"] == 'File "/root/train.py", line 12, in step'
    assert event.fields["timeout_ms"] == 600_000


def test_a_point_to_point_operation_has_its_own_numbers() -> None:
    """Sends and receives are counted apart from collectives."""
    (event,) = parse(pickle.dumps(dump([entry(0, is_p2p=True, p2p_seq_id=9, profiling_name="nccl:send 0->1")])))
    assert event.fields["collectives"] == (("0", 9, "nccl:send 0->1", "1543168 2x3", "completed", "/root/train.py:12"),)


def test_only_the_newest_are_kept_in_the_order_of_their_records() -> None:
    """The ring buffer is written round; what was recorded last decides."""
    entries = [entry(n) for n in range(1000)]
    (event,) = parse(pickle.dumps(dump(entries[500:] + entries[:500])))
    collectives = event.fields["collectives"]
    assert isinstance(collectives, tuple)
    assert len(collectives) == MOST_COLLECTIVES
    assert isinstance(collectives[-1], tuple)
    assert collectives[-1][1] == 1000
    assert event.fields["entries"] == 1000


def test_a_torn_dump_gives_what_was_written() -> None:
    """The process was killed while it dumped."""
    data = pickle.dumps(dump([entry(n) for n in range(50)]))
    (event,) = parse(data[: len(data) // 2])
    assert event.fields["torn"] is True
    assert 0 < int(str(event.fields["entries"])) < 50


@pytest.mark.parametrize("data", [b"", b"\x80\x04", b"{}", b"{", b"hello", pickle.dumps([1]), pickle.dumps({"a": 1})])
def test_other_files_give_nothing(data: bytes) -> None:
    """A pickle that is no dump says nothing."""
    assert parse(data) == []


@given(value=st.recursive(st.none() | st.integers() | st.text() | st.booleans(), lambda inner: st.lists(inner, max_size=3) |
    st.dictionaries(st.sampled_from(["entries", "pg_config", "pg_status", "0", "state", "frames", "process_group",
    "input_sizes", "record_id", "is_p2p", "time_created_ns"]), inner, max_size=4), max_leaves=12))  # fmt: skip
def test_keys_of_the_format_with_values_of_any_type_raise_nothing(value: object) -> None:
    """A later version, or a hostile one, gives an event or nothing."""
    assert len(parse(pickle.dumps({"entries": [value, value], "pg_config": value, "pg_status": value}))) <= 1
    assert len(parse(pickle.dumps(value))) <= 1
