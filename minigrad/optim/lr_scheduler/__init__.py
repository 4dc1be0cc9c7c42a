"""Learning rate schedules. Call ``scheduler.step()`` after each ``optimizer.step()`` (or each epoch).

e counts these calls from 0, and lr₀ is a group's rate before the schedule begins. Most schedules multiply the current
rate, so several can act on one optimiser. LambdaLR, CyclicLR, OneCycleLR, NoamLR, InverseSquareRootLR and
CosineAnnealingWarmRestarts set the rate instead.
"""

from typing import TYPE_CHECKING

from . import schedules
from .schedules import *

if TYPE_CHECKING:  # PyTorch's other names are in ``compat``
    from ...compat.optim.schedules import CyclicLR, OneCycleLR

_LRScheduler = schedules.LRScheduler  # its name in older programs

__all__ = ["CyclicLR", "OneCycleLR"]
__all__ += schedules.__all__

for _name in schedules.__all__:  # programs compare ``scheduler.__module__`` with this module's name
    globals()[_name].__module__ = __name__
