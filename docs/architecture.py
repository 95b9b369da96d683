"""Draws architecture.svg from the tables of architecture.md: `python docs/architecture.py`."""
from __future__ import annotations

import html
import pathlib
import re
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE, PICTURE = FOLDER / "architecture.md", FOLDER / "architecture.svg"
#: The beginning of a path -> (what it is, colour). The first one that fits counts.
LAYERS = {
    "lucid/nn": ("nn", "#f9d5d3"),
    "lucid/ops": ("ops", "#fde7b8"),
    "lucid/autograd": ("autograd", "#d6ecc9"),
    "lucid/tensor": ("tensor", "#dfe3e8"),
    "lucid/backends": ("backends", "#cde5f7"),
    "kernels": ("kernels", "#e4d7f5"),
}
COLUMN, BOX, STEP, TOP = 410, 38, 47, 90


class Walk(NamedTuple):
    """A call, and the functions that it passes."""

    title: str
    example: str
    functions: list[tuple[str, str]]  # qualified name, file


def walks(page: str) -> list[Walk]:
    """The sections of the page."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        example = re.search(r"```python\n(.*?)```", section, re.DOTALL)
        assert example is not None, section
        functions = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", section, re.MULTILINE)
        found.append(Walk(section.partition("\n")[0], example[1], functions))
    return found


def _text(x: float, y: float, size: int, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}"{more}>{html.escape(text)}</text>'


def draw(columns: list[Walk]) -> str:
    """The picture: a column for each walk, two beside each other, so that a page shows the letters in their size; on a ground of
    its own, so that it can be read on any page.
    """
    pairs = [columns[first:first + 2] for first in range(0, len(columns), 2)]
    heights = [TOP - 40 + STEP * max(len(walk.functions) for walk in pair) for pair in pairs]
    width, height = COLUMN * 2 + 20, 40 + sum(heights)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#1f2328">',
             f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>']
    for number, (layer, colour) in enumerate(LAYERS.values()):
        parts += [f'<rect x="{20 + 130 * number}" y="14" width="18" height="18" rx="4" fill="{colour}" stroke="#6e7781"/>',
                  _text(45 + 130 * number, 28, 15, layer)]
    for number, walk in enumerate(columns):
        x, top = 20 + COLUMN * (number % 2), TOP + sum(heights[:number // 2])
        parts.append(_text(x, top - 20, 19, walk.title, ' font-weight="bold" font-family="monospace"'))
        for row, (name, file) in enumerate(walk.functions):
            y = top + STEP * row
            colour = next(colour for start, (_, colour) in LAYERS.items() if file.startswith(start))
            if row:
                line = f"M{x + 20} {y - STEP + BOX}v{STEP - BOX - 5}m-4 0h8l-4 5z"
                parts.append(f'<path d="{line}" fill="#6e7781" stroke="#6e7781"/>')
            parts += [f'<rect x="{x}" y="{y}" width="{COLUMN - 20}" height="{BOX}" rx="5" fill="{colour}" stroke="#6e7781"/>',
                      _text(x + 8, y + 16, 15, name.replace(".<locals>", ""), ' font-family="monospace"'),
                      _text(x + 8, y + 32, 13, file.removeprefix("kernels/"), ' fill="#57606a"')]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(walks(PAGE.read_text())))
