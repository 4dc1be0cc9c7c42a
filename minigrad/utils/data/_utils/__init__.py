"""What a DataLoader is made of: collating, worker processes."""

from . import collate, worker
