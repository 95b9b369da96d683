"""`Compare`: measurements as tables, as PyTorch prints them."""
from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

from .measurement import Measurement, by, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BEST, _GOOD, _BAD, _WORST, _BOLD, _END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """What the colours of a table compare.

    >>> lucid.utils.benchmark.Colorize.COLUMNWISE.name
    'COLUMNWISE'
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table for each label: rows by sub-label, environment and threads, columns by description.

    >>> from lucid.utils.benchmark import Compare, Timer
    >>> times = [Timer("x + x", globals={"x": lucid.ones(n)}, label="sums", sub_label=f"{n} elements").timeit(9) for n in (1, 9)]
    >>> "9 elements" in str(Compare(times))
    True
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._highlight = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def __str__(self) -> str:
        return "\n".join(self._tables())

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Take more measurements. Those of one task are one."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only digits that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the fast and the slow: of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show where times spread."""
        self._highlight = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def _tables(self) -> list[str]:
        results = Measurement.merge(self._results)
        return [self._table(group) for _, group in by(results, lambda m: m.task_spec.label)]

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        columns = ordered_unique(m.task_spec.description for m in results)
        rows: list[tuple[int, str, str]] = ordered_unique((m.task_spec.num_threads, m.task_spec.env or "", m.as_row_name)
                                                          for m in results)
        rows.sort(key=lambda row: row[0])
        environments = len({row[1] for row in rows}) > 1
        cells = {((m.task_spec.num_threads, m.task_spec.env or "", m.as_row_name), m.task_spec.description): m for m in results}
        texts: dict[tuple[object, object], str] = {}
        for column in columns:
            found = [m for (_, at), m in cells.items() if at == column]
            digits = 1
            if self._trim:
                digits = max(0, min(1, max(m.significant_figures - max(1, math.ceil(math.log10(max(m.median / scale, 1e-9))))
                                           for m in found)))
            for (row, at), m in cells.items():
                if at == column:
                    value = trim_sigfig(m.median / scale, m.significant_figures) if self._trim else m.median / scale
                    texts[row, column] = f"{value:.{digits}f}" + (f" (! {m.iqr / m.median * 100:.0f}%)" if self._highlight and (
                        m.has_warnings) else "")
        names = {row: (f"({row[1]})  " if environments and row[1] else "") + row[2] for row in rows}
        first = max([len(name) for name in names.values()], default=0) + 6
        widths = {column: max([len(column or ""), *[len(texts.get((row, column), "")) + 1 for row in rows]])
                  for column in columns}
        header = "  |  ".join([" " * first, *[(column or "").center(widths[column]) for column in columns]])
        label = results[0].task_spec.label or results[0].task_spec.stmt
        lines = [f"[{f' {label} '.center(len(header) - 2, '-')}]", header]
        for threads, group in _by_threads(rows):
            lines.append(f"{threads} threads: ".ljust(len(header), "-"))
            for row in group:
                parts = [names[row].rjust(first)]
                for column in columns:
                    text = texts.get((row, column), "").center(widths[column])
                    parts.append(self._coloured(text, row, column, cells))
                lines.append("  |  ".join(parts))
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""])

    def _coloured(self, text: str, row: object, column: object, cells: dict[Any, Measurement]) -> str:
        own = cells.get((row, column))
        if self._colorize is Colorize.NONE or own is None:
            return text
        rowwise = self._colorize is Colorize.ROWWISE
        others = [m.median for (r, c), m in cells.items() if (r == row if rowwise else c == column)]
        best, worst = min(others), max(others)
        if own.median <= best * 1.02:
            return f"{_BEST}{_BOLD}{text}{_END}{_END}"
        if own.median <= best * 1.1:
            return f"{_GOOD}{text}{_END}"
        if own.median >= worst * 0.98 and own.median > best * 2:
            return f"{_WORST}{_BOLD}{text}{_END}{_END}"
        return f"{_BAD}{text}{_END}" if own.median > best * 1.25 else text


def _by_threads(rows: Sequence[tuple[int, str, str]]) -> list[tuple[int, list[tuple[int, str, str]]]]:
    groups: dict[int, list[tuple[int, str, str]]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return list(groups.items())
