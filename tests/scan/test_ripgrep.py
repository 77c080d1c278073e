"""The lines that the scan finds are those that ripgrep finds with the same literals."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from forensics.engine.read import literals
from forensics.rulebook.load import load
from forensics.scan import ENGINES, PartReader, Plan, Scan, split
from forensics.scan import lines as scan_lines
from tests.benchmarks.patterns import exported, ripgrep

RG = ripgrep()
CLEAN = (
    "[rank{r}]:[titan] 2026-03-01 00:00:01,234 - root - INFO - step: {n}  loss: 10.0422  grad_norm:  0.9909\n",
    "  1%|x         | {n}/10000 [00:04<16:40,  9.53it/s, loss=10.010]\r",
    "2026-03-01 00:00:07,403 - INFO - trainer.data - worker {r} fetched shard {n}\r\n",
    "caf\u00e9 \u2502 {n}\n",
    "\n",
)
DIRTY = (b"bad \xff\xfe\x80 utf8 \xc3\x28 line\n", b"\0" * 700 + b"\n", b"\x1b[31mred\x1b[0m\n", b"x" * 3000 + b"\n")


def log(seed: int, *, dirty: bool) -> bytes:
    """Return about 1.5 MB of a log in which every literal stands somewhere."""
    chance = random.Random(seed)  # noqa: S311 - a log, not a key
    wanted = list(literals(load()))
    parts: list[bytes] = []
    for n in range(15_000):
        parts.append(chance.choice(CLEAN).format(r=n % 8, n=n).encode())
        if n % 20 == 0:
            literal = chance.choice(wanted) if n // 20 >= len(wanted) else wanted[n // 20]
            parts.append(b"before " + literal + chance.choice((b" behind\n", b"\r", b"\r\n", b"\n")))
        if dirty and n % 50 == 0:
            parts.append(chance.choice(DIRTY))
    return b"".join(parts)


@pytest.mark.skipif(RG is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("dirty", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_lines_are_those_of_ripgrep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, *, dirty: bool
) -> None:
    """With every engine, on clean and on dirty data; and every number and offset is right."""
    if engine != "python":
        pytest.importorskip({"ahocorasick": "ahocorasick_rs"}.get(engine, engine))
    monkeypatch.setattr(scan_lines, "HEAD_LINES", 0)
    data = log(7, dirty=dirty)
    path, patterns = tmp_path / "train.log", tmp_path / "patterns.txt"
    path.write_bytes(data)
    patterns.write_text(exported())
    assert RG is not None
    done = subprocess.run(
        [RG, "-a", "-n", "-b", "-o", "--no-config", "-f", str(patterns), str(path)], capture_output=True, check=True
    )
    wanted = {int(line.split(b":", 1)[0]) for line in done.stdout.split(b"\n") if line}
    plan = Plan(dict.fromkeys(literals(load()), 0), engine=engine)
    scan = Scan(plan, plan.matcher())
    [part] = split(len(data))
    found = [hit.line for hit in scan.over_blocks(PartReader(path, part).blocks())]
    assert {line.number for line in found} == wanted
    for line in found:
        assert line.number == data.count(b"\n", 0, line.offset) + 1
        start = data.rfind(b"\n", 0, line.offset) + 1
        assert line.column == len(data[start : line.offset].decode("utf-8", "replace"))
        record = data[line.offset :].split(b"\n", 1)[0].split(b"\r", 1)[0]
        assert line.text == record.decode("utf-8", "replace")
        assert line.offset == 0 or data[line.offset - 1 : line.offset] in {b"\n", b"\r"}
