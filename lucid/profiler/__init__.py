"""Where the time goes: `profile` and what belongs to it, by the names of torch.profiler. Imported when it is first asked for.

`session`: `profile`, which watches what a context runs.
`regions`: `record_function`, parts of a program by name.
`steps`: `schedule`, which steps of a training are watched.
`recorder`: records each operation.
`averages`: operations of one name together, and their table.
`trace`: Chrome's format, and folders for TensorBoard.
`costs`: FLOPs and bytes of an operation.

>>> with lucid.profiler.profile() as p:
...     y = nn.Linear(2, 3)(lucid.ones(1, 2))
>>> "linear" in p.key_averages().table()
True
"""
from .averages import EventAverage, EventList
from .recorder import Event
from .regions import record_function
from .session import ProfilerActivity, profile, supported_activities
from .steps import ProfilerAction, schedule
from .trace import tensorboard_trace_handler

__all__ = ["Event", "EventAverage", "EventList", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]
