"""Datasets, samplers and DataLoader, with the names and behaviour of PyTorch's `torch.utils.data`.

`dataset`: datasets.
`sampler`: the order of samples.
`distributed`: the share of one of several processes.
`datapipes`: chains of small datasets.
`collate`: batches from samples.
`pin_memory`: batches in pinned memory.
`dataloader`: the DataLoader.
`fetch`: one batch from a dataset.
`workers`, `worker`: worker processes, seen from the main process and from inside.
`info`: what a worker knows about itself.

>>> from lucid.data import DataLoader, TensorDataset
>>> loader = DataLoader(TensorDataset(lucid.randn(10, 3), lucid.arange(10)), batch_size=4)
>>> [(x.shape, y.shape) for x, y in loader][-1]
(lucid.Size([2, 3]), lucid.Size([2]))
"""
from typing import TYPE_CHECKING

from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .info import WorkerInfo, get_worker_info
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

if TYPE_CHECKING:  # imported when they are first asked for
    from .datapipes.pipes import (
        DataChunk,
        DFIterDataPipe,
        IterDataPipe,
        MapDataPipe,
        argument_validation,
        functional_datapipe,
        guaranteed_datapipes_determinism,
        non_deterministic,
        runtime_validation,
        runtime_validation_disabled,
    )

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DFIterDataPipe", "DataChunk", "DataLoader", "Dataset",
           "DistributedSampler", "IterDataPipe", "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler",
           "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler",
           "WorkerInfo",
           "argument_validation", "default_collate", "default_convert", "functional_datapipe", "get_worker_info",
           "guaranteed_datapipes_determinism", "non_deterministic", "random_split", "runtime_validation",
           "runtime_validation_disabled"]
