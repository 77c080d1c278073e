"""`memory`: which tensor a number of bytes is, and what a step of training needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from forensics.cli.output import write

if TYPE_CHECKING:
    from forensics.memory import Advice, Hypothesis, Numbers, Request

_MOST_FRAMES = 1 << 20


class Size(click.ParamType):  # type: ignore[type-arg]
    """A size such as `276GiB`, kept as it was typed, for its unit tells how exact it is."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return bytes, and the bytes of the unit (1: exact).

        Raises:
            click.BadParameter: it is no size.
        """
        from forensics.text.sizes import parse_size

        text = str(value).strip()
        size = parse_size(text)
        if size is None:
            self.fail(f"{text!r} is no size; give one such as 276.00GiB or 296352743424", param, ctx)
        return size, parse_size(f"1 {text.lstrip('0123456789.,_ ') or 'bytes'}") or 1


_SIZES = ("batch", "seq", "heads", "kv-heads", "head-dim", "hidden", "layers", "intermediate", "vocab")


def _settings(command: Any) -> Any:
    """Add an option for each size of a model that has a name of its own."""
    for name in reversed(_SIZES):
        command = click.option(f"--{name}", metavar="N", type=click.IntRange(min=1))(command)
    return command


@click.command("memory")
@click.argument("more", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--alloc", metavar="SIZE", type=Size(), help="What could not be allocated, as the message prints it.")
@click.option("--model", metavar="NAME", help="A model whose shapes are known, such as llama-3.2-1b.")
@_settings
@click.option("--dtype", metavar="DTYPE", help="Of the weights: bfloat16, float32, ...")
@click.option("--total", metavar="SIZE", type=Size(), help="The card.")
@click.option("--free", metavar="SIZE", type=Size(), help="What was free.")
@click.option("--frames", metavar="FILE", type=click.File(errors="replace"), help="The traceback, or - for stdin.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    more: Sequence[str],
    alloc: tuple[int, int] | None,
    total: tuple[int, int] | None,
    free: tuple[int, int] | None,
    frames: Any,
    form: str,
    **named: str | int | None,
) -> None:
    """Say which tensor a failed allocation was, and what would fit.

    Further settings are given as the run names them: ctx=37888 anchors=1024
    block_size=32 optim=adamw_8bit attn_implementation=eager bf16=true.
    Without --alloc, what a step of training needs.

    \b
    Examples:
      dflash-forensics memory --alloc 276GiB --heads 32 --seq 37888
      dflash-forensics memory --model llama-3.2-1b --batch 16 --seq 4096
    """  # noqa: D301 - \b is click's mark for "keep these lines"
    from forensics.memory import Request, advise, collect, explain

    config = {k.replace("-", "_"): v for k, v in named.items() if v is not None} | _pairs(more)
    numbers = collect(_spelled(config), {}, ())
    request = Request(
        requested_bytes=alloc[0] if alloc else 0,
        exact=bool(alloc) and alloc is not None and alloc[1] == 1,
        unit_bytes=alloc[1] if alloc else None,
        total_bytes=total[0] if total else None,
        free_bytes=free[0] if free else None,
    )
    traceback = frames.read(_MOST_FRAMES) if frames else ""
    fits = explain(request, numbers, traceback) if alloc else ()
    supposed = not fits and not traceback
    if supposed and alloc:
        # One equation with one unknown has a solution soon; so it is offered only to who asks, with its "if".
        fits = explain(request, numbers, "scores = query @ key.transpose(-2, -1)")
    advice = advise(request, numbers)
    if form == "json":
        write(json.dumps(_data(request, fits, advice), indent=2) + "\n")
        return
    if not alloc and advice is None:
        step = _step(numbers)
        if not step:
            raise click.UsageError("give --alloc, or a model with --batch and --seq")
        write(f"{step}\n{'It fits.' if total else ''}".rstrip() + "\n")
        return
    if fits and supposed:
        write("None of the sizes given comes to that; if it was attention, one more would be:\n")
    write("".join(f"{line}\n" for line in _lines(request, fits, advice, numbers)))


def _pairs(more: Sequence[str]) -> dict[str, str]:
    for pair in more:
        if not pair.partition("=")[2]:
            raise click.UsageError(f"{pair!r} is no NAME=VALUE")
    return {pair.partition("=")[0].lstrip("-"): pair.partition("=")[2] for pair in more}


def _spelled(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings under names that `collect` knows."""
    names = {"intermediate": "intermediate_size", "hidden": "hidden_size", "layers": "num_hidden_layers"}
    return {names.get(name, name): value for name, value in config.items()}


def _step(numbers: Numbers) -> str:
    from forensics.memory.footprint import footprint
    from forensics.memory.settings import architecture, setups
    from forensics.text.sizes import format_size

    model, setup = architecture(numbers), next(setups(numbers), None)
    if model is None or setup is None:
        return ""
    needed = footprint(model, setup)
    parts = "\n".join(f"  {format_size(size):>12}  {name}" for name, size in needed.parts.items())
    return f"A step needs about {format_size(needed.peak)} at its peak ({needed.moment}):\n{parts}"


def _lines(request: Request, fits: Sequence[Hypothesis], advice: Advice | None, numbers: Numbers) -> Iterator[str]:
    from forensics.memory import restart_cannot_help
    from forensics.memory.advice import needs, order, promise
    from forensics.memory.instead import instead
    from forensics.text.sizes import format_size

    if request.requested_bytes:
        if not fits:
            yield f"No tensor of these sizes comes to {format_size(request.requested_bytes)}."
        for fit in fits:
            yield f"{fit.sentence}  ({fit.confidence})"
        if fits and (text := instead(fits[0])):
            yield f"{text}."
        if reason := restart_cannot_help(request):
            yield f"{reason[:1].upper()}{reason[1:]}."
    if advice is not None:
        yield needs(advice)
        for option in advice.options:
            change = order(option, advice.setup, numbers.batch_name)
            yield f"- {change[:1].upper()}{change[1:]}: {promise(option, advice.usable_bytes)}"
        if not advice.options:
            yield "No single change makes it fit: spread it over more GPUs (FSDP, ZeRO), or take a smaller model."


def _data(request: Request, fits: Sequence[Hypothesis], advice: Advice | None) -> dict[str, Any]:
    from msgspec.structs import asdict

    found: dict[str, Any] = {"requested_bytes": request.requested_bytes or None, "fits": [asdict(fit) for fit in fits]}
    if advice is not None:
        options = [{**asdict(o.setup), "predicted_bytes": o.footprint.peak} for o in advice.options]
        found["needed_bytes"] = advice.footprint.peak
        found["parts"] = dict(advice.footprint.parts)
        found["options"] = options
    return found
