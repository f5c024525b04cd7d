"""An episode in each environment of the bridges, as its trainer plays it. Prints what came back as JSON.

Usage: bridge_environments.py trl|swift TASK
"""

import asyncio
import json
import sys
from types import SimpleNamespace

trainer, task = sys.argv[1:3]
CALL = {"thing": "apple", "count": 2}


def trl():
    """TRL makes an instance, reads its tools with transformers, and resets it with the columns of a row."""
    from transformers.utils import get_json_schema
    from trl_environment import environment

    instance = environment(task)()
    question = instance.reset(task_id=task, prompt=[])
    schema = get_json_schema(instance.take)["function"]
    results = [instance.take(**CALL), instance.take(thing="apple", count="many"), instance.count()]
    first = instance.get_reward()
    instance.reset(task_id=task)  # the next episode has a state of its own
    return {
        "question": question,
        "parameters": schema["parameters"]["properties"],
        "required": schema["parameters"]["required"],
        "results": [*results, instance.count()],
        "rewards": [first, instance.get_reward(), instance.get_reward()],
    }


async def swift():
    """ms-swift finds the environment by its name, resets it with the data of a request, and steps with all messages."""
    import swift_environment  # noqa: F401: it registers the environment
    from swift.rollout.gym_env import envs

    def said(text):
        return [{"role": "user", "content": ""}, {"role": "assistant", "content": text}]

    def call(name, arguments):
        return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"

    instance = envs["rollout_studio"]({})
    question, _, system = await instance.reset(SimpleNamespace(data_dict={"task_id": task}))
    steps = [await instance.step(said(text)) for text in (call("take", CALL), "<tool_call>{</tool_call>", "3 left")]
    await instance.close()
    lost = envs["rollout_studio"]({})
    await lost.reset(SimpleNamespace(data_dict={"task_id": "nowhere"}))
    steps.append(await lost.step(said("3 left")))
    return {
        "question": question,
        "system": system.splitlines()[0],
        "tools": system.count('"type": "function"'),
        "steps": [[text, reward, done, "void" in info] for text, reward, done, info in steps],
    }


print(json.dumps(trl() if trainer == "trl" else asyncio.run(swift())))
