/** `rollout world drive` on a published scenario, by JSON lines and without a batch file. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { drivenSession } from '../../src/formats/drive.ts';
import { type DriveMessage, type DriveRequest, driveMessage } from '../../src/protocol/drive.ts';
import { root } from '../support/cli.ts';
import { garden, writeGardens } from './support/gardenFolder.ts';
import { testPython } from './support/python.ts';

type Wanted = DriveRequest extends infer Each ? (Each extends { id: number } ? Omit<Each, 'id'> : never) : never;

const WORLD = 'worlds/garden.world.yaml';
const assign = (gardener: number): Wanted => ({
  ...{ op: 'call', tool: 'assign_plot', arguments: { plot_id: 3, gardener_id: gardener } },
});
const free: Wanted = { op: 'call', tool: 'list_plots', arguments: { free: true } };

describe('a driven scenario', { timeout: 300_000 }, () => {
  let folder = '';

  before(async () => {
    const python = await testPython();
    folder = mkdtempSync(path.join(os.tmpdir(), 'world-drive-'));
    mkdirSync(path.join(folder, 'worlds'));
    writeGardens(path.join(folder, 'worlds', 'published'), { garden: garden(), orchard: garden() });
    writeWorld('garden', python);
    writeWorld('nowhere', path.join(folder, 'missing', 'python'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function writeWorld(name: string, python: string): void {
    const head = `version: 1\nname: ${name}\nkind: code\nformat: awm\nfrom: published\n`;
    writeFileSync(path.join(folder, 'worlds', `${name}.world.yaml`), `${head}python: ${JSON.stringify(python)}\n`);
  }

  /** Drives a world with these requests. Returns what it says, and its errors. */
  async function drive(
    args: readonly string[],
    wanted: readonly Wanted[] = [],
  ): Promise<{ readonly messages: readonly DriveMessage[]; readonly errors: string }> {
    const child = spawn(process.execPath, [path.join(root, 'dist/cli.mjs'), 'world', 'drive', ...args], {
      cwd: folder,
      env: { ...process.env, XDG_CACHE_HOME: path.join(folder, 'cache') },
    });
    const ended = once(child, 'close');
    child.stdin.end(wanted.map((request, id) => `${JSON.stringify({ ...request, id })}\n`).join(''));
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const lines = output.split('\n').filter((line) => line !== '');
    return { messages: lines.map((line) => driveMessage.parse(JSON.parse(line))), errors };
  }

  it('answers calls with changed rows, returns to states, branches there, and has the published verifier', async () => {
    const { messages, errors } = await drive(
      [WORLD, '--scenario', 'garden', '--task', '0', '--keep', 'demonstration'],
      [
        { op: 'verify', answer: 'done' },
        assign(2),
        free,
        { op: 'go', state: 0 },
        free,
        assign(3),
        { op: 'verify', answer: 'done' },
      ],
    );
    assert.equal(errors, '');
    const [opened] = messages;
    assert.ok(opened?.type === 'opened' && opened.canVerify && opened.canSnapshot);
    assert.deepEqual([opened.task, opened.batch], ['garden-0', undefined]);
    const calls = messages.flatMap((message) => (message.type === 'called' ? [message] : []));
    const changed = (index: number): unknown =>
      calls[index]?.call.changes?.map(({ table, op, after: row }) => [table, op, JSON.stringify(row)]);
    assert.match(JSON.stringify(changed(0)), /plots.*update.*gardener_id.*2/);
    assert.match(JSON.stringify(changed(3)), /plots.*update.*gardener_id.*3/);
    assert.deepEqual(changed(1) ?? [], []);
    const listed = (index: number): boolean => JSON.stringify(calls[index]?.call.result).includes('"id":3');
    assert.deepEqual([listed(1), listed(2)], [false, true], 'plot 3 is free again in the first state');
    assert.deepEqual(
      calls.at(-1)?.states.map(({ parent }) => parent),
      [undefined, 0, 1, 0, 3],
    );
    const verdicts = messages.flatMap((message) => (message.type === 'verdict' ? [message.verdict.passed] : []));
    assert.deepEqual(verdicts, [false, true]);
    const kept: unknown = JSON.parse(readFileSync(path.join(folder, 'demonstrations', 'garden.garden-0.json'), 'utf8'));
    const [session] = drivenSession.array().parse(kept);
    assert.deepEqual(
      session?.calls.map(({ tool }) => tool),
      ['list_plots', 'assign_plot'],
    );
    assert.deepEqual(
      [session.scenario, session.task_idx, session.verdict?.outcome],
      ['garden', 0, 'complete'],
      'the lint finds what it solves',
    );
  });

  it('names the tasks as datasets do', async () => {
    const { messages } = await drive([WORLD, '--scenario', 'orchard', '--task', 'orchard-1']);
    assert.ok(messages[0]?.type === 'opened' && messages[0].task === 'orchard-1');
    const unknown = await drive([WORLD, '--scenario', 'orchard', '--task', '7']);
    assert.match(unknown.errors, /The scenario orchard has no task 7\. It has 2 tasks: orchard-0 to orchard-1\./);
  });

  it('says which scenarios there are, and what to do without Python', async () => {
    const several = await drive([WORLD]);
    assert.match(several.errors, /No batch file .* uses worlds\/garden\.world\.yaml\. Name a scenario with --scenario/);
    const misspelled = await drive([WORLD, '--scenario', 'orchart']);
    assert.match(misspelled.errors, /there is no scenario `orchart` in published\. Did you mean `orchard`\?/);
    const lacking = await drive(['worlds/nowhere.world.yaml', '--scenario', 'garden']);
    assert.match(lacking.errors, /Worlds of kind code need .*python, which is missing\. .*`rollout world setup`/);
    assert.deepEqual(lacking.messages, []);
  });
});
