"""ms-swift: a scheduler whose rollouts run in our batch, for `swift rollout`.

    swift rollout --model … --vllm_use_async_engine true --external_plugins swift_scheduler.py \
        --multi_turn_scheduler rollout_studio
    swift rlhf --rlhf_type grpo --use_vllm true --vllm_mode server --vllm_server_pass_dataset true --use_gym_env true …

Rows of the dataset have `messages` as the agent's prompt (system message and question), and the ID of their task in
`task_id`. The engine of `swift rollout` has no chat endpoint: the agent file names another one with the same weights.
"""
import asyncio
import hashlib
import os
from statistics import fmean

from rollout_client import Rollouts, members_of, most_trained
from swift.infer_engine.protocol import RolloutInferRequest, RolloutOutput
from swift.rollout.multi_turn import RolloutScheduler, multi_turns

# Below the ten minutes after which the trainer's watchdog ends the run.
DEADLINE_SECONDS = float(os.environ.get("ROLLOUT_DEADLINE", "480"))
_rollouts = None


class RolloutStudioScheduler(RolloutScheduler):
    """Each request gets exactly one output, whatever happens: the trainer counts on groups of one size."""

    async def async_infer(self, infer_requests, request_config, *, use_tqdm=None, **kwargs):
        """Makes a group of the requests with the same task, so that lost members are replaced among them."""
        requests = [RolloutInferRequest(**one) if isinstance(one, dict) else one for one in infer_requests]
        by_task = {}
        for request in requests:
            by_task.setdefault(str(request.data_dict.get("task_id")), []).append(request)
        for task, siblings in by_task.items():
            name = hashlib.sha256("".join(str(one.uuid) for one in siblings).encode()).hexdigest()[:32]
            for index, request in enumerate(siblings):
                request.data_dict = {**request.data_dict, "_rollout": (f"swift.{name}", task, len(siblings), index)}
        return await super().async_infer(requests, request_config, use_tqdm=use_tqdm, **kwargs)

    async def run(self, infer_request, request_config, **kwargs):
        name, task, size, index = infer_request.data_dict.get("_rollout") or (
            f"swift.{infer_request.uuid}", str(infer_request.data_dict.get("task_id")), 1, 0,
        )
        rewards = []
        try:  # an exception would be a status of 500, which ends the run of the trainer
            global _rollouts
            _rollouts = _rollouts or Rollouts()
            future = await asyncio.to_thread(_rollouts.group, name, task, size, DEADLINE_SECONDS)
            group = await asyncio.wait_for(asyncio.wrap_future(future), DEADLINE_SECONDS + 30)
            members = members_of(group)
            rewards = [member["reward"] for member, _ in members]
            if index < len(members):
                return self._output(infer_request, *members[index])
            why = f"{group['state']}: {group.get('why', 'too few members')}"
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        print(f"rollout_studio: {task}: {why}")
        # ms-swift has no row without a reward: the mean of the siblings keeps their advantages close to what they are.
        infos = {"total_reward": fmean(rewards) if rewards else 0.0, "void": why, "num_turns": 0}
        return self._made(infer_request, [self._end()], [0], [], "", "stop", infos)

    def _output(self, infer_request, member, rows):
        """The segment with the most trained tokens, as one reply: only replies keep their IDs."""
        row = most_trained(rows)
        first = next(one for one in rows if one["agent"] == row["agent"])["prompt_ids"]
        # Of a later segment, what follows the first prompt becomes a part of the reply that is not trained.
        kept = row["prompt_ids"][len(first):] if row["prompt_ids"][: len(first)] == first else []
        ids, mask = kept + row["response_ids"], [0] * len(kept) + row["response_mask"]
        logprobs = [one for one, trained in zip(row["response_logprobs"], row["response_mask"]) if trained]
        infos = {
            **{"total_reward": member["reward"], "num_turns": len(row["calls"]), "rollout": row["rollout"]},
            **{"segment": row["segment"], "segments": row["segments"], "prompt_differs": self._differs(infer_request, first)},
        }
        tokenizer = self.tokenizer
        text = "" if tokenizer is None else tokenizer.decode(row["response_ids"], skip_special_tokens=True)
        ending = "length" if row["finish_reasons"][-1] == "length" else "stop"
        return self._made(infer_request, ids, mask, logprobs, text, ending, infos)

    def _differs(self, infer_request, prompt_ids):
        """Whether the trainer will render another prompt than the policy saw: then `messages` are not the agent's."""
        template = self._template or getattr(self.infer_engine, "template", None)
        if template is None:
            return None
        asked = [message for message in infer_request.messages if message["role"] != "assistant"]
        encoded = template.encode({"messages": [*asked, {"role": "assistant", "content": None}]})
        rendered = [id for id, label in zip(encoded["input_ids"], encoded.get("labels") or encoded["input_ids"])]
        return rendered[: len(prompt_ids)] != prompt_ids

    def _made(self, infer_request, ids, mask, logprobs, text, ending, infos):
        reply = {"role": "assistant", "content": text}
        asked = [message for message in infer_request.messages if message["role"] != "assistant"]
        usage = {"prompt_tokens": 0, "completion_tokens": len(ids), "total_tokens": len(ids)}
        choice = {"index": 0, "message": reply, "finish_reason": ending, "token_ids": ids}
        return RolloutOutput(
            response={"id": infer_request.uuid, "model": "rollout", "choices": [choice], "usage": usage},
            messages=[*asked, reply], response_token_ids=[ids], response_loss_mask=[mask],
            rollout_logprobs=[logprobs] if logprobs else [], rollout_infos=infos,
        )

    def _end(self):
        return getattr(self.tokenizer, "eos_token_id", None) or 0


multi_turns["rollout_studio"] = RolloutStudioScheduler
