"""New processes that Python starts, such as workers of a DataLoader: there `import torch` must give lucid before the program is
imported.
"""
from __future__ import annotations

import multiprocessing.spawn
import multiprocessing.util
import sys
from typing import Any

_PLACE: tuple[Any, str] = ((multiprocessing.spawn, "get_command_line") if sys.platform == "win32" else
                           (multiprocessing.util, "spawnv_passfds"))  # by which 'spawn' and 'forkserver' start Python
_original: list[Any] = []


def _beginning(arguments: Any) -> list[Any]:
    """The arguments of Python with a program that begins with `install`."""
    changed = list(arguments)
    if "-c" in changed:
        place = changed.index("-c") + 1
        if "resource_tracker" not in changed[place]:
            changed[place] = (f"import sys; sys.path[:] = {sys.path!r}; import lucid.torch; lucid.torch.install(); "
                              f"{changed[place]}")
    return changed


def begin_alike() -> None:
    """Let new processes begin with `install`."""
    owner, name = _PLACE
    original = getattr(owner, name)
    _original.append(original)

    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> Any:
        return original(path, _beginning(args), passfds)

    def get_command_line(**keywords: Any) -> list[Any]:
        return _beginning(original(**keywords))

    setattr(owner, name, locals()[name])


def begin_as_before() -> None:
    """Undo `begin_alike`."""
    setattr(*_PLACE, _original.pop())
