import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { menus } from '../../../../src/host/contributions/menus.ts';
import type { TaskEntry } from '../../../../src/host/views/batches/batchContents.ts';
import {
  agoText,
  attemptItem,
  batchItem,
  debugRunsItem,
  passRateText,
  taskItem,
} from '../../../../src/host/views/batches/batchNodes.ts';
import { OUTCOME_ICONS } from '../../../../src/host/views/itemContent.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { batchRow, rolloutRow, scored } from '../rows.ts';

const HOUR = 3_600_000;

describe('outcomes', () => {
  it('have distinct icons, so that none depends on color', () => {
    const shapes = Object.values(OUTCOME_ICONS).map(({ id }) => id);
    assert.equal(new Set(shapes).size, shapes.length);
  });
});

describe('a batch’s row', () => {
  it('shows the progress while it runs', () => {
    const look = batchItem(batchRow({ counts: { passed: 8, failed: 4, running: 2, queued: 82 } }), 2 * HOUR);
    assert.equal(look.description, '12/96 · 67% of 12 passed · 2 h ago');
    assert.equal(look.context, 'batch.running');
    assert.equal(look.icon?.id, 'loading~spin');
    assert.match(look.ariaLabel, /^Batch desk, running, 12\/96/);
  });
  it('calls the rate pass@1 only when every attempt was scored', () => {
    assert.equal(passRateText(batchRow({ state: 'ended', counts: { passed: 42, failed: 54 } })), 'pass@1 0.44');
    assert.equal(
      passRateText(batchRow({ state: 'ended', counts: { passed: 42, failed: 53, infrastructure: 1 } })),
      '44% of 95 passed',
    );
    assert.equal(passRateText(batchRow()), '');
  });
  it('distinguishes how it ended', () => {
    const icon = (row: Parameters<typeof batchRow>[0]): string | undefined =>
      batchItem(batchRow({ state: 'ended', ...row }), 0).icon?.id;
    assert.deepEqual(
      [icon({}), icon({ reason: 'cancelled' }), icon({ counts: { infrastructure: 1 } }), icon({ state: 'paused' })],
      ['table', 'circle-slash', 'warning', 'debug-pause'],
    );
  });
  it('says that its trajectories were trimmed, and why', () => {
    const trimmed = { at: new Date().getTime(), rule: 'rule 1: name nightly' };
    const look = batchItem(batchRow({ state: 'ended', trimmed }), 2 * HOUR);
    assert.match(look.description ?? '', /trimmed · 2 h ago$/);
    assert.match(
      look.tooltip ?? '',
      /^Trajectories were trimmed on .* \(rule 1: name nightly\)\. The results stay\.$/m,
    );
  });
  it('has no commands that need trajectories once they were trimmed', () => {
    const whole = [batchItem(batchRow({ state: 'ended' }), 0), attemptItem(rolloutRow({}), 0)];
    const trimmed = [
      batchItem(batchRow({ state: 'ended', trimmed: { at: 0 } }), 0),
      attemptItem({ ...rolloutRow({}), trimmed: true }, 0),
    ];
    const commands = (items: readonly { readonly context?: string }[]): string[] =>
      items.flatMap(({ context }) =>
        (menus['view/item/context'] ?? []).flatMap(({ command, when }) => {
          const [, exact, pattern] = /viewItem (?:== (\S+)|=~ \/(\S+)\/)/.exec(when) ?? [];
          const isShown = pattern === undefined ? exact === context : new RegExp(pattern).test(context ?? '');
          return when.includes('view == rollout.batches') && isShown ? [command] : [];
        }),
      );
    const [all, left] = [commands(whole), new Set(commands(trimmed))];
    assert.deepEqual([...new Set(all.filter((command) => !left.has(command)))].sort(), [
      'rollout.compareAttempts',
      'rollout.compareWorld',
      'rollout.debug',
      'rollout.fork',
      'rollout.newRecordedWorld',
      'rollout.rescoreBatch',
      'rollout.retryUnsettled',
    ]);
  });
  it('shows relative times in words', () => {
    assert.deepEqual([5_000, 5 * 60_000, 3 * HOUR, 24 * HOUR, 80 * HOUR].map(agoText), [
      'just now',
      '5 min ago',
      '3 h ago',
      '1 day ago',
      '3 days ago',
    ]);
  });
});

function task(rows: readonly RolloutRow[], complete = true): TaskEntry {
  return {
    task: 't1',
    question: 'How many?',
    level: 2,
    scenario: undefined,
    rows: new Map(rows.map((row) => [row.attempt, row])),
    complete,
    next: undefined,
  };
}

