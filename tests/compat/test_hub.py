"""torch.hub: downloaded weights, without code."""

import hashlib
from pathlib import Path

import pytest

import minigrad as mg


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A state dict in a file named after its SHA-256."""
    file = tmp_path / "weights.pt"
    mg.save({"weight": mg.arange(3.0)}, file)
    return file.rename(tmp_path / f"net-{hashlib.sha256(file.read_bytes()).hexdigest()[:8]}.pt")


def test_the_folder_of_downloads_is_pytorchs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mg.hub, "_folder", None)
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert mg.hub.get_dir() == str(tmp_path / "torch" / "hub")
    monkeypatch.setenv("TORCH_HOME", "~/models")
    assert mg.hub.get_dir() == str(Path.home() / "models" / "hub")
    mg.hub.set_dir(tmp_path / "here")
    assert mg.hub.get_dir() == str(tmp_path / "here")


def test_weights_are_downloaded_once(weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for _ in range(2):
        state = mg.hub.load_state_dict_from_url(weights.as_uri(), str(folder), check_hash=True)
        assert state["weight"].tolist() == [0, 1, 2]
        weights.unlink(missing_ok=True)
    assert [file.name for file in folder.iterdir()] == [weights.name]


def test_a_file_with_the_wrong_hash_is_not_kept(weights: Path, tmp_path: Path) -> None:
    with weights.open("ab") as file:
        file.write(b"more")
    target = tmp_path / "kept.pt"
    target.write_text("as it was")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        mg.hub.load_state_dict_from_url(weights.as_uri(), str(tmp_path), check_hash=True, file_name="net-00000000.pt")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        mg.hub.download_url_to_file(weights.as_uri(), str(target), "0" * 8)
    assert target.read_text() == "as it was"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept.pt", weights.name]


def test_a_pickle_of_code_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "code.pt"
    file.write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
    with pytest.raises(RuntimeError, match="cannot load"):
        mg.hub.load_state_dict_from_url(file.as_uri(), str(tmp_path / "models"))


def test_the_old_name_for_downloads_exists() -> None:
    assert mg.utils.model_zoo.load_url is mg.hub.load_state_dict_from_url


def test_a_library_of_operators_in_cpp_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"C\+\+"):  # as in PyTorch for a library built for another version
        mg.ops.load_library(tmp_path / "_C.so")
    assert not mg._C._dispatch_has_kernel_for_dispatch_key("library::op", "Meta")
    keys = mg._C.DispatchKeySet(mg._C.DispatchKey.AutocastCPU) | mg._C.DispatchKeySet(mg._C.DispatchKey.AutocastCUDA)
    with mg._C._ExcludeDispatchKeyGuard(keys):
        assert len(keys) == 2
