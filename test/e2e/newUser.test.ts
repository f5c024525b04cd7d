/** The first fifteen minutes of a new user, in a real VS Code with the extension installed. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { Place, TraceEvent } from '../../src/trace/schema.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, emptyFolder, SAMPLE_ATTEMPTS, SAMPLE_TASKS } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 90_000;

describe('a new user', { timeout: 600_000 }, () => {
  const folder = emptyFolder();
  /** The attempt that was opened before it ended. */
  let underWay = '';
  let thrownAt: Place = { file: '', line: 1, column: 1 };
  const story = new Story('new-user', folder);

  /** Waits for an attempt that has ended and matches. */
  async function firstWith<T>(
    look: (events: readonly TraceEvent[]) => T | undefined,
    what: string,
  ): Promise<{ readonly rollout: string; readonly task: string; readonly found: T }> {
    const api = await apiOf(story.code.server.store);
    const [row] = (await api.batches()).batches;
    assert.ok(row !== undefined);
    const seen = new Set<string>();
    return until(
      async () => {
        for (const { rollout, task, state } of await attemptsOf(api, row.batch)) {
          if (state !== 'ended' || seen.has(rollout)) continue;
          seen.add(rollout);
          const events: TraceEvent[] = [];
          for await (const page of api.allEvents(rollout)) events.push(...page);
          const found = look(events);
          if (found !== undefined) return { rollout, task, found };
        }
        return undefined;
      },
      300_000,
      what,
    );
  }

  /** Opens a trajectory by a reference. */
  async function open(reference: string, task: string): Promise<void> {
    const { workbench } = story.code;
    await workbench.command('Rollout: Open Trajectory…');
    await workbench.input.fill(reference);
    await workbench.pick(new RegExp(`Open ${reference}`));
    await until(async () => (await story.trajectory.heading.innerText()).trim() === task, PATIENCE_MS, 'its page');
    await story.trajectory.shown();
  }

  story.step('gets a workspace that runs, without a question', async () => {
    await story.code.workbench.command('Rollout: Create Sample Workspace');
    await until(
      () =>
        existsSync(path.join(folder, 'batches', 'desk.batch.yaml')) &&
        existsSync(path.join(folder, 'tools', 'loans.ts')),
      PATIENCE_MS,
      'the sample',
    );
    // Two at a time: most are still pending at the pause, even where the window is slow.
    const file = path.join(folder, 'batches', 'desk.batch.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('attempts: 8', 'attempts: 8\nconcurrency: 2'));
  });

  story.step('launches it with three answers', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.pickEach([`All ${SAMPLE_TASKS}`, /from the file/i], PATIENCE_MS);
    await story.batch.shown();
    assert.match(await story.batch.heading.innerText(), /desk/);
  });

  story.step('sees the grid fill', async () => {
    // Cells that were seen running, and the outcome of the same ones.
    const early = await until(
      async () => {
        const cells = await story.batch.cells();
        return cells.some((cell) => cell.state === 'running') &&
          cells.some((cell) => cell.state === 'queued' || cell.state === 'running')
          ? cells
          : undefined;
      },
      PATIENCE_MS,
      'a running attempt',
    );
    const underWay = early.filter((cell) => cell.state === 'queued' || cell.state === 'running');
    await until(
      async () => {
        const now = await story.batch.cells();
        return underWay.some(({ task, attempt }) =>
          now.some((cell) => cell.task === task && cell.attempt === attempt && /passed|failed/.test(cell.state)),
        );
      },
      PATIENCE_MS,
      'an attempt that ends while one looks',
    );
    await story.batch.progress.filter({ hasText: new RegExp(`\\d+/${SAMPLE_TASKS * SAMPLE_ATTEMPTS}`) }).waitFor();
  });

  story.step('pauses it, and opens a running attempt by keyboard', async () => {
    const { batch, trajectory } = story;
    const api = await apiOf(story.code.server.store);
    const id = (await api.batches()).batches[0]?.batch ?? '';
    await until(
      async () => (await attemptsOf(api, id)).some((one) => one.state === 'running' && one.progress.steps >= 2),
      PATIENCE_MS,
      'an attempt with steps behind it',
    );
    await batch.button(/^Pause/).click();
    await until(async () => (await api.batch(id)).state === 'paused', PATIENCE_MS, 'the pause');
    // Running rollouts are held at their next gate, with some steps done and some pending.
    const row = await until(
      async () =>
        (await attemptsOf(api, id))
          .filter((one) => one.state === 'held')
          .sort((x, y) => y.progress.steps - x.progress.steps)[0],
      PATIENCE_MS,
      'an attempt that is held',
    );
    underWay = row.rollout;
    const cells = await until(
      async () => {
        const now = await batch.cells();
        return now.some(
          (cell) => cell.task === row.task && cell.attempt === row.attempt && cell.state.startsWith('held'),
        )
          ? now
          : undefined;
      },
      PATIENCE_MS,
      'the cell of it',
    );
    const tasks = [...new Set(cells.map((cell) => cell.task))];
    await batch.openCell(tasks.indexOf(row.task), row.attempt);
    await trajectory.shown();
    assert.equal((await trajectory.heading.innerText()).trim(), row.task);
  });

  story.step('steps through it by keyboard', async () => {
    const { trajectory } = story;
    await trajectory.steps.focus();
    const first = await trajectory.move('Home', (at) => at === 1);
    const second = await trajectory.move('j', (at) => at === first + 1);
    await trajectory.move('k', (at) => at === first);
    // A whole step: past the messages before the first of them.
    await trajectory.move('Shift+J', (at) => at >= second);
    await trajectory.move('End', (at, of) => at === of);
  });

  story.step('follows it as it continues', async () => {
    const { trajectory } = story;
    const api = await apiOf(story.code.server.store);
    const held = (await api.rollout(underWay)).row;
    assert.equal(held.state, 'held', 'it has not ended meanwhile');
    await trajectory.move('Home', (at) => at === 1);
    await trajectory.move('.', (at, of) => at === of);
    const last = await trajectory.selected.first().innerText();
    await story.code.workbench.command('Rollout: Resume');
    await until(async () => (await api.rollout(underWay)).row.last > held.last + 1, PATIENCE_MS, 'its next step');
    await until(
      async () => {
        const { at, of } = await trajectory.position();
        return at === of && (await trajectory.selected.first().innerText()) !== last;
      },
      PATIENCE_MS,
      'the page at what came since',
    );
  });

  story.step("sees a tool's arguments and result", async () => {
    await story.trajectory.steps.focus();
    await story.trajectory.move('Home', (at) => at === 1);
    await until(
      async () => {
        if (await story.trajectory.region('Arguments').isVisible()) return true;
        const { at } = await story.trajectory.position();
        await story.trajectory.move('j', (now) => now > at);
        return false;
      },
      PATIENCE_MS,
      'a tool call',
    );
    await story.trajectory.region('Arguments').filter({ hasText: /\w/ }).waitFor();
    await story.trajectory.region('Result').filter({ hasText: /\w/ }).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('opens a step of several calls by its reference, goes into it and out of it', async () => {
    const { trajectory } = story;
    const { rollout, task, found } = await firstWith(severalCalls, 'a step of several calls');
    await open(`${rollout}:${found}`, task);
    await trajectory.selected.filter({ hasText: /\d calls/ }).waitFor();
    const { at: step } = await trajectory.position();
    await trajectory.steps.focus();
    await trajectory.move('l', (at) => at === step + 1);
    await trajectory.move('h', (at) => at === step);
    // Over the calls, to the next step and back.
    await trajectory.move('Shift+J', (at) => at > step + 1);
    await trajectory.move('Shift+K', (at) => at === step);
  });

  story.step('opens a trajectory with an error by its reference', async () => {
    const { rollout, task, found } = await firstWith(placeOfRefusal, 'a tool that refuses');
    await open(rollout, task);
    thrownAt = found;
  });

  story.step('goes to the error, and from there to the tool’s source line', async () => {
    await story.trajectory.steps.focus();
    // A failed attempt opens at its failed check, behind the calls.
    await story.trajectory.move('Home', (at) => at === 1);
    // An earlier failure may have no line of its own: an unknown tool, invalid arguments.
    await until(
      async () => {
        await story.trajectory.press('e');
        return story.trajectory.source.waitFor({ timeout: 3_000 }).then(
          () => true,
          () => false,
        );
      },
      60_000,
      'an error with a line',
    );
    assert.equal(await story.trajectory.source.getAttribute('aria-label'), `Open ${thrownAt.file}:${thrownAt.line}`);
    await story.trajectory.source.focus();
    await story.trajectory.press('Enter');
    await story.code.workbench.tab(path.basename(thrownAt.file)).waitFor();
    await story.code.workbench.atLine(thrownAt.line).waitFor();
    assert.match(
      readFileSync(path.join(folder, thrownAt.file), 'utf8').split('\n')[thrownAt.line - 1] ?? '',
      /throw|Error|refuse/,
    );
  });

  story.step('saw no error anywhere', async () => {
    assert.deepEqual(story.code.consoleErrors(), []);
    assert.equal(await story.code.workbench.toast(/error|unforeseen/i).isVisible(), false);
  });
});

/** Where a tool refused a call by throwing. */
function placeOfRefusal(events: readonly TraceEvent[]): Place | undefined {
  for (const event of events)
    if (event.kind === 'tool.end' && event.data.error?.place !== undefined) return event.data.error.place;
  return undefined;
}

/** Number of a step that requested several calls: few enough that they are not grouped. */
function severalCalls(events: readonly TraceEvent[]): number | undefined {
  const model = new TrajectoryModel();
  model.push(events);
  return model.steps.find(({ tools }) => tools.length === 2)?.index;
}
