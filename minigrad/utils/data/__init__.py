"""Datasets, samplers and the DataLoader, by PyTorch's names."""

from . import _utils, dataloader, dataset, distributed, sampler
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind
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
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler"]
__all__ += ["IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset"]
__all__ += ["SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert"]
__all__ += ["get_worker_info", "random_split"]
