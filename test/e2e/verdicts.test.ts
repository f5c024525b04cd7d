/** A batch is scored again in VS Code, an attempt is labeled, and both pages show who says what. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { Bench } from '../support/cli.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;

describe('verdicts in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  // Fails every attempt.
  const first = readFileSync(path.join(folder, 'batches', 'first.batch.yaml'), 'utf8');
  writeFileSync(
    path.join(folder, 'batches', 'strict.batch.yaml'),
    first.replace(/^scorer: .*$/m, 'scorer: { kind: regex, name: strict, pattern: never-said }'),
  );
  const story = new Story('verdicts', folder, { viewport: { width: 1500, height: 950 } });
  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const cli = <T>(...args: string[]): Promise<T> =>
    (bench ??= new Bench({ store: story.code.server.store })).json<T>(args, { cwd: folder });

  story.step('Rescore Batch… asks for the scorer and opens the batch that scores', async () => {
    const { workbench } = story.code;
    await cli('run', 'batches/first.batch.yaml', '--attempts', '2');
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/first|desk/);
    await story.batch.shown();
    await workbench.command('Rollout: Rescore Batch…');
    await workbench.picks.filter({ hasText: /Scorer of the Batch/ }).waitFor({ timeout: PATIENCE_MS });
    await workbench.pick(/strict\.batch\.yaml/);
    await story.batch.heading.filter({ hasText: 'strict' }).waitFor({ timeout: PATIENCE_MS });
    await story.batch.progress.filter({ hasText: '2/2' }).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('the rollout that scores leads to the scored one, which is then labeled', async () => {
    const { workbench, page } = story.code;
    await story.batch.openCell(0, 1);
    await story.trajectory.shown();
    const frame = story.trajectory.frame;
    await frame.locator('.verdict-rescores .link').click();
    const verdicts = frame.getByRole('region', { name: 'Verdicts of all scorers' });
    await verdicts.getByText('strict').waitFor({ timeout: PATIENCE_MS });
    await story.trajectory.steps.focus();
    await page.keyboard.press('+');
    await verdicts.getByText('Verdicts disagree').waitFor({ timeout: PATIENCE_MS });
    await story.picture('verdicts-trajectory');
    await workbench.command('Rollout: Label Attempt…');
    await workbench.pick(/Failed/);
    await workbench.answerNext('the answer is wrong');
    await verdicts
      .locator('li', { has: frame.getByLabel('label of') })
      .getByLabel('failed')
      .waitFor({
        timeout: PATIENCE_MS,
      });
    assert.deepEqual(story.code.consoleErrors(), []);
  });

  story.step('verdicts of an edited verifier are marked on the page of the batch until it is right again', async () => {
    const { workbench, page } = story.code;
    const verifier = path.join(folder, 'worlds', 'library', 'verify.ts');
    const right = readFileSync(verifier, 'utf8');
    const { batch } = await cli<{ batch: string }>('run', 'batches/first.batch.yaml', '--attempts', '2');
    await workbench.command('View: Close All Editors');
    await workbench.command('Rollout: Open Batch…');
    await workbench.answer(batch);
    const rescored = async (): Promise<void> => {
      await page
        .locator('.tab')
        .filter({ hasText: /^first$/ })
        .click();
      await story.batch.shown();
      await workbench.command('Rollout: Rescore Batch…');
      await workbench.pick(/Scorer of the Batch/);
      await story.batch.heading.filter({ hasText: 'first · world' }).waitFor({ timeout: PATIENCE_MS });
      await story.batch.progress.filter({ hasText: '2/2' }).waitFor({ timeout: PATIENCE_MS });
      await workbench.command('View: Close Editor');
      await story.batch.heading.filter({ hasText: /^first$/ }).waitFor();
    };
    const marked = story.batch.frame.getByRole('button', { name: /disagree/ });
    writeFileSync(verifier, right.replace('passed = failed.length === 0', 'passed = failed.length > 0'));
    await rescored();
    await marked.filter({ hasText: '2' }).waitFor({ timeout: PATIENCE_MS });
    await marked.click();
    await story.batch.grid
      .getByRole('gridcell', { name: /disagree/ })
      .first()
      .waitFor();
    await story.picture('verdicts-edited');
    writeFileSync(verifier, right);
    await rescored();
    await story.batch.frame.getByText('No attempt matches').waitFor({ timeout: PATIENCE_MS });
  });
});
