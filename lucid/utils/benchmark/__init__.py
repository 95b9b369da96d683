"""Timing: PyTorch's `Timer`, `Measurement` and `Compare`, and `in_turn`, which says whether one of several calls is faster.

`measurement`: times, and what is known of them.
`timer`: times a statement.
`table`: measurements side by side.
`turns`: several calls in turn, with verdicts.

>>> from lucid.utils.benchmark import Timer
>>> Timer("x @ x", globals={"x": lucid.ones(9, 9)}).timeit(10).number_per_run
10
"""
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, trim_sigfig, unit_to_english
from .table import Colorize, Compare
from .timer import Language, Timer, set_torch_threads, timer
from .turns import FASTER, SAME, SLOWER, UNDECIDED, Side, Turns, in_turn

__all__ = ["FASTER", "SAME", "SLOWER", "UNDECIDED", "Colorize", "Compare", "Language", "Measurement", "Side", "TaskSpec", "Timer",
           "Turns", "in_turn", "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]
