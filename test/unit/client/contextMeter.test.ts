/** The context meter of simulated worlds: exact where the endpoint counts, else estimated, and never in the way. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureWorld } from '../../../src/client/simulation/measureWorld.ts';
import { fileWorlds, meterOfFile, submissionMeters } from '../../../src/client/simulation/meters.ts';
import type { Files } from '../../../src/config/files.ts';
import { meterText } from '../../../src/config/simulation/meter.ts';
import type { SubmittedSimulatedWorld } from '../../../src/config/submission.ts';
import { submission } from '../../support/directed.ts';
import { type FakeEndpoint, fakeEndpoint } from '../../support/endpoint.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';

const NEVER = new AbortController().signal;
const { agent } = submission({ attempts: 1 });
const worldAt = (endpoint: string, more: Partial<SubmittedSimulatedWorld> = {}): SubmittedSimulatedWorld => ({
  name: 'desk',
  file: 'desk.world.yaml',
  kind: 'simulated',
  domain: 'mcp',
  model: {
    ...agent.model,
    endpoints: [endpoint],
    name: 'player',
    api_key: '${env:KEY}',
    sampling: { max_tokens: 1000 },
  },
  definitions: [{ name: 'find', description: 'Finds.', parameters: { type: 'object' } }],
  texts: { state: 'x'.repeat(3_500) },
  perturb: [],
  ...more,
});

/** An endpoint that serves the paths that `answers` has. */
function served(answers: Readonly<Record<string, unknown>>): Promise<FakeEndpoint> {
  return fakeEndpoint(({ path }, response) => {
    const answer = answers[path];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
}
const ENV = { KEY: 'a-secret' };

describe('the context meter of a simulated world', () => {
  it('counts with the endpoint’s tokenizer, and takes the length of the context from it', async () => {
    await using endpoint = await served({ '/tokenize': { count: 2_000, max_model_len: 33_000 } });
    const meter = await measureWorld(worldAt(endpoint.url), ENV, NEVER);
    assert.deepEqual(meter, { turns: 50, context: 33_000, system: 2_000, exact: true, turn: 600, measured: false });
    const [{ headers, body } = assert.fail('no request')] = endpoint.seen;
    assert.equal(headers.authorization, 'Bearer a-secret');
    assert.match(JSON.stringify(body), /"role":"system","content":"# Task.*# Initial State/);
  });

  it('estimates the tokens where nobody counts, and asks which models are served', async () => {
    const data = [{ id: 'other' }, { id: 'player', max_model_len: 10_000 }];
    await using endpoint = await served({ '/v1/models': { data } });
    const { exact, context, system } = await measureWorld(worldAt(endpoint.url), ENV, NEVER);
    assert.deepEqual([exact, context], [false, 10_000]);
    assert.ok(system > 1_000 && system < 2_000, `${system} tokens`);
  });

  it('takes the size of a call from recorded demonstrations, and the context from the file', async () => {
    const demonstrations = ['## Example 1', '## Example 2'].map((title) => title.padEnd(698)).join('\n\n');
    await using endpoint = await served({});
    const world = worldAt(endpoint.url, {
      context: 3_000,
      texts: { demonstrations },
      literal: ['demonstrations'],
    });
    const meter = await measureWorld(world, ENV, NEVER);
    assert.deepEqual([meter.turn, meter.measured, meter.context], [200, true, 3_000]);
    assert.match(
      meterText(meter),
      /^about \d calls fit in the context of 3,000 tokens: .*, 200 per call \(as recorded\)$/,
    );
  });

  it('asks nobody without an endpoint or a value, and says what it does not know', async () => {
    for (const endpoint of ['demo:', 'http://127.0.0.1:1/v1']) {
      const meter = await measureWorld(worldAt(endpoint), ENV, NEVER);
      assert.deepEqual([meter.turns, meter.exact], [undefined, false]);
      assert.match(meterText(meter), /^the context of its model is not known: system prompt about [\d,]+ tokens/);
    }
    await using endpoint = await served({ '/tokenize': { count: 1, max_model_len: 2 } });
    await measureWorld(worldAt(endpoint.url), {}, NEVER);
    assert.deepEqual(endpoint.seen, []);
  });

  it('says if fewer calls fit than the agent may make', async () => {
    await using endpoint = await served({ '/tokenize': { count: 2_000, max_model_len: 9_000 } });
    const batch = { ...submission({ attempts: 1 }), world: worldAt(endpoint.url) };
    const [meter] = await submissionMeters(batch, ENV, NEVER);
    assert.match(
      meter?.text ?? '',
      /^World desk: about 10 calls fit in the context of 9,000 tokens: .*; the agent may make \d+ steps\.$/,
    );
  });
});

describe('the meter of a file', () => {
  const world = (more: string, endpoint: string): string =>
    `version: 1\nname: desk\nkind: simulated\nmodel: { endpoint: '${endpoint}', name: m }\n` +
    `tools: [{ file: tools.json }]\n${more}`;
  const files = (more: string, endpoint = 'http://gpu.invalid/v1'): Files =>
    memoryFiles({ '/w/desk.world.yaml': world(more, endpoint), '/w/tools.json': '[{ "name": "find" }]' });

  it('asks nobody unless it may, and uses the context of the file', async () => {
    await using endpoint = await served({ '/v1/models': { data: [{ id: 'm', max_model_len: 50_000 }] } });
    const known = await fileWorlds(files('context: 20k\n', endpoint.url), ['/w/desk.world.yaml'], '/w');
    const [first] = known;
    assert.ok(first !== undefined && known.length === 1);
    const quiet = await meterOfFile(first, {}, NEVER, false);
    assert.deepEqual([quiet.context, quiet.partial, endpoint.seen.length], [20_000, false, 0]);
    const [open] = await fileWorlds(files('', endpoint.url), ['/w/desk.world.yaml'], '/w');
    assert.ok(open !== undefined);
    assert.equal((await meterOfFile(open, {}, NEVER, false)).turns, undefined);
    assert.equal(endpoint.seen.length, 0);
    assert.equal((await meterOfFile(open, {}, NEVER)).context, 50_000);
  });

  it('says that more is read at the launch, and has no world for a file with errors', async () => {
    const [partial] = await fileWorlds(files('demonstrations: { recorded: last/a/1 }\n'), ['/w/desk.world.yaml'], '/w');
    assert.equal(partial?.partial, true);
    assert.deepEqual(await fileWorlds(files('domain: 3\n'), ['/w/desk.world.yaml'], '/w'), []);
  });
});
