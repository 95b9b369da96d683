"""What a worker process of a DataLoader knows about itself."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerInfo:
    """The `id` of a worker, `num_workers`, its `seed` and its copy of the `dataset`.

    >>> lucid.data.WorkerInfo(id=0, num_workers=2, seed=7, dataset="abc").num_workers
    2
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader, what it is; None in the main process.

    >>> lucid.data.get_worker_info() is None  # not in a worker
    True
    """
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Tell this process that it is a worker."""
    global _info
    _info = info
