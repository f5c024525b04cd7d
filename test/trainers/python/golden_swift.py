"""Loads golden rows in ms-swift's classes, and encodes them with its template. Prints what it found as JSON."""
import json
import sys
from pathlib import Path

import torch
from datasets import Dataset
from swift.dataset import AutoPreprocessor
from swift.infer_engine.protocol import RolloutOutput
from swift.rl_core.advantage import compute_advantages, compute_advantages_dynamic
from swift.rl_core.data import GRPOSample
from swift.rlhf_trainers.utils import build_rollout_logps, encode_sample
from tiny_swift import template

folder = Path(sys.argv[1])
groups = json.load(sys.stdin)


def rows(name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def advantages(rewards, estimator):
    """Of the members that are in the batch: ms-swift counts a reward that is not a number as 0."""
    known = [one for one in rewards if one is not None]
    if not known:
        return [None] * len(rewards)
    options = {"advantage_estimator": estimator, "scale_rewards": "group" if estimator == "grpo" else "none"}
    values, weights = torch.tensor(known, dtype=torch.float64)[:, None], torch.ones(1, dtype=torch.float64)
    one, _ = compute_advantages(values, weights, len(known), **options)
    names = [f"r{index}" for index in range(len(known))]
    if len(known) > 1:  # its other function computes in 32 bits
        other, _ = compute_advantages_dynamic(values.float(), weights.float(), ["p"] * len(known), names, **options)
        assert torch.allclose(one.float(), other, rtol=1e-3, atol=1e-3), (one, other)
    got = iter(one.tolist())
    return [None if reward is None else next(got) for reward in rewards]


made = template()
outputs = 0
for row in rows("swift"):
    output = RolloutOutput(**row)
    sample = GRPOSample(messages=[], prompt_id=row["rollout_infos"]["prompt_id"], request_id=output.response.id)
    sample.apply_rollout_output(rollout_output=output)
    encoded = encode_sample(sample, made)
    ones = [id for ids, mask in zip(row["response_token_ids"], row["response_loss_mask"]) for id, one in zip(ids, mask) if one]
    labels = [label for label in encoded["labels"] if label != -100]
    assert labels == ones, "it trains exactly the IDs of the row"
    logps = build_rollout_logps([sample.rollout_logprobs], torch.tensor([[label != -100 for label in encoded["labels"]]]), "cpu")
    assert logps is not None and int((logps != 0).sum()) <= len(ones)
    outputs += 1

made.set_mode("train")
encoded = 0
for name in ("sft-swift", "pairs-swift"):
    read = AutoPreprocessor()(Dataset.from_list(rows(name)), strict=True, num_proc=1)
    assert len(read) == len(rows(name)), "its preprocessing drops no row"
    for row in read:
        data = {key: value for key, value in row.items() if value is not None}
        assert any(label != -100 for label in made.encode(data)["labels"])
        encoded += 1
print(
    json.dumps(
        {
            "outputs": outputs,
            "encoded": encoded,
            "ms_swift": [advantages(one, "grpo") for one in groups],
            "rloo": [advantages(one, "rloo") for one in groups],
        }
    )
)
