"""Gradients of a small network, reduced by PyTorch's communication hooks and by some of one's own."""

import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP


def by_hand(state, bucket):
    """What allreduce_hook does."""
    tensor = bucket.buffer().div_(dist.get_world_size(state))
    work = dist.all_reduce(tensor, group=state, async_op=True)
    return work.get_future().then(lambda fut: tensor)


def local(state, bucket):
    """No communication."""
    state.append((bucket.index(), bucket.is_last(), [tuple(p.shape) for p in bucket.parameters()]))
    fut = torch.futures.Future()
    fut.set_result(bucket.buffer())
    return fut


def doubled(state, bucket):
    return default.allreduce_hook(state, bucket).then(lambda fut: fut.value() * 2)


def gradients(hook, state):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    ddp_model = DDP(model, bucket_cap_mb=1e-5)
    if hook is not None:
        ddp_model.register_comm_hook(state, hook)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(2):  # the second pass adds to the first
        ddp_model(torch.randn(5, 6)).square().mean().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()]).numpy()


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", default="out")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    seen = []
    found = {
        "none": gradients(None, None),
        "allreduce": gradients(default.allreduce_hook, None),
        "group": gradients(default.allreduce_hook, dist.group.WORLD),
        "fp16": gradients(default.fp16_compress_hook, None),
        "fp16_wrapper": gradients(default.fp16_compress_wrapper(default.allreduce_hook), None),
        "by_hand": gradients(by_hand, dist.new_group([0, 1])),
        "doubled": gradients(doubled, None),
        "local": gradients(local, seen),
    }
    assert sorted({index for index, _, _ in seen}) == list(range(max(index for index, _, _ in seen) + 1))
    assert sum(last for _, last, _ in seen) == 2
    np.savez(os.path.join(args.save, f"rank{dist.get_rank()}.npz"), **found)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
