#!/usr/bin/python3
"""./dev demo: a pool of three nodes on this machine trains a small GPT on the King James Bible with
two ranks; one of them is killed on the way. Everything it starts and writes is gone at the end.

usage: tools/demo.py [--fast] [--text FILE] [--keep]       KEIKO_BIN_DIR: where the binaries are
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from demo_view import View  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("KEIKO_BIN_DIR") or ROOT / "build/release/bin").resolve()
# Seconds of training that are aimed at; setting up, the restart and the sample come on top.
TRAINING_S = {"full": 85, "fast": 18}
STEPS_LEAST, STEPS_MOST = 90, 6000
MODEL = ["--tokenizer", "char", "--layers", "4", "--heads", "4", "--width", "128",
         "--context", "64", "--batch", "12", "--lr", "2e-3", "--warmup", "40"]


class DemoError(Exception):
    pass


def read_bible(path):
    """Writes the King James Bible to `path`, a verse a line."""
    program = shutil.which("bible")
    if program is None:
        raise DemoError("the program `bible` is not there: ./dev setup demo installs it, "
                        "or name any text with --text FILE")
    done = subprocess.run([program, "-f", "gen1:1-rev22:21"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, COLUMNS="100000"))
    verses = re.findall(r"^\S+ ?\S*?\d+:\d+ (.+)$", done.stdout, re.MULTILINE)
    if len(verses) < 30_000:
        raise DemoError(f"`bible` gave {len(verses)} verses instead of 31,102; its package "
                        "bible-kjv-text may be missing (./dev setup demo)")
    path.write_text("\n".join(verses) + "\n")
    return f"the King James Bible, {len(verses):,} verses"


class Pool:
    def __init__(self, folder):
        self.state = folder / "state"
        self.environment = dict(os.environ, KEIKO_STATE=str(self.state), NO_COLOR="1")
        self.environment.pop("KEIKO_SERVER", None)
        self.address = ""

    def keiko(self, *words, timeout=120):
        done = subprocess.run([str(BIN / "keiko"), *map(str, words)], env=self.environment,
                              text=True, capture_output=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise DemoError(f"keiko {' '.join(map(str, words[:3]))} ended with "
                            f"{done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self):
        self.keiko("up", "--detach", "--nodes", "3", "--devices-per-node", "1", "--state",
                   self.state, "--grpc-port", "0", "--http-port", "0")
        self.address = json.loads((self.state / "server.json").read_text())["http"]

    def stop(self):
        subprocess.run([str(BIN / "keiko"), "up", "--stop", "--state", str(self.state)],
                       env=self.environment, capture_output=True, stdin=subprocess.DEVNULL)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
            return json.load(answer)

    def follow(self, path, on_message):
        """Calls on_message from a thread of its own for each message of an event stream."""
        def read():
            try:
                with urllib.request.urlopen(f"http://{self.address}{path}", timeout=600) as stream:
                    for line in stream:
                        if line.startswith(b"data: "):
                            on_message(json.loads(line[6:]))
            except (OSError, ValueError):
                pass  # the pool stops
        threading.Thread(target=read, daemon=True).start()


def tell(event):
    """RETURNS: an event as a sentence, None for what only a log needs."""
    name, text = event.get("name"), event.get("text", "")
    fields = dict(re.findall(r"\b(\w+)=([^\s{}\"]+)", text))
    why = re.search(r'why="((?:[^"\\]|\\.)*)"', text)
    why = re.sub(r"\\(.)", r"\1", why.group(1)) if why else ""
    rank = fields.get("rank", "0")
    if name == "job_placed":
        return f"attempt {fields.get('attempt', '?')} is placed: {why}"
    if name == "worker_started":
        return f"rank {rank} runs"
    if name == "worker_ended":
        how = {"signalled": f"was killed by signal {fields.get('signal', '?')}",
               "stopped": "was stopped, to be started again with the others",
               "exited": f"ended with exit code {fields.get('exit_code', '0')}"}
        return f"rank {rank} " + how.get(fields.get("cause"), f"ended: {fields.get('cause')}")
    if name == "checkpoint_committed":
        return f"checkpoint of step {fields.get('step', '?')}"
    if name in ("job_stopping", "job_waits"):
        return why
    if name == "attempt_ended":
        return f"attempt {fields.get('attempt', '1')}: {fields.get('outcome')}"
    return None


class Demo:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.pool = Pool(folder)
        self.view = View()
        self.text = folder / "text.txt"
        self.checkpoints = folder / "checkpoints"
        self.losses = {}          # step: loss, as the program printed it
        self.progress = {}        # the last that a rank reported
        self.said = ""            # the beginning of a line of the log
        self.killed = None        # (rank, node, pid, step, time)
        self.moments = {}         # what happened after the kill: seconds
        self.job = {}

    def run(self):
        self.prepare()
        steps = self.choose_steps()
        job = self.submit(steps)
        self.watch(job, steps)
        self.tell_recovery()
        self.show_sample()
        self.view.title("What happened (keiko job ID)")
        self.view.say(self.pool.keiko("job", job).rstrip())
        self.where_next()

    def prepare(self):
        self.view.title("A pool of three nodes on this machine")
        if self.options.text:
            shutil.copyfile(self.options.text, self.text)
            what = self.options.text
        else:
            what = read_bible(self.text)
        self.pool.start()
        self.view.say(self.pool.keiko("nodes").rstrip())
        self.view.say(f"\nThe text: {what}, {self.text.stat().st_size / 1e6:.1f} MB")

    def train_command(self, steps, *more):
        return [BIN / "keiko-train", "gpt", "--data", self.text, *MODEL, "--steps", steps, *more]

    def choose_steps(self):
        """A short job of the same shape tells how fast this machine is."""
        out = self.pool.keiko("run", "--name", "measure", "--workers", "2", "--devices", "1", "--",
                              *self.train_command(40, "--log-every", "10"))
        speeds = [float(n) * (1000 if k else 1) for n, k in re.findall(r"([\d.]+)(k?) tok/s", out)]
        if not speeds:
            raise DemoError(f"the measuring run printed no speed:\n{out}")
        speed = sorted(speeds[1:] or speeds)[len(speeds[1:] or speeds) // 2]
        aim = TRAINING_S["fast" if self.options.fast else "full"]
        steps = int(speed * aim / (12 * 64) // 30 * 30)
        steps = max(STEPS_LEAST, min(STEPS_MOST, steps))
        self.view.say(f"Two ranks of this machine train {speed / 1000:.1f}k tokens/s: "
                      f"{steps:,} steps it is")
        return steps

    def submit(self, steps):
        self.view.title("Two ranks train a GPT of 0.8 million weights; one of them will be killed")
        out = self.pool.keiko(
            "submit", "--name", "bible-gpt", "--kind", "train", "--workers", "2", "--devices", "1",
            "--checkpoint-dir", self.checkpoints, "--",
            *self.train_command(steps, "--checkpoint-every", max(10, steps // 15),
                                "--log-every", max(1, steps // 200)))
        found = re.search(r"\bj\d+\b", out)
        if not found:
            raise DemoError(f"keiko submit named no job: {out}")
        job = found.group()
        self.pool.follow(f"/v1/events?job={job}", self.on_event)
        self.pool.follow(f"/v1/jobs/{job}/logs?follow=true", self.on_log)
        return job

    def on_event(self, event):
        sentence = tell(event)
        if sentence:
            self.view.note(sentence, "red" if event["name"] == "job_stopping" else "dim")

    def on_log(self, piece):
        """Rank 0 says its loss every few steps."""
        self.said += piece.get("text", "")
        lines, _, self.said = self.said.rpartition("\n")
        for step, loss in re.findall(r"step +(\d+)/\d+ +loss ([\d.]+)", lines):
            self.losses[int(step)] = float(loss)
            killed = self.killed
            if killed and piece["attempt"] > killed["attempt"] and "stepping" not in self.moments:
                seconds = self.moments["stepping"] = time.monotonic() - killed["time"]
                self.view.note(f"back at step {step}, {seconds:.1f} s after the kill", "green")

    def watch(self, job, steps):
        nodes, slow = [], 0
        while True:
            self.job = self.pool.get(f"/v1/jobs/{job}")
            over = self.job["status"] in ("COMPLETED", "FAILED", "CANCELLED")
            if slow % 4 == 0 or over:
                nodes = self.pool.get("/v1/nodes").get("nodes", [])
            slow += 1
            self.collect()
            self.remember_progress(steps, over)
            marks = [self.killed["step"]] if self.killed else []
            self.view.update(self.job, sorted(self.losses.items()), nodes, marks)
            if over:
                break
            if self.killed is None:
                self.maybe_kill(steps)
            time.sleep(0.1 if self.killed and "stepping" not in self.moments else 0.25)
        if self.job["status"] != "COMPLETED":
            raise DemoError(f"the job ended as {self.job['status']}: {self.job.get('message')}\n"
                            + self.pool.keiko("logs", job, "--stderr", "--tail", "20"))

    def remember_progress(self, steps, over):
        """Between two attempts and after the end a job has no progress; the last one is shown."""
        told = self.job.get("progress") or {}
        if told.get("step", 0) > 0:
            self.progress = told
        self.job["progress"] = dict(self.progress, total_steps=steps)
        if over and self.losses:
            self.job["progress"].update(step=max(self.losses), loss=self.losses[max(self.losses)])

    def collect(self):
        """The moments of the recovery."""
        if not self.killed:
            return
        seconds = time.monotonic() - self.killed["time"]
        again = self.job.get("attempt", 1) > self.killed["attempt"]
        if self.job["status"] != "RUNNING" or again:
            self.moments.setdefault("noticed", seconds)
        if again and self.job["status"] == "RUNNING":
            self.moments.setdefault("running", seconds)

    def maybe_kill(self, steps):
        progress = self.job.get("progress") or {}
        saved = (self.job.get("checkpoint") or {}).get("step", 0)
        if progress.get("step", 0) < steps // 3 or saved <= 0:
            return
        worker = self.job["workers"][1]
        if worker.get("status") != "running" or not worker.get("pid"):
            return
        os.kill(int(worker["pid"]), signal.SIGKILL)
        self.killed = {"rank": 1, "node": worker["node"], "pid": worker["pid"],
                       "step": progress["step"], "time": time.monotonic(), "saved": saved,
                       "attempt": self.job["attempt"]}
        self.view.note(f"kill -9 {worker['pid']}: rank 1 on {worker['node']} at step "
                       f"{progress['step']} (last checkpoint: step {saved})", "red")

    def tell_recovery(self):
        if not self.killed:
            self.view.say("The job was over before a worker could be killed.")
            return
        moments = {k: f"{v:.1f} s" for k, v in self.moments.items()}
        self.view.say(
            f"\n  rank 1 was killed at step {self.killed['step']}; noticed after "
            f"{moments.get('noticed', '?')}, all ranks running again after "
            f"{moments.get('running', '?')}, stepping after {moments.get('stepping', '?')}")

    def show_sample(self):
        self.view.title("What it has learnt to write")
        done = subprocess.run([str(BIN / "keiko-train"), "sample", "--checkpoint",
                               str(self.checkpoints), "--tokens", "400", "--prompt",
                               "In the beginning ", "--temperature", "0.7"],
                              capture_output=True, text=True)
        text = done.stdout.strip() or done.stderr.strip()
        for line in text.splitlines():
            self.view.say(textwrap.fill(line, 90, initial_indent="  ", subsequent_indent="  "))

    def where_next(self):
        self.view.title("Where to look next")
        self.view.say("  keiko up                       a pool of your own; then, elsewhere:\n"
                      "  keiko run -- echo hello        keiko jobs, keiko job ID, keiko watch ID\n"
                      "  docs/life_of_a_job.md          what just happened, step by step\n"
                      "  docs/jobs.md, examples/        job files; an unmodified PyTorch script")


def stop_on_signal(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--fast", action="store_true", help="under a minute instead of three")
    parser.add_argument("--text", metavar="FILE", help="train on this text")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and state")
    options = parser.parse_args()
    for name in ("keiko", "keiko-train"):
        if not (BIN / name).exists():
            sys.exit(f"demo: {BIN / name} is not there; ./dev build makes it")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    folder = Path(tempfile.mkdtemp(prefix="keiko-demo-"))
    started = time.monotonic()
    demo = Demo(options, folder)
    code = 0
    try:
        demo.run()
    except KeyboardInterrupt:
        code = 130
    except (DemoError, OSError, urllib.error.URLError) as error:
        print(f"demo: {error}", file=sys.stderr)
        code = 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was started is stopped in any case
        demo.pool.stop()
        if options.keep or code == 1:
            print(f"\nState and logs stay in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if code == 0:
        print(f"\nDone in {time.monotonic() - started:.0f} s; nothing was left behind.")
    return code


if __name__ == "__main__":
    sys.exit(main())
