"""The failures that only a GPU shows, and their fixes, on the GPU."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from forensics.supervise.probe import Shape, probe
from tests.gpu.measure import measure


def has_gpu() -> bool:
    """Ask a process of its own, since a process that has seen a GPU cannot be forked any more."""
    if importlib.util.find_spec("torch") is None:
        return False
    asked = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="needs torch and a GPU")]


def test_the_probe_foretells_that_only_a_lock_survives() -> None:
    """Threads that compile at once fail or hang; behind a lock all of them finish."""
    found = probe(Shape(), limit_s=40, tries=3)
    assert found.survives == "lock", found
    raced = found.trials[-1]
    assert raced.hung or "FX to symbolically trace" in raced.message


def test_the_raced_first_compile_fails_as_recorded(tmp_path: Path) -> None:
    """Some try of a few ends in torch's own message, or hangs with it."""
    tries = [measure("raced", tmp_path / str(n)) for n in range(2)]
    assert any(found["raced"] and found["status"] in {1, 124} for found in tries), tries


@pytest.mark.parametrize("name", ["warm-no-grad", "warm-other-shapes"])
def test_a_warm_up_that_does_not_cover_the_run_still_races(name: str, tmp_path: Path) -> None:
    """Without gradients, or at other shapes, a warm-up leaves the race to the threads."""
    tries = [measure(name, tmp_path / str(n)) for n in range(2)]
    assert any(found["raced"] for found in tries), tries


def test_the_fixed_core_trains(tmp_path: Path) -> None:
    """Four drafters take 200 steps at three lengths behind the lock, and learn."""
    found = measure("buckets", tmp_path)
    assert (found["status"], found["crashed"], found["steps"]) == (0, 0, 800), found
    first, last = found["loss"]
    assert last < first / 2


def test_dense_attention_asks_for_276_gib_and_the_compiled_kernel_does_not(tmp_path: Path) -> None:
    """The same shapes: one asks for the whole matrix of scores, one needs an eighth of the card, one is refused."""
    dense, refused, compiled = (measure(name, tmp_path) for name in ("dense-276", "dense-refused", "compiled-276"))
    assert "276.00 GiB" in str(dense["last"])
    assert "32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB" in (
        (tmp_path / "dense-refused" / "train.log").read_text()
    )
    assert refused["status"] == 1
    assert compiled["status"] == 0
    assert compiled["peak_gib"] < 32


def test_all_kernels_compute_the_same(tmp_path: Path) -> None:
    """The tiles that the fused kernel visits hold all that the whole mask shows: the losses agree."""
    losses = [measure(f"{how}-4096", tmp_path)["loss"] for how in ("compiled", "dense", "eager")]
    assert losses[0] == pytest.approx(losses[1], abs=0.02)
    assert losses[0] == pytest.approx(losses[2], abs=0.02)
