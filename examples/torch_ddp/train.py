#!/usr/bin/python3
"""A plain PyTorch DDP script: an MLP on Fashion-MNIST. It knows torchrun's variables, no more.

    torchrun --nproc_per_node 2 train.py
    keiko run --workers 2 -- python3 train.py

It saves its own checkpoint (checkpoint.pt in $CHECKPOINT_DIR or here) and goes on from it.
"""
import argparse
import gzip
import os

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def read_idx(path, header):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def load(folder, part):
    images = read_idx(os.path.join(folder, part + "-images-idx3-ubyte.gz"), 16)
    labels = read_idx(os.path.join(folder, part + "-labels-idx1-ubyte.gz"), 8)
    pixels = torch.from_numpy(images.reshape(-1, 28 * 28).astype(numpy.float32) / 255 - 0.5)
    return pixels, torch.from_numpy(labels.astype(numpy.int64))


def save(path, model, optimizer, step):
    temporary = path + ".new"
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    with open(temporary, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def resume(path, model, optimizer):
    if not os.path.exists(path):
        return 0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def test(model, folder):
    pixels, labels = load(folder, "t10k")
    with torch.no_grad():
        return (model(pixels).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64, help="samples of one rank in a step")
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--log-every", type=int, default=50)
    options = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    pixels, labels = load(options.data, "train")
    net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    path = os.path.join(os.environ.get("CHECKPOINT_DIR", "."), "checkpoint.pt")
    start = resume(path, net, optimizer)
    model = DistributedDataParallel(net)
    if rank == 0:
        print(f"{world} ranks, step {start} of {options.steps}", flush=True)

    for step in range(start, options.steps):
        # Which samples a step sees follows from the step alone, so a resumed run sees the same.
        chooser = torch.Generator().manual_seed(step * world + rank)
        chosen = torch.randint(len(pixels), (options.batch,), generator=chooser)
        loss = nn.functional.cross_entropy(model(pixels[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done = step + 1
        if rank == 0 and done % options.log_every == 0:
            print(f"step {done} loss {loss.item():.4f}", flush=True)
        if rank == 0 and (done % options.save_every == 0 or done == options.steps):
            save(path, net, optimizer, done)
    if rank == 0:
        print(f"done after step {options.steps}, test accuracy {test(net, options.data):.3f}",
              flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
