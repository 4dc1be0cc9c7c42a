"""Optimisers and learning-rate schedules, by PyTorch's names."""

from . import lr_scheduler, swa_utils
from .adafactor import Adafactor
from .adagrad import Adadelta, Adagrad, RMSprop
from .adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from .lbfgs import LBFGS
from .muon import Muon, MuonWithAdamW
from .optimizer import Optimizer
from .sgd import ASGD, SGD, Rprop

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "MuonWithAdamW"]
__all__ += ["NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils"]
