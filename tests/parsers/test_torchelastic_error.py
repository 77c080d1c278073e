"""The error file of torchelastic."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Context, Event, Source
from forensics.parsers.torchelastic_error import PARSER

STACK = (
    "Traceback (most recent call last):\n"
    '  File "/venv/lib/python3.12/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 357, in wrapper\n'
    "    return f(*args, **kwargs)\n"
    '  File "/root/train.py", line 25, in main\n'
    "    raise ValueError(1)\n"
    "ValueError: bad sample 7\n"
)


def parse(data: bytes, rank: int | None = None) -> list[Event]:
    return list(
        PARSER.parse(data, Context(Source("attempt_0/3/error.json", "torchelastic-error", len(data), rank=rank)))
    )


def test_the_exception_of_a_worker_is_one_event() -> None:
    """Type and text as message, the stack as frames, the time of the failure, the rank of the folder."""
    inner = {"message": "ValueError: bad sample 7", "extraInfo": {"py_callstack": STACK, "timestamp": "1716890590"}}
    (event,) = parse(json.dumps({"message": inner}).encode(), rank=3)
    assert (event.kind, event.message, event.time, event.rank) == (
        "exception",
        "ValueError: bad sample 7",
        1716890590.0,
        3,
    )
    assert event.fields["exception"] == "ValueError"
    assert (event.fields["file"], event.fields["file_line"], event.fields["function"]) == ("/root/train.py", 25, "main")
    assert "bad sample" not in str(event.fields["frames"])


def test_the_older_form_has_the_text_itself() -> None:
    """A plain string, with a number beside it."""
    (event,) = parse(b'{"message": "torch.OutOfMemoryError: CUDA out of memory.", "timestamp": 1716890590}')
    assert (event.fields["exception"], event.time) == ("torch.OutOfMemoryError", 1716890590.0)


def test_a_code_is_kept() -> None:
    """Some workers leave their exit status."""
    (event,) = parse(b'{"message": {"message": "SystemExit: 3", "errorCode": 3, "extraInfo": {"timestamp": "x"}}}')
    assert (event.fields["exit_code"], event.time) == (3, None)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"message": {"mess', b'{"message": 7}', b'{"message": {}}', b"null"]
)
def test_a_torn_file_or_another_document_gives_nothing(data: bytes) -> None:
    """What cannot be read says nothing."""
    assert parse(data) == []


@given(value=st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(
    st.sampled_from(["message", "extraInfo", "timestamp", "py_callstack", "errorCode"]), inner), max_leaves=8))  # fmt: skip
def test_any_json_gives_an_event_or_nothing(value: object) -> None:
    """Keys of the format with values of any type raise nothing."""
    assert len(parse(json.dumps(value).encode())) <= 1
