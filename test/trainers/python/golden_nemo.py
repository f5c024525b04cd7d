"""Loads golden rows in NeMo Gym's classes. Prints what it found as JSON."""
import json
import sys
from pathlib import Path

from nemo_gym.base_resources_server import BaseVerifyResponse
from nemo_gym.openai_utils import NeMoGymResponse, NeMoGymResponseCreateParamsNonStreaming

found = 0
for line in (Path(sys.argv[1]) / "nemo-gym.jsonl").read_text().splitlines():
    row = json.loads(line)
    NeMoGymResponseCreateParamsNonStreaming.model_validate(row["responses_create_params"])
    response = NeMoGymResponse.model_validate(row["response"])
    items = [item for item in response.output if getattr(item, "generation_token_ids", None)]
    assert items, "an item has token IDs"
    seen = []
    for item in items:  # as NeMo RL asserts: each prompt continues what came before
        assert item.prompt_token_ids[: len(seen)] == seen
        assert len(item.generation_token_ids) == len(item.generation_log_probs)
        seen = item.prompt_token_ids + item.generation_token_ids
    BaseVerifyResponse.model_validate(row)
    found += 1
print(json.dumps({"rollouts": found}))
