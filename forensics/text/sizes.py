"""Sizes in words to bytes, and back.

Every program whose messages are read here counts in powers of 1024, whatever it
prints: PyTorch's `GiB`, nvidia-smi's `MiB`, the kernel's `kB`, DeepSpeed's `GB`,
`df -h` and `free -h`'s `G`. So every unit is binary.
"""

from __future__ import annotations

from forensics.text.lazy import lazy

_SIZE = lazy(r"\s*([0-9][0-9,]{0,40})(?:\.([0-9]{0,20}))?\s*([A-Za-z]{0,5})\s*")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_SUFFIXES = ("", "b", "ib", "i")
_UNITS: dict[str, int] = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 1),
    **{letter + suffix: 1024**power for letter, power in _POWERS.items() for suffix in _SUFFIXES},
}


def parse_size(text: str) -> int | None:
    """Read a size such as `276.00 GiB`, `143771MiB`, `513024kB`, `1.5 G`, `0 bytes`.

    Args:
        text: the number with its unit and nothing else; without a unit it is bytes.

    Returns:
        The size rounded to the nearest byte (exact for any number of digits), or
        None where the text is no size.
    """
    match = _SIZE.fullmatch(text) if len(text) < 100 else None
    if match is None:
        return None
    whole, fraction, unit = match[1].replace(",", ""), match[2] or "", match[3].lower()
    factor = _UNITS.get(unit)
    if factor is None:
        return None
    scale: int = 10 ** len(fraction)
    return (int(whole + fraction) * factor * 2 + scale) // (2 * scale)


def format_size(n: int) -> str:
    """Show bytes as PyTorch does: `276.00 GiB`, `512 bytes`."""
    if abs(n) < 1024:
        return f"{n} bytes"
    size = float(n)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size /= 1024
        if abs(size) < 1023.995:
            return f"{size:.2f} {unit}"
    return f"{size / 1024:.2f} EiB"
