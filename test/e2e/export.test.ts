/**
 * A batch with a mix is launched, filtered by a part, and exported from its page: a format, a selection, a preview, and
 * the file with its manifest.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { answerFile } from './support/fileDialog.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;

/** Its name sorts after that of the sample's own batch. */
const MIXED = `version: 1
agent: ../agents/desk.agent.yaml
world: ../worlds/library.world.yaml
dataset: { file: ../data/tasks.jsonl, question: question, answer: answer, limit: 2 }
attempts: 2
mix:
  - { name: cold, share: 50%, sampling: { temperature: 0.2 } }
  - { name: warm, share: 50%, sampling: { temperature: 1 } }
seed: 7
scorer: { kind: world }
`;
const ATTEMPTS = 4;

describe('export in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  const story = new Story('export', folder, { viewport: { width: 1500, height: 950 } });
  writeFileSync(path.join(folder, 'batches', 'mixed.batch.yaml'), MIXED);

  story.step('a launch says the parts of a mix, and the page shows how each does', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/mixed\.batch\.yaml/);
    await workbench.picks.filter({ hasText: /^All / }).first().click({ timeout: PATIENCE_MS });
    const fromFile = workbench.picks.filter({ hasText: /from the file/ }).first();
    await fromFile.filter({ hasText: 'Parts of the mix: cold 50%, warm 50%' }).click({ timeout: PATIENCE_MS });
    await story.batch.shown();
    const { frame, progress } = story.batch;
    await progress.filter({ hasText: `${ATTEMPTS}/${ATTEMPTS}` }).waitFor({ timeout: PATIENCE_MS });
    const parts = frame.getByRole('region', { name: /^Parts/ });
    await parts.getByRole('row', { name: /^cold 2 / }).waitFor({ timeout: PATIENCE_MS });
    await parts.getByRole('row', { name: /^warm 2 / }).waitFor();
    await story.picture('mix');
  });

  story.step('a click on a part filters by it, and a second click shows all again', async () => {
    const { frame } = story.batch;
    const part = story.batch.button('cold');
    const filter = frame.getByRole('textbox', { name: 'Filter' }).first();
    await part.click();
    await frame.getByRole('button', { name: 'cold', pressed: true }).waitFor({ timeout: PATIENCE_MS });
    assert.equal(await filter.inputValue(), 'part:cold');
    await frame.getByText(`2 of ${ATTEMPTS}`).first().waitFor({ timeout: PATIENCE_MS });
    await part.click();
    await frame.getByRole('button', { name: 'cold', pressed: false }).waitFor({ timeout: PATIENCE_MS });
    assert.equal(await filter.inputValue(), '');
  });

  story.step('Export… asks for format and selection, previews, and writes a file with its manifest', async () => {
    const { workbench, page } = story.code;
    await workbench.command('Rollout: Export…');
    await workbench.picks.filter({ hasText: 'Supervised: ms-swift' }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('export-formats');
    await workbench.pick(/Supervised: ms-swift/);
    await workbench.picks.filter({ hasText: 'Attempts per Task' }).waitFor({ timeout: PATIENCE_MS });
    await workbench.pick(/Attempts per Task/);
    await workbench.answerNext('1');
    await workbench.picks.filter({ hasText: 'at most 1' }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('export-selection');
    await workbench.pick(/^Preview/);
    await workbench.picks.filter({ hasText: 'Export to File' }).waitFor({ timeout: PATIENCE_MS });
    await page.getByText('Nothing is written yet.').first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('export-preview');
    await workbench.pick(/Export to File/);
    const file = path.join(folder, 'out.jsonl');
    await answerFile(workbench, /\.sft-swift\.jsonl$/, file);
    await page
      .getByText(/Exported [12] attempts? of/)
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await story.picture('export-done');
    const manifest = JSON.parse(readFileSync(path.join(folder, 'out.manifest.json'), 'utf8')) as {
      selection: unknown;
      taken: { lines: number };
    };
    assert.deepEqual(manifest.selection, { outcomes: ['passed'], per_task: 1 });
    assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, manifest.taken.lines);
    assert.equal(existsSync(`${file}.part`), false);
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
