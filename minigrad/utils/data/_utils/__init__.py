"""What a DataLoader is made of: collating, fetching, worker processes."""

from . import collate, fetch, worker
