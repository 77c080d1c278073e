"""The table of Xid numbers."""

from __future__ import annotations

import pytest

from forensics.text.xids import XIDS


@pytest.mark.parametrize(
    ("number", "role", "cause"),
    [
        (13, "A", "gpu.illegal-access"),
        (31, "A", "gpu.mmu-fault"),
        (45, "C", "gpu.xid-other"),
        (48, "H", "gpu.ecc-uncorrectable"),
        (63, "C", "gpu.ecc-uncorrectable"),
        (74, "H", "gpu.nvlink-error"),
        (79, "H", "gpu.fell-off-bus"),
        (119, "H", "gpu.gsp-timeout"),
        (150, "H", "gpu.nvlink-error"),
        (154, "C", "gpu.xid-other"),
    ],
)
def test_a_number_says_who_is_at_fault_and_where_it_belongs(number: int, role: str, cause: str) -> None:
    """Role and cause decide whether an Xid is a root or an echo."""
    assert (XIDS[number].role, XIDS[number].cause) == (role, cause)


def test_every_row_is_filled_in() -> None:
    """Numbers agree with their keys, roles come from a closed set, families cover each of their engines."""
    for number, xid in XIDS.items():
        assert number == xid.number
        assert xid.role in {"A", "H", "A/H", "C"}
        assert xid.name
        assert xid.meaning
        assert xid.cause.startswith("gpu.")
    assert {39, 40, 41, 70, 135} <= set(XIDS)
    assert 47 not in XIDS
