/** Model endpoints that are dead or refuse the batch: one message that says what to do, and an exit code. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { answerText, fakeEndpoint, refuse, type Script } from '../support/endpoint.ts';
import { type Report, WorkspaceBench } from '../support/workspace.ts';

const TWO = { one: 'answer 42', two: 'answer 42' };

/** A port of this machine on which nothing listens. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('a model endpoint that', () => {
  let bench: WorkspaceBench;
  before(() => {
    bench = new WorkspaceBench();
  });
  after(() => bench.close());

  /** Runs a batch of two tasks against a scripted endpoint. No attempt is scored. */
  async function refusedBy(
    name: string,
    script: Script,
    env: Record<string, string> = {},
  ): Promise<{ lines: string[]; report: Report; calls: number; endpoint: string }> {
    await using endpoint = await fakeEndpoint(script);
    const file = bench.batch(name, {
      model: `{ endpoint: "${endpoint.url}", name: m, api_key: "\${env:KEY}" }`,
      tasks: TWO,
      batch: 'attempts: 2\nretry: { infrastructure: 3 }\n',
    });
    const { code, report, stderr } = await bench.runBatch(file, { KEY: 'wrong-key-1', ...env });
    assert.equal(code, 3, stderr);
    assert.deepEqual(
      [report.attempts, report.passed + report.failed + report.unscored + report.open],
      [4, 0],
      'nobody is blamed for a wrong set-up',
    );
    assert.ok(report.infrastructure > 0);
    assert.doesNotMatch(stderr, /wrong-key-1|rollout retry/);
    const lines = stderr.split('\n').filter((line) => line.includes(endpoint.url));
    return {
      lines,
      report,
      calls: endpoint.seen.filter((seen) => seen.path.endsWith('/chat/completions')).length,
      endpoint: endpoint.url,
    };
  }

  it('refuses the key stops the batch with one message', async () => {
    const { lines, calls, endpoint } = await refusedBy('key', (_seen, response) =>
      refuse(response, 401, { message: 'Incorrect API key provided' }),
    );
    assert.deepEqual(lines, [
      `${endpoint} rejected the API key (401): Incorrect API key provided. Check model.api_key and its variable.`,
    ]);
    assert.ok(calls < 12, `${calls} calls`); // not 4 attempts x 4 tries
  });

  it('does not know the model names those it has', async () => {
    const { lines, endpoint } = await refusedBy('model', (seen, response) => {
      if (seen.path === '/v1/models') {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ object: 'list', data: [{ id: 'qwen' }, { id: 'llama' }] }));
      } else refuse(response, 404, { message: 'The model `m` does not exist.' });
    });
    assert.deepEqual(lines, [
      `${endpoint} has no model m (404): The model \`m\` does not exist. Available models: qwen, llama. Set ` +
        'model.name to one of these.',
    ]);
  });

  it('does not support tools stops the batch', async () => {
    const { lines } = await refusedBy('tools', (_seen, response) =>
      refuse(response, 400, {
        message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      }),
    );
    assert.equal(lines.length, 1);
    assert.match(
      lines[0] ?? '',
      new RegExp(
        String.raw`does not support tools with m \(400\): .* Choose a model that can call tools\. vLLM ` +
          String.raw`requires --enable-auto-tool-choice and --tool-call-parser\.$`,
      ),
    );
  });

  it('refuses a call for another reason fails the agent, and the run reports what was refused', async () => {
    await using endpoint = await fakeEndpoint((_seen, response) =>
      refuse(response, 400, { message: 'temperature must be at most 2' }),
    );
    const { code, report, stderr } = await bench.runBatch(
      bench.batch('refused', { model: `{ endpoint: "${endpoint.url}", name: m }`, tasks: TWO }),
    );
    assert.deepEqual([code, report.failed], [0, 2]);
    assert.ok(
      stderr.includes(
        `2 attempts were ended by a model error: ${endpoint.url} rejected the call (400): ` +
          'temperature must be at most 2\n',
      ),
      stderr,
    );
  });

  it('is down loses its attempts to infrastructure after a wait, with exit code 3', async () => {
    const port = await deadPort();
    const file = bench.batch('dead', {
      model: `{ endpoint: "http://127.0.0.1:${port}/v1", name: m, endpoint_wait: 1s }`,
      tasks: TWO,
      batch: 'retry: { infrastructure: 0 }\n',
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.infrastructure, report.passed + report.failed], [3, 2, 0]);
    assert.match(
      stderr,
      new RegExp(
        `^2 attempts were lost to infrastructure: The model endpoint http://127\\.0\\.0\\.1:${port}/v1 did not ` +
          `respond for 1 s\\. Last error: connect ECONNREFUSED 127\\.0\\.0\\.1:${port}\nRetry the lost ` +
          `attempts with rollout retry ${report.batch}\\.$`,
        'm',
      ),
    );
    const rows = await bench.rows(report.batch);
    assert.deepEqual(
      rows.map((row) => [row.try, row.progress.status, row.progress.error_class]),
      [
        [1, 'infrastructure', 'infrastructure'],
        [1, 'infrastructure', 'infrastructure'],
      ],
    );
  });

  it('is down for a while is reported once, and the run continues when it is back', async () => {
    const port = await deadPort();
    const file = bench.batch('late', { model: `{ endpoint: "http://127.0.0.1:${port}/v1", name: m }`, tasks: TWO });
    const running = bench.start(['run', file, '--json'], { cwd: bench.work });
    let [said, printed] = ['', ''];
    running.stdout?.on('data', (chunk) => (printed += String(chunk)));
    const waiting = new Promise<void>((resolve) => {
      running.stderr?.on('data', (chunk) => {
        said += String(chunk);
        if (said.includes('is not available')) resolve();
      });
    });
    const ended = once(running, 'close');
    await Promise.race([waiting, ended]);
    await using endpoint = await fakeEndpoint((_seen, response) => answerText(response, '42'), port);
    assert.deepEqual(await ended, [0, null], said);
    assert.deepEqual(
      [
        (JSON.parse(printed) as Report).passed,
        endpoint.seen.filter((seen) => seen.path.endsWith('/chat/completions')).length,
      ],
      [2, 2],
    );
    assert.deepEqual(
      said.split('\n').filter((line) => line.includes('The model endpoint')),
      [
        `The model endpoint http://127.0.0.1:${port}/v1 is not available: connect ECONNREFUSED 127.0.0.1:${port}. ` +
          'Calls wait for it (model.endpoint_wait). Start it, or cancel the batch.',
        `The model endpoint http://127.0.0.1:${port}/v1 is available again.`,
      ],
    );
  });
});
