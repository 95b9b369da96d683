"""Which kernels a call launches, on the simulator and on a GPU."""
from __future__ import annotations

from collections.abc import Callable


def launched(call: Callable[[], object]) -> list[str]:
    """The names of the kernels that `call` launches in this thread, in their order. What CuPy's own functions launch is not seen."""
    from lucid_kernels.cuda.runtime import launch, recording

    with recording.Recorder() as record:
        call()
    names = {id(kernel): name for (_, name), kernel in launch._kernels.items()}
    return [names[id(step[0])] for step in record.steps if step[0] is not None]