describe('a task’s row', () => {
  it('counts passed and running attempts', () => {
    const look = taskItem(
      task([
        scored('t1', 1, true),
        scored('t1', 2, false),
        rolloutRow({ attempt: 3, state: 'running', settles: false }),
      ]),
      { attempts: 4 },
    );
    assert.equal(look.description, '1/4 passed · 1 running');
    assert.equal(look.icon?.id, OUTCOME_ICONS.running.id);
    assert.equal(look.tooltip, 'How many?\nlevel 2');
  });
  it('names the scenario of its world, unless its own name begins with it', () => {
    const entry = { ...task([]), scenario: 'town_library' };
    const look = taskItem(entry, { attempts: 4 });
    assert.equal(look.description, 'town_library · 0/4 passed');
    assert.equal(look.tooltip, 'How many?\nlevel 2\nscenario town_library');
    assert.equal(taskItem({ ...entry, task: 'town_library-0' }, { attempts: 4 }).description, '0/4 passed');
  });
  it('shows the best outcome, and distinguishes all passed from some passed', () => {
    const icon = (...rows: RolloutRow[]): string | undefined => taskItem(task(rows), { attempts: 2 }).icon?.id;
    assert.equal(icon(scored('t1', 1, true), scored('t1', 2, true)), 'pass-filled');
    assert.equal(icon(scored('t1', 1, true), scored('t1', 2, false)), 'pass');
    assert.equal(icon(scored('t1', 1, false), scored('t1', 2, false, { progress: { status: 'truncated' } })), 'close');
    assert.equal(icon(rolloutRow({ settles: false, progress: { status: 'infrastructure' } })), 'warning');
    assert.equal(icon(rolloutRow({ state: 'queued', settles: false })), 'circle-outline');
  });
  it('is the text of the task in a recording, on one line', () => {
    const entry = { ...task([]), question: 'Your user ID is mia_li_3668.\n\nYou want to fly to Seattle.' };
    const look = taskItem(entry, { attempts: 4, imported: true });
    assert.equal(look.label, 'Your user ID is mia_li_3668. You want to fly to Seattle.');
    assert.match(look.tooltip ?? '', /^t1\n/);
    assert.match(look.description ?? '', /^t1 · 0\/4 passed/);
    assert.equal(taskItem({ ...entry, question: ' ' }, { attempts: 4, imported: true }).label, 't1');
  });
  it('says nothing about unknown attempts', () => {
    const look = taskItem(task([scored('t1', 1, true)], false), { attempts: 4000 });
    assert.equal(look.description, '');
    assert.equal(look.icon?.id, 'list-flat');
  });
});

describe('an attempt’s row', () => {
  it('shows its outcome in words', () => {
    const look = attemptItem(
      scored('t1', 3, false, { try: 2, progress: { error_class: 'tool_error', error_message: 'it broke' } }),
      0,
    );
    assert.equal(look.label, 'Attempt 3');
    assert.equal(look.description, 'failed · try 2 · 3 steps · 1.0 s · tool error');
    assert.match(look.tooltip ?? '', /score 0\n.*\nit broke$/);
    assert.equal(look.context, 'attempt');
  });
  it('can be stopped while it runs or is held', () => {
    assert.equal(attemptItem(rolloutRow({ state: 'running' }), 0).context, 'attempt.running');
    assert.equal(attemptItem(rolloutRow({ state: 'queued' }), 0).description, 'queued');
  });
  it('says who holds it and until when, and offers to release it', () => {
    const now = new Date(2026, 4, 7, 13, 5).getTime();
    const hold = { why: 'breakpoint', side: 'before', seq: 3, by: 'debugger in VS Code', until: now + HOUR };
    const held = rolloutRow({ state: 'held', progress: { hold, steps: 2 } });
    assert.deepEqual(
      [attemptItem(held, now).description, attemptItem(held, now).context],
      ['held by the debugger in VS Code (breakpoint), until 14:05 · 2 steps', 'attempt.held'],
    );
    const asking = { ...held, progress: { ...held.progress, hold: { why: 'input', side: 'before', seq: 3 } } };
    assert.deepEqual(
      [attemptItem(asking, now).description, attemptItem(asking, now).context],
      ['waiting for an answer · 2 steps', 'attempt.waiting'],
    );
    // Its worker was lost: the next one holds it again.
    assert.equal(attemptItem({ ...held, state: 'queued' }, now).description, 'queued');
  });
  it('is held in its task and its batch, too, not running', () => {
    const hold = { why: 'pause', side: 'before', seq: 3, by: 'page' };
    const look = taskItem(task([rolloutRow({ state: 'held', settles: false, progress: { hold } })]), { attempts: 2 });
    assert.deepEqual([look.description, look.icon], ['0/2 passed · 1 held', OUTCOME_ICONS.held]);
    const row = batchRow({ counts: { held: 1, queued: 95 } });
    assert.match(batchItem(row, 0).description ?? '', /^0\/96, 1 held/);
    assert.deepEqual(batchItem(row, 0).icon, OUTCOME_ICONS.held);
  });
});

describe('debug runs', () => {
  it('are a group that says how many are held', () => {
    const rows = [batchRow({ debug: true, counts: { held: 1 } }), batchRow({ debug: true, state: 'ended' })];
    assert.equal(debugRunsItem(rows).description, '2 · 1 running · 1 attempt held');
  });
});
