"""Distributed training on one machine or many, under PyTorch's names: over MPI on CPUs and over NCCL on GPUs.

A program that calls ``init_process_group`` runs as rank r of N if it is started by

    python -m minigrad.run -n N program.py

or by ``mpiexec -n N``, or by Slurm's ``srun``. The ``distributed`` extra installs mpi4py and an MPI implementation with
mpiexec. See docs/distributed.md.
"""

from . import functional as functional
from .collectives import *
from .group import *
from .messages import *
from .objects import *
from .work import Work as Work
