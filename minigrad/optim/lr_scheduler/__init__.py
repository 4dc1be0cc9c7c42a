"""Learning rates over time. Call ``scheduler.step()`` after each ``optimizer.step()`` (or each epoch).

e counts these calls from 0, and lr₀ is a group's rate before the schedule begins. Most schedules change the
present rate, so that several can act on one optimiser; LambdaLR, CyclicLR, OneCycleLR, NoamLR,
InverseSquareRootLR and CosineAnnealingWarmRestarts set it.
"""

from .annealing import CosineAnnealingLR, CosineAnnealingWarmRestarts, InverseSquareRootLR, NoamLR
from .combined import ChainedScheduler, SequentialLR
from .cyclic import CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler
from .steps import ConstantLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR

_LRScheduler = LRScheduler  # its name in older programs

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]
__all__ += ["ExponentialLR", "InverseSquareRootLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR"]
__all__ += ["MultiplicativeLR", "NoamLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR"]
__all__ += ["StepLR"]
