"""A picture of a run: the ratios with their targets, and the share of the floor.

    python -m bench.plot RESULT.json PICTURE.png [family…]     # of a saved run, or of a batch of `gpu_batch.py`
"""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from lucid_kernels import extras

from bench.report import status

#: The outcome of a case -> its color.
COLORS = {"met": "tab:green", "missed": "tab:red", "unclear": "tab:orange", "": "tab:gray"}


class NoMatplotlib(Exception):
    """matplotlib is not installed."""


def pyplot() -> Any:
    """matplotlib's pyplot, writing files. Raises NoMatplotlib, which says what to install."""
    try:
        import matplotlib
    except ImportError as error:
        raise NoMatplotlib(f"a plot needs matplotlib: {extras.command('examples')}") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def draw(results: Sequence[dict[str, Any]], title: str, path: pathlib.Path) -> None:
    """Write a picture of the cases that have a ratio to PyTorch. Raises ValueError if there is none."""
    rows = [result for result in results if result["ratio_to_torch"] is not None and not result["failure"]]
    if not rows:
        raise ValueError("no case has a ratio to PyTorch: there is nothing to plot")
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(12, 1.5 + 0.22 * len(rows)), width_ratios=(2, 1),
                                         layout="constrained")
    places = range(len(rows))
    ratios, targets = [row["ratio_to_torch"] for row in rows], [row["target"] for row in rows]
    colors = [COLORS[status(row)] for row in rows]
    left.hlines(places, 1, ratios, color=colors)
    left.scatter(ratios, places, color=colors, zorder=3)
    bounded = [place for place in places if targets[place] is not None]
    if bounded:
        left.scatter([targets[place] for place in bounded], bounded, marker="|", s=90, color="black", zorder=4, label="target")
    left.axvline(1, color="black", linewidth=0.5)
    left.set(xscale="log", xlabel="our time / PyTorch's (less is better)", yticks=places)
    least, most = left.get_xlim()
    ticks = [2.0**power for power in range(-10, 11) if least <= 2.0**power <= most]
    left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    left.minorticks_off()
    left.set_yticklabels([row["name"] for row in rows], fontsize=8)
    for outcome, color in COLORS.items():  # one entry of the legend for each outcome there is
        if color in colors:
            left.scatter([], [], color=color, label=outcome or "no target")
    left.legend(loc="best")
    left.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
    right.barh(places, [100 * (row["floor_share"] or 0) for row in rows], color=colors)
    right.axvline(100, color="black", linewidth=0.5)
    right.set(xlabel="floor / our time (%)")
    figure.suptitle(title)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def saved(document: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The cases of a saved run, or of the rows of a batch, and a title."""
    about = document["environment"]
    rows = document["results"] if "results" in document else document["parts"]["rows"]["rows"]
    device = about["gpu" if "parts" in document else document["device"]]
    return [row for row in rows if "family" in row], f"{device}, {document['date']}, commit {about['commit']}"


def main() -> None:
    """Draw a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("families", nargs="*", help="only these")
    options = parser.parse_args()
    rows, title = saved(json.loads(options.result.read_text()))
    draw([row for row in rows if not options.families or row["family"] in options.families], title, options.picture)


if __name__ == "__main__":
    main()
