"""Pickles read as plain data: the same values, nothing run, nothing lost where a dump is torn."""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.plain_pickle import Opaque, PlainPickleError, load

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text()


def nested(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=5)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text() | st.integers(-1000, 1000), inner, max_size=5)
        ),
        max_leaves=30,
    )


plain = nested(scalars | st.binary())


@given(value=plain, protocol=st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_plain_data_comes_back_as_it_was(value: object, protocol: int) -> None:
    """Whatever is made of dicts, lists, text, bytes and numbers is read exactly."""
    loaded = load(pickle.dumps(value, protocol))
    assert loaded.complete
    assert loaded.value == value


@given(value=nested(scalars), protocol=st.integers(0, 2))
def test_the_protocols_of_old_writers_are_read_too(value: object, protocol: int) -> None:
    """Torch's C++ writer speaks protocol 2 (in which bytes would be a call)."""
    assert load(pickle.dumps(value, protocol)).value == value


@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_give_a_value_or_a_refusal(data: bytes) -> None:
    """No bytes make the reader raise anything but its own error."""
    for head in (b"", b"\x80\x04", b"\x80\x02}("):
        with contextlib.suppress(PlainPickleError):
            load(head + data)


@given(value=plain, cut=st.floats(0, 1))
def test_a_torn_pickle_keeps_what_was_written(value: object, cut: float) -> None:
    """A dump cut by a kill still gives a value, marked as incomplete."""
    data = pickle.dumps(value)
    part = data[: int(len(data) * cut * 0.999)]
    if len(part) > 2:
        assert not load(part).complete


def test_entries_before_the_tear_survive() -> None:
    """The list that was being filled, and the dict around it, are closed."""
    data = pickle.dumps({"version": "2.10", "entries": [{"id": n} for n in range(100)]})
    value = load(data[: len(data) // 2]).value
    assert value["version"] == "2.10"
    assert value["entries"][:3] == [{"id": 0}, {"id": 1}, {"id": 2}]


class _Evil:
    def __init__(self, call: Callable[..., Any], *arguments: object) -> None:
        self._call = call, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self._call


def test_nothing_that_a_pickle_names_is_called(tmp_path: object) -> None:
    """A pickle that would run a command becomes the name of what it wanted."""
    mark = f"{tmp_path}/ran"
    loaded = load(pickle.dumps([1, _Evil(os.system, f"touch {mark}"), 2]))
    assert loaded.value[0] == 1
    assert loaded.value[1] == Opaque(f"{os.system.__module__}.system")
    assert not os.path.exists(mark)  # noqa: PTH110


def test_a_memo_index_of_four_billion_costs_nothing() -> None:
    """The standard unpickler would allocate gigabytes for this."""
    assert load(b"\x80\x04K\x01r\xff\xff\xff\xff.").value == 1


def test_deeply_nested_keys_do_not_overflow() -> None:
    """Hashing a tuple nested a million deep would end the process."""
    nested = b"\x80\x04}(" + b")" + b"\x85" * 1_000_000 + b"K\x01u."
    assert load(nested).value == {}


def test_huge_integers_and_lengths_are_not_believed() -> None:
    """A length beyond the data is a torn file; an integer of a kilobyte is no size."""
    assert not load(b"\x80\x04X" + struct.pack("<I", 1 << 31) + b"abc").complete
    assert load(b"\x80\x04\x8b" + struct.pack("<i", 1000) + b"\x01" * 1000 + b".").value == Opaque("int")


def test_the_cap_on_opcodes_is_told() -> None:
    """What is left unread is said."""
    loaded = load(pickle.dumps(list(range(1000))), max_opcodes=100)
    assert (loaded.complete, loaded.capped) == (False, True)


def test_ordered_dicts_and_typed_lists_of_torch_are_plain() -> None:
    """Dicts under another name, and the marker calls of torch's C++ writer."""
    assert load(pickle.dumps(OrderedDict(a=1))).value == {"a": 1}
    assert load(b"\x80\x02ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02e\x85R.").value == [1, 2]


@pytest.mark.parametrize("data", [b"hello", b"\x80\x04s.", b"\x80\x04e.", b"(I1x\n."])
def test_what_is_no_pickle_is_refused(data: bytes) -> None:
    """A refusal is the reader's own error."""
    with pytest.raises(PlainPickleError):
        load(data)
