"""TRL: an `environment_factory` over the sessions of `rollout gym`. TRL samples; our tools, worlds, and scorers answer.

    from trl_environment import environment
    trainer = GRPOTrainer(model, train_dataset=dataset, environment_factory=environment("task-1"), …)

Rows of the dataset have a `task_id`, and a `prompt` that ends with a user message: its content is completed by the
question. All tasks must have the tools of the example task. ROLLOUT_GYM is the URL of `rollout gym`.
"""
import inspect
import urllib.error

from gym_client import call

TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


class Session:
    """One task. TRL uses an instance again for the next one, after `reset`."""

    _session = None

    def reset(self, task_id=None, **_):
        self._close()
        seeded = call("/seed_session", {"task_id": task_id})
        self._session = seeded["session_id"]
        return seeded["messages"][-1]["content"]

    def get_reward(self):
        """None if nobody can say: TRL leaves it out of the statistics of its group."""
        if self._session is None:
            return None
        try:
            return call(f"/sessions/{self._session}/verify", {})["reward"]
        except OSError as error:
            print(f"verify: {error}")
            return None
        finally:
            self._close()

    def _use(self, tool, arguments):
        try:
            return call(f"/sessions/{self._session}/tools/{tool}", arguments)["text"]
        except urllib.error.HTTPError as error:
            return f"Error: {error.read().decode(errors='replace')}"

    def _close(self):
        session, self._session = self._session, None
        if session is not None:
            try:
                call(f"/sessions/{session}", method="DELETE")
            except OSError:
                pass  # it ends by itself after a time without calls


def environment(task_id):
    """Returns a class with a method for each tool of a task. TRL reads its tools from their names, types, and texts."""
    seeded = call("/seed_session", {"task_id": task_id})
    call(f"/sessions/{seeded['session_id']}", method="DELETE")
    methods = {tool["function"]["name"]: _method(tool["function"]) for tool in seeded["tools"]}
    return type("RolloutEnvironment", (Session,), methods)


def _method(tool):
    schema = tool.get("parameters") or {}
    required = schema.get("required", [])
    # Arguments with a default follow those without.
    names = sorted(schema.get("properties", {}), key=lambda name: name not in required)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = [tool.get("description") or tool["name"], "", "Args:"]
    for name in names:
        told = schema["properties"][name]
        kind = TYPES.get(told.get("type"), str)
        default = inspect.Parameter.empty if name in required else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        )
        lines.append(f"    {name}: {' '.join(str(told.get('description') or name).split())}")

    def method(self, **arguments):
        return self._use(tool["name"], {name: value for name, value in arguments.items() if value is not None})

    method.__name__, method.__doc__ = tool["name"], "\n".join(lines if names else lines[:1])
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)
    method.__annotations__ = {one.name: one.annotation for one in parameters[1:]} | {"return": str}
    return method
