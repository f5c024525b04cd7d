"""Groups of a batch that waits for a trainer: `rollout run BATCH --groups SIZE`. Standard library only.

ROLLOUT_SERVER, ROLLOUT_TOKEN, and ROLLOUT_BATCH name the server, its token, and the batch.
"""
import json
import os
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future

WAIT_SECONDS = 20  # of one request for the feed
RETRY_SECONDS = 2


class Rollouts:
    """Requests groups, and reads the feed of those that ended in one thread. Its methods can be called by any thread."""

    def __init__(self, server=None, token=None, batch=None):
        self.server = (server or os.environ["ROLLOUT_SERVER"]).rstrip("/")
        self.token = token or os.environ.get("ROLLOUT_TOKEN", "")
        self.batch = batch or os.environ["ROLLOUT_BATCH"]
        self.cursor = ""
        self._futures = {}
        self._lock = threading.Lock()
        self._reader = None

    def group(self, group, task, size, deadline_s=540):
        """Returns a Future of the finished group: a line of the feed. The same ID again is the same group.

        It has a result at the latest shortly after the deadline, which counts on the server: failed is a state too.
        """
        with self._lock:
            if group in self._futures:
                return self._futures[group]
            future = self._futures[group] = Future()
        body = {"batch": self.batch, "group": group, "task": task, "size": size, "deadline_s": deadline_s}
        try:
            self._until(time.monotonic() + deadline_s, lambda: self.call("/v1/groups", body))
        except Exception as error:
            future.set_exception(error)
            return future
        with self._lock:
            if self._reader is None:
                self._reader = threading.Thread(target=self._read, daemon=True)
                self._reader.start()
        return future

    def serving(self, endpoint, version):
        """Announces the weights that the model endpoint serves now. Groups say which versions sampled them."""
        self.call("/v1/endpoints", {"endpoint": endpoint, "state": "serving", "version": version, "force": True})

    def call(self, path, body=None, method=None, timeout=60):
        """Returns the text of the reply. Raises urllib.error.URLError; an HTTPError has the server's message."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.server + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            try:
                error.msg = json.loads(error.read())["error"]["message"]
            except (ValueError, KeyError, TypeError):
                pass  # not from our server, such as a proxy's page
            raise

    def _until(self, end, action):
        """Tries again while the server does not answer, such as during its restart."""
        while True:
            try:
                return action()
            except OSError as error:  # also of a connection that broke while it was read
                refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
                if refused or time.monotonic() > end:
                    raise
                time.sleep(RETRY_SECONDS)

    def _read(self):
        path = f"/v1/batches/{self.batch}/groups?wait={WAIT_SECONDS}&limit=64&after="
        while True:
            with self._lock:
                if all(future.done() for future in self._futures.values()):
                    self._reader = None  # the next group starts another one
                    return
            try:
                lines = self.call(path + self.cursor, timeout=WAIT_SECONDS + 30).splitlines()
                ended = [json.loads(line) for line in lines]
            except (OSError, ValueError):
                time.sleep(RETRY_SECONDS)
                continue
            for group in ended:
                self.cursor = group["cursor"]
                future = self._futures.get(group["group"])
                if future is not None and not future.done():
                    future.set_result(group)


def members_of(group):
    """Returns the members that count as (member, rows), in the order in which they ended; none if it is not usable."""
    if not group["usable"]:
        return []
    members = [(one, [row for row in group["rows"] if row["rollout"] == one["rollout"]]) for one in group["members"]]
    return [(member, rows) for member, rows in members if any(any(row["response_mask"]) for row in rows)]


def most_trained(rows):
    """Returns the row with the most trained tokens, for trainers that take one row for each rollout."""
    return max(rows, key=lambda row: sum(row["response_mask"]))
