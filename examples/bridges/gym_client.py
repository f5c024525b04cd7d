"""Requests to `rollout gym`, whose URL is in ROLLOUT_GYM."""
import json
import os
import urllib.request


def call(path, body=None, method=None, timeout=300):
    """Returns the JSON of an answer. Raises OSError, such as HTTPError with the text of a refusal."""
    url = os.environ["ROLLOUT_GYM"].rstrip("/") + path
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return json.loads(reply.read() or b"null")
