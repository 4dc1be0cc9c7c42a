"""A program with PyTorch's names, for both PyTorch and minigrad: each rank writes its results."""

import json
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as F

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
results: dict = {"rank": rank, "size": size, "initialized": dist.is_initialized()}


def numbers(*shape, dtype=torch.float64, of=None):
    torch_like = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64)
    return ((torch_like * 7 + (rank if of is None else of) * 3) % 11 + 1).reshape(shape).to(dtype)


def note(name, x):
    results[name] = [str(x.dtype), list(x.shape), x.tolist()]


def wrong(name, call):
    try:
        call()
    except Exception as error:
        kinds = [kind for kind in (ValueError, TypeError, RuntimeError) if isinstance(error, kind)]
        results[f"wrong: {name}"] = kinds[0].__name__ if kinds else type(error).__name__
    else:
        results[f"wrong: {name}"] = "no error"


for op in ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"):
    for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8, torch.float16):
        if op.startswith("B") and dtype.is_floating_point:
            continue
        x = numbers(2, 3, dtype=dtype)
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        note(f"all_reduce {op} {dtype}", x)

x = numbers(2, 3)
dist.reduce(x, 1)
if rank == 1:
    note("reduce", x)
x = numbers(3)
dist.broadcast(x, 1)
note("broadcast", x)
x = torch.tensor([True, rank == 1])
dist.broadcast(x, 1)
note("broadcast of bools", x)
into = [torch.zeros(2, dtype=torch.bfloat16) for _ in range(size)]
dist.all_gather(into, numbers(2, dtype=torch.bfloat16))
note("all_gather", torch.stack(into))
whole = torch.zeros(size * 2, 3, dtype=torch.float64)
dist.all_gather_into_tensor(whole, numbers(2, 3))
note("all_gather_into_tensor", whole)
into = [torch.zeros(3, dtype=torch.int64) for _ in range(size)] if rank == 0 else None
dist.gather(numbers(3, dtype=torch.int64), into, dst=0)
for part in into or []:
    note(f"gather {len(results)}", part)
x = torch.zeros(3, dtype=torch.float64)
dist.scatter(x, [numbers(3, of=r + 5) for r in range(size)] if rank == 1 else None, src=1)
note("scatter", x)
x = torch.zeros(2, dtype=torch.float64)
dist.reduce_scatter(x, [numbers(2, of=rank + r) for r in range(size)])
note("reduce_scatter", x)
x = torch.zeros(2, dtype=torch.float64)
dist.reduce_scatter_tensor(x, numbers(2 * size))
note("reduce_scatter_tensor", x)
lengths, received = ([2, 1], [2, 3]) if rank == 0 else ([3, 0], [1, 0])
x = torch.zeros(sum(received), 2, dtype=torch.float64)
dist.all_to_all_single(x, numbers(sum(lengths), 2), received, lengths)
note("all_to_all_single, uneven", x)
x = torch.zeros(4, dtype=torch.float64)
dist.all_to_all_single(x, numbers(4))
note("all_to_all_single", x)

x = torch.zeros(2, 3, dtype=torch.float64)
if rank == 0:
    dist.send(numbers(2, 3), 1, tag=5)
    dist.recv(x, 1)
else:
    dist.recv(x, 0, tag=5)
    dist.send(x + 1, 0)
note("send and recv", x)
x = torch.zeros(2, dtype=torch.float64)
ops = [dist.P2POp(dist.isend, numbers(2), 1 - rank), dist.P2POp(dist.irecv, x, 1 - rank)]
for work in dist.batch_isend_irecv(ops):
    work.wait()
note("batch_isend_irecv", x)
x, y = numbers(2), numbers(3)
works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)]
results["wait"] = [work.wait() for work in reversed(works)]
results["is_completed"] = [work.is_completed() for work in works]
note("async", torch.cat([x, y]))

objects = [{"rank": 1, "list": [1, None]}, "é"] if rank == 1 else [None, None]
dist.broadcast_object_list(objects, src=1)
results["broadcast_object_list"] = objects
objects = [None] * size
dist.all_gather_object(objects, {"of": rank})
results["all_gather_object"] = objects
objects = [None] * size if rank == 0 else None
dist.gather_object(rank * "x", objects, dst=0)
results["gather_object"] = objects

group = dist.new_group([1])
results["rank in a group"] = [dist.get_rank(group), dist.get_world_size(group)]
results["outside"] = group == dist.GroupMember.NON_GROUP_MEMBER
x = numbers(2)
results["all_reduce outside"] = dist.all_reduce(x, group=group) is None
note("all_reduce of a group", x)
results["get_process_group_ranks"] = dist.get_process_group_ranks(dist.group.WORLD)

x = numbers(3).requires_grad_()
F.all_reduce(x).pow(2).sum().backward()
note("gradient of all_reduce", x.grad)
x = numbers(3).requires_grad_()
sum((i + 1) * part.pow(2).sum() for i, part in enumerate(F.all_gather(x))).backward()
note("gradient of all_gather", x.grad)

# The same wrong call on all ranks.
wrong("twice", lambda: dist.init_process_group("gloo"))
wrong("no tensor", lambda: dist.all_reduce([1.0]))
wrong("no list", lambda: dist.all_gather(numbers(2), numbers(2)))
wrong("another dtype", lambda: dist.all_gather([torch.zeros(2)] * 2, numbers(2)))
wrong("to itself", lambda: dist.send(numbers(2), rank))
wrong("another dtype of all_to_all_single", lambda: dist.all_to_all_single(torch.zeros(2), torch.zeros(2).double()))
wrong("no rank", lambda: dist.new_group([0, 7]))
wrong("a rank twice", lambda: dist.new_group([0, 0]))
wrong("an op of messages", lambda: dist.P2POp(dist.broadcast, numbers(2), 0))
wrong("bits of floats", lambda: dist.all_reduce(torch.zeros(2), dist.ReduceOp.BAND))
dist.destroy_process_group()
results["at the end"] = dist.is_initialized()
wrong("after the end", lambda: dist.all_reduce(numbers(2)))
wrong("destroyed twice", dist.destroy_process_group)

with open(os.path.join(sys.argv[1], f"{rank}.json"), "w") as file:
    json.dump(results, file)
