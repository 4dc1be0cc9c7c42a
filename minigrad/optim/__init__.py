"""Optimisers and learning-rate schedules, under PyTorch's names."""

from typing import TYPE_CHECKING

from ..extension import later as _later
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

if TYPE_CHECKING:  # imported on first use; PyTorch's other names are in ``compat``
    from ..compat.optim.lbfgs import LBFGS
    from ..compat.optim.rules import (
        ASGD,
        Adadelta,
        Adafactor,
        Adagrad,
        Adamax,
        NAdam,
        RAdam,
        RMSprop,
        Rprop,
        SparseAdam,
    )
    from . import lr_scheduler, swa_utils
    from .muon import Muon, MuonWithAdamW

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "MuonWithAdamW"]
__all__ += ["NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils"]

_later(__name__, {"muon": "Muon MuonWithAdamW"})
