"""TRL: `rollout_func` of GRPOTrainer. Rollouts run in our batch; TRL computes advantages and the loss.

    from trl_rollout import dataset, reward, rollout_func
    trainer = GRPOTrainer(model, reward_funcs=reward, train_dataset=dataset(["task-1", "task-2"]), rollout_func=rollout_func, …)

The prompt of a row is the ID of its task: the prompt that the policy sees is the agent's. With ROLLOUT_ENDPOINT, each
step announces its number as the version of the weights of that model endpoint.
"""
import itertools
import os
import uuid
from collections import Counter

from datasets import Dataset
from rollout_client import Rollouts, members_of, most_trained

RUN = os.environ.get("ROLLOUT_RUN", uuid.uuid4().hex[:8])  # set it, so that a restart gets the groups of the same steps
DEADLINE_SECONDS = float(os.environ.get("ROLLOUT_DEADLINE", "540"))  # below the watchdog of distributed trainers

counts = Counter()  # what happened to groups and members so far
_rollouts = None
_calls = itertools.count()


def dataset(tasks):
    """Returns the dataset of these IDs of tasks."""
    return Dataset.from_list([{"prompt": task} for task in tasks])


def reward(completions, reward, **_):
    """The reward of the rollout. TRL leaves None out of the statistics of its group."""
    return reward


def rollout_func(prompts, trainer):
    """Returns one row for each prompt. Equal prompts that follow each other are one group."""
    global _rollouts
    _rollouts = _rollouts or Rollouts()
    step, call = trainer.state.global_step, next(_calls)
    rank = trainer.accelerator.process_index
    if "ROLLOUT_ENDPOINT" in os.environ and rank == 0:
        try:
            _rollouts.serving(os.environ["ROLLOUT_ENDPOINT"], step)
        except OSError as error:  # groups then have an older version
            print(f"rollout_func: the version {step} was not announced: {error}")
    wanted = [(str(task), len(list(same))) for task, same in itertools.groupby(prompts)]
    futures = []
    for index, (task, size) in enumerate(wanted):
        futures.append(_rollouts.group(f"{RUN}.{step}.{call}.{rank}.{index}", task, size, DEADLINE_SECONDS))
    result = {key: [] for key in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "reward", "rollout")}
    for (task, size), future in zip(wanted, futures):
        rows = _rows_of(future, size)
        counts["void"] += size - len(rows)
        for row in rows + [_void(trainer)] * (size - len(rows)):
            for key, values in result.items():
                values.append(row[key])
    return result


def _rows_of(future, size):
    """Returns up to `size` rows. A group that did not end, or was refused, has none: the trainer goes on."""
    try:
        group = future.result(timeout=DEADLINE_SECONDS + 30)
    except Exception as error:
        counts["no answer"] += 1
        print(f"rollout_func: {type(error).__name__}: {error}")
        return []
    counts[group["state"]] += 1
    rows = []
    for member, segments in members_of(group)[:size]:
        row = most_trained(segments)  # TRL takes one row for each rollout
        counts["segments left out"] += len(segments) - 1
        rows.append(
            {
                "prompt_ids": row["prompt_ids"],
                "completion_ids": row["response_ids"],
                "logprobs": row["response_logprobs"],
                "env_mask": row["response_mask"],
                "reward": member["reward"],
                "rollout": member["rollout"],
            }
        )
    return rows


def _void(trainer):
    """A row from which nothing is learned. TRL needs at least one ID."""
    end = trainer.processing_class.eos_token_id
    return {
        **{"prompt_ids": [end], "completion_ids": [end], "logprobs": [0.0], "env_mask": [0]},
        **{"reward": None, "rollout": None},
    }
