/**
 * Imports a file to a server that keeps nothing. Prints the number of rollouts, events, and the length of the longest
 * request.
 */
import { importFile } from '../../src/client/importFile.ts';
import { Api } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';

const row: BatchRow = {
  batch: 'b1',
  name: 'nightly',
  created_at: 0,
  state: 'open',
  submission: '',
  tasks: 0,
  attempts: 1,
  counts: { passed: 0, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running: 0, held: 0, queued: 0 },
  truncated: 0,
  steps: 0,
  input_tokens: 0,
  output_tokens: 0,
  imported: true,
  rev: 1,
  last: 1,
};
let longest = 0;
let events = 0;
const api = new Api({
  async request({ method, path, body }) {
    const text = path === '/v1/batches' ? JSON.stringify(row) : path.endsWith('/commands') ? '{"seq":1}' : '{}';
    if (typeof body === 'function') for await (const chunk of body()) longest = Math.max(longest, chunk.length);
    if (typeof body === 'string') longest = Math.max(longest, body.length);
    if (path.endsWith('/import') && typeof body === 'string') events += body.split('"kind":').length - 1;
    return {
      status: method === 'HEAD' ? 404 : 200,
      text: () => Promise.resolve(method === 'HEAD' ? '{"error":{"code":"not_found","message":"none"}}' : text),
      bytes: () => Promise.resolve(new Uint8Array()),
    };
  },
});
const { rollouts } = await importFile(api, process.argv[2] ?? '', { signal: new AbortController().signal });
console.log(JSON.stringify({ rollouts, events, longest }));
