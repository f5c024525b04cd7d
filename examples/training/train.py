#!/usr/bin/env python3
"""Closes the loop: a small model practices at a library desk, learns from its attempts, and is measured on other tasks.

    train.py --work FOLDER [--rollout COMMAND] [--vllm COMMAND] [--python PYTHON] [--rounds 2] [--quick MODEL]

Stages: tasks, base model, demonstrations, warm start, then rounds of practice and policy steps; after each model, its
held-out tasks. A stage that is done is not done again: stop it whenever you want, and start it with the same command.
This file needs only the standard library; see README.md for what PYTHON needs.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks import HELD_OUT, TRAIN, write_tasks

HERE = Path(__file__).resolve().parent
VLLM = (
    "vllm serve {model} --served-model-name desk --host 127.0.0.1 --port {port} --dtype float32 "
    "--max-model-len 1024 --enable-auto-tool-choice --tool-call-parser hermes"
)
SERVER_MINUTES = 10


class Loop:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.work: Path = args.work.resolve()
        self.workspace = self.work / "workspace"
        self.models = self.work / "models"

    def run(self) -> None:
        self.models.mkdir(parents=True, exist_ok=True)
        self.stage("tasks", self.write_tasks)
        self.stage("base", self.make_base)
        self.stage("base-heldout", lambda: self.measure("base"))
        self.stage("demonstrations", self.demonstrate)
        self.stage("warm", self.warm_start)
        model = "warm"
        self.stage("warm-heldout", lambda: self.measure("warm", before="base"))
        for number in range(1, self.args.rounds + 1):
            before, model = model, f"round-{number}"
            self.stage(f"{model}-practice", lambda: self.practice(before, number))
            self.stage(model, lambda: self.improve(before, number))
            self.stage(f"{model}-heldout", lambda: self.measure(model, before=before))
        (self.work / "results.md").write_text(self.table())
        print(self.table())

    def stage(self, name: str, do: Callable[[], dict]) -> None:
        """Does a stage, unless it is done, and keeps its figures."""
        done = self.work / "stages" / f"{name}.json"
        if done.exists():
            return
        print(f"{name} …", file=sys.stderr, flush=True)
        began = time.monotonic()
        figures = do()
        done.parent.mkdir(exist_ok=True)
        whole = json.dumps({**figures, "minutes": round((time.monotonic() - began) / 60, 1)}, indent=2)
        done.with_suffix(".part").write_text(whole)
        done.with_suffix(".part").rename(done)

    def figures(self, name: str) -> dict:
        return json.loads((self.work / "stages" / f"{name}.json").read_text())

    # Stages

    def write_tasks(self) -> dict:
        shutil.copytree(HERE / "workspace", self.workspace, dirs_exist_ok=True)
        write_tasks(self.workspace / "train.jsonl", TRAIN, self.args.train_tasks, seed=1)
        write_tasks(self.workspace / "heldout.jsonl", HELD_OUT, self.args.heldout_tasks, seed=2)
        return {"train": self.args.train_tasks, "heldout": self.args.heldout_tasks}

    def make_base(self) -> dict:
        def write(out: Path) -> None:
            quick = self.args.quick
            self.python("base.py", str(out), *([] if quick is None else ["--from", str(quick)]))

        self.new_model("base", write)
        return {}

    def demonstrate(self) -> dict:
        """The demo model of Rollout Studio, a clerk by rule who slips at times, shows how it is done."""
        report = self.batch("demonstrations", [])
        chat = self.work / "demonstrations.jsonl"
        self.export(report["batch"], "sft-trl", chat, ["--outcome", "passed"])
        return {"attempts": report["attempts"], "passed": len(chat.read_text().splitlines())}

    def warm_start(self) -> dict:
        demonstrations = str(self.work / "demonstrations.jsonl")
        epochs = str(self.args.epochs)
        return self.new_model(
            "warm",
            lambda out: self.python(
                "warm_start.py", str(self.models / "base"), demonstrations, str(out), "--epochs", epochs
            ),
        )

    def practice(self, model: str, number: int) -> dict:
        with self.serving(model) as environment:
            report = self.batch("train", ["--seed", str(100 + number)], environment)
        groups = self.work / f"groups-{number}.jsonl"
        self.export(report["batch"], "groups", groups, [])
        return report

    def improve(self, model: str, number: int) -> dict:
        groups = str(self.work / f"groups-{number}.jsonl")
        rate = str(self.args.rate)
        return self.new_model(
            f"round-{number}",
            lambda out: self.python(
                "policy_step.py", str(self.models / model), groups, str(out), "--rate", rate, "--seed", str(number)
            ),
        )

    def measure(self, model: str, before: str | None = None) -> dict:
        with self.serving(model) as environment:
            report = self.batch("heldout", [], environment)
        if before is not None:
            report["versus"] = {other: self.versus(report["batch"], other) for other in {"base", before}}
        return report

    def versus(self, batch: str, other: str) -> dict:
        return self.rollout("report", batch, "--baseline", self.figures(f"{other}-heldout")["batch"], "--json")

    # Means

    def new_model(self, name: str, write: Callable[[Path], dict | None]) -> dict:
        """Lets `write` make a model in a folder that takes its name when it is complete."""
        part = self.models / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        figures = write(part)
        shutil.rmtree(self.models / name, ignore_errors=True)
        part.rename(self.models / name)
        return figures or {}

    def python(self, script: str, *args: str) -> dict:
        """Runs a script of this folder; returns its last line if that is JSON."""
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        command = [*shlex.split(self.args.python), str(HERE / script), *args]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        last = (done.stdout.strip().splitlines() or [""])[-1]
        return json.loads(last) if last.startswith("{") else {}

    def rollout(self, *args: str, environment: dict[str, str] | None = None) -> dict:
        command = [*shlex.split(self.args.rollout), *args, "--store", str(self.work / "store")]
        # The agent file names the variable even in commands that call no model.
        whole = {**os.environ, "VLLM_URL": "http://127.0.0.1:9/v1", **(environment or {})}
        done = subprocess.run(command, cwd=self.workspace, env=whole, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout) if "--json" in args else {}

    def batch(self, name: str, more: list[str], environment: dict[str, str] | None = None) -> dict:
        lanes = str(self.args.concurrency)
        return self.rollout(
            "run", f"{name}.batch.yaml", "--concurrency", lanes, "--json", *more, environment=environment
        )

    def export(self, batch: str, form: str, out: Path, more: list[str]) -> None:
        self.rollout("export", batch, "--to", form, "--out", str(out), *more)

    @contextmanager
    def serving(self, model: str) -> Iterator[dict[str, str]]:
        """Serves a model with vLLM; yields what the agent file needs."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = self.args.vllm.format(model=shlex.quote(str(self.models / model)), port=port)
        with (self.work / "vllm.log").open("w") as log:
            # A session of its own, so that what it starts ends with it.
            server = subprocess.Popen(
                shlex.split(command), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            wait_for(f"http://127.0.0.1:{port}/health", server, self.work / "vllm.log")
            yield {"VLLM_URL": f"http://127.0.0.1:{port}/v1"}
        finally:
            try:
                os.killpg(server.pid, signal.SIGTERM)
                server.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
            except ProcessLookupError:
                server.wait()

    def table(self) -> str:
        names = ["base", "warm", *(f"round-{number}" for number in range(1, self.args.rounds + 1))]
        lines = ["| model | pass@1 | pass@8 | against base | against the one before | tokens | minutes |"]
        lines.append(f"|{' --- |' * 7}")
        for before, name in zip(["", *names], names):
            report = self.figures(f"{name}-heldout")
            minutes = sum(
                self.figures(stage)["minutes"]
                for stage in (name, f"{name}-practice", f"{name}-heldout")
                if (self.work / "stages" / f"{stage}.json").exists()
            )
            lines.append(
                f"| {name} | {rate(report, 1)} | {rate(report, 8)} | {difference(report, 'base')} "
                f"| {difference(report, before)} | {tokens(report):,} | {minutes:.1f} |"
            )
        return "\n".join(lines) + "\n"


def wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + SERVER_MINUTES * 60
    while time.monotonic() < until:
        if server.poll() is not None:
            raise SystemExit(f"vLLM ended with {server.returncode}; see {log}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise SystemExit(f"vLLM did not answer within {SERVER_MINUTES} minutes; see {log}")


def rate(report: dict, k: int) -> str:
    value = (report["pass_at"] or {}).get(str(k))
    if value is None:
        return ""
    low, high = report["intervals"]["pass_at"][str(k)]
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def difference(report: dict, other: str) -> str:
    """Of pass@1, paired by task."""
    versus = report.get("versus", {}).get(other) or {}
    paired = (versus.get("baseline") or {}).get("pass_at") or {}
    if "1" not in paired:
        return ""
    low, high = paired["1"]["interval"] or (float("nan"), float("nan"))
    return f"{paired['1']['difference']:+.3f} ({low:+.3f} to {high:+.3f})"


def tokens(report: dict) -> int:
    return sum((report["tokens"] or {}).get(name, 0) for name in ("input", "output"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that it makes")
    parser.add_argument("--rollout", default="rollout", help="command line of Rollout Studio (%(default)s)")
    parser.add_argument("--vllm", default=VLLM, help="serves {model} on {port} (%(default)s)")
    parser.add_argument("--python", default="python3", help="with torch, transformers, and trl (%(default)s)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--train-tasks", type=int, default=64)
    parser.add_argument("--heldout-tasks", type=int, default=48)
    parser.add_argument("--epochs", type=float, default=3, help="of the warm start")
    parser.add_argument("--rate", type=float, default=2e-5, help="learning rate of the policy steps")
    parser.add_argument("--concurrency", type=int, default=16, help="rollouts at once")
    parser.add_argument("--quick", type=Path, metavar="MODEL", help="begin with the model in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        Loop(arguments()).run()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{shlex.join(map(str, error.cmd))}\nended with {error.returncode}")
