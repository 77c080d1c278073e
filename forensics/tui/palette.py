"""Colours that people who see colours differently can tell apart, and the signs that say the same without any.

The hues are those of Okabe and Ito, made lighter or darker where the background asks for it.
"""

from __future__ import annotations

from textual.theme import Theme

SEVERITY_SIGNS = {"root": "●", "error": "✖", "warning": "▲", "info": "•"}
STATE_SIGNS = {
    "whole": "✓", "empty": "∅", "torn": "~", "nul-tail": "0", "cut": "✂", "window": "▭", "stale": "◷", "missing": "✗",
    "skipped": "–",
}  # fmt: skip
"""How whole a source is, in one cell each; the help names them."""

HUES = {
    True: ("#56b4e9", "#e69f00", "#2bc79a", "#cc79a7", "#f0e442", "#8fa8ff", "#ff7f50", "#a8a8a8"),
    False: ("#0072b2", "#8a5a00", "#006b4e", "#8f3a6b", "#6b6400", "#3b4fb0", "#b03a00", "#5c5c5c"),
}
"""One hue for each rank, card or track, round and round, on dark and on light; the number stands beside it."""

VERDICTS = {"failed": "$error", "degraded": "$warning", "healthy": "$success", "unknown": "$secondary"}

SAME = {"block-cursor-text-style": "none", "block-cursor-blurred-text-style": "none"}

DARK = Theme(
    name="forensics-dark",
    primary="#56b4e9",
    secondary="#cc79a7",
    warning="#e69f00",
    error="#ff7f50",
    success="#2bc79a",
    accent="#56b4e9",
    foreground="#d8dee6",
    background="#10141a",
    surface="#161c24",
    panel="#202833",
    dark=True,
    variables={
        "quiet": "#8e9bab",
        "row-cursor": "#1d4460",
        "row-root": "#46261e",
        "row-cited": "#30281a",
        "bar": "#27313e",
        "bar-chosen": "#1d3c52",
        **SAME,
        "footer-key-foreground": "#56b4e9",
    },
)
LIGHT = Theme(
    name="forensics-light",
    primary="#005a8c",
    secondary="#8f3a6b",
    warning="#8a5a00",
    error="#b03a00",
    success="#006b4e",
    accent="#005a8c",
    foreground="#1b2026",
    background="#fbfbf9",
    surface="#f2f2ee",
    panel="#e4e4de",
    dark=False,
    variables={
        "quiet": "#59626d",
        "row-cursor": "#bfdcef",
        "row-root": "#f7ddd2",
        "row-cited": "#f6ead2",
        "bar": "#e2e2dc",
        "bar-chosen": "#c9dfec",
        **SAME,
        "footer-key-foreground": "#005a8c",
    },
)
