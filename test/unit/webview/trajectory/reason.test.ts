// Where the page of a failed attempt opens, its red marks, and what its verdict says.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { advanceProgress } from '../../../../src/trace/progress.ts';
import type { Check, TraceEvent } from '../../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';
import type { Split } from '../../../../webview/data/split.ts';
import { laterDifferences } from '../../../../webview/trajectory/differences.ts';
import {
  argumentDifferences,
  expectations,
  explanationAfter,
} from '../../../../webview/trajectory/head/verdictText.ts';
import { reasonOf } from '../../../../webview/trajectory/reason.ts';
import { redMark, redMarks, type Spot } from '../../../../webview/trajectory/redMarks.ts';
import { Folds } from '../../../../webview/trajectory/steps/folds.ts';
import { StepRows } from '../../../../webview/trajectory/steps/rows.ts';
import { Stream } from '../../../support/stream.ts';

const CHECKS: readonly Check[] = [
  { name: 'nothing else changed', passed: true, expected: [], actual: [] },
  { name: 'loans L-1', passed: false, expected: { due: 'May 22', seen: 1 }, actual: { due: 'May 15', seen: 1 } },
  { name: 'answer', passed: false, expected: 'May 22', actual: 'May 15' },
];

interface Ending {
  readonly checks?: readonly Check[];
  readonly explanation?: string;
  readonly days?: number;
  /** Whether the renewal fails; default: true. */
  readonly refused?: boolean;
  readonly end?: Parameters<Stream['end']>[0];
}

/** Renews a loan, which fails, and answers. */
function attempt({ checks, explanation, days = 7, refused = true, end }: Ending = {}): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.model('', [{ id: 'c1', name: 'find', arguments: { name: 'Anna' } }]);
  s.toolEnd(s.toolStart('c1', 'find', { name: 'Anna' }), 'c1', 'M-204');
  s.model('', [{ id: 'c2', name: 'renew', arguments: { loan: 'L-1', days } }]);
  s.toolEnd(s.toolStart('c2', 'renew', { loan: 'L-1', days }), 'c2', 'refused', {
    ...(refused ? { error: { class: 'tool_error', message: 'refused' } } : {}),
  });
  s.model(`Renewed for ${days} days`);
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    ...(checks === undefined ? {} : { checks: [...checks] }),
    ...(explanation === undefined ? {} : { explanation }),
  });
  s.end({ passed: false, reward: 0, ...end });
  return s.events;
}

function row(events: readonly TraceEvent[]): RolloutRow {
  return {
    rollout: 'own',
    batch: 'b',
    task: 't',
    task_index: 0,
    attempt: 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: events.length,
    settles: true,
    rev: 1,
    progress: advanceProgress(EMPTY_PROGRESS, [...events]),
  };
}

function modelOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

function opened(events: readonly TraceEvent[], split?: Split): ReturnType<typeof reasonOf> {
  return reasonOf({ rollout: 'own', model: modelOf(events), attempts: [], info: { row: row(events) }, split });
}

function seqOf(events: readonly TraceEvent[], kind: TraceEvent['kind'], n = 0): number {
  return events.filter((event) => event.kind === kind)[n]?.seq ?? 0;
}

function splitAt(own: readonly TraceEvent[], other: readonly TraceEvent[]): Split {
  const [call, otherCall] = [own, other].map((events) => events.filter((event) => event.kind === 'tool.start')[1]);
  assert.ok(call?.kind === 'tool.start' && otherCall?.kind === 'tool.start');
  return { seq: call.seq, otherSeq: otherCall.seq, common: 1, other: row(other), call, otherCall };
}

describe('the reason at which a failed attempt opens', () => {
  it('is the first failed check of the score', () => {
    const events = attempt({ checks: CHECKS });
    assert.deepEqual(opened(events), { spot: { seq: seqOf(events, 'score'), check: 1 }, final: true });
  });

  it('is the call that failed and never succeeded', () => {
    const events = attempt();
    assert.deepEqual(opened(events), { spot: { seq: seqOf(events, 'tool.start', 1) }, final: true });
  });

  it('is the last step at a limit', () => {
    const events = attempt({
      end: { status: 'truncated', error: { class: 'limit', message: 'The limit of 3 steps is reached.' } },
    });
    assert.deepEqual(opened(events), { spot: { seq: seqOf(events, 'model.start', 2) }, final: true });
  });

  it('is the score until a divergence is found, if there are no checks', () => {
    const events = attempt({ explanation: 'Not renewed.', refused: false });
    assert.deepEqual(opened(events), { spot: { seq: seqOf(events, 'score') }, final: false });
    const split = splitAt(events, attempt({ days: 14 }));
    assert.deepEqual(opened(events, split), { spot: { seq: seqOf(events, 'tool.start', 1) }, final: true });
  });

  it('is unknown before the row is loaded', () => {
    const model = modelOf(attempt());
    assert.deepEqual(reasonOf({ rollout: 'own', model, attempts: [], info: undefined, split: undefined }), {
      final: false,
    });
  });
});

