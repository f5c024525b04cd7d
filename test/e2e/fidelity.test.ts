/**
 * Fidelity in VS Code: a recorded batch is compared with a faithful and with a faulty world. The page lists the errors
 * that the faulty one plants, of each kind, and leads to each call, in the replay and in the recording.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import type { FrameLocator, Locator } from 'playwright-core';
import { Bench } from '../support/cli.ts';
import { until } from './support/poll.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;
const THEMES = { dark: 'Dark Modern', light: 'Light Modern', hc: 'Dark High Contrast' } as const;
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
  /** Takes pictures in each theme, and of a small window. */
  const pictures = async (name: string): Promise<void> => {
    if (process.env['ROLLOUT_PICTURES'] === undefined) return;
    const { page, workbench } = story.code;
    for (const [theme, title] of Object.entries(THEMES)) {
      await workbench.command('Preferences: Color Theme');
      await workbench.answer(title);
      await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      await story.picture(`${name}-${theme}`);
    }
    const size = page.viewportSize();
    await page.setViewportSize({ width: 640, height: 600 });
    await story.picture(`${name}-640`);
    if (size !== null) await page.setViewportSize(size);
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
    const { all } = await counts();
    assert.ok(all > 50, `${all} calls`);
    assert.match(await chip('as predicted').innerText(), new RegExp(`\\b${all} as predicted`));
    await pictures('fidelity-faithful');
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
    await pictures('fidelity-faulty');
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
    await pictures('fidelity-call');
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
    await pictures('fidelity-replay');
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
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
