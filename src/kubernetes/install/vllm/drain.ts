/**
 * How a replica of vLLM ends: first nobody calls it any more, then the calls that run are answered. It works with every
 * version of vLLM, whose images have Python.
 */

/** How long others may still call a replica that is about to end: EndpointSlices and the server's watch of them. */
const LEAD_SECONDS = 10;
/** How long calls may take. Those that still run then are made again at another replica. */
const DRAIN_SECONDS = 600;
const MARGIN_SECONDS = 20;

/** How long a replica may take to end. */
export const VLLM_GRACE_SECONDS = LEAD_SECONDS + DRAIN_SECONDS + MARGIN_SECONDS;

/** `python3 -c SCRIPT URL LEAD LIMIT`: waits until no request runs or waits, or the server is gone. */
export const DRAIN_SCRIPT = `
import sys, time, urllib.request
url, lead, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
time.sleep(lead)
end = time.monotonic() + limit
busy = ('vllm:num_requests_running{', 'vllm:num_requests_waiting{')
while time.monotonic() < end:
    try:
        with urllib.request.urlopen(url + '/metrics', timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        break
    if sum(float(line.rsplit(' ', 1)[1]) for line in text.splitlines() if line.startswith(busy)) == 0:
        break
    time.sleep(1)
`;

/** Returns the hook that runs before a replica on this port is told to end. */
export function drainHook(port: number): Readonly<Record<string, unknown>> {
  const values = [`http://127.0.0.1:${port}`, String(LEAD_SECONDS), String(DRAIN_SECONDS)];
  return { preStop: { exec: { command: ['python3', '-c', DRAIN_SCRIPT, ...values] } } };
}
