"""Full disks, read-only folders, and invalid files."""

import errno
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad_models.training import RunFolder, checkpoints, read_checkpoint, write_checkpoint
from tests.models.training.disk import Disk
from tests.models.training.program import contents, differences, everything, trainer
from tests.support.cases import raises


def full(name: str, args: Any) -> None:
    """Fail as writing to a full disk does; deleting and renaming still work."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip fsync and sleep."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The contents of a run on a working disk."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    trainer(folder).fit()
    return contents(folder)


WRITING = ("parts", "write", "replace", "mkdir")


def test_a_disk_that_stays_full(tmp_path: Path, whole: dict[str, Any]) -> None:
    """The run ends with an error, and resumes from the last good checkpoint."""
    message = r"cannot (save .*(last|best|\d+)\.safetensors|write .*log\.jsonl): No space left"
    for first in (0, 12, 40):
        folder = tmp_path / str(first)
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, full, first, names=WRITING if first else ("parts",))
            with pytest.raises(OSError, match=message) as refused:
                trainer(folder).fit()
        reason = str(refused.value.strerror)
        assert "log.jsonl" in reason or re.search(
            r"unharmed\. It needs 0\.0 MB, but only [\d,.]+ MB are free: free more", reason
        )
        assert "Errno" not in reason and reason.count("No space left") == 1
        if not first:
            assert [path for path in folder.rglob("*") if path.is_file()] == []
            continue
        assert not list(folder.rglob("*.tmp"))
        assert read_checkpoint(folder / "last.safetensors")["training"]["step"] < 30
        trainer(folder).fit()
        assert differences(contents(folder), whole) == []


def test_lines_are_on_the_disk_before_the_checkpoint_that_counts_them(tmp_path: Path, monkeypatch: Any) -> None:
    replace, write, log = os.replace, os.write, tmp_path / "log.jsonl"
    counts = {"lines": 0, "lines on disk": 0, "saves": 0}

    def replacing(source: Any, target: Any) -> None:
        if Path(target).name == "last.safetensors":
            counts["saves"] += 1
            assert counts["lines on disk"] == counts["lines"]
        replace(source, target)

    def writing(handle: int, data: bytes) -> int:
        counts["lines"] += 1
        return write(handle, data)

    def flushing(handle: int) -> None:
        if log.exists() and os.fstat(handle).st_ino == log.stat().st_ino:
            counts["lines on disk"] = counts["lines"]

    for name, function in (("replace", replacing), ("write", writing), ("fsync", flushing)):
        monkeypatch.setattr(os, name, function)
    trainer(tmp_path, steps=12).fit()
    assert counts["lines"] == 8 and counts["saves"] > 4


def test_a_read_only_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    raises(OSError, r"cannot write checkpoints to .*file.run", lambda: trainer(tmp_path / "file" / "run").fit())
    if os.name == "posix" and os.geteuid():  # root can write everywhere
        tmp_path.chmod(0o500)
        raises(OSError, "cannot write checkpoints to", lambda: trainer(tmp_path).fit())


def test_a_folder_that_is_deleted_during_training_is_created_again(tmp_path: Path) -> None:
    def evaluate(model: Any) -> dict[str, float]:
        for path in sorted((tmp_path / "run").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        return {"loss": 1.0}

    trainer(tmp_path / "run", evaluate=evaluate).fit()
    assert read_checkpoint(tmp_path / "run" / "last.safetensors")["step"] == 30


@pytest.mark.skipif(os.name != "posix", reason="no locks")
def test_two_trainings_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PATIENCE", 0.2)

    def evaluate(model: Any) -> dict[str, float]:
        raises(BlockingIOError, "another process is training in", lambda: trainer(tmp_path).fit())
        return {"loss": 1.0}

    assert trainer(tmp_path, evaluate=evaluate, steps=6).fit().finished
    trainer(tmp_path, steps=7).fit()  # the disk is free again


def test_a_damaged_foreign_or_missing_checkpoint_is_reported_and_kept(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "touched",))

    def refused(error: type[Exception], message: str) -> None:
        before = everything(tmp_path)
        raises(error, message, lambda: trainer(tmp_path).fit())
        assert everything(tmp_path) == before, message

    trainer(tmp_path, steps=13).fit()
    last = tmp_path / "last.safetensors"
    content, good = read_checkpoint(last), last.read_bytes()
    header = int.from_bytes(good[:8], "little")
    damaged = [b"", good[:5], good[: header // 2], good[:-1], good + b"x", b"\0" * len(good)]
    for bad in (*damaged, good[:20] + b"#" + good[21:], good.replace(b'"training', b'"draining', 1)):
        last.write_bytes(bad)
        refused(RuntimeError, r"last\.safetensors")
    for name in ("extra", "optimizer", "schedule"):
        write_checkpoint(last, {key: value for key, value in content.items() if key != name})
        refused(RuntimeError, rf"last\.safetensors lacks {name}, so training cannot resume")
    minigrad.save({"program": "minigrad.training", "evil": Evil()}, last)  # a pickle
    refused(RuntimeError, "is damaged")
    last.write_bytes((tmp_path / "best.safetensors").read_bytes())
    refused(RuntimeError, r"last\.safetensors holds only weights")
    raises(RuntimeError, r"last\.safetensors holds only weights", lambda: RunFolder(tmp_path).snapshots())
    last.unlink()
    refused(FileExistsError, r"no last\.safetensors to resume from")
    last.write_bytes(good)
    assert trainer(tmp_path, steps=14).fit().step == 14 and not (tmp_path / "touched").exists()


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    config = {"width": 8, "data": {"seed": 1, "files": ("a", "b")}}
    trainer(tmp_path, steps=5, config=config).fit()
    before = everything(tmp_path)
    changed = {"width": 9, "data": {"seed": 1, "files": ("a", "c")}, "new": None}
    message = (
        r"a different configuration: accumulate \(3 there, 4 now\), "
        r"config\.data\.files \(\['a', 'b'\] there, \['a', 'c'\] now\), "
        r"config\.new \(missing there, None now\), config\.width \(8 there, 9 now\)"
    )
    raises(ValueError, message, lambda: trainer(tmp_path, config=changed, accumulate=4).fit())
    assert everything(tmp_path) == before
    trainer(tmp_path, steps=6, config=config, log_every=3, save_every=9).fit()
    without = trainer(tmp_path, config=config)
    without.schedule = None
    raises(ValueError, r"configuration: schedule \('given' there, None now\)", without.fit)


def test_other_files_are_not_checkpoints(tmp_path: Path) -> None:
    path, own = tmp_path / "other.safetensors", {"program": "minigrad.training", "model": {}}
    raises(FileNotFoundError, "there is no checkpoint", lambda: read_checkpoint(path))
    rows: list[tuple[dict[str, Any], str]] = [
        ({"model": {}}, r"other\.safetensors is not a checkpoint of minigrad\.training"),
        ({**own, "version": 99}, "version 99, but this program reads version 1"),
        (own, "version unknown, but this program reads version 1"),
    ]
    for content, message in rows:
        minigrad.save(content, path)
        with pytest.raises(RuntimeError, match=message):
            read_checkpoint(path)


def test_state_that_could_not_be_loaded_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training, replace = trainer(tmp_path), os.replace
    training.extra["own"] = random.Random
    raises(TypeError, "not plain data", training.fit)

    def cut(source: Any, target: Any) -> None:  # a disk that returns other data
        os.truncate(source, 100)
        replace(source, target)

    monkeypatch.setattr(os, "replace", cut)
    advice = r"last\.safetensors is damaged: it is truncated: [^:]*\. What to do: [^:]*$"  # only one piece of advice
    raises(RuntimeError, advice, lambda: trainer(tmp_path).fit())
    assert not RunFolder(tmp_path).last.exists()
