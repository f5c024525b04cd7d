/** Determines the outcome of each attempt from the summary rows of its rollouts. */
import { each, finish, type Piecewise } from '../../common/piecewise.ts';
import { causeOf } from '../cause.ts';
import { countNameOf } from '../outcome.ts';
import type { CalledTools } from '../schema/calls.ts';
import type { FaultCounts } from '../schema/faults.ts';
import type { PredictedTools } from '../schema/prediction.ts';
import type { RateCounts } from '../schema/rates.ts';
import type { ErrorClass, WorldOutcome } from '../schema.ts';
import type { Cause, RolloutRow } from '../summary.ts';

/** `open`: queued, running, or held. `unscored`: ended, but without a verdict. */
export type Settlement = 'scored' | 'unscored' | 'cancelled' | 'infrastructure' | 'open';

export interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly settlement: Settlement;
  readonly passed: boolean;
  readonly truncated: boolean;
  readonly duplicate: boolean;
  readonly error: ErrorClass | undefined;
  /** What it came to in a published world; undefined for an attempt that was cancelled or lost. */
  readonly outcome: WorldOutcome | undefined;
  /** Why it did not pass. */
  readonly cause: Cause | undefined;
  /** The beginning of the error message. */
  readonly message: string | undefined;
  readonly tools: readonly string[];
  /** What rules did in it; undefined for an attempt that was cancelled or lost. */
  readonly faults: Readonly<Record<string, FaultCounts>> | undefined;
  /** What its calls say about the world; undefined for an attempt that was cancelled or lost. */
  readonly rates: RateCounts | undefined;
  /** How well a world predicted its calls; undefined for an attempt that was cancelled or lost. */
  readonly predictions: PredictedTools | undefined;
  /** How its calls ended; undefined for an attempt that was cancelled or lost. */
  readonly calls: CalledTools | undefined;
  /** Duration; undefined if it was not recorded, and for an attempt that is open, or was cancelled or lost. */
  readonly ms: number | undefined;
}

/** Returns the attempts of a batch: for each, the rollout that settled it, else its newest try. */
export function attemptsOf(rows: Iterable<RolloutRow>): Attempt[] {
  return finish(attemptRows(rows)).map(attemptOf);
}

/** Returns the row that counts for each attempt. */
export function* attemptRows(rows: Iterable<RolloutRow>): Piecewise<RolloutRow[]> {
  const counted: RolloutRow[] = [];
  const numbers = new Map<string, number>();
  /** Index of an attempt's row in `counted`, by attempt and number of the task. */
  const places: number[][] = [];
  let task: string | undefined;
  let number = 0;
  yield* each(rows, (row) => {
    if (row.task !== task) {
      // rows of a task are mostly adjacent
      task = row.task;
      number = numbers.get(task) ?? numbers.size;
      numbers.set(task, number);
    }
    const ofAttempt = (places[row.attempt] ??= []);
    const place = (ofAttempt[number] ??= counted.length);
    const other = counted[place];
    if (other === undefined || (!other.settles && (row.settles || row.try > other.try))) counted[place] = row;
  });
  return counted;
}

/** Of an attempt that was edited and not tried again, since its batch was stopped. */
const CANCELLED: Cause = { kind: 'cancelled', text: 'cancelled' };

export function attemptOf(row: RolloutRow): Attempt {
  const { progress } = row;
  const settlement = settlementOf(row);
  const counts = settlement !== 'cancelled' && settlement !== 'infrastructure';
  return {
    task: row.task,
    attempt: row.attempt,
    settlement,
    passed: settlement === 'scored' && progress.passed === true,
    truncated: row.state === 'ended' && progress.status === 'truncated',
    duplicate: settlement === 'scored' && row.duplicate_of !== undefined,
    cause: settlement === 'open' ? undefined : (causeOf(row) ?? (settlement === 'cancelled' ? CANCELLED : undefined)),
    error: row.state === 'ended' ? progress.error_class : undefined,
    message: row.state === 'ended' ? progress.error_message : undefined,
    tools: progress.tools,
    outcome: counts ? progress.world_outcome : undefined,
    faults: counts ? progress.faults : undefined,
    rates: counts ? progress.rates : undefined,
    predictions: counts ? progress.predictions : undefined,
    calls: counts ? progress.calls : undefined,
    ms: counts && row.state === 'ended' ? progress.ms : undefined,
  };
}

function settlementOf(row: RolloutRow): Settlement {
  const name = countNameOf(row);
  switch (name) {
    case 'passed':
    case 'failed':
      return 'scored';
    case 'running':
    case 'held':
    case 'queued':
      return 'open';
    default:
      return name;
  }
}
