/** A cluster from VS Code: added, installed, used for a batch that loses a pod, and left unchanged. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { expand } from '../../e2e/support/expand.ts';
import { answerFile } from '../../e2e/support/fileDialog.ts';
import { until } from '../../e2e/support/poll.ts';
import { attemptsOf, SAMPLE_ATTEMPTS, sampleFolder } from '../../e2e/support/sample.ts';
import { Story } from '../../e2e/support/story.ts';
import { podsOf } from '../support/batches.ts';
import { ClusterBench } from '../support/clusterBench.ts';
import { chooseInstallOptions } from '../support/installForm.ts';

const PATIENCE_MS = 90_000;
/** Its name in the window. */
const NAME = 'kit';
const CONTEXT = 'of-another-file';
/** In the workspace. */
const MODELS_FILE = 'serving/models.yaml';
const TASKS = 8;
const ATTEMPTS = TASKS * SAMPLE_ATTEMPTS;
describe('a cluster in VS Code', { timeout: 10 * 60_000 }, () => {
  const folder = sampleFolder('latency_ms=800&tail=lognormal&slots=16&chunks=6');
  let bench: ClusterBench;
  let batch = '';
  /** The pod that was deleted. */
  let victim = '';
  before(async () => {
    bench = await ClusterBench.open('vscode');
    const tasks = path.join(folder, 'data', 'tasks.jsonl');
    writeFileSync(tasks, `${readFileSync(tasks, 'utf8').split('\n').slice(0, TASKS).join('\n')}\n`);
    mkdirSync(path.join(folder, path.dirname(MODELS_FILE)));
    writeFileSync(
      path.join(folder, MODELS_FILE),
      'models:\n  small: { model: Qwen/Qwen3-8B, gpu: a100-40 }\n  judge: { model: Qwen/Qwen3-32B, gpu: a100-80 }\n',
    );
    const file = path.join(folder, 'batches', 'desk.batch.yaml');
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}\nconcurrency: 16\npods: ${JSON.stringify(podsOf(bench.site))}\n`,
    );
  });
  const story = new Story('cluster', folder, { settings: { 'workbench.tree.expandMode': 'singleClick' } });
  after(() => bench.close());

  const ended = (rows: readonly RolloutRow[]): number => rows.filter(({ state }) => state === 'ended').length;

  story.step('is added by a command, which knows the contexts of the kubeconfig', async () => {
    const { workbench } = story.code;
    assert.equal(await workbench.offers('Rollout: Uninstall from Target…'), false, 'nothing to uninstall from yet');
    await workbench.command('Rollout: Add Target…');
    await workbench.picks.filter({ hasText: bench.site.cluster.context }).first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-contexts');
    // The same cluster, by a context that only another file has.
    const kube = new KubeConfig();
    kube.loadFromFile(bench.site.kubeconfig);
    const context = kube.getContextObject(bench.site.cluster.context);
    assert.ok(context !== null);
    kube.addContext({ ...context, name: CONTEXT });
    const file = path.join(folder, 'another.kubeconfig');
    writeFileSync(file, kube.exportConfig());
    assert.equal(await workbench.picks.filter({ hasText: CONTEXT }).count(), 0);
    await workbench.pick('Another Kubeconfig…');
    await answerFile(workbench, /[\\/]/, file);
    await workbench.picks.filter({ hasText: CONTEXT }).first().click({ timeout: PATIENCE_MS });
    for (const [step, text] of [
      ['2/3', bench.namespace],
      ['3/3', NAME],
    ] as const) {
      await workbench.inputTitle.filter({ hasText: step }).waitFor();
      await workbench.answer(text);
    }
    await workbench.toast(/It has no rollout server yet/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('is in the Targets view, with what was found once it is opened', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Focus on Targets View');
    // Enough height: rows outside the view are not in the document.
    for (const other of ['Batches', 'Agents and Tools'])
      await workbench.page.getByRole('button', { name: `${other} Section` }).click();
    await workbench.treeItem(/^Store/).waitFor({ timeout: PATIENCE_MS }); // of local, which moves the next item
    await workbench.treeItem(new RegExp(`^Target ${NAME}, context`)).click();
    await workbench.treeItem(/^Server, missing/).waitFor({ timeout: PATIENCE_MS });
    await workbench.treeItem(/rollout cluster install/).waitFor();
    // Opened once, it stays open.
    await expand(workbench, /^Checks, \d+ ok/, /^Cluster, ok, Kubernetes v/, PATIENCE_MS);
    await story.picture('cluster-missing');
  });

  const changes = /Install on kit \(namespace .*\): (\d+) objects to create/;
  /** Waits for the changes; returns the number of new objects. */
  const toCreate = async (): Promise<number> => {
    const title = story.code.workbench.inputTitle.filter({ hasText: changes });
    await title.waitFor({ timeout: PATIENCE_MS });
    return Number(changes.exec((await title.textContent()) ?? '')?.[1]);
  };
  let withModels = 0;

  story.step('would install the models of a file', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Install on Target…');
    await workbench.inputTitle.filter({ hasText: `Install on ${NAME}` }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-install');
    await chooseInstallOptions(workbench, bench.site.arguments);
    await story.picture('cluster-options');
    await workbench.pick('Models');
    await workbench.picks.filter({ hasText: MODELS_FILE }).waitFor();
    await story.sizes('cluster-models');
    await workbench.pick(MODELS_FILE);
    await workbench.picks.filter({ hasText: `models of ${MODELS_FILE}` }).waitFor();
    await story.sizes('cluster-models-chosen');
    await workbench.pick('Show Changes');
    withModels = await toCreate();
    await story.sizes('cluster-models-changes');
    await workbench.pick('Cancel');
  });

  story.step('learns what exists after an install is cancelled midway', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Install on Target…');
    await workbench.inputTitle.filter({ hasText: `Install on ${NAME}` }).waitFor({ timeout: PATIENCE_MS });
    await chooseInstallOptions(workbench, bench.site.arguments);
    // The nodes have no GPUs, so the model is taken back.
    await workbench.pick('Models');
    await workbench.pick('One Model…');
    await workbench.page.getByPlaceholder('Qwen/Qwen3-32B').waitFor();
    await workbench.answer('Qwen/Qwen3-8B');
    await workbench.pick('A100 80 GB');
    await workbench.picks.filter({ hasText: /Models.*Qwen\/Qwen3-8B/s }).waitFor();
    await workbench.pick('Models');
    await workbench.pick('Unchanged');
    await workbench.picks.filter({ hasText: /Models.*none/s }).waitFor();
    await workbench.pick('Show Changes');
    // A Deployment, a Service, a network policy, and a budget for each of the two models of the file.
    assert.equal(withModels - (await toCreate()), 8);
    await story.picture('cluster-changes');
    assert.equal(await bench.cluster.get('Deployment', 'rollout-studio'), undefined, 'nothing is applied before that');
    await workbench.pick(/^Apply \d+ Changes/);
    // Its pod is still pending.
    await until(
      () => /kit: created +Deployment rollout-studio/.test(story.code.server.hostLogs()),
      PATIENCE_MS,
      'each object’s line in the log',
    );
    await workbench.toastButton(/Installing on kit/, 'Cancel');
    await workbench
      .toast(/Installing on kit was cancelled. Completed changes remain; run the command again to continue/)
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-cancelled');
    assert.ok((await bench.cluster.get('Deployment', 'rollout-studio')) !== undefined, 'what was done stays');
    assert.equal(await workbench.toast(/rollout server (on|of) kit/).count(), 0);
  });

  story.step(
    'gets its server by doing it again: with the options it has, and what is there already stays as it is',
    async () => {
      const { workbench } = story.code;
      await workbench.clearToasts();
      await workbench.command('Rollout: Install on Target…');
      await workbench.inputTitle.filter({ hasText: 'Upgrade kit' }).waitFor({ timeout: PATIENCE_MS });
      assert.equal(await workbench.input.inputValue(), bench.site.image, 'the option that it has');
      await workbench.input.press('Enter');
      await workbench.pick('Show Changes');
      await workbench.toast(/Upgraded the rollout server of kit/).waitFor({ timeout: 2 * PATIENCE_MS });
      await workbench.toastButton(/Upgraded the rollout server of kit/, 'Use This Target');
      assert.match(story.code.server.hostLogs(), /kit: same +Deployment rollout-studio/);
      await workbench.treeItem(/^Server, ok, rollout-studio/).waitFor({ timeout: PATIENCE_MS });
      await workbench.treeItem(/^Target kit, in use, 0 running/).waitFor({ timeout: PATIENCE_MS });
      await workbench.treeItem(/^Target local, this machine/).waitFor();
      await story.picture('cluster-used');
    },
  );

  story.step('runs a batch, whose grid fills', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.pickEach([`All ${TASKS}`, /from the file/i], PATIENCE_MS);
    await workbench.picks
      .filter({ hasText: /in use/ })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-launch', { width: 1010, height: 560 });
    await workbench.picks
      .filter({ hasText: /in use/ })
      .first()
      .click();
    await story.batch.shown();
    const { api } = await bench.connection();
    batch = await until(async () => (await api.batches()).batches[0]?.batch, PATIENCE_MS, 'the batch in the cluster');
    await until(
      async () => (await story.batch.cells()).some(({ state }) => state === 'running'),
      PATIENCE_MS,
      'a running attempt',
    );
    await until(
      async () => (await story.batch.cells()).some(({ state }) => /passed|failed/.test(state)),
      PATIENCE_MS,
      'an attempt that ended',
    );
  });

  story.step('loses a pod in mid-run, and ends complete all the same', async () => {
    const { api } = await bench.connection();
    // One with progress to lose.
    const lost = await until(
      async () => {
        const rows = await attemptsOf(api, batch);
        assert.ok(ended(rows) < ATTEMPTS, 'it is still running');
        return ended(rows) >= 2 ? await bench.busiest(batch) : undefined;
      },
      PATIENCE_MS,
      'a worker’s pod',
    );
    victim = lost.metadata.name;
    await story.picture('cluster-running');
    assert.ok(await bench.cluster.remove('Pod', victim, { graceSeconds: 0 }));
    await bench.assertSettledOnce(batch, ATTEMPTS);
    assert.ok((await bench.infra(batch)).some((text) => text.includes(victim)));
    await story.batch.progress
      .filter({ hasText: new RegExp(`${ATTEMPTS}/${ATTEMPTS}`) })
      .waitFor({ timeout: PATIENCE_MS });
    await until(
      async () => (await story.batch.cells()).every(({ state }) => /passed|failed/.test(state)),
      PATIENCE_MS,
      'every cell with an outcome',
    );
    await story.picture('cluster-ended');
  });

  story.step('reports on the page of an attempt what became of its pod', async () => {
    const { workbench } = story.code;
    const { api } = await bench.connection();
    const rows = await attemptsOf(api, batch);
    const report = (await bench.workspace.events(batch)).findLast(
      (event) => event.kind === 'infra' && event.data.pod === victim,
    );
    assert.ok(report !== undefined);
    // Of the rollouts that began in the pod and continued in another, the one with the most events.
    let found: RolloutRow | undefined;
    let most = -1;
    for (const row of rows) {
      const events = await bench.workspace.events(row.rollout);
      const [first, second, ...more] = events.flatMap((event) => (event.kind === 'rollout.lease' ? [event] : []));
      if (
        first?.data.worker !== victim ||
        second === undefined ||
        more.length > 0 ||
        (events.at(-1)?.at ?? 0) <= report.at
      )
        continue;
      const done = events.filter(({ kind, seq }) => kind === 'tool.end' && seq < second.seq).length;
      if (done > most) [found, most] = [row, done];
    }
    assert.ok(found !== undefined, 'an attempt that began in the pod went on in another');
    await workbench.command('Rollout: Open Trajectory…');
    await workbench.input.fill(found.rollout);
    await workbench.pick(new RegExp(`Open ${found.rollout}`));
    await story.trajectory.shown();
    const axis = story.trajectory.frame.getByRole('region', { name: 'Time axis' });
    await axis.getByText('infrastructure', { exact: true }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-trajectory');
    // Its lane is the last of the time axis, and describes what is under the pointer.
    let titles: readonly string[] = [];
    await until(
      async () => {
        titles = await axis.locator('canvas').evaluate(titlesOfLastLane);
        return titles.some(
          (title) => title.includes(victim) && /^(worker ended|worker leaving|pod deleted|pod handover)/.test(title),
        );
      },
      PATIENCE_MS,
      'the pod’s end on the time axis',
    ).catch((error: unknown) => assert.fail(`${String(error)}: ${titles.join(' | ')}`));
  });

  story.step('is left as it was', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Uninstall from Target…');
    const dialog = workbench.dialog(/Uninstall the rollout server from kit/);
    await dialog.waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-uninstall');
    await dialog.getByRole('button', { name: 'Uninstall and Delete Volumes' }).click();
    await workbench
      .toast(/Uninstalled the rollout server from kit. This window now uses this machine/)
      .waitFor({ timeout: 2 * PATIENCE_MS });
    assert.equal(
      await bench.cluster.get('Namespace', bench.namespace),
      undefined,
      'also the namespace that was created for it',
    );
    await workbench.treeItem(/^Target local, in use/).waitFor({ timeout: PATIENCE_MS });
    await workbench.treeItem(new RegExp(`^Target ${NAME}, context`)).waitFor();
    await workbench.treeItem(/^Server, missing/).waitFor({ timeout: PATIENCE_MS });
    await story.picture('cluster-gone');
    await workbench.command('Rollout: Remove Target…');
    await workbench
      .dialog(/Remove target kit/)
      .getByRole('button', { name: 'Remove', exact: true })
      .click();
    await workbench.treeItem(new RegExp(`^Target ${NAME}`)).waitFor({ state: 'hidden' });
  });

  story.step('saw no error anywhere', async () => {
    assert.deepEqual(story.code.consoleErrors(), []);
    assert.equal(await story.code.workbench.toast(/error|unforeseen/i).isVisible(), false);
  });
});

/** Runs in the page: a canvas's descriptions where a pointer moves along its lower edge. */
function titlesOfLastLane(canvas: SVGElement | HTMLElement): string[] {
  const { left, bottom, width } = canvas.getBoundingClientRect();
  const titles = new Set<string>();
  for (let x = 0; x < width; x += 3) {
    canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + x, clientY: bottom - 10, bubbles: true }));
    titles.add(canvas.getAttribute('title') ?? '');
  }
  return [...titles];
}
