"""ms-swift: an environment over the sessions of `rollout gym`. The engine of ms-swift samples; our tools answer.

    swift rollout --model … --vllm_use_async_engine true --external_plugins swift_environment.py \
        --multi_turn_scheduler gym_scheduler --use_gym_env true --gym_env rollout_studio --max_turns 20

Rows of the dataset have the ID of their task in `task_id`. ROLLOUT_GYM is the URL of `rollout gym`. Calls are read from
the text of a reply as `<tool_call>{"name": …, "arguments": …}</tool_call>`, the format of Hermes and Qwen.
"""
import asyncio
import json
import re
import urllib.error

from gym_client import call
from swift.rollout.gym_env import Env, envs

CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


class RolloutEnv(Env):
    """One task. It never raises: an exception in it would end the run of the trainer."""

    session = None

    async def reset(self, config):
        try:
            seeded = await asyncio.to_thread(call, "/seed_session", {"task_id": str(config.data_dict["task_id"])})
        except Exception as error:
            print(f"seed_session: {error}")
            return "The task could not be opened.", {"void": str(error)}, ""
        self.session = seeded["session_id"]
        system = "\n\n".join(one["content"] for one in seeded["messages"] if one["role"] == "system")
        tools = "\n".join(json.dumps(tool) for tool in seeded["tools"])
        if tools:
            system += (
                f"\n\n# Tools\n\n<tools>\n{tools}\n</tools>\n\nFor each call, write "
                '<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>'
            )
        return seeded["messages"][-1]["content"], {}, system.strip()

    async def step(self, action):
        """Makes the calls of the last reply. A reply without calls is the answer."""
        if self.session is None:
            return "", 0.0, True, {"void": "no session"}
        text = action[-1]["content"]
        calls = CALL.findall(text)
        try:
            if not calls:
                verdict = await asyncio.to_thread(call, f"/sessions/{self.session}/verify", {"message": text})
                reward = verdict["reward"]
                # ms-swift has no row without a reward. Leave it out with a filter for `void`, or count it as 0.
                info = {**verdict["reward_components"], **({"void": "no verdict"} if reward is None else {})}
                return "", 0.0 if reward is None else reward, True, info
            results = [await asyncio.to_thread(self._use, one) for one in calls]
            return "\n".join(f"<tool_response>\n{one}\n</tool_response>" for one in results), 0.0, False, {}
        except Exception as error:
            print(f"step: {error}")
            return "", 0.0, True, {"void": str(error)}

    def _use(self, text):
        try:
            wanted = json.loads(text)
            name, arguments = wanted["name"], wanted.get("arguments") or {}
        except (ValueError, KeyError, TypeError) as error:
            return f"Error: the call does not parse: {error}"
        try:
            return call(f"/sessions/{self.session}/tools/{name}", arguments)["text"]
        except urllib.error.HTTPError as error:
            return f"Error: {error.read().decode(errors='replace')}"

    async def close(self):
        session, self.session = self.session, None
        if session is not None:
            try:
                await asyncio.to_thread(call, f"/sessions/{session}", None, "DELETE")
            except OSError:
                pass  # it ends by itself after a time without calls


envs["rollout_studio"] = RolloutEnv
