"""The training loop for all models. A run can be killed at any moment and resumed exactly.

trainer = Trainer(model, optimizer, batches, loss, folder="runs/first", settings=Settings(steps=8000))
outcome = trainer.fit()
"""

from .batches import Batches, LoaderBatches, ShuffledOrder
from .checkpoints import RunFolder, averaged_state, read_checkpoint, read_log, write_checkpoint
from .schedules import cosine, inverse_sqrt, inverse_sqrt_with_decay, linear
from .trainer import Outcome, Trainer, moving_average
from .trainer_settings import Settings

__all__ = ["Batches", "LoaderBatches", "Outcome", "RunFolder", "Settings", "ShuffledOrder", "Trainer"]
__all__ += ["averaged_state", "cosine", "inverse_sqrt", "inverse_sqrt_with_decay", "linear"]
__all__ += ["moving_average", "read_checkpoint", "read_log", "write_checkpoint"]
