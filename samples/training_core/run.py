"""A run from its settings to its end: targets, drafters, the first compile, training."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import torch

from training_core import attention, checkpoint, crew
from training_core.config import Config
from training_core.drafter import Trainer
from training_core.once import FirstCompile
from training_core.report import LOG, Report, start_log
from training_core.target import Target

OTHER_CTX = 512
"""The context length of a warm-up that is not at the run's shapes."""


def run(config: Config) -> int:
    """Train; return the exit status: 0 if every drafter reached the last step."""
    start_log()
    LOG.info("args %s", json.dumps(dataclasses.asdict(config)))
    devices = _devices(config)
    compiled = attention.chosen(config, devices[0]) == "compiled"
    if compiled:
        config.check_tiles()
    targets = _targets(config, devices)
    attend = attention.kernel(config, devices[0])
    first = FirstCompile() if compiled and config.first_compile == "serialised" else None
    # Weights are drawn here, one drafter after the other: threads would draw from one generator in any order.
    torch.manual_seed(config.seed)
    trainers = [Trainer(n, config, devices[n % len(devices)], targets, attend, first) for n in range(config.threads)]
    start = _resumed(config, trainers)
    if compiled and config.first_compile.startswith("warm"):
        _warm_up(config, trainers[: len(devices)])
    report = Report(config.steps, config.json)
    try:
        finished = crew.Crew(config, trainers, report).train(start)
    finally:
        report.close()
    if finished:
        LOG.info("Training complete")
    return 0 if finished else 1


def _devices(config: Config) -> list[torch.device]:
    """Return the devices to train on, and say which."""
    kind = config.device
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cpu":
        # Tiny products: threads of threads cost more than they bring, and one gives the same bits on every machine.
        torch.set_num_threads(1)
        LOG.info("torch %s device cpu x1", torch.__version__)
        return [torch.device("cpu")]
    count = torch.cuda.device_count()
    name = torch.cuda.get_device_name(0)
    LOG.info("torch %s cuda %s device %s x%d", torch.__version__, torch.version.cuda, name, count)
    return [torch.device("cuda", index) for index in range(count)]


def _targets(config: Config, devices: list[torch.device]) -> list[Target]:
    """Load the frozen targets, and say what they will feed."""
    LOG.info(
        "Dataset: %s samples, %s batches/epoch, block_size=%d, max_anchors=%d, token_budget=%d",
        f"{config.samples:,}",
        f"{config.samples // config.accumulate:,}",
        config.block_size,
        config.anchors,
        config.token_budget,
    )
    LOG.info("Loading %d target models...", config.targets)
    targets = []
    for number in range(config.targets):
        device = devices[number % len(devices)]
        LOG.info("  Target %d on %s...", number, device)
        targets.append(Target(config, device))
    return targets


def _resumed(config: Config, trainers: list[Trainer]) -> int:
    """Take up a checkpoint, if one is wanted and there; return the first step to take."""
    path = _newest(Path(config.checkpoints)) if config.resume == "auto" else Path(config.resume)
    if path is None or config.resume == "none":
        return 0
    step = crew.restore(config, checkpoint.load(path), trainers)
    LOG.info("resumed from %s (step %d)", path, step)
    return step


def _newest(folder: Path) -> Path | None:
    """Return the newest whole checkpoint; a cut one is passed over, and said."""
    for _, path in checkpoint.listed(folder):
        if not (why := checkpoint.fault(path)):
            return path
        LOG.warning("passed over %s: %s", path, why)
    return None


def _warm_up(config: Config, trainers: list[Trainer]) -> None:
    """Compile on this thread, once a device, before the others start: under the conditions asked for."""
    LOG.info("warming up torch.compile(flex_attention) (%s)", config.first_compile)
    attention.allow_compiles(config, len(trainers))
    lengths = (OTHER_CTX,) if config.first_compile == "warm-other-shapes" else config.ctx
    for trainer in trainers:
        for ctx in lengths:
            trainer.warm_up(ctx, gradients=config.first_compile != "warm-no-grad")
    LOG.info("warmup done")
