"""Sizes in words: every unit is binary, every digit counts, nothing else is a size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.text.sizes import format_size, parse_size

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("276.00 GiB", 276 * GIB),
        ("0 bytes", 0),
        ("512 bytes", 512),
        ("143771MiB", 143771 << 20),
        ("1.5 G", 3 * GIB // 2),
        ("513024kB", 513024 << 10),
        ("96GB", 96 * GIB),
        ("64Mi", 64 << 20),
        ("1,024 KiB", 1 << 20),
        (" 20 MB ", 20 << 20),
        ("1234", 1234),
        ("17179869184.00 GiB", 1 << 64),
        ("0.3 B", 0),
        ("0.5 B", 1),
    ],
)
def test_a_size_is_read_to_the_byte(text: str, size: int) -> None:
    """A number with any unit that programs print becomes bytes, rounded to the nearest one."""
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "1e9", "nan", "-1 GiB", "12 apples", "1.2.3 GiB", "3 GiB free", "９ GiB", "1" * 200]
)
def test_what_is_no_size_is_none(text: str) -> None:
    """Words, signs, exponents, other digits and overlong numbers are not sizes."""
    assert parse_size(text) is None


def test_sizes_are_shown_as_pytorch_shows_them() -> None:
    """Bytes below a KiB stay bytes; above, two digits follow the point; no unit is passed by rounding."""
    assert format_size(276 * GIB) == "276.00 GiB"
    assert format_size(512) == "512 bytes"
    assert format_size((1 << 20) - 1) == "1.00 MiB"
    assert format_size(1 << 64) == "16.00 EiB"


@given(st.text(max_size=40))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    """Any text is a size or None."""
    size = parse_size(text)
    assert size is None or size >= 0


@given(st.integers(min_value=0, max_value=1 << 60))
def test_a_shown_size_is_read_back_within_its_digits(size: int) -> None:
    """What `format_size` prints, `parse_size` reads, up to half of the last digit shown."""
    read = parse_size(format_size(size))
    assert read is not None
    assert abs(read - size) <= max(1, size * 0.0051)
