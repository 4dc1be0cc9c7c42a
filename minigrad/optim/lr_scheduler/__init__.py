"""Learning rates over time. Call ``scheduler.step()`` after each ``optimizer.step()`` (or each epoch).

e counts these calls from 0, and lr₀ is a group's rate before the schedule begins. Most schedules change the
present rate, so that several can act on one optimiser; LambdaLR, CyclicLR, OneCycleLR, NoamLR,
InverseSquareRootLR and CosineAnnealingWarmRestarts set it.
"""

from . import formulas
from .combined import ChainedScheduler, SequentialLR
from .cyclic import CyclicLR, OneCycleLR
from .formulas import *
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler

_LRScheduler = LRScheduler  # its name in older programs

__all__ = ["ChainedScheduler", "CyclicLR", "LRScheduler", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR"]
__all__ += formulas.__all__

for _name in __all__:  # programs compare ``scheduler.__module__`` with this module's name
    globals()[_name].__module__ = __name__
