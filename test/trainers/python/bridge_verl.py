"""verl's agent loop, and its own code after it, with outputs of the bridge. Prints what it found as JSON."""
import asyncio
import json
import sys

import torch
from omegaconf import OmegaConf
from tiny import tokenizer
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap
from verl_agent_loop import RolloutStudioLoop

tasks, size = json.loads(sys.argv[1]), int(sys.argv[2])
config = OmegaConf.create(
    {
        "actor_rollout_ref": {"rollout": {"n": size, "prompt_length": 512, "response_length": 512}},
        "data": {},
    }
)
made = tokenizer()
loop = RolloutStudioLoop(
    trainer_config=DictConfigWrap(config), server_manager=None, tokenizer=made, processor=None, dataset_cls=None,
    data_config=DictConfigWrap(config.data),
)


async def session(task, number):
    row = {"uid": f"uid-{task}", "session_id": number, "global_steps": 1, "extra_info": {"task_id": task}}
    outputs = await loop.run({}, raw_prompt=[], **row)
    told = []
    for output in outputs:
        assert isinstance(output, AgentLoopOutput)
        fields = output.as_dict()
        assert fields["responses"].shape == fields["response_mask"].shape == fields["rollout_log_probs"].shape
        told.append(
            {
                "reward": output.reward_score, "trained": sum(output.response_mask),
                "void": output.extra_fields.get("void"), "ids": len(output.response_ids),
            }
        )
        assert float(fields["rm_scores"].sum()) == torch.tensor(output.reward_score, dtype=torch.float32)
    return {"task": task, "outputs": told}


async def main():
    return await asyncio.gather(*[session(task, number) for task in tasks for number in range(size)])


print(json.dumps(asyncio.run(main())))
