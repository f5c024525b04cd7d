/**
 * Fidelity in VS Code: a recorded batch is compared with a faithful and with a faulty world. The page lists the errors
 * that the faulty one plants, of each kind, and leads to each call, in the replay and in the recording.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { FrameLocator, Locator } from 'playwright-core';
import { Bench, root } from '../support/cli.ts';
import { responses } from '../support/worldCalls.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;
/** Kinds of errors that the demo model plants, and the names of their classes on the page. */
const FOUND = ['status', 'keys', 'deterministic', 'pre-existing'] as const;

/** Adds a world that plays the same library with errors on purpose. */
function faultyWorld(folder: string): void {
  const at = (name: string): string => path.join(folder, 'worlds', name);
  const world = readFileSync(at('library-sim.world.yaml'), 'utf8');
  writeFileSync(
    at('faulty.world.yaml'),
    world.replace(/endpoint: .*/, "endpoint: 'demo:?world=faulty'").replace('name: library-sim', 'name: faulty'),
  );
}

/** Adds a batch whose agents use a real MCP server, each attempt its own. */
function memoryServer(folder: string, pids: string): void {
  const fixture = path.join(root, 'test', 'fixtures', 'mcp', 'announced.mjs');
  const server = path.join(root, 'node_modules', '@modelcontextprotocol', 'server-memory', 'dist', 'index.js');
  const write = (file: string, value: object): void =>
    writeFileSync(path.join(folder, file), JSON.stringify({ version: 1, ...value }));
  write('agents/memory.agent.yaml', {
    name: 'memory',
    prompt: 'Follow the directions.',
    model: { endpoint: 'demo:', name: 'demo' },
    tools: [{ mcp: { command: process.execPath, args: [fixture, pids, server] }, name: 'memory' }],
  });
  const tasks = ['Ada', 'Bob'].map((name) => ({
    id: name.toLowerCase(),
    question:
      `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": ["reads"]}]}\n` +
      `call read_graph {}\ncall delete_entities {"entityNames": ["${name}"]}\ncall read_graph {}\nanswer {{last}}`,
    answer: 'entities',
  }));
  writeFileSync(path.join(folder, 'data', 'memory.jsonl'), tasks.map((task) => JSON.stringify(task)).join('\n'));
  write('batches/memory.batch.yaml', {
    agent: '../agents/memory.agent.yaml',
    dataset: { file: '../data/memory.jsonl' },
    scorer: { kind: 'contains' },
    attempts: 2,
    sandbox: 'off',
  });
}

