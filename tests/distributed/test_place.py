"""A process's place, from what its environment and its program say."""

from itertools import product

import pytest

from minigrad.distributed.place import MEETING, Place, find, first_node
from tests.support.cases import cases

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
AT = {"MASTER_ADDR": "one", "MASTER_PORT": "1234"}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}
OPEN_MPI = {
    f"OMPI_COMM_WORLD_{name}": text
    for name, text in zip(("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"), "1312", strict=True)
}
MVAPICH = {name.replace("OMPI", "MV2"): text for name, text in OPEN_MPI.items()}
SLURM = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (HYDRA, Place(2, 3, 0, 1)),
        (OPEN_MPI, Place(1, 3, 1, 2)),
        (MVAPICH, Place(1, 3, 1, 2)),
        ({"PMIX_RANK": "1", **SLURM}, Place(1, 8, 1)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Place(0, 1)),
    ],
)
def test_an_mpi_has_connected_them(environment: dict[str, str], expected: Place) -> None:
    assert find(environment=environment) == expected
    assert find(environment={**TORCHRUN, **AT, **environment}) == expected  # its word comes first
    assert find(expected.rank, expected.size, environment=environment) == expected
    assert find(address="elsewhere:1", environment=environment).address is None


BOTH = {**TORCHRUN, **AT}
AGENT = {**BOTH, "TORCHELASTIC_USE_AGENT_STORE": "True"}  # torchrun listens itself
BATCH = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_NODELIST": "gpu[07-09]"}  # a script of Slurm is no rank
HERE = {**BOTH, MEETING: "here:5"}  # a meeting that is open already


@cases(
    "rank, size, address, environment, expected",
    [
        (-1, -1, None, {**SLURM, **HYDRA}, Place(2, 3, 0, 1)),
        (-1, -1, None, BOTH, Place(1, 4, 1, 2, "one:1234")),
        (-1, -1, None, TORCHRUN, Place(1, 4, 1, 2, "localhost:29500")),
        (-1, -1, None, {**TORCHRUN, "MASTER_ADDR": "::1"}, Place(1, 4, 1, 2, "::1:29500")),
        (-1, -1, None, {"RANK": "0", "WORLD_SIZE": "2", **AT}, Place(0, 2, address="one:1234")),
        (-1, -1, None, AGENT, Place(1, 4, 1, 2, "one:1235")),
        (-1, -1, None, {**AGENT, "TORCHELASTIC_USE_AGENT_STORE": "False"}, Place(1, 4, 1, 2, "one:1234")),
        (-1, -1, None, HERE, Place(1, 4, 1, 2, "here:5", opens=False)),
        (-1, -1, "there:6", HERE, Place(1, 4, 1, 2, "there:6")),
        (-1, -1, None, BATCH, Place(0, 1, address="localhost:29500")),
        (3, 5, "two:9", BOTH, Place(3, 5, 1, 2, "two:9")),
        (0, -1, None, BOTH, Place(0, 4, 1, 2, "one:1234")),
        (1, 2, "two:9", {}, Place(1, 2, address="two:9")),
        (1, 2, None, AT, Place(1, 2, address="one:1234")),
        (0, 1, None, {}, Place(0, 1, address="localhost:29500")),
        (-1, -1, None, {}, Place(0, 1, address="localhost:29500")),
    ],
)
def test_what_a_program_and_its_environment_say(
    rank: int, size: int, address: str | None, environment: dict[str, str], expected: Place
) -> None:
    assert find(rank, size, address, environment) == expected


def test_contradictions_and_halves() -> None:
    """PyTorch says which half is missing; a world of one for each process would train as many models."""
    for said in ({"rank": 1}, {"size": 4}, {"rank": 2, "size": 4}, {"rank": 0, "size": 3}):
        with pytest.raises(ValueError, match=r"PMI_RANK and PMI_SIZE say that this is rank 2 of 3"):
            find(**said, environment=HYDRA)
    for rank, size in ((1, -1), (-1, 2), (3, -1)):
        with pytest.raises(ValueError, match="give both, or neither"):
            find(rank, size, environment={})
    for half in ({"RANK": "1"}, {"WORLD_SIZE": "2"}, {"RANK": "0", "WORLD_SIZE": ""}):
        with pytest.raises(ValueError, match=r"RANK|WORLD_SIZE"):
            find(environment={**half, **AT})
    for rank, size in ((2, 2), (5, 2), (0, 0)):
        for said in ({"rank": rank, "size": size}, {}):
            environment = {} if said else {"RANK": str(rank), "WORLD_SIZE": str(size)}
            with pytest.raises(ValueError, match=f"no rank {rank} in a world of {size}"):
                find(**said, environment=environment)


def test_a_variable_is_no_number() -> None:
    names = [(environment, name) for environment in (TORCHRUN, HYDRA, OPEN_MPI, SLURM) for name in environment]
    for text, (environment, name) in product(("one", "-1", "1.5", " 1", "²"), names):
        with pytest.raises(ValueError, match=f"{name} must be a whole number, not {text!r}"):
            find(environment={**environment, name: text})
    for port in ("http", "0", "-5", "65536", "1.0"):
        with pytest.raises(ValueError, match=f"MASTER_PORT must be a port, 1 to 65535, not {port!r}"):
            find(environment={**TORCHRUN, "MASTER_PORT": port})


def test_slurm_alone() -> None:
    job = {**SLURM, "SLURM_STEP_NODELIST": "gpu[07-09]", "SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "2"}
    place = find(environment=job)
    assert (place.rank, place.size, place.local_rank, place.local_size) == (5, 8, 1, None)
    host, _, port = str(place.address).partition(":")
    assert host == "gpu07" and 15000 <= int(port) < 30000
    assert find(environment={**job, "SLURM_PROCID": "0"}).address == place.address
    assert find(environment={**job, "SLURM_STEP_ID": "3"}).address != place.address
    assert find(environment={**job, "SLURM_JOB_ID": "4712"}).address != place.address
    assert find(environment={**job, "MASTER_PORT": "77"}).address == "gpu07:77"
    assert find(environment={**job, "MASTER_ADDR": "other"}).address == f"other:{port}"
    assert find(environment={**job, **TORCHRUN, **AT}).address == "one:1234"


def test_the_first_machine_of_slurms_list() -> None:
    for nodes, first in (
        ("one", "one"),
        ("one,two", "one"),
        ("node-1.cluster,node-2.cluster", "node-1.cluster"),
        ("gpu[07-09,12],cpu1", "gpu07"),
        ("cpu1,gpu[07-09]", "cpu1"),
        ("n[001-128]-ib", "n001-ib"),
        ("n[1-2]-ib,m3", "n1-ib"),
        ("rack[0-3]_blade[5-7],x1", "rack0_blade5"),
    ):
        assert first_node(nodes) == first
    for nodes in ("", ",", "[1-2]"):
        with pytest.raises(ValueError, match="no list of machines"):
            first_node(nodes)
