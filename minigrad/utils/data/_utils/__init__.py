"""Parts of the DataLoader: collating and worker processes."""

from . import collate, worker
