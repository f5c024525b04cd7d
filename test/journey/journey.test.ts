/**
 * The whole journey on real counterparts: VS Code, a cluster, and two replicas of vLLM behind a headless Service. From
 * the installation to the last settled attempt, with a pod and a replica lost in between.
 */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import type { Api } from '../../src/protocol/api.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { podsOf } from '../cluster/support/batches.ts';
import { ClusterBench } from '../cluster/support/clusterBench.ts';
import { HeadlessService } from '../cluster/support/headlessService.ts';
import { chooseInstallOptions } from '../cluster/support/installForm.ts';
import { expand } from '../e2e/support/expand.ts';
import { until } from '../e2e/support/poll.ts';
import { attemptsOf, emptyFolder } from '../e2e/support/sample.ts';
import { Story } from '../e2e/support/story.ts';
import { root } from '../support/cli.ts';
import { ofKind } from '../support/testWorkspace.ts';
import { Engine } from '../vllm/support/engine.ts';
import { deskTasks } from '../vllm/support/tasks.ts';

const PATIENCE_MS = 180_000;
/** Of the target. */
const NAME = 'kit';
const SERVICE = 'models';
const TASKS = 24;
const ATTEMPTS = 6;
const ALL = TASKS * ATTEMPTS;
/** Attempts at once, so that both replicas and both pods are busy until the end. */
const CONCURRENCY = 12;
const REPLICAS = ['vllm-0', 'vllm-1'] as const;

/** The library desk of the tiny model, for pods. */
function deskFolder(): string {
  const folder = emptyFolder();
  for (const name of ['desk.ts', 'desk.world.yaml', 'desk.agent.yaml'])
    cpSync(path.join(root, 'examples/training/workspace', name), path.join(folder, name));
  const agent = path.join(folder, 'desk.agent.yaml');
  writeFileSync(
    agent,
    readFileSync(agent, 'utf8').replace(/endpoint: .*/, `endpoint: ${HeadlessService.url(SERVICE)}`),
  );
  const tasks = deskTasks(TASKS, 5).map((task) => JSON.stringify(task));
  writeFileSync(path.join(folder, 'tasks.jsonl'), `${tasks.join('\n')}\n`);
  return folder;
}

