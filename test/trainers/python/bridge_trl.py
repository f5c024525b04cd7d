"""Steps of TRL's GRPOTrainer with a tiny random model, through the bridge. Prints what it found as JSON."""
import json
import sys
import tempfile

import torch
import trl_rollout
from tiny import model, tokenizer
from trl import GRPOConfig, GRPOTrainer

tasks = json.loads(sys.argv[1])
steps = int(sys.argv[2])
torch.manual_seed(1)
policy = model()
before = torch.cat([one.detach().flatten().clone() for one in policy.parameters()])
seen = []


def rollout_func(prompts, trainer):
    result = trl_rollout.rollout_func(prompts, trainer)
    seen.append({"step": trainer.state.global_step, "rewards": result["reward"], "trained": [sum(one) for one in result["env_mask"]]})
    return result


with tempfile.TemporaryDirectory() as folder:
    arguments = GRPOConfig(
        output_dir=folder, per_device_train_batch_size=4, num_generations=4, max_steps=steps, learning_rate=1e-2,
        use_cpu=True, bf16=False, report_to="none", logging_steps=1, save_strategy="no", max_completion_length=2048,
        gradient_accumulation_steps=len(tasks) // steps, disable_tqdm=True, shuffle_dataset=False,
    )
    trainer = GRPOTrainer(
        model=policy, reward_funcs=trl_rollout.reward, args=arguments, train_dataset=trl_rollout.dataset(tasks),
        processing_class=tokenizer(), rollout_func=rollout_func,
    )
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    advantages = list(trainer._logs["advantages"])
after = torch.cat([one.detach().flatten() for one in policy.parameters()])
assert torch.isfinite(after).all(), "the weights are numbers"
print(
    json.dumps(
        {
            "steps": trainer.state.global_step, "losses": losses, "moved": float((after - before).abs().max()),
            "seen": seen, "counts": dict(trl_rollout.counts), "advantages": advantages,
        }
    )
)
