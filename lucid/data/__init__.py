"""Datasets, samplers and DataLoader, with the names and behaviour of PyTorch's `torch.utils.data`.

`dataset`: datasets.
`sampler`: the order of samples.
`distributed`: the share of one of several processes.
`collate`: batches from samples.
`pin_memory`: batches in pinned memory.
`dataloader`: the DataLoader.
`fetch`: one batch from a dataset.
`workers`, `worker`: worker processes, seen from the main process and from inside.
`info`: what a worker knows about itself.
"""
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

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "WorkerInfo", "default_collate", "default_convert", "get_worker_info", "random_split"]
