/** A batch is exported from its page: a format, a selection, a preview, and the file with its manifest. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { Bench } from '../support/cli.ts';
import { answerFile } from './support/fileDialog.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;

describe('export in VS Code', { timeout: 600_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  const story = new Story('export', folder, { viewport: { width: 1500, height: 950 } });
  let bench: Bench | undefined;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });

  story.step('Export… asks for format and selection, previews, and writes a file with its manifest', async () => {
    const { workbench, page } = story.code;
    await workbench.openView('Rollout'); // starts the server
    bench = new Bench({ store: story.code.server.store });
    await bench.json(['run', 'batches/first.batch.yaml', '--attempts', '2'], { cwd: folder });
    await page.getByText(/first/).first().waitFor({ timeout: PATIENCE_MS });
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/first|desk/);
    await story.batch.shown();
    await workbench.command('Rollout: Export…');
    await workbench.picks.filter({ hasText: 'Supervised: ms-swift' }).waitFor({ timeout: PATIENCE_MS });
    await story.picture('export-formats');
    await workbench.pick(/Supervised: ms-swift/);
    await workbench.picks.filter({ hasText: 'Attempts per Task' }).waitFor({ timeout: PATIENCE_MS });
    await workbench.pick(/Attempts per Task/);
    await workbench.answer('1');
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
      .getByText(/Exported 1 attempt of/)
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
