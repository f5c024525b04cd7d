"""Drives `rollout gym` with NeMo Gym's own client, and checks what it answers with NeMo Gym's own classes.

Usage: nemo_gym_run.py URL ROWS.jsonl. Prints what came back as JSON.
"""

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlparse

from nemo_gym.base_resources_server import BaseVerifyResponse
from nemo_gym.config_types import AggregateMetrics, BaseServerConfig
from nemo_gym.openai_utils import TokenIDLogProbMixin
from nemo_gym.reward_profile import compute_aggregate_metrics
from nemo_gym.rollout_collection import RolloutCollectionHelper

NAME = "studio"


def head_server(url):
    """The server from which NeMo Gym's client learns where the others are."""
    place = urlparse(url)
    agent = {"entrypoint": "app.py", "domain": "agent", "host": place.hostname, "port": place.port}
    config = {NAME: {"responses_api_agents": {NAME: agent}}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(json.dumps(config) if self.path.endswith("json") else config).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return BaseServerConfig(host="127.0.0.1", port=server.server_port)


def checked(result):
    """Returns how many calls of a rollout can be trained, as NeMo RL joins them; None for a failure."""
    if result.get("_ng_failure_class") is not None:
        assert result["reward"] is None
        return None
    response = BaseVerifyResponse.model_validate(result).response
    seen, calls = [], 0
    for item in response.output:
        if not isinstance(item, TokenIDLogProbMixin):
            continue
        assert item.prompt_token_ids[: len(seen)] == seen, "the prompt does not begin with the tokens before it"
        assert len(item.generation_token_ids) == len(item.generation_log_probs) > 0
        seen = item.prompt_token_ids + item.generation_token_ids
        calls += 1
    return calls


async def main(url, file):
    with open(file, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    helper = RolloutCollectionHelper()
    head = head_server(url)
    done = [await future for future in helper.run_examples(rows, head)]
    results = []
    for row, result in done:
        results.append({**result, **{key: row[key] for key in ("_ng_task_index", "_ng_rollout_index", "agent_ref")}})
    client = helper.setup_server_client(head)
    stripped = [
        {key: value for key, value in result.items() if key not in ("response", "responses_create_params")}
        | {"response": {"usage": (result["response"].get("usage") or {})}}
        for result in results
    ]
    reply = await client.post(server_name=NAME, url_path="/aggregate_metrics", json={"verify_responses": stripped})
    answered = AggregateMetrics.model_validate(json.loads(await reply.read()))
    own = compute_aggregate_metrics(stripped)
    for key in ("agent_metrics", "key_metrics", "group_level_metrics"):
        assert close(getattr(answered, key), getattr(own, key)), (key, getattr(answered, key), getattr(own, key))
    results.sort(key=lambda one: (one["_ng_task_index"], one["_ng_rollout_index"]))
    print(json.dumps([{"reward": one["reward"], "calls": checked(one), "failure": one.get("_ng_failure_class")}
                      for one in results]))


def close(a, b):
    """Whether two values are equal, apart from rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))
    return a == b


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
