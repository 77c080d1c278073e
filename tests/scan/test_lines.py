"""The scan's numbers are an editor's numbers, whatever the engine and however the bytes arrive."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.scan import ENGINES, Key, Plan, Scan, matcher
from forensics.scan import lines as scan_lines
from forensics.scan.places import line_feeds

WORDS = {b"error": 2, b"Traceback": 3, b"caf\xc3\xa9": 0}
PROGRESS = re.compile(rb"step \d+")
BYTES = st.lists(
    st.sampled_from(
        [
            b"error",
            b"Traceback",
            b"caf\xc3\xa9",
            b"step 7",
            b"x",
            b"\xff",
            b"\n",
            b"\r",
            b"\r\n",
            b"\0",
            b" ",
            b"abc" * 9,
        ]
    ),
    max_size=60,
).map(b"".join)


@pytest.fixture(autouse=True)
def no_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand over candidates only, so that small inputs say something about them."""
    monkeypatch.setattr(scan_lines, "HEAD_LINES", 0)


def hits(data: bytes, size: int = 1 << 20, engine: str = "python") -> list[tuple[object, ...]]:
    plan = Plan(WORDS, PROGRESS, engine=engine)
    scan = Scan(plan, matcher(list(WORDS), engine))
    found = [
        (h.line.number, h.line.column, h.line.offset, h.line.text, h.line.gap, h.line.complete, h.literal, h.progress)
        for h in scan.over(data[i : i + size] for i in range(0, len(data), size))
    ]
    return [*found, (scan.lines, scan.bytes, scan.complete)]


@given(BYTES, st.integers(1, 40))
def test_the_same_bytes_give_the_same_hits_however_they_are_chunked(data: bytes, size: int) -> None:
    """A chunk may end anywhere, also inside a character or between CR and LF."""
    assert hits(data, size) == hits(data)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "python"])
@given(data=BYTES)
def test_every_engine_marks_the_same_lines(engine: str, data: bytes) -> None:
    """The fast engines are exchangeable with the plain one."""
    pytest.importorskip({"ahocorasick": "ahocorasick_rs"}.get(engine, engine))
    assert hits(data, engine=engine) == hits(data)


