"""verl: an agent loop whose rollouts run in our batch.

Register it in the file of `actor_rollout_ref.rollout.agent.agent_loop_config_path`:

    - name: rollout_studio
      _target_: verl_agent_loop.RolloutStudioLoop

Rows of the dataset have `agent_name: rollout_studio`, and the ID of their task in `extra_info.task_id`.
"""
import asyncio
import os
from statistics import fmean

from rollout_client import Rollouts, members_of
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

RUN = os.environ.get("ROLLOUT_RUN", "verl")  # another name for each training run
DEADLINE_SECONDS = float(os.environ.get("ROLLOUT_DEADLINE", "540"))
# The trainer `v1` takes several segments of a rollout; the other one takes only one of them.
SEGMENTS = os.environ.get("ROLLOUT_SEGMENTS", "all")

_rollouts = None


class RolloutStudioLoop(AgentLoopBase):
    """All sessions of a prompt request the same group, in whichever process they run, and take one member each."""

    async def run(self, sampling_params, **kwargs):
        global _rollouts
        _rollouts = _rollouts or Rollouts()
        task = str((kwargs.get("extra_info") or {})["task_id"])
        session = int(kwargs.get("session_id", 0))
        # Without a uid, this session is a group of its own: verl still compares it with its siblings.
        uid = kwargs.get("uid")
        size = self.rollout_config.n if uid is not None and "session_id" in kwargs else 1
        name = f"{RUN}.{kwargs.get('global_steps', 0)}.{uid or id(kwargs)}"
        rewards = []
        try:
            future = await asyncio.to_thread(_rollouts.group, name, task, size, DEADLINE_SECONDS)
            group = await asyncio.wait_for(asyncio.wrap_future(future), DEADLINE_SECONDS + 30)
            members = members_of(group)
            rewards = [member["reward"] for member, _ in members]
            if session < len(members):
                return self._outputs(*members[session])
            why = f"{group['state']}: {group.get('why', 'too few members')}"
        except Exception as error:  # an exception would discard the siblings too
            why = f"{type(error).__name__}: {error}"
        # Nothing of it is trained, and the mean of its siblings keeps their advantages close to what they are.
        end = self.tokenizer.eos_token_id
        void = AgentLoopOutput(
            prompt_ids=[end], response_ids=[end], response_mask=[0], response_logprobs=[0.0],
            reward_score=fmean(rewards) if rewards else 0.0, metrics=AgentLoopMetrics(),
            extra_fields={"void": why, "reward_extra_info": {}},
        )
        return [void] if SEGMENTS == "all" else void

    def _outputs(self, member, rows):
        """One output for each segment."""
        room = self.rollout_config.response_length
        outputs = [
            AgentLoopOutput(
                prompt_ids=row["prompt_ids"],
                response_ids=row["response_ids"][:room],
                response_mask=row["response_mask"][:room],
                response_logprobs=row["response_logprobs"][:room],
                reward_score=member["reward"],
                num_turns=2 * len(row["calls"]),
                metrics=AgentLoopMetrics(
                    generate_sequences=row["ms"]["model"] / 1000, tool_calls=row["ms"]["tool"] / 1000
                ),
                extra_fields={"rollout": row["rollout"], "segment": row["segment"], "reward_extra_info": {}},
            )
            for row in rows
        ]
        if SEGMENTS == "all":
            return outputs
        return max(outputs, key=lambda output: sum(output.response_mask))
