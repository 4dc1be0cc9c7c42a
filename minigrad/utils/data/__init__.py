"""Datasets, samplers and the DataLoader, under PyTorch's names."""

from . import _utils, dataloader, dataset, sampler
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader
from .dataset import *
from .sampler import *

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
__all__ += dataset.__all__
__all__ += sampler.__all__
