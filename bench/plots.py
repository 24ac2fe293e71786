"""Draws charts, which standard input has as JSON, as PNG in a light and a dark theme. It needs matplotlib alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt  # after the choice of what draws

INK = {"light": "#1f2328", "dark": "#e6edf3"}
PAPER = {"light": "#ffffff", "dark": "#0d1117"}
OURS, OTHERS = "#2f81f7", "#8b949e"
LINES = (OURS, "#d29922", "#3fb950", "#f85149", "#a371f7")
HIGHLIGHTED = "holdfast"
BAR_INCHES = 0.3


def main() -> None:
    for chart in json.load(sys.stdin):
        for theme in INK:
            _draw(chart, theme)


def _draw(chart: dict[str, Any], theme: str) -> None:
    ink, paper = INK[theme], PAPER[theme]
    colors = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink)
    with plt.rc_context({**colors, "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper}):
        figure = {"bars": _bars, "lines": _lines}[chart["kind"]](chart)
        figure.savefig(f"{chart['path']}-{theme}.png", dpi=110, bbox_inches="tight")
        plt.close(figure)


def _bars(chart: dict[str, Any]) -> Any:
    names, values = list(chart["values"]), list(chart["values"].values())
    figure, axes = plt.subplots(figsize=(8, 0.8 + BAR_INCHES * len(names)))
    bars = axes.barh(names, values, color=[OURS if name.startswith(HIGHLIGHTED) else OTHERS for name in names])
    axes.bar_label(bars, [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in values], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_title(chart["title"], loc="left", fontsize=11)
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return figure


def _lines(chart: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(figsize=(8, 3.2))
    for (name, points), color in zip(chart["series"].items(), LINES, strict=False):
        axes.plot(*zip(*points, strict=True), marker="o", label=name, color=color)
    if chart["logarithmic"]:
        axes.set_xscale("symlog", linthresh=1000)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(chart["x_title"])
    axes.set_title(chart["title"], loc="left", fontsize=11)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    main()
