"""accelerate: a training run with accumulation and clipping, saved and resumed, and tools that place large models."""

import os
import tempfile

import accelerate
import torch
from accelerate import Accelerator, utils
from torch.utils.data import DataLoader, TensorDataset


def data(count=48):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, 6, generator=generator)
    return TensorDataset(x, (x[:, 0] > 0).long())


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))


def prepared(accelerator, seed=0):
    """A model, an optimiser, batches and a schedule."""
    model = network()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.02)
    batches = DataLoader(data(), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(seed))
    return accelerator.prepare(model, optimiser, batches, torch.optim.lr_scheduler.StepLR(optimiser, 3, 0.5))


def train(accelerator, parts, batches=None):
    """The loss of each batch, and the norm of the gradients of each update."""
    model, optimiser, loader, schedule = parts
    losses, norms = [], []
    for x, y in loader if batches is None else batches:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(float(accelerator.clip_grad_norm_(model.parameters(), 0.5)))
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
        losses.append(loss.item())
    return losses, norms


def training():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    parts = prepared(accelerator)
    losses, norms = train(accelerator, parts)
    model = parts[0]
    batches = accelerator.prepare(DataLoader(data(10), batch_size=4))
    gathered = [accelerator.gather_for_metrics((model(x).argmax(-1), y)) for x, y in batches]
    results = {"losses": losses, "norms": norms, "rate": parts[3].get_last_lr()}
    results["gathered"] = [torch.cat(each) for each in zip(*gathered, strict=True)]
    results["state"] = [accelerator.num_processes, str(accelerator.device), accelerator.mixed_precision]
    return {**results, "state dict": accelerator.get_state_dict(accelerator.unwrap_model(model))}


def saved_and_resumed():
    """``save_state`` after some batches, ``load_state`` in a new run, and ``skip_first_batches``."""
    with tempfile.TemporaryDirectory() as folder:
        accelerator = Accelerator(cpu=True, project_dir=folder)
        parts = prepared(accelerator)
        train(accelerator, parts, list(parts[2])[:5])
        accelerator.save_state(os.path.join(folder, "state"))
        files = sorted(os.listdir(os.path.join(folder, "state")))
        expected = train(accelerator, parts)
        other = Accelerator(cpu=True, project_dir=folder)
        again = prepared(other, seed=7)
        other.load_state(os.path.join(folder, "state"))
        skipped = accelerate.skip_first_batches(again[2], 9)
        results = {"files": files, "skipped": len(list(skipped)), "resumed": train(other, again), "expected": expected}
        accelerator.save_model(parts[0], folder, max_shard_size="1KB")
        results["shards"] = sorted(name for name in os.listdir(folder) if "model" in name)
        model = network()
        accelerate.load_checkpoint_in_model(model, folder)
        results["loaded"] = model[2].weight
        return results


def large_models():
    """Models without memory, device maps, dispatch and offloading."""
    results = {}
    with accelerate.init_empty_weights():
        empty = network()
    results["device"] = str(empty[0].weight.device)
    results["sizes"] = dict(utils.compute_module_sizes(empty))
    results["map"] = dict(utils.infer_auto_device_map(empty, max_memory={"cpu": "1GB"}))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        utils.save(network().state_dict(), path, safe_serialization=True)
        loaded = accelerate.load_checkpoint_and_dispatch(empty, path, device_map={"": "cpu"})
        results["dispatched"] = loaded(torch.ones(1, 6))
        disk = accelerate.disk_offload(network(), os.path.join(folder, "disk"), torch.device("cpu"))
        results["disk"] = disk(torch.ones(1, 6))
    return results


PARTS = [training, saved_and_resumed, large_models]


def run() -> dict[str, object]:
    torch.manual_seed(0)
    return {f"{part.__name__} {name}": value for part in PARTS for name, value in part().items()}
