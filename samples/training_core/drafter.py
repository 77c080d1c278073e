"""One drafter and its training: micro-batches, gradients, an optimizer step."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from training_core import data, faults
from training_core.attention import Kernel, mask
from training_core.config import Config
from training_core.data import Batch
from training_core.model import Drafter, loss_of
from training_core.once import FirstCompile
from training_core.report import LOG, Step, peak_bytes
from training_core.schedule import schedule
from training_core.target import Target


class Trainer:
    """A drafter with its optimizer and its noise: all that a checkpoint keeps of it."""

    def __init__(
        self,
        number: int,
        config: Config,
        device: torch.device,
        targets: list[Target],
        attend: Kernel,
        first: FirstCompile | None,
    ) -> None:
        self.number = number
        self.config = config
        self.device = device
        self._targets = targets
        self._first = first
        self._fault = faults.fault(config)
        self._schedule = schedule(config.lr, config.warmup_ratio, config.steps)
        self.model = Drafter(config, self._calling(attend)).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
        self._noise = torch.Generator(device).manual_seed(config.seed * 1009 + number)
        self.finite = True

    def step(self, step: int) -> Step:
        """Take one optimizer step; the step alone says which data it sees and how fast it learns."""
        if self._fault.due("kill", step, self.number):
            faults.kill()
        if self._fault.due("hang", step, self.number):
            faults.hang(self._targets[0].busy)
        began = time.perf_counter()
        total, tokens, ctx = 0.0, 0, self.config.context(step)
        for found in self._batches(step):
            self._compiled(found)
            loss = self._loss(found, step) / self.config.accumulate
            if self._fault.due("nan", step, self.number):
                loss = loss * float("nan")
            torch.autograd.backward(loss)
            total += loss.item()
            tokens += found.ctx + len(found.anchors) * self.config.block_size
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        rate = self._schedule.rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        norm_value = norm.item()
        self.finite = math.isfinite(total) and math.isfinite(norm_value)
        seconds = time.perf_counter() - began
        return Step(step, self.number, total, rate, norm_value, ctx, tokens / seconds, peak_bytes(self.device))

    def warm_up(self, ctx: int, *, gradients: bool) -> None:
        """Run the model once at a context length and forget what it did."""
        found = data.batch(self.config, self.number, ctx).to(self.device)
        if gradients:
            self._rehearse(found)
            return
        with torch.no_grad():
            self._loss(found, 0, noisy=False)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "noise": self._noise.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up where a checkpoint left off."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._noise.set_state(state["noise"])

    def _batches(self, step: int) -> Iterator[Batch]:
        config = self.config
        for micro in range(config.accumulate):
            number = (step * config.accumulate + micro) * config.threads + self.number
            found = data.batch(config, number, config.context(step))
            if micro == 0 and self._fault.due("bad-token", step, self.number):
                found = data.spoiled(found, config.vocab)
            found, bad = data.checked(config, number, found)
            if bad is not None:
                LOG.warning("[drafter %d] sample %d passed over: it holds token id %d", self.number, number, bad)
            yield found.to(self.device)

    def _loss(self, found: Batch, step: int, *, noisy: bool = True) -> Tensor:
        """Return the loss of a batch, on hidden states with this step's noise."""
        target = self._targets[self.number % len(self._targets)]
        hidden, labels = target.serve(found, self.config.block_size)
        if noisy:
            size = self.config.noise * self._schedule.left(step)
            hidden = hidden + size * torch.randn(hidden.shape, generator=self._noise, device=self.device)
        with self._half():
            logits = self.model(found, hidden, mask(self.config, found))
        return loss_of(logits, labels, self.config.gamma)

    def _half(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def _rehearse(self, found: Batch) -> None:
        """Run a batch forward and backward, without a trace in gradients or noise."""
        saved = [parameter.grad for parameter in self.model.parameters()]
        self.model.zero_grad(set_to_none=True)
        torch.autograd.backward(self._loss(found, 0, noisy=False))
        for parameter, gradient in zip(self.model.parameters(), saved, strict=True):
            parameter.grad = gradient

    def _compiled(self, found: Batch) -> None:
        """Make sure that attention at this shape is compiled, while nobody else calls it.

        The model itself is run, so that strides, types and autocast are those of the run.
        """
        if self._first is None:
            return
        shape = (str(self.device), found.ctx, len(found.anchors))

        def compile_it() -> None:
            LOG.info("compiling attention for ctx %d on %s: with gradients, one thread", found.ctx, self.device)
            began = time.perf_counter()
            self._rehearse(found)
            LOG.info("compiled in %.1f s", time.perf_counter() - began)

        self._first.ready(shape, compile_it)

    def _calling(self, attend: Kernel) -> Kernel:
        """Return the kernel, called only while nobody compiles; the compiling thread itself may call."""
        first = self._first
        if first is None:
            return attend

        def called(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Tensor:
            with first.calling():
                return attend(query, key, value, mask)

        return called
