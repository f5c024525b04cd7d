"""ms-swift's scheduler, and its own code after it, with outputs of the bridge. Prints what it found as JSON."""
import asyncio
import json
import sys
from types import SimpleNamespace

import swift_scheduler
import torch
from swift.infer_engine.protocol import RequestConfig
from swift.rl_core.advantage import compute_advantages
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import score_completions
from swift.rlhf_trainers.utils import build_rollout_logps, encode_sample
from swift.rollout.multi_turn import multi_turns
from tiny import tokenizer
from tiny_swift import template

tasks, size = json.loads(sys.argv[1]), int(sys.argv[2])


class Engine:
    """The part of the engine that schedulers use; the bridge samples nothing with it."""

    tokenizer = tokenizer()
    engine = SimpleNamespace()

    async def _batch_infer_stream(self, tasks, stream, use_tqdm, metrics):
        return await asyncio.gather(*tasks)


scheduler = multi_turns["rollout_studio"](Engine(), template=template(), tokenizer=Engine.tokenizer)
samples = []
for task in tasks:
    for number in range(size):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": task}]
        samples.append(
            GRPOSample(messages=messages, prompt_id=task, request_id=f"{task}-{number}", extra={"task_id": task})
        )
requests = [{**vars(sample.to_infer_request(include_extra=True))} for sample in samples]
outputs = asyncio.run(scheduler.async_infer(requests, RequestConfig()))
assert [one.response.id for one in outputs] == [sample.request_id for sample in samples], "one for each, in order"
told = []
for sample, output in zip(samples, outputs):
    sample.apply_rollout_output(rollout_output=output)
    encoded = encode_sample(sample, scheduler._template)
    labels = torch.tensor([[label != -100 for label in encoded["labels"]]])
    trained = int(labels.sum())
    ones = sum(sum(mask) for mask in output.response_loss_mask)
    assert trained == ones, (trained, ones)
    if trained:
        assert build_rollout_logps([sample.rollout_logprobs], labels, "cpu") is not None, "as many as are trained"
    told.append({"task": sample.prompt_id, "trained": trained, "void": output.rollout_infos.get("void")})
rewards = score_completions(samples, [], [], True, "cpu")
advantages, _ = compute_advantages(rewards, torch.ones(1), size)
for one, reward, advantage in zip(told, rewards[:, 0].tolist(), advantages.tolist()):
    one.update(reward=reward, advantage=advantage)
print(json.dumps(told))
