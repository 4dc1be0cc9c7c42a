"""Processes that train one model, on one machine or many: by MPI on CPUs, NCCL on GPUs, under PyTorch's names.

A program that calls ``init_process_group`` runs as rank r of N, started by

    python -m minigrad.run -n N program.py

or by ``mpiexec -n N``, or by Slurm's ``srun``. The extra ``distributed`` brings mpi4py and an MPI with its mpiexec. See
docs/distributed.md.
"""

from . import functional as functional
from .collectives import *
from .group import *
from .messages import *
from .objects import *
from .work import Work as Work
