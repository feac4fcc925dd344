#!/usr/bin/env python3
"""The peer of keiko-train in bench/ddp.sh: the same GPT, batches and optimizer in PyTorch DDP.

One process per rank with torchrun's environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), gloo,
one thread a rank. Prints "peer ranks=N tokens_per_s=X loss=Y" on rank 0.
"""
import argparse
import math
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width, bias=False)
        self.contract = nn.Linear(4 * width, width, bias=False)
        mask = torch.full((context, context), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def attend(self, x):
        batch, time_, width = x.shape
        size = width // self.heads
        q, k, v = self.qkv(x).view(batch, time_, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(size) + self.mask[:time_, :time_]
        mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, time_, width)
        return self.project(mixed)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, heads, width, context):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def read_flags():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    for name, default in [("layers", 4), ("heads", 4), ("width", 128), ("context", 64),
                          ("batch", 12), ("steps", 100), ("skip", 20)]:
        parser.add_argument("--" + name, type=int, default=default)
    return parser.parse_args()


def main():
    flags = read_flags()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.set_num_threads(1)
    torch.manual_seed(1337)
    if world > 1:
        dist.init_process_group("gloo")
    text = open(flags.data, encoding="utf-8").read()
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    tokens = torch.tensor([number[c] for c in text[: len(text) * 9 // 10]])
    model = Gpt(len(characters), flags.layers, flags.heads, flags.width, flags.context)
    trained = DistributedDataParallel(model) if world > 1 else model
    matrices = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.99))
    share = flags.batch // world
    begin = time.monotonic()
    for step in range(flags.steps + flags.skip):
        if step == flags.skip:
            begin = time.monotonic()
        generator = torch.Generator().manual_seed(step)
        starts = torch.randint(len(tokens) - flags.context - 1, (flags.batch,),
                               generator=generator)[rank * share : (rank + 1) * share]
        x = torch.stack([tokens[s : s + flags.context] for s in starts])
        y = torch.stack([tokens[s + 1 : s + 1 + flags.context] for s in starts])
        optimizer.zero_grad()
        loss = trained(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
    seconds = time.monotonic() - begin
    if rank == 0:
        speed = flags.steps * share * world * flags.context / seconds
        print(f"peer ranks={world} tokens_per_s={speed:.0f} loss={loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
