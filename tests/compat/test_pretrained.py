"""Files of pretrained models: PyTorch's readers and writers in safetensors and transformers, on minigrad."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SAFETENSORS = """
import sys
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, save, save_file

file = sys.argv[1]
tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.arange(4).to(torch.uint8), "c": torch.ones(3).bfloat16()}
save_file(tensors, file, metadata={"format": "pt"})
for read in (load_file(file), load(save(tensors))):
    assert all(read[name].dtype == x.dtype and torch.equal(read[name], x) for name, x in tensors.items())
with safe_open(file, framework="pt") as opened:
    assert sorted(opened.keys()) == ["a", "b", "c"]
    whole, part = opened.get_tensor("a"), opened.get_slice("a")[1:]
    assert part.tolist() == [[3.0, 4.0, 5.0]]
    again = opened.get_tensor("a")
    assert whole.data_ptr() == again.data_ptr(), "the file is mapped, and not copied"
    assert whole.untyped_storage().nbytes() == 24, "a tensor's storage is its part of the file"
    whole[0, 0] = 7.0
with safe_open(file, framework="pt") as opened:
    assert opened.get_tensor("a")[0, 0].item() == 0.0, "a change does not reach the file"
shared = torch.zeros(4)
try:
    save_file({"one": shared, "other": shared}, file)
except RuntimeError as error:
    assert "share memory" in str(error)
else:
    raise AssertionError("two names of one memory were written")
"""

TRANSFORMERS = """
import sys
import torch
from transformers import AutoModel, GPT2Config, GPT2LMHeadModel

folder, action = sys.argv[1:]
config = GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
ids = torch.arange(10).reshape(1, 10) * 7 % 99


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=ids).logits.float()


if action == "save":
    model = GPT2LMHeadModel(config)
    expected = {"plain": logits(model), "sharded": logits(model)}
    model.save_pretrained(f"{folder}/plain")
    model.save_pretrained(f"{folder}/sharded", max_shard_size="50KB")
    model.bfloat16().save_pretrained(f"{folder}/bfloat16")
    expected["bfloat16"] = logits(model)
    from safetensors.torch import save_file
    save_file(expected, f"{folder}/expected.safetensors")
else:
    from safetensors.torch import load_file
    for name, expected in load_file(f"{folder}/expected.safetensors").items():
        model = GPT2LMHeadModel.from_pretrained(f"{folder}/{name}", dtype="auto")
        difference = (logits(model) - expected).abs().max().item()
        assert difference < (2**-7 if name == "bfloat16" else 1e-5) * expected.abs().max().item(), (name, difference)
        assert model.lm_head.weight is model.transformer.wte.weight
        assert model.dtype is (torch.bfloat16 if name == "bfloat16" else torch.float32)
    with torch.device("meta"):
        empty = AutoModel.from_config(config)
    assert {p.device.type for p in empty.parameters()} == {"meta"}
    assert model.resize_token_embeddings(120).weight.shape == (120, 32)
"""


def run(program: str, *arguments: Path | str, minigrad: bool, tmp_path: Path) -> None:
    """Run a program in a separate process, on minigrad or on PyTorch."""
    file = tmp_path / "program.py"
    file.write_text(program)
    way = ["-m", "minigrad", "compat"] if minigrad else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, *way, str(file), *map(str, arguments)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_safetensors_reads_and_writes_without_a_copy(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    run(SAFETENSORS, tmp_path / "x.safetensors", minigrad=True, tmp_path=tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("writer", ["minigrad", "pytorch"])
def test_a_model_of_transformers_is_saved_by_one_library_and_read_by_the_other(writer: str, tmp_path: Path) -> None:
    """In float32, in several files, and in bfloat16, the logits are the same."""
    for package in ("transformers", "torch", "ml_dtypes"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    for action in ("save", "load"):
        on_minigrad = (writer == "minigrad") == (action == "save")
        run(TRANSFORMERS, tmp_path, action, minigrad=on_minigrad, tmp_path=tmp_path)