describe('red marks', () => {
  it('are failed calls and failed checks, in the order of the list', () => {
    const events = attempt({ checks: CHECKS });
    const model = modelOf(events);
    const [call, score] = [seqOf(events, 'tool.start', 1), seqOf(events, 'score')];
    assert.deepEqual(redMarks(model), [{ seq: call }, { seq: score, check: 1 }, { seq: score, check: 2 }]);
    const visited: (Spot | undefined)[] = [];
    for (let at: Spot | undefined = { seq: 1 }; at !== undefined; ) visited.push((at = redMark(model, at, 1)));
    assert.deepEqual(visited, [...redMarks(model), undefined]);
    assert.deepEqual(redMark(model, { seq: score }, 1), { seq: score, check: 1 }, 'from the score into its checks');
    assert.deepEqual(redMark(model, { seq: score, check: 0 }, -1), { seq: score, check: 2 }, 'passed ones come last');
  });

  it('include a failed score without checks', () => {
    const events = attempt({ explanation: 'Not renewed.' });
    assert.deepEqual(redMarks(modelOf(events)).at(-1), { seq: seqOf(events, 'score') });
  });
});

describe('the rows of a score', () => {
  it('are a group of its checks, failed ones first, which is open until it is collapsed', () => {
    const model = modelOf(attempt({ checks: CHECKS }));
    const rows = new StepRows(model);
    const folds = new Folds(model);
    const visible = (): (number | string)[] =>
      folds
        .shown(rows.all)
        .slice(2)
        .map((each) => each.check ?? each.kind);
    assert.deepEqual(visible(), ['step', 'score', 1, 2, 0, 'end']);
    const score = rows.all.findIndex(({ kind }) => kind === 'score');
    assert.equal(folds.open(score + 2, false), true);
    assert.deepEqual(visible(), ['step', 'score', 'end']);
    assert.equal(rows.indexOf(rows.all[score]?.seq ?? 0, 2), score + 2);
  });
});

describe('the verdict', () => {
  it('lists only fields that differ, with their differing parts', () => {
    const events = attempt({ checks: CHECKS });
    const [score] = modelOf(events).scores;
    assert.ok(score !== undefined);
    const found = expectations(score.data);
    assert.deepEqual(
      found.map(({ check, fields }) => [check, fields.map(({ name }) => name)]),
      [
        [1, ['due']],
        [2, [undefined]],
      ],
    );
    assert.deepEqual(found[1]?.fields[0]?.actual, [
      { text: 'May ', differs: false },
      { text: '15', differs: true },
    ]);
  });

  it('does not repeat the cause in the explanation', () => {
    assert.equal(explanationAfter('Loan 17 is late', 'Loan 17 is late. It was due in May.'), 'It was due in May.');
    assert.equal(explanationAfter('Loan 17 is late', 'Loan 17 is late'), undefined);
    assert.equal(explanationAfter('step limit', undefined), undefined);
    assert.equal(explanationAfter('Loan 17 is…', 'Loan 17 is late'), 'Loan 17 is late');
  });

  it('names the argument that differs at the divergence', () => {
    const [own, other] = [attempt(), attempt({ days: 14 })];
    assert.deepEqual(argumentDifferences(splitAt(own, other)), [
      { name: 'days', own: [{ text: '7', differs: true }], other: [{ text: '14', differs: true }] },
    ]);
  });

  it('is followed by later differences: the final answer is one', async () => {
    const [own, other] = [attempt(), attempt({ days: 14 })];
    const api = {
      events: (_rollout: string, { after = 0 } = {}) =>
        Promise.resolve({ events: other.filter(({ seq }) => seq > after), last: other.length }),
    };
    const later = await laterDifferences({ model: modelOf(own), api }, splitAt(own, other));
    assert.deepEqual(later, [seqOf(own, 'model.start', 2)]);
  });
});