describe('the whole journey', { timeout: 30 * 60_000 }, () => {
  const folder = deskFolder();
  const engines = new Map<string, Engine>();
  /** They take minutes, while the server is installed. */
  let started: Promise<void>;
  let bench: ClusterBench;
  let service: HeadlessService;
  let api: Api;
  let batch = '';
  /** The pod that was deleted. */
  let victim = '';
  const cleanUp = new AsyncDisposableStack();
  before(async () => {
    bench = await ClusterBench.open('journey');
    cleanUp.defer(() => bench.close());
    const pods = JSON.stringify(podsOf(bench.site));
    writeFileSync(
      path.join(folder, 'desk.batch.yaml'),
      `version: 1\nagent: desk.agent.yaml\nworld: desk.world.yaml\ndataset: { file: tasks.jsonl }\nseed: 7\n` +
        `attempts: ${ATTEMPTS}\nconcurrency: ${CONCURRENCY}\nscorer: { kind: exact }\npods: ${pods}\n`,
    );
    started = startEngines();
    started.catch(() => undefined); // reported by the step that waits for them
  });
  const story = new Story('whole-journey', folder, { settings: { 'workbench.tree.expandMode': 'singleClick' } });
  after(async () => {
    await started.catch(() => undefined);
    await cleanUp.disposeAsync();
  });

  /** One after the other: the first one may have to install vLLM and to make the model. */
  async function startEngines(): Promise<void> {
    for (const name of REPLICAS) {
      const engine = await Engine.start(`journey-${name}`, []);
      cleanUp.defer(() => engine.stop());
      engines.set(name, engine);
    }
  }

  const rows = (): Promise<RolloutRow[]> => attemptsOf(api, batch);

  /** Opens the attempt in the grid by keyboard. */
  async function open({ task, attempt }: RolloutRow): Promise<void> {
    const tasks = [...new Set((await story.batch.cells()).map((cell) => cell.task))];
    await story.batch.openCell(tasks.indexOf(task), attempt);
    await story.trajectory.shown();
    assert.equal((await story.trajectory.heading.innerText()).trim(), task);
  }

  story.step('adds the cluster as a target', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Add Target…');
    await workbench.picks.filter({ hasText: bench.site.cluster.context }).first().click({ timeout: PATIENCE_MS });
    for (const [step, text] of [
      ['2/3', bench.namespace],
      ['3/3', NAME],
    ] as const) {
      await workbench.inputTitle.filter({ hasText: step }).waitFor();
      await workbench.answer(text);
    }
    await workbench.toast(/It has no rollout server yet/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('installs the server', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Focus on Targets View');
    for (const other of ['Batches', 'Agents and Tools'])
      await workbench.page.getByRole('button', { name: `${other} Section` }).click();
    await workbench.treeItem(new RegExp(`^Target ${NAME}, context`)).click();
    await workbench.command('Rollout: Install on Target…');
    await workbench.inputTitle.filter({ hasText: `Install on ${NAME}` }).waitFor({ timeout: PATIENCE_MS });
    await chooseInstallOptions(workbench, bench.site.arguments);
    await workbench.pick('Show Changes');
    await workbench.inputTitle.filter({ hasText: /objects to create/ }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('journey-changes');
    await workbench.pick(/^Apply \d+ Changes/);
    const installed = /Installed the rollout server on kit/;
    await workbench.toast(installed).waitFor({ timeout: 2 * PATIENCE_MS });
    await workbench.toastButton(installed, 'Use This Target');
    await expand(workbench, /^Checks, \d+ ok/, /^Server, ok, rollout-studio/, PATIENCE_MS);
    await story.picture('journey-install');
    ({ api } = await bench.connection());
    service = await HeadlessService.create(bench.cluster, SERVICE);
    await started;
    for (const [name, engine] of engines) await service.replica(name, engine, 'ready');
  });

  story.step('launches the batch from the palette', async () => {
    const { workbench } = story.code;
    await workbench.clearToasts();
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.pickEach([`All ${TASKS}`, /from the file/i, /in use/], PATIENCE_MS);
    await story.batch.shown();
    batch = await until(async () => (await api.batches()).batches[0]?.batch, PATIENCE_MS, 'the batch in the cluster');
  });

  story.step('sees the grid fill', async () => {
    await until(
      async () => {
        const states = (await story.batch.cells()).map(({ state }) => state);
        return states.includes('running') && states.some((state) => /passed|failed/.test(state));
      },
      PATIENCE_MS,
      'attempts that run, and one that has ended',
    );
    await story.picture('journey-grid');
    const busy = await until(
      async () => {
        const { endpoints } = await api.server();
        const calls = endpoints.filter(({ replica }) => replica !== undefined);
        return calls.length === REPLICAS.length ? calls : undefined;
      },
      PATIENCE_MS,
      'both replicas',
    );
    assert.deepEqual(busy.map(({ replica }) => replica).sort(), [...REPLICAS]);
  });

  story.step('sees a reply stream into a trajectory', async () => {
    const { batch: page, trajectory, code } = story;
    const ended = async (rollout: string): Promise<boolean> =>
      (await rows()).some((row) => row.rollout === rollout && row.state === 'ended');
    await until(
      async () => {
        const { rollout } = await openHeld();
        const body = trajectory.frame.locator('body');
        await body.evaluate(recordLiveTexts);
        await code.workbench.command('Rollout: Resume');
        const result = await until(
          async () => {
            const before = await ended(rollout);
            if ((await body.evaluate(recordedLiveTexts)).length > 0) return 'seen';
            return before ? 'missed' : undefined;
          },
          PATIENCE_MS,
          'a reply',
        );
        if (result === 'seen') return true;
        // Its replies were complete before the page had a word of them: another one is slower.
        await code.workbench.command('Rollout: Open Batch…');
        await code.workbench.picks.first().click();
        await page.shown();
        return false;
      },
      2 * PATIENCE_MS,
      'a text on the page before its reply is complete',
    );
    await story.picture('journey-stream');
  });

  /** Opens an attempt that waits for its next call. Most of those that run are at their last one. */
  async function openHeld(): Promise<RolloutRow> {
    const { batch: page } = story;
    const held = await until(
      async () => {
        await page.button(/^Pause/).click();
        const all = await until(
          async () => {
            const now = await rows();
            return now.some(({ state }) => state === 'running') ? undefined : now;
          },
          PATIENCE_MS,
          'the pause',
        );
        for (const row of all) if (await callsNext(row)) return row;
        await page.button(/^Resume/).click();
        const ended = (list: readonly RolloutRow[]): number => list.filter(({ state }) => state === 'ended').length;
        await until(async () => ended(await rows()) > ended(all), PATIENCE_MS, 'the next attempts');
        return undefined;
      },
      2 * PATIENCE_MS,
      'an attempt that is held before a call of the model, or after one that requested tools',
    );
    await open(held);
    return held;
  }

  /** Whether the attempt is held where a call of the model follows. */
  async function callsNext({ rollout, state, progress }: RolloutRow): Promise<boolean> {
    if (state !== 'held') return false;
    if (progress.hold?.side === 'before') return true;
    const [last] = ofKind(await bench.workspace.events(rollout), 'model.end').reverse();
    return last?.data.finish_reason === 'tool_calls';
  }

  story.step('loses a pod and a replica in mid-run', async () => {
    const lost = await until(async () => (await bench.workers(batch))[0], PATIENCE_MS, 'a worker’s pod');
    const counts = (await api.batch(batch)).counts;
    assert.ok(counts.passed + counts.failed < ALL, 'it still runs');
    victim = lost.metadata.name;
    await bench.cluster.remove('Pod', victim, { graceSeconds: 0 });
    const [name] = REPLICAS;
    await engines.get(name)?.down();
    await service.replica(name, engines.get(name) ?? assert.fail(), 'notReady');
    await until(
      async () => (await bench.infra(batch)).some((text) => text.includes(`Replica ${name}`)),
      PATIENCE_MS,
      'the replica’s loss in the record',
    );
  });

  story.step('steps through a trajectory, and inspects a tool call inline', async () => {
    const { trajectory, code } = story;
    const called = await until(
      async () => (await rows()).find(({ state, progress }) => state === 'ended' && progress.tool_calls > 0),
      PATIENCE_MS,
      'an attempt with a tool call',
    );
    await code.workbench.command('Rollout: Open Trajectory…');
    await code.workbench.input.fill(called.rollout);
    await code.workbench.pick(new RegExp(`Open ${called.rollout}`));
    await until(async () => (await trajectory.heading.innerText()).trim() === called.task, PATIENCE_MS, 'its page');
    await trajectory.shown();
    await trajectory.steps.focus();
    const first = await trajectory.move('Home', (at) => at === 1);
    await trajectory.move('j', (at) => at === first + 1);
    await trajectory.move('k', (at) => at === first);
    await until(
      async () => {
        if (await trajectory.region('Arguments').isVisible()) return true;
        const { at } = await trajectory.position();
        await trajectory.move('j', (now) => now > at);
        return false;
      },
      PATIENCE_MS,
      'a tool call',
    );
    await trajectory.region('Arguments').filter({ hasText: /\w/ }).waitFor();
    await trajectory.region('Result').filter({ hasText: /\w/ }).waitFor();
    await story.picture('journey-call');
  });

  story.step('ends with every attempt settled once', async () => {
    await bench.assertSettledOnce(batch, ALL);
    const said = await bench.infra(batch);
    for (const name of [victim, `Replica ${REPLICAS[0]}`])
      assert.ok(
        said.some((text) => text.includes(name)),
        `${name}: ${said.join('\n')}`,
      );
    await story.code.workbench.command('Rollout: Open Batch…');
    await story.code.workbench.picks.first().click();
    await story.batch.shown();
    await story.batch.progress.filter({ hasText: new RegExp(`${ALL}/${ALL}`) }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('journey-ended');
    await story.batch.button(/^\d incidents?$/).click();
    await story.batch.frame
      // As the pod may still hand its rollouts over
      .getByText(/workers? (lost|had to stop)/)
      .first()
      .waitFor();
    await story.picture('journey-lost');
  });

  story.step('saw no error anywhere', async () => {
    assert.deepEqual(story.code.consoleErrors(), []);
    assert.equal(await story.code.workbench.toast(/error|unforeseen/i).isVisible(), false);
  });
});

/** Runs in the page: records each text of a reply that is still being written, from its first words on. */
function recordLiveTexts(body: SVGElement | HTMLElement): void {
  const texts: string[] = [];
  Object.assign(window, { liveTexts: texts });
  new MutationObserver(() => {
    const text = body.querySelector('[aria-label="Live text"] .prose')?.textContent ?? '';
    if (text.trim().length >= 8 && !text.startsWith('Waiting for') && text !== texts.at(-1)) texts.push(text);
  }).observe(body, { childList: true, subtree: true, characterData: true });
}

/** Runs in the page. */
function recordedLiveTexts(): string[] {
  return (window as unknown as { readonly liveTexts: string[] }).liveTexts;
}
