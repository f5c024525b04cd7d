"""Loads golden rows in TRL's classes. Prints what it found as JSON."""
import json
import sys
from pathlib import Path

import numpy
import torch
from datasets import Dataset
from trl.data_utils import is_conversational, maybe_apply_chat_template
from trl.experimental.async_grpo.async_rollout_worker import RolloutSample
from trl.trainer.utils import nanstd
from transformers import PreTrainedTokenizerFast
from tiny import CHAT_TEMPLATE, tokenizer

folder = Path(sys.argv[1])
groups = json.load(sys.stdin)


def rows(name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def advantages(rewards):
    """The lines of GRPOTrainer._generate_and_score_completions with scale_rewards="group"."""
    values = torch.tensor([[float("nan") if one is None else one for one in rewards]], dtype=torch.float64)
    mean, std = torch.nanmean(values, dim=1), nanstd(values, dim=1)
    return torch.nan_to_num((values - mean[:, None]) / (std[:, None] + 1e-4), nan=0.0)[0].tolist()


samples = 0
for row in rows("trl-async"):
    for key, kind in (("input_ids", numpy.int64), ("completion_mask", numpy.int64), ("old_log_probs", numpy.float32)):
        row[key] = numpy.asarray(row[key], dtype=kind)
    sample = RolloutSample(**row)
    assert sample.input_ids.shape == sample.completion_mask.shape == sample.old_log_probs.shape
    assert set(sample.completion_mask.tolist()) <= {0, 1} and numpy.isfinite(sample.advantage)
    samples += 1
for row in rows("trl"):
    assert len(row["completion_ids"]) == len(row["logprobs"]) == len(row["env_mask"]) > 0

made: PreTrainedTokenizerFast = tokenizer()
made.chat_template = CHAT_TEMPLATE
rendered = 0
for name in ("sft-trl", "pairs-trl"):
    dataset = Dataset.from_list(rows(name))
    for row in dataset:
        assert is_conversational(row)
        if isinstance(row.get("tools"), str):
            row["tools"] = json.loads(row["tools"])
        told = maybe_apply_chat_template(row, made)
        rendered += 1
        assert told["prompt"] and (told.get("completion") or told["chosen"]), told
print(json.dumps({"samples": samples, "rendered": rendered, "advantages": [advantages(one) for one in groups]}))
