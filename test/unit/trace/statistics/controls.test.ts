// Reports of batches whose tasks have a budget, or leave the band of a curriculum.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reportText } from '../../../../src/client/text/reportText.ts';
import { CLOSED_BY } from '../../../../src/trace/statistics/controls.ts';
import { type Report, reportSchema } from '../../../../src/trace/statistics/schema.ts';
import { type ReportInput, report } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

const ENDED: Partial<Progress> = { status: 'done', passed: true, reward: 1, input_tokens: 70, output_tokens: 30 };

function cancelled(reason: string): Partial<Progress> {
  return { status: 'cancelled', error_class: 'cancelled', error_message: `${reason}: enough.` };
}

/** A row of each attempt of each task; undefined: it is queued. */
function rowsOf(tasks: Readonly<Record<string, readonly (Partial<Progress> | undefined)[]>>): RolloutRow[] {
  return Object.entries(tasks).flatMap(([task, attempts], index) =>
    attempts.map(
      (progress, at): RolloutRow => ({
        rollout: `r${index}-${at}`,
        batch: 'b1',
        task,
        task_index: index,
        attempt: at + 1,
        try: 1,
        state: progress === undefined ? 'queued' : 'ended',
        epoch: 1,
        last: 9,
        settles: progress?.status === 'done',
        rev: 1,
        progress: { ...EMPTY_PROGRESS, ...progress },
      }),
    ),
  );
}

function reported(input: Omit<ReportInput, 'batch'>): { readonly of: Report; readonly lines: readonly string[] } {
  const of = reportSchema.parse(report({ batch: 'b1', ...input }));
  return { of, lines: reportText(of, 120).split('\n') };
}

describe('the report of a budget by task', () => {
  it('has the tasks that used it, the attempts that have not begun, and what others have left', () => {
    const side = { calls: 1, input_tokens: 50, output_tokens: 0, cached_tokens: 0 };
    const { of, lines } = reported({
      rows: rowsOf({
        spent: [ENDED, ENDED, undefined, undefined],
        sides: [{ ...ENDED, side: { ...side } }, { ...ENDED, side }, cancelled(CLOSED_BY.tokens)],
        // Somebody else ended this one: the budget did not.
        open: [ENDED, undefined, cancelled('a person')],
      }),
      budget: { tokens: 200 },
    });
    assert.deepEqual(of.budget, {
      tokens: 200,
      cost: null,
      spent: 2,
      of: 3,
      not_begun: 3,
      unspent: { tokens: 100, cost: null },
    });
    assert.ok(
      lines.includes('budget     2 of 3 tasks used 200 tokens or more: 3 attempts not begun, 100 tokens unspent'),
      lines.join('\n'),
    );
  });

  it('is of all groups that repeat a task, and of costs', () => {
    const { of, lines } = reported({
      rows: rowsOf({
        g1: [{ ...ENDED, cost: 0.3 }],
        g2: [{ ...ENDED, cost: 0.2 }, undefined],
        g3: [{ ...ENDED, cost: 0.125 }],
      }),
      repeated: new Map([
        ['g1', 't0'],
        ['g2', 't0'],
        ['g3', 't1'],
      ]),
      budget: { cost: 0.5 },
    });
    assert.deepEqual(of.budget, {
      tokens: null,
      cost: 0.5,
      spent: 1,
      of: 2,
      not_begun: 1,
      unspent: { tokens: null, cost: 0.375 },
    });
    assert.ok(
      lines.includes(
        'budget     1 of 2 tasks used a cost of 0.50 or more: 1 attempt not begun, a cost of 0.38 unspent',
      ),
      lines.join('\n'),
    );
  });

  it('does not exist without one', () => {
    assert.equal(reported({ rows: rowsOf({ a: [ENDED] }) }).of.budget, null);
  });
});

describe('the report of a curriculum', () => {
  const curriculum = { by: 'b0', kept: 2, too_hard: 1, too_easy: 0, unknown: 0, saved: 4 };
  const rows = rowsOf({ inside: [ENDED, ENDED], easy: [ENDED, cancelled(CLOSED_BY.band), cancelled('a person')] });

  it('has what the moving band came to', () => {
    const { of, lines } = reported({ rows, curriculum: { ...curriculum, outside: 1, outside_attempts: 1, moves: 2 } });
    assert.equal(of.curriculum?.not_begun, 1);
    const text = 'its band: 1 task outside now, moved 2 times, 1 attempt spent outside, 1 attempt not begun';
    assert.ok(lines.includes(`           ${text}`), lines.join('\n'));
  });

  it('has only what it left out at the start if the band does not move', () => {
    const { of, lines } = reported({ rows, curriculum });
    assert.deepEqual(of.curriculum, curriculum);
    assert.equal(
      lines.some((line) => line.includes('its band')),
      false,
    );
  });
});
