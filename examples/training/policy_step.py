"""One round of group-relative policy gradient on the token groups that `rollout export --to groups` wrote.

    policy_step.py MODEL GROUPS.jsonl OUT [--rate 2e-5] [--rows 16] [--clip 0.2] [--most 128] [--seed 1]

Attempts at the same task are compared with each other: advantage = (reward - mean) / (standard deviation + 1e-4).
The loss is that of PPO: each sampled token's ratio to the log probability that the engine captured when it sampled it,
clipped, times the advantage, averaged over the tokens of a batch. Prints one line of JSON with what it did.
"""

import argparse
import json
import random
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

EPSILON = 1e-4


@dataclass
class Row:
    """A segment of an attempt. Masked tokens were not sampled by the policy, or cannot be trained on."""

    ids: list[int]
    mask: list[int]
    logprobs: list[float]
    advantage: float


def read_rows(path: Path) -> tuple[list[Row], dict]:
    """Returns the rows that have a signal, and what was left out."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    left_out: dict[str, int] = defaultdict(int)
    # Statistics count attempts, not segments.
    rewards: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines:
        if usable(line):
            rewards[line["group"]][line["rollout"]] = line["reward"]
    rows = []
    for line in lines:
        group = list(rewards[line["group"]].values())
        if not usable(line):
            left_out[line.get("why_excluded", "no reward")] += 1
        elif len(group) < 2 or max(group) == min(group):
            left_out["its group has no signal"] += 1
        elif not any(line["response_mask"]):
            left_out["nothing in it can be trained on"] += 1
        else:
            spread = statistics.stdev(group) + EPSILON
            rows.append(row_of(line, (line["reward"] - statistics.fmean(group)) / spread))
    return rows, {"lines": len(lines), "groups": len(rewards), "left_out": dict(left_out)}


def usable(line: dict) -> bool:
    return line["reward"] is not None and "why_excluded" not in line


def row_of(line: dict, advantage: float) -> Row:
    prompt = len(line["prompt_ids"])
    return Row(
        ids=line["prompt_ids"] + line["response_ids"],
        mask=[0] * prompt + line["response_mask"],
        logprobs=[0.0] * prompt + line["response_logprobs"],
        advantage=advantage,
    )


def tensors(rows: list[Row], pad: int) -> dict[str, torch.Tensor]:
    """Pads rows on the right; [rows, longest]."""
    longest = max(len(row.ids) for row in rows)

    def padded(lists: list[list], fill: float, dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor([one + [fill] * (longest - len(one)) for one in lists], dtype=dtype)

    return {
        "ids": padded([row.ids for row in rows], pad, torch.long),
        "attention": padded([[1] * len(row.ids) for row in rows], 0, torch.long),
        "mask": padded([row.mask for row in rows], 0, torch.bool),
        "captured": padded([row.logprobs for row in rows], 0.0, torch.float32),
        "advantage": torch.tensor([row.advantage for row in rows], dtype=torch.float32),
    }


def logprobs_of(model, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Returns the log probabilities of the masked tokens, in order of rows; [number of tokens]."""
    states = model.model(input_ids=batch["ids"], attention_mask=batch["attention"]).last_hidden_state[:, :-1]
    targets = batch["mask"][:, 1:]
    # The head only where it counts: the vocabulary is large.
    logits = model.lm_head(states[targets])
    chosen = batch["ids"][:, 1:][targets]
    return torch.log_softmax(logits.float(), dim=-1).gather(1, chosen[:, None])[:, 0]


def train(model, rows: list[Row], args: argparse.Namespace, pad: int) -> dict:
    """Goes once over the rows, `args.rows` for each step of the optimizer, and returns figures."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.95), weight_decay=0.0)
    random.Random(args.seed).shuffle(rows)
    steps = [rows[at : at + args.rows] for at in range(0, len(rows), args.rows)]
    differences: list[float] = []
    clipped = tokens = 0
    for number, step in enumerate(steps):
        count = sum(sum(row.mask) for row in step)
        optimizer.zero_grad()
        # Rows of about the same length need little padding.
        step.sort(key=lambda row: len(row.ids))
        for at in range(0, len(step), args.micro):
            batch = tensors(step[at : at + args.micro], pad)
            targets = batch["mask"][:, 1:]
            captured = batch["captured"][:, 1:][targets]
            advantage = batch["advantage"][:, None].expand(targets.shape)[targets]
            new = logprobs_of(model, batch)
            ratio = torch.exp(new - captured)
            limited = torch.clamp(ratio, 1 - args.clip, 1 + args.clip)
            loss = -torch.minimum(ratio * advantage, limited * advantage).sum() / count
            loss.backward()
            if number == 0:  # still the weights that sampled them: engine and trainer must agree
                differences += (new.detach() - captured).abs().tolist()
            clipped += int((limited != ratio).sum())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += count
    return {
        "steps": len(steps),
        "tokens": tokens,
        "clipped": round(clipped / max(1, tokens), 4),
        "engine_and_trainer": {
            "tokens": len(differences),
            "mean": round(statistics.fmean(differences), 6),
            "max": round(max(differences), 6),
        },
    }


def main() -> None:
    args = arguments()
    torch.manual_seed(args.seed)
    began = time.monotonic()
    rows, figures = read_rows(args.groups)
    if not rows:
        raise SystemExit(f"No group of {args.groups} has a signal: {json.dumps(figures)}")
    if len(rows) > args.most:
        figures["left_out"][f"more than {args.most} rows"] = len(rows) - args.most
        rows = random.Random(args.seed).sample(rows, args.most)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype="float32")
    model.train()
    figures |= {"rows": len(rows), **train(model, rows, args, tokenizer.pad_token_id or 0)}
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    print(json.dumps({**figures, "seconds": round(time.monotonic() - began)}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("groups", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rate", type=float, default=2e-5)
    parser.add_argument("--rows", type=int, default=16, help="for each step of the optimizer")
    parser.add_argument("--micro", type=int, default=4, help="rows at once in memory")
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--most", type=int, default=128, help="rows in all")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
