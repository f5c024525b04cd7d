// `rollout world drive`: a world of the sample workspace by JSON lines, and what is kept of the session.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { drivenSession, drive as format } from '../../src/formats/drive.ts';
import { type DriveMessage, type DriveRequest, driveMessage } from '../../src/protocol/drive.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { root } from '../support/cli.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';

type Wanted = DriveRequest extends infer Each ? (Each extends { id: number } ? Omit<Each, 'id'> : never) : never;
const LOAN = { loan_id: 'L-3001' };
const LOAN_ID = { id: 'L-3001' };
const renew: Wanted = { op: 'call', tool: 'renew_loan', arguments: LOAN };

describe('a driven world', { timeout: 480_000 }, () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-drive-'));
    await run(['init', folder], '');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function run(args: readonly string[], input: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const child = spawn(process.execPath, [path.join(root, 'dist/cli.mjs'), ...args], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    child.stdin.end(input);
    return text(child.stdout);
  }

  /** Drives the world with these requests, and returns what it says. */
  async function driven(wanted: readonly Wanted[], ...options: readonly string[]): Promise<DriveMessage[]> {
    const lines = wanted.map((request, id) => `${JSON.stringify({ ...request, id })}\n`).join('');
    const output = await run(['world', 'drive', 'worlds/library.world.yaml', ...options], lines);
    return output
      .trim()
      .split('\n')
      .map((line) => driveMessage.parse(JSON.parse(line)));
  }

  it('answers calls, goes back to states, and begins branches there with the rows of that state', async () => {
    const messages = await driven([renew, renew, { op: 'go', state: 1 }, renew, { op: 'go', state: 0 }, renew]);
    const due = messages.flatMap((message) =>
      message.type === 'called' ? [[message.state, message.call.changes?.[0]?.after] as const] : [],
    );
    const rows = due.map(([state, row]) => [state, JSON.stringify(row).match(/"renewals":(\d)/)?.[1]]);
    assert.deepEqual(rows.slice(0, 2), [
      [1, '1'],
      [2, '2'],
    ]);
    assert.deepEqual(rows.slice(2), [
      [3, '2'],
      [4, '1'],
    ]);
    const last = messages.at(-1);
    assert.deepEqual(last?.type === 'called' && last.states.map(({ parent }) => parent), [undefined, 0, 1, 1, 0]);
  });

  it('judges a state, and keeps the path to it as a demonstration that is imported as a trajectory', async () => {
    const [opened, , , verdict] = await driven(
      [
        { op: 'call', tool: 'return_book', arguments: LOAN },
        { op: 'go', state: 0 },
        { op: 'verify', answer: 'May' },
        renew,
      ],
      ...['--task', 'renew-one', '--keep', 'demonstration'],
    );
    assert.ok(opened?.type === 'opened' && opened.task === 'renew-one' && opened.canVerify);
    assert.ok(verdict?.type === 'verdict' && verdict.verdict.passed === false);
    const file = path.join(folder, 'demonstrations', 'library.renew-one.json');
    const written = readFileSync(file, 'utf8');
    const [session] = drivenSession.array().parse(JSON.parse(written));
    assert.deepEqual(
      session?.calls.map(({ tool }) => tool),
      ['renew_loan'],
      'the other branch is not on the path',
    );
    assert.ok(format.detect(written, 'x.json'));
    const imported = await format.read(
      {
        name: 'x.json',
        elements: async function* () {
          yield await Promise.resolve({ value: session });
        },
      },
      { batch: 'b1', at: 0 },
    );
    const [rollout] = await Array.fromAsync(imported.rollouts());
    const model = new TrajectoryModel();
    model.push(rollout?.events ?? []);
    assert.deepEqual(
      model.tools.map((span) => span.start.data.name),
      ['renew_loan'],
    );
    assert.equal(model.diffs.length, 1);
    assert.equal(model.scores[0]?.data.passed, false);
  });

  it('keeps another path to the same task in a file of its own, and the same one once', async () => {
    const keep: Wanted = { op: 'keep', as: 'solution' };
    const messages = await driven([
      renew,
      keep,
      keep,
      { op: 'go', state: 0 },
      { op: 'call', tool: 'list_loans', arguments: { member_id: 'M-1001' } },
      keep,
    ]);
    const files = messages.flatMap((message) => (message.type === 'kept' ? path.basename(message.file) : []));
    const first = `${files[0]?.replace(/\.json$/, '')}`;
    assert.deepEqual(files, [`${first}.json`, `${first}.json`, `${first}.2.json`]);
  });

  it('begins a branch at once, which goes on from a copy of its state', async () => {
    const messages = await driven([renew, { op: 'branch' }, renew, { op: 'go', state: 1 }, renew]);
    const last = messages.at(-1);
    assert.deepEqual(last?.type === 'called' && last.states.map(({ parent, tool }) => [parent, tool]), [
      [undefined, undefined],
      [0, 'renew_loan'],
      [1, undefined],
      [2, 'renew_loan'],
      [1, 'renew_loan'],
    ]);
    assert.ok(last?.type === 'called' && /"renewals":2/.test(JSON.stringify(last.call.changes?.[0]?.after)));
  });

  it('asks the judge of its world about any state, and says what the judge needs', async () => {
    await using judge = await chatEndpoint((request, response) =>
      answerText(response, JSON.stringify(request.body['messages']).includes('renewed L-3001') ? 'yes' : 'no'),
    );
    const write = (name: string, text: string): Promise<void> => writeFile(path.join(folder, name), text);
    await write(
      'worlds/judged.ts',
      `import { tool, type OpenWorld } from 'rollout-studio';
import { z } from 'zod';
export const open: OpenWorld<string[]> = (_task, _seed, from) => {
  const own: string[] = from === undefined ? [] : JSON.parse(new TextDecoder().decode(from));
  return { state: own,
  snapshot: () => new TextEncoder().encode(JSON.stringify(own)),
  tools: { renew: tool({ description: 'Renews.', input: z.object({ id: z.string() }),
    run: ({ id }, { state }) => state.push('renewed ' + id) }) },
  verify: async ({ state }, { ask }) => {
    const said = await ask('judge', 'Is this right? ' + state.join());
    return { value: said === 'yes' ? 1 : 0, passed: said === 'yes', explanation: 'the judge says ' + said };
  } };
};
`,
    );
    const model = `{ endpoint: '${judge.url}', name: tiny, api_key: '\${env:JUDGE_KEY}' }`;
    await write(
      'worlds/judged.world.yaml',
      `version: 1\nname: judged\nkind: module\nmodule: judged.ts\nmodels: { judge: ${model} }\n`,
    );
    await write(
      'batches/judged.batch.yaml',
      (await readFile(path.join(folder, 'batches/first.batch.yaml'), 'utf8')).replace('library.world', 'judged.world'),
    );
    const requests: Wanted[] = [
      { op: 'verify' },
      { op: 'call', tool: 'renew', arguments: LOAN_ID },
      { op: 'verify' },
      { op: 'go', state: 0 },
      { op: 'verify' },
    ];
    const lines = requests.map((request, id) => `${JSON.stringify({ ...request, id })}\n`).join('');
    const verdicts = async (env: NodeJS.ProcessEnv): Promise<unknown[]> =>
      (await run(['world', 'drive', 'worlds/judged.world.yaml'], lines, env))
        .trim()
        .split('\n')
        .map((line) => driveMessage.parse(JSON.parse(line)))
        .flatMap((message): unknown[] =>
          message.type === 'verdict'
            ? [[message.verdict.state, message.verdict.passed, message.verdict.explanation]]
            : message.type === 'failed'
              ? [message.message]
              : [],
        );
    assert.deepEqual(await verdicts({ JUDGE_KEY: 'k-123' }), [
      [0, false, 'the judge says no'],
      [1, true, 'the judge says yes'],
      [0, false, 'the judge says no'],
    ]);
    assert.equal(judge.seen[0]?.headers.authorization, 'Bearer k-123');
    const [missing] = await verdicts({});
    assert.match(String(missing), /The side model judge needs JUDGE_KEY, which is not set/);
  });

  it('reports what cannot be done, and goes on', async () => {
    const messages = await driven([
      { op: 'call', tool: 'nope', arguments: {} },
      { op: 'go', state: 7 },
      { op: 'keep', as: 'test' },
      { op: 'call', tool: 'renew_loan', arguments: { loan_id: 'L-0' } },
      { op: 'states' },
    ]);
    assert.deepEqual(
      messages.map(({ type }) => type),
      ['opened', 'failed', 'failed', 'failed', 'called', 'at'],
    );
    const last = messages.at(-1);
    assert.ok(last?.type === 'at' && last.states.length === 1, 'a failed call leads to no state');
  });
});
