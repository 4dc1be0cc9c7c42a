"""A training step runs through few files and lines, so it is quick to read."""

from benchmarks import path


def test_a_training_step_is_short_to_read() -> None:
    files = path.of_a_step()
    assert {"autograd/tape.py", "autograd/walk.py", "ops/op.py", "optim/adam.py"} <= set(files)
    assert len(files) <= 25
    assert sum(sum(functions.values()) for functions in files.values()) <= 800
