/** Figures over all rows of a batch, shown above its grid: all of the same moment. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import { controlsOf } from '../../../src/protocol/batchControls.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { reportPiecewise } from '../../../src/trace/statistics.ts';
import type { BatchData } from '../../data/batchData.ts';
import { isDisputed } from '../../data/judged.ts';
import type { Counts } from '../model/taskFacts.ts';
import { type Causes, countCauses } from './causes.ts';
import { type Flow, flowOf } from './flow.ts';

export interface Figures {
  /** Attempts by outcome; those without a row are queued. */
  readonly counts: Counts;
  readonly report: Report;
  readonly causes: Causes;
  readonly flow: Flow | undefined;
  /** Attempts whose verdicts contradict each other. */
  readonly disputed: number;
}

type FiguresOf = Pick<BatchData, 'batch' | 'row' | 'definition' | 'otherTries' | 'rows' | 'records' | 'events'>;

/** Computes the figures of the current rows, which have these `counts`. Later changes of rows do not count. */
export function* figuresOf(data: FiguresOf, counts: Counts, now: number): Piecewise<Figures> {
  const { batch, row, definition, otherTries } = data;
  const counting = [...data.rows()];
  const others = [...otherTries.values()];
  const report = yield* reportPiecewise({
    batch,
    rows: others.length === 0 ? counting : counting.concat(others),
    ...(row === undefined ? {} : { tasks: row.tasks }),
    ...(row === undefined ? {} : controlsOf(row)),
    repeated: repeatedIn(data.records),
    ...(definition?.passesPerTask === undefined ? {} : { passesPerTask: definition.passesPerTask }),
    perturb: definition?.perturb,
    levels: levelsOf(data.records),
    events: data.events,
    ...(row?.repeated === undefined ? {} : { requestedAgain: row.repeated }),
    ...(row?.state === 'ended' ? { at: 'ended' as const } : {}),
    ...(definition?.judge === undefined ? {} : { judge: definition.judge }),
  });
  const causes = yield* countCauses(counting);
  const flow = yield* flowOf(counting, row?.state === 'ended' ? 'ended' : now);
  let disputed = 0;
  yield* each(counting, (one) => void (disputed += isDisputed(one) ? 1 : 0));
  return { counts, report, causes, flow, disputed };
}

/** Returns the dataset's tasks of the groups that were read. */
function repeatedIn(records: BatchData['records']): ReadonlyMap<string, string> {
  return new Map(records.flatMap(({ id, of }) => (of === undefined ? [] : [[id, of] as const])));
}

/** Returns the levels of the tasks that were read. */
function levelsOf(records: BatchData['records']): ReadonlyMap<string, string | number> {
  return new Map(records.flatMap(({ id, level }) => (level === undefined ? [] : [[id, level] as const])));
}
