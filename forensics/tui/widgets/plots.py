"""Drawings of numbers over steps or time, with the failure marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Grid
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual_plotext import PlotextPlot

from forensics.render.moments import iso
from forensics.tui.palette import HUES
from forensics.tui.plain import joined, plain
from forensics.tui.series import Series, runs, thinned
from forensics.tui.widgets.pane import Pane

TICKS = 4
NOTHING = "No line of this attempt tells a loss, a norm, a speed or a memory, and no nvidia-smi ran in a loop."


class Plot(PlotextPlot):
    """One drawing."""

    def __init__(self, series: Series) -> None:
        super().__init__()
        self.series = series

    def on_mount(self) -> None:
        """Draw, and draw again when dark and light change."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.draw())
        self.draw()

    def on_resize(self) -> None:
        """Draw for the new width, which decides how much is thinned."""
        self.draw()

    def draw(self) -> None:
        """Draw anew."""
        plt, series = self.plt, self.series
        hues = HUES[self.app.current_theme.dark]
        columns = max(8, self.size.width - 10) * 2  # braille has two dots in a cell
        plt.clear_figure()
        xs = [x for track in series.tracks for x in (*(p[0] for p in track.points), *track.broken)]
        ys = [y for track in series.tracks for _, y in track.points]
        for index, track in enumerate(series.tracks):
            colour = _rgb(hues[index % len(hues)])
            for stretch in runs(track):
                points = thinned(stretch, columns)
                plt.plot([p[0] for p in points], [p[1] for p in points], marker="braille", color=colour)
                if len(stretch) == 1:
                    plt.scatter([stretch[0][0]], [stretch[0][1]], marker="•", color=colour)
            if track.broken and ys:
                plt.scatter(
                    list(track.broken[:columns]),
                    [max(ys)] * len(track.broken[:columns]),
                    marker="×",
                    color=_rgb("#d55e00"),
                )
        if series.failure is not None:
            plt.vline(series.failure, _rgb("#d55e00"))
            xs.append(series.failure)
        if xs:
            low, high = min(xs), max(xs)
            high = high if high > low else low + 1
            plt.xlim(low, high)
            ticks = [low + (high - low) * at / (TICKS - 1) for at in range(TICKS)]
            plt.xticks(ticks, [_label(series.axis, tick, high - low) for tick in ticks])
        if ys and max(ys) == min(ys):
            plt.ylim(min(ys) - 1, max(ys) + 1)
        plt.yfrequency(4)
        self.refresh()


class Figure(Widget):
    """A drawing below its title, its last value, and who is who."""

    def __init__(self, series: Series) -> None:
        super().__init__(classes="figure")
        self.series = series

    def compose(self) -> ComposeResult:
        """Build both."""
        yield Static(markup=False, classes="caption")
        yield Plot(self.series)

    def on_mount(self) -> None:
        """Write the caption, whose colours are the theme's."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._caption())
        self._caption()

    def _caption(self) -> None:
        series = self.series
        hues = HUES[self.app.current_theme.dark]
        parts: list[Content | str] = [plain(series.title, "bold")]
        if series.last is not None:
            parts.append(f"  last {_number(series.last)}")
        for track in series.tracks:
            if track.broken:
                where = _label(series.axis, track.broken[0], 0)
                parts.append(Content.styled(f"  × not a number from {series.axis} {where}", "$error"))
                break
        if len(series.tracks) > 1:
            for index, track in enumerate(series.tracks):
                parts.append(joined("  ", plain(f"━ {track.name}", hues[index % len(hues)])))
        if series.left_out:
            parts.append(f"  and {series.left_out} more")
        if series.failure is not None:
            parts.append(plain(f"  │ {series.failure_name}", "$error"))
        self.query_one(Static).update(joined(*parts))


class Plots(Pane):
    """All drawings of a run."""

    def __init__(self) -> None:
        super().__init__(id="plots")

    def compose(self) -> ComposeResult:
        """Say that there is nothing yet."""
        yield Static("the analysis is not there yet", markup=False)

    async def tell(self, every: Sequence[Series]) -> None:
        """Show the drawings of an analysis."""
        async with self.batch():
            await self.remove_children()
            if every:
                await self.mount(Grid(*(Figure(series) for series in every), id="figures"))
            else:
                await self.mount(Static(NOTHING, markup=False, classes="prose"))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _label(axis: str, x: float, width: float) -> str:
    if axis != "time":
        return str(round(x))
    return (iso(int(x)) or "")[5 if width > 86400 else 11 : 16 if width > 86400 else 19].replace("T", " ")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) and abs(value) < 1e5 else f"{value:,.0f}"
