"""Loads golden rows in verl's classes. Prints what it found as JSON."""
import json
import sys
from pathlib import Path

import numpy
import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_rloo_outcome_advantage

groups = json.load(sys.stdin)


def advantages(rewards, of, **options):
    """Of the members that are in the batch: verl has no reward that is not a number."""
    known = [one for one in rewards if one is not None]
    if not known:
        return [None] * len(rewards)
    scores = torch.tensor([[0.0, one] for one in known], dtype=torch.float64)
    values, _ = of(scores, torch.ones_like(scores), numpy.array(["g"] * len(known)), **options)
    got = iter(values[:, -1].tolist())
    return [None if one is None else next(got) for one in rewards]


outputs = 0
for line in (Path(sys.argv[1]) / "verl.jsonl").read_text().splitlines():
    output = AgentLoopOutput(**json.loads(line))
    fields = output.as_dict()
    assert fields["responses"].shape == fields["response_mask"].shape == fields["rollout_log_probs"].shape
    assert fields["rm_scores"][-1] == output.reward_score and fields["extra_fields"]["uid"]
    outputs += 1
print(
    json.dumps(
        {
            "outputs": outputs,
            "verl": [advantages(one, compute_grpo_outcome_advantage) for one in groups],
            "dr_grpo": [
                advantages(one, compute_grpo_outcome_advantage, norm_adv_by_std_in_grpo=False) for one in groups
            ],
            "rloo": [advantages(one, compute_rloo_outcome_advantage) for one in groups],
        }
    )
)
