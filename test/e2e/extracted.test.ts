/**
 * Extracted scenarios in VS Code: an edited verifier shows which stored verdicts it changes, and lines where calls
 * failed lead to the calls, and back.
 */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { missingPython } from '../../src/build/system/python.ts';
import { Bench } from '../support/cli.ts';
import { extractScenario } from '../worlds/support/extracted.ts';
import { writeGardenBatch } from '../worlds/support/gardenBatch.ts';
import { garden, replaced } from '../worlds/support/gardenFolder.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;
const QUESTIONS = {
  right: 'call assign_plot {"plot_id": 3, "gardener_id": 3}\nanswer done',
  wrong: 'call assign_plot {"plot_id": 3, "gardener_id": 2}\nanswer done',
  fails: 'call get_plot {"plot_id": 2}\nanswer done',
};
const FAILING = '        details.crops = [planting.crop for planting in plot.plantings]\n';
const BROKEN = "        details.crops = [planting.crop for planting in {}['plantings']]\n";

const skip = missingPython() ?? false;

describe('extracted scenarios in VS Code', { timeout: 600_000, skip }, () => {
  if (skip !== false) return;
  const folder = sampleFolder();
  const story = new Story('extracted', folder, { viewport: { width: 1600, height: 1000 } });
  const copy = path.join(folder, 'worlds', 'garden_copy');
  const verifier = path.join(copy, 'gen_verifier.pure_code', 'garden.0.py');
  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });
  const cli = <T>(...args: string[]): Promise<T> =>
    (bench ??= new Bench({ store: story.code.server.store })).json<T>(args, { cwd: folder });
  /** Replaces a text of the open file, and saves it. */
  const edit = async (from: string, to: string): Promise<void> => {
    const { workbench, page } = story.code;
    await page.locator('.editor-group-container.active .monaco-editor .view-lines').first().click();
    await workbench.goTo(from);
    await page.keyboard.insertText(to);
    await page.keyboard.press('Control+S');
  };

  story.step('an extracted verifier offers to verify the stored verdicts of its task', async () => {
    const { workbench } = story.code;
    const published = garden();
    published.code = replaced(published.code, FAILING, BROKEN);
    const files = await writeGardenBatch({ questions: QUESTIONS, published });
    try {
      cpSync(files, folder, { recursive: true });
    } finally {
      rmSync(files, { recursive: true, force: true });
    }
    await extractScenario(path.join(folder, 'worlds', 'published'), 'garden', copy);
    await cli('run', 'batches/garden.batch.yaml');
    await workbench.openFile('gen_verifier.pure_code/garden.0.py');
    await workbench.codeLens(/Verify Stored Verdicts/).click({ timeout: PATIENCE_MS });
    await workbench.codeLens(/None of 3 stored verdicts changes/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('saving an edit shows which verdicts it changes, and leads to the check', async () => {
    const { workbench } = story.code;
    await edit('after == 3', 'after == 2');
    const lens = workbench.codeLens(/2 of 3 stored verdicts change: 1 passes, 1 fails/);
    await lens.waitFor({ timeout: PATIENCE_MS });
    await story.picture('extracted-verifier');
    await lens.click();
    await workbench.picks.filter({ hasText: /wrong · attempt 1.*failed → passed/ }).waitFor();
    await workbench.pick(/right · attempt 1/);
    await story.trajectory.shown();
    await story.trajectory.frame.getByText('code verifier').first().waitFor({ timeout: PATIENCE_MS });
  });

  story.step('an error of the verifier is underlined', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    await workbench.openFile('gen_verifier.pure_code/garden.0.py');
    await edit('final.execute(others).fetchall', 'final.execute(others).nothing');
    await workbench.codeLens(/None of 3 stored verdicts changes: 3 cannot be judged/).waitFor({ timeout: PATIENCE_MS });
    await workbench.squiggle('error').waitFor({ timeout: PATIENCE_MS });
    await edit('final.execute(others).nothing', 'final.execute(others).fetchall');
    await workbench.codeLens(/2 of 3 stored verdicts change: 1 passes, 1 fails/).waitFor({ timeout: PATIENCE_MS });
    await workbench.squiggle('error').waitFor({ state: 'detached', timeout: PATIENCE_MS });
    assert.match(readFileSync(verifier, 'utf8'), /after == 2/);
  });

  story.step('a line of the code where calls failed shows them, and a call leads back to its line', async () => {
    const { workbench, page } = story.code;
    await workbench.command('View: Close All Editors');
    const code = path.join(copy, 'gen_envs', 'garden.py');
    writeFileSync(code, `# A line more than was recorded.\n${readFileSync(code, 'utf8')}`);
    const line = readFileSync(code, 'utf8').slice(0, readFileSync(code, 'utf8').indexOf(BROKEN)).split('\n').length;
    await workbench.openFile('gen_envs/garden.py');
    await page.keyboard.press('Control+G');
    await workbench.answer(`:${line}`);
    await workbench.codeLens(/1 call failed here/).click({ timeout: PATIENCE_MS });
    const peek = page.locator('.peekview-widget');
    await peek.locator('.preview .codelens-decoration a').filter({ hasText: 'Open Step' }).first().click();
    await story.trajectory.selected.filter({ hasText: 'get_plot' }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('extracted-failed-call');
    await story.trajectory.frame
      .getByRole('button', { name: /garden\.py:\d+/ })
      .first()
      .click();
    await workbench.tab('garden.py').waitFor({ timeout: PATIENCE_MS });
    await workbench.atLine(line).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('without an extracted file, the recorded code opens at the line', async () => {
    const { workbench } = story.code;
    await workbench.command('View: Close All Editors');
    const { batch } = await cli<{ batch: string }>('run', 'batches/rooms.batch.yaml');
    const { shown } = await cli<{
      shown: readonly { readonly error: { readonly place: { readonly line: number } } }[];
    }>('tools', batch, '--calls', 'show_booking', '--errors');
    const line = shown[0]?.error.place.line ?? 0;
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/rooms/);
    await story.batch.shown();
    await story.batch.cell('study_rooms-2', 1).dblclick({ timeout: PATIENCE_MS });
    await story.trajectory.shown();
    const rows = story.trajectory.steps.getByRole('treeitem').filter({ hasText: 'show_booking' });
    await rows.last().click(); // the question names the tool, too
    await story.trajectory.frame
      .getByRole('button', { name: `study_rooms.py:${line}` })
      .first()
      .click();
    await workbench.tab('study_rooms.py').waitFor({ timeout: PATIENCE_MS });
    await workbench.atLine(line).waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
