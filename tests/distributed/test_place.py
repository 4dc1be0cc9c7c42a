"""A process's rank and world size, from its environment and its program."""

from itertools import product

import pytest

from minigrad.distributed.launch import Place, find_place
from tests.support.cases import cases, each, raises

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}
NAMES = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
OPEN_MPI = {f"OMPI_COMM_WORLD_{name}": text for name, text in zip(NAMES, "1312", strict=True)}
SLURM = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"}


@cases(
    "environment, expected",
    [
        (HYDRA, Place(2, 3, 0, 1)),
        (OPEN_MPI, Place(1, 3, 1, 2)),
        ({name.replace("OMPI", "MV2"): text for name, text in OPEN_MPI.items()}, Place(1, 3, 1, 2)),
        ({"PMIX_RANK": "1", **SLURM}, Place(1, 8, 1)),
        (TORCHRUN, Place(1, 4, 1, 2)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Place()),
        (SLURM, Place()),  # a Slurm batch script is not a rank
        ({}, Place()),
    ],
)
def test_the_launcher_is_recognized(environment: dict[str, str], expected: Place) -> None:
    assert find_place(environment=environment) == expected
    assert find_place(expected.rank, expected.size, environment) == expected
    if environment.keys() != SLURM.keys() and environment:
        assert find_place(environment={**TORCHRUN, **environment}) == expected  # MPI's variables take precedence


def test_impossible_combinations() -> None:
    for rank, size in ((1, -1), (-1, 4), (2, 4), (0, 3)):
        with pytest.raises(ValueError, match=r"PMI_RANK and PMI_SIZE say that this is rank 2 of 3"):
            find_place(rank, size, HYDRA)
    no_rank = [(2, 2, {}), (0, 0, {}), (1, -1, {}), (-1, -1, {"RANK": "1"}), (-1, -1, {"RANK": "2", "WORLD_SIZE": "2"})]
    each(no_rank, lambda case: raises(ValueError, "there is no rank", lambda: find_place(*case)))
    names = [(environment, name) for environment in (TORCHRUN, HYDRA, OPEN_MPI) for name in environment]
    for text, (environment, name) in product(("one", "-1", "1.5", " 1", "²"), names):
        with pytest.raises(ValueError, match=f"{name} must be a whole number, not {text!r}"):
            find_place(environment={**environment, name: text})