def naive(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (line number, offset, record) as a reader of the definition would."""
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        at = offset
        body = line[:-1] if line.endswith(b"\r") else line
        for record in body.split(b"\r"):
            yield number, at, record
            at += len(record) + 1
        offset += len(line) + 1


@given(BYTES)
def test_every_line_with_a_literal_is_found_with_its_number_and_offset(data: bytes) -> None:
    """Nothing that holds a literal is lost, and no number is off."""
    found = {(h[0], h[2]) for h in hits(data)[:-1]}
    for number, offset, record in naive(data):
        if any(word in record for word in WORDS):
            assert (number, offset) in found


@given(BYTES)
def test_numbers_and_offsets_rise(data: bytes) -> None:
    """Hits come in the order of the file."""
    places = [(h[0], h[1], h[2]) for h in hits(data)[:-1]]
    assert places == sorted(places)


def test_a_column_counts_characters_before_the_record() -> None:
    r"""A `\\r` record is addressed by its line and the character at which it starts."""
    assert hits("héllo\rerror here\n".encode())[0][:4] == (1, 6, 7, "error here")


def test_lines_after_a_literal_are_handed_over() -> None:
    """A traceback's frames hold no literal, yet belong to it."""
    got = [h[3] for h in hits(b"a\nTraceback\n1\n2\n3\n4\n")[:-1]]
    assert got == ["Traceback", "1", "2", "3"]


def test_a_line_that_is_not_adjacent_says_so() -> None:
    """Parsers close what is open when lines are missing in between."""
    assert [(h[3], h[4]) for h in hits(b"x\nerror\na\nb\nc\nerror\n")[:-1]] == [
        ("error", True), ("a", False), ("b", False), ("error", True),
    ]  # fmt: skip


def test_progress_is_thinned_but_never_loses_the_last_record_or_a_nan() -> None:
    """With a budget fewer records are handed over, those that stand out apart, and the scan tells how many there are."""
    rows = [b"step %d loss: %.4f\n" % (i, 3 + i % 7) for i in range(100_000)]
    rows[40_000] = b"step 40000 loss: 0.5\n"
    rows[50_000] = b"step 50000 loss: 99.5\n"
    rows[60_000] = b"step 60000 loss: nan\n"
    data = b"".join(rows)
    plan = Plan({}, PROGRESS, lambda _: Key(b" loss:"))
    scan = Scan(plan, plan.matcher(), budget=100, size=len(data))
    got = [h.line.text for h in scan.over([data])]
    apart = [line.text for _, line in scan.remarkable]
    assert got[-1].startswith("step 99999 ")
    assert len(got) < 200
    assert "step 60000 loss: nan" in got
    assert {"step 0 loss: 3.0000", "step 40000 loss: 0.5", "step 50000 loss: 99.5", rows[-1].decode().strip()} <= set(
        apart
    )
    assert {"step 60000 loss: nan", rows[60_001].decode().strip()} <= set(apart)
    assert len(apart) < 200
    assert scan.records == 100_000


def test_a_line_that_repeats_itself_is_read_a_hundred_times() -> None:
    """A log in which every line is an error costs no more than its beginning and its end, and the scan counts the rest."""
    data = b"".join(b"error %d\n" % i for i in range(50_000)) + b"error of another kind\n"
    scan = Scan(Plan(WORDS), matcher(list(WORDS)), budget=100, size=len(data))
    got = [h.line.text for h in scan.over([data])]
    assert got[:2] == ["error 0", "error 1"]
    assert got[-2:] == ["error 49999", "error of another kind"]
    assert 50_001 <= len(got) + scan.repeats <= 50_001 + max(WORDS.values())
    assert scan.repeats > 40_000


def test_of_each_rank_one_line_of_a_flood_is_read() -> None:
    """Which ranks failed is told, however many times each of them says so."""
    data = b"".join(b"[rank%d]: error %d\n" % (i % 700, i) for i in range(40_000)) + b"end\n" * 20_000
    scan = Scan(Plan({b"error": 0}), matcher([b"error"]), budget=100, size=len(data))
    got = [h.line.text for h in scan.over([data])]
    assert {text.partition(":")[0] for text in got} == {f"[rank{i}]" for i in range(700)}
    assert len(got) <= 800


def test_a_line_of_a_flood_stays_one_of_it_where_it_follows_another_literal() -> None:
    """It is handed over for what stands above it, and whoever joins parts counts it among its like."""
    lines = [b"Traceback\n" if i % 1000 == 999 else b"caf\xc3\xa9 %d\n" % i for i in range(40_000)]
    data = b"".join(lines) + b"end\n" * 20_000
    scan = Scan(Plan(WORDS), matcher(list(WORDS)), budget=100, size=len(data))
    found = [hit for hit in scan.over([data]) if hit.line.text.startswith("caf\u00e9")]
    assert len(found) > 200
    assert all(hit.shape is not None for hit in found)


def test_a_monster_line_is_read_in_bounded_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end does not fill the memory, and the scan counts what it split."""
    monkeypatch.setattr(scan_lines, "LONGEST_LINE", 1000)
    scan = Scan(Plan(WORDS), matcher(list(WORDS)))
    found = list(scan.over([b"x" * 400] * 10 + [b"error\n"]))
    assert scan.split_lines >= 3
    assert found
    assert scan.lines == 1


@given(BYTES)
def test_the_tail_is_the_end_of_the_file(data: bytes) -> None:
    """The last lines are kept with their numbers for whoever asks how the file ends."""
    scan = Scan(Plan(WORDS), matcher(list(WORDS)))
    list(scan.over([data] if data else []))
    lines = data.split(b"\n")
    for line in scan.tail:
        assert (
            line.text == lines[line.number - 1].split(b"\r")[-1].decode("utf-8", "replace")
            or b"\r" in lines[line.number - 1]
        )


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 400))
def test_line_feeds_are_counted_between_two_places(block: bytes, start: int, stop: int) -> None:
    """Wherever these are: beyond the end there are none."""
    assert line_feeds(block, start, stop) == block.count(b"\n", start, stop)
    assert line_feeds(block) == block.count(b"\n")
