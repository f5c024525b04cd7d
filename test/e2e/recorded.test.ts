/** A world is made of a recorded batch in VS Code, a batch runs in it, and each answer leads to the recorded call. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { Bench } from '../support/cli.ts';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;

describe('a recorded world in VS Code', { timeout: 480_000 }, () => {
  const folder = sampleFolder('latency_ms=10&slots=32');
  const story = new Story('recorded', folder, { viewport: { width: 1500, height: 950 } });
  let bench: Bench | undefined;
  let recorded: string;
  // The window owns the store and the server on it.
  after(() => {
    if (bench !== undefined) rmSync(bench.folder, { recursive: true, force: true });
  });

  story.step('New World from Recording… writes a world file and a batch file, and offers to launch it', async () => {
    const { workbench } = story.code;
    bench = new Bench({ store: story.code.server.store });
    const run = ['run', 'batches/first.batch.yaml', '--attempts', '2'];
    ({ batch: recorded } = await bench.json<{ batch: string }>(run, { cwd: folder }));
    await workbench.command('Rollout: Open Batch…');
    await workbench.pick(/first|desk/);
    await story.batch.shown();
    await workbench.command('Rollout: New World from Recording…');
    await workbench.pick(/All Attempts/);
    await workbench.answerNext('desk-recorded');
    await workbench.tab('desk-recorded.world.yaml').waitFor({ timeout: PATIENCE_MS });
    const text = (...parts: string[]): string => readFileSync(path.join(folder, ...parts), 'utf8');
    assert.match(
      text('worlds', 'desk-recorded.world.yaml'),
      new RegExp(`^name: desk-recorded\nkind: recorded\nfrom: \\[${recorded}\\]$`, 'm'),
    );
    const batch = text('batches', 'desk-recorded.batch.yaml');
    assert.match(batch, /^world: \.\.\/worlds\/desk-recorded\.world\.yaml$/m);
    assert.match(batch, /^scorer: \{ kind: contains \}/m);
    await story.picture('recorded-files');
  });

  story.step('the batch runs in it, with the same answers', async () => {
    const { workbench } = story.code;
    await workbench.toastButton(/desk-recorded\.batch\.yaml runs the same tasks/, 'Launch');
    await workbench.pick(/the only one of the dataset/);
    await workbench.pick(/from the file/);
    await story.batch.heading.filter({ hasText: 'desk-recorded' }).waitFor({ timeout: PATIENCE_MS });
    await workbench.command('Rollout: Focus on Worlds View');
    await workbench.treeItem(/^World desk-recorded, recorded · 1 recording/).waitFor({ timeout: PATIENCE_MS });
    await story.picture('recorded-batch');
  });

  story.step('an answer says that it is recorded, and leads to the recorded call', async () => {
    await story.batch.openCell(0, 1);
    await story.trajectory.shown();
    const { frame } = story.trajectory;
    const answered = frame.getByText('recorded', { exact: true }).first();
    await answered.waitFor({ timeout: PATIENCE_MS });
    await answered.click();
    const link = frame.getByTitle('Open the recorded call');
    await link.waitFor({ timeout: PATIENCE_MS });
    await story.picture('recorded-answer');
    const reference = (await link.textContent()) ?? '';
    await link.click();
    await frame.getByText(reference).first().waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