describe('fidelity in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  faultyWorld(folder);
  const story = new Story('fidelity', folder, { viewport: { width: 1600, height: 1000 } });
  let bench: Bench | undefined;
  let recorded: string;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const frame = (): FrameLocator => story.code.workbench.webview();
  const rows = (): Locator =>
    frame()
      .getByRole('listbox', { name: /^Predicted calls/ })
      .getByRole('option');
  const foot = (): Locator => frame().locator('.fidelity-foot');
  const chip = (name: string): Locator =>
    frame().getByRole('group', { name: 'Only calls with' }).getByRole('button', { name });
  /** Returns the numbers of calls in the foot, once the page has read all. */
  const counts = async (): Promise<{ shown: number; all: number }> => {
    const [, shown = '', all = ''] = /^([\d,]+) of ([\d,]+) calls/.exec(await foot().innerText()) ?? [];
    return { shown: Number(shown.replaceAll(',', '')), all: Number(all.replaceAll(',', '')) };
  };
  const compare = async (world: string): Promise<void> => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Compare World with Recording…');
    await workbench.pick(new RegExp(`${world}\\.world\\.yaml`));
    await workbench.pick(new RegExp(recorded));
    await workbench.pick('Teacher-Forced');
    await workbench.pick('No Judge');
    await story.code.page
      .locator('.monaco-dialog-box')
      .getByText(/\d+ calls to predict/)
      .waitFor({ timeout: PATIENCE_MS });
    await story.code.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Compare' }).click();
    await frame().getByRole('heading', { level: 1, name: world }).waitFor({ timeout: PATIENCE_MS });
  };

  story.step('a faithful world predicts every call of a recorded batch as it was', async () => {
    bench = new Bench({ store: story.code.server.store });
    const run = ['run', 'batches/desk.batch.yaml', '--attempts', '2', '--limit', '11'];
    ({ batch: recorded } = await bench.json<{ batch: string }>(run, { cwd: folder }));
    await compare('library-sim');
    await frame().getByText('100%').first().waitFor({ timeout: PATIENCE_MS });
    await until(
      async () =>
        (await frame()
          .getByText(/rollouts done/)
          .count()) === 0,
      PATIENCE_MS,
      'its end',
    );
    // The last calls are read after the end.
    await until(
      async () => {
        const { all } = await counts();
        return all > 50 && (await chip('as predicted').innerText()).includes(`${all} as predicted`);
      },
      PATIENCE_MS,
      'all calls as predicted',
    );
    await story.pictures('fidelity-faithful');
  });

  story.step('of a faulty world, the page shows the errors of each kind, the worst calls first', async () => {
    await compare('faulty');
    await until(
      async () =>
        (await counts()).all > 50 &&
        (await frame()
          .getByText(/rollouts done/)
          .count()) === 0,
      PATIENCE_MS,
      'its end',
    );
    for (const name of FOUND) await chip(name).waitFor();
    const shares = (await frame().locator('.fidelity-row .fidelity-number').allInnerTexts()).map((text) =>
      Number.parseInt(text, 10),
    );
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => a - b),
      'the worst first',
    );
    assert.ok((shares[0] ?? 100) < 50);
    await story.pictures('fidelity-faulty');
  });

  story.step('a call shows the prediction next to the result, and what differs', async () => {
    const { page } = story.code;
    await chip('deterministic').click();
    await rows().first().click();
    const detail = frame().locator('.fidelity-detail');
    await detail.getByRole('region', { name: 'Predicted by faulty' }).waitFor();
    await detail.getByRole('region', { name: 'Recorded response' }).waitFor();
    const differences = detail.getByRole('region', { name: 'Differences' }).getByRole('row');
    await differences.filter({ hasText: 'deterministic' }).first().waitFor();
    await story.pictures('fidelity-call');
    await page.keyboard.press('0');
  });

  story.step('a call leads into the replay and the recording, at that call', async () => {
    const { page } = story.code;
    await chip('status').click();
    await rows().first().click();
    const tool = await frame().locator('.fidelity-detail h2').innerText();
    const [task = ''] = /[\w-]+\/\d+/.exec(await frame().locator('.fidelity-detail-head').innerText()) ?? [];
    await page.keyboard.press('Enter');
    await story.trajectory.shown();
    await story.trajectory.selected.filter({ hasText: tool }).waitFor({ timeout: PATIENCE_MS });
    await story.trajectory.frame.getByRole('region', { name: 'Predicted by faulty' }).waitFor();
    await story.pictures('fidelity-replay');
    await story.code.workbench.command('View: Close Editor');
    await rows().first().waitFor();
    await frame()
      .getByRole('button', { name: 'Recorded Call' })
      .or(frame().getByRole('link', { name: 'Recorded Call' }))
      .first()
      .click();
    await story.trajectory.shown();
    await story.trajectory.selected.filter({ hasText: tool }).waitFor({ timeout: PATIENCE_MS });
    const [id = '', attempt = ''] = task.split('/');
    await page
      .locator('.tab.active')
      .filter({ hasText: new RegExp(`${id}.*${attempt}`) })
      .waitFor();
    assert.equal(await story.trajectory.frame.getByRole('region', { name: 'Predicted by faulty' }).count(), 0);
  });

  story.step('a real MCP server is imitated from its recording alone, and its page says how well', async () => {
    const { workbench } = story.code;
    assert.ok(bench !== undefined);
    const batches: Record<string, string> = {};
    const json = async (name: string, ...args: readonly string[]): Promise<string> => {
      const { batch } = await bench!.json<{ batch: string }>(args, { cwd: folder });
      return (batches[name] = batch);
    };
    memoryServer(folder, bench.path('servers'));
    const of = await json('recorded', 'run', 'batches/memory.batch.yaml');
    // Of one task alone, so that the other one shows what the recording does not know.
    writeFileSync(
      path.join(folder, 'worlds', 'imitation.world.yaml'),
      JSON.stringify({ version: 1, name: 'imitation', kind: 'recorded', from: [`${of}/ada`] }),
    );
    for (const how of ['forced', 'free']) {
      const free = how === 'free' ? ['--free'] : [];
      await json(how, 'world', 'fidelity', of, '--world', 'worlds/imitation.world.yaml', ...free);
    }
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(new RegExp(batches['free'] ?? ''));
    await story.batch.shown();
    await story.batch.button(/^Fidelity/).click();
    await frame().getByRole('heading', { level: 1, name: 'imitation' }).waitFor({ timeout: PATIENCE_MS });
    await frame().getByText('free-running').first().waitFor();
    // The line of the other mode is there, too.
    await frame().locator('.fidelity-key').filter({ hasText: 'teacher-forced' }).waitFor({ timeout: PATIENCE_MS });
    // The same figures, from the responses that the store has of both batches.
    const api = await apiOf(story.code.server.store);
    const figures = { all: 0, right: 0 };
    for (const { rollout } of await attemptsOf(api, batches['free'] ?? '')) {
      const events = (await Array.fromAsync(api.allEvents(rollout))).flat();
      const seen = responses(events);
      const predictions = events.flatMap((event) =>
        event.kind === 'score' && event.data.prediction !== undefined ? [event.data.prediction.response] : [],
      );
      figures.all += predictions.length;
      figures.right += predictions.filter((response, at) => isDeepStrictEqual(response, seen[at])).length;
    }
    await frame().getByText(`${figures.right}/${figures.all}`, { exact: true }).first().waitFor();
    assert.ok(figures.right > 0 && figures.right < figures.all, JSON.stringify(figures));
    assert.deepEqual(await counts(), { shown: figures.all, all: figures.all });
    await frame().locator('.fidelity-detail').getByText('This call is not in the recording').first().waitFor();
    await story.pictures('fidelity-imitation');
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
