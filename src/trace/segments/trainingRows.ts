import type { Json, JsonObject } from '../../common/json.ts';
import { whyExcludedOf } from '../groups/whyExcluded.ts';
import type { TrajectoryModel } from '../model.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';
import { type Provenance, provenanceOf } from '../provenance.ts';
import type { TokenRecord } from '../schema.ts';
import type { RolloutRow, Verdict } from '../summary.ts';
import { rangeOf } from '../weights.ts';
import { type Segment, segmentsOf } from './segments.ts';

export type TrainingOutcome = Outcome | 'touched';

/** Returns the outcome of a rollout as trainers read it: what a person changed is not the agent's. */
export function trainingOutcomeOf(row: RolloutRow): TrainingOutcome {
  return row.progress.touched ? 'touched' : outcomeOf(row);
}

/** One segment of an attempt as trainers read it: a line of an export of token groups. */
export interface TrainingRow extends Omit<Segment, 'agent'> {
  readonly schema: 1;
  readonly batch: string;
  /** Attempts with the same group belong to one task: their rewards are compared with each other. */
  readonly group: string;
  readonly task: string;
  readonly rollout: string;
  readonly attempt: number;
  readonly try: number;
  /** Of the mix of its batch. */
  readonly part?: string;
  readonly agent: string;
  /** Number of this row among those of the rollout, from 1, and how many there are. */
  readonly segment: number;
  readonly segments: number;
  /** null: nobody can say. It is never 0 instead. */
  readonly reward: number | null;
  readonly reward_parts: Readonly<Record<string, number>>;
  /** Later verdicts, by scorer. */
  readonly verdicts: Readonly<Record<string, Pick<Verdict, 'value' | 'passed'>>>;
  readonly outcome: TrainingOutcome;
  /** Why the attempt must not change the statistics of its group. */
  readonly why_excluded?: string;
  /** Oldest and newest version of the weights that sampled it; absent if no call has one. */
  readonly weights?: readonly [string, string];
  /** Of its first call. */
  readonly sampling: Readonly<Record<string, Json>>;
  /** Of each of its calls; null if the endpoint gave none. */
  readonly finish_reasons: readonly (string | null)[];
  /**
   * How many tool results of the rollout do not come from the tool itself, by where they come from: a model that plays
   * the world, a recording, a prediction, a rule, or an edit. Absent: none.
   */
  readonly results?: Readonly<Partial<Record<Provenance, number>>>;
  /**
   * Milliseconds of the rollout: its calls to models in the engine's queue, in pauses of the endpoint, and running, its
   * tools, and how long people held it.
   */
  readonly ms: {
    readonly queue: number;
    readonly paused?: number;
    readonly model: number;
    readonly tool: number;
    readonly held: number;
  };
}

/** Returns the rows of a rollout that has ended. `row`: its summary. `tokens`: see `segmentsOf`. */
export function trainingRows(
  model: TrajectoryModel,
  row: RolloutRow,
  tokens: ReadonlyMap<number, TokenRecord>,
): { readonly rows: readonly TrainingRow[]; readonly left_out: ReturnType<typeof segmentsOf>['left_out'] } {
  const { rows, left_out } = segmentsOf(model, tokens);
  const { progress } = row;
  const whyExcluded = whyExcludedOf(row);
  const of = {
    batch: row.batch,
    group: `${row.batch}/${row.task}`,
    task: row.task,
    rollout: row.rollout,
    attempt: row.attempt,
    try: row.try,
    ...(progress.part === undefined ? {} : { part: progress.part }),
  };
  const verdict = {
    reward: Number.isFinite(progress.reward) ? (progress.reward ?? null) : null,
    reward_parts: model.scores.findLast(({ data }) => data.rollout === undefined)?.data.parts ?? {},
    verdicts: Object.fromEntries(
      Object.entries(progress.verdicts ?? {}).map(([scorer, { value, passed }]) => [scorer, { value, passed }]),
    ),
    outcome: trainingOutcomeOf(row),
    ...(whyExcluded === undefined ? {} : { why_excluded: whyExcluded }),
  };
  const ms = timesOf(model);
  const results = provenances(model);
  return {
    rows: rows.map(({ agent, ...segment }, index): TrainingRow => {
      const weights = rangeOf(segment.calls.flatMap((call) => [call.weights_from ?? [], call.weights ?? []].flat()));
      return {
        schema: 1,
        ...of,
        agent,
        segment: index + 1,
        segments: rows.length,
        ...segment,
        ...verdict,
        ...(weights === undefined ? {} : { weights }),
        sampling: samplingOf(model, segment.calls[0]?.seq),
        finish_reasons: segment.calls.map(({ seq }) => endOf(model, seq)?.finish_reason ?? null),
        ...(Object.keys(results).length === 0 ? {} : { results }),
        ms,
      };
    }),
    left_out,
  };
}

function provenances(model: TrajectoryModel): Partial<Record<Provenance, number>> {
  const counts: Partial<Record<Provenance, number>> = {};
  for (const span of model.tools) for (const from of provenanceOf(model, span)) counts[from] = (counts[from] ?? 0) + 1;
  return counts;
}

function samplingOf(model: TrajectoryModel, seq: number | undefined): JsonObject {
  const span = seq === undefined ? undefined : model.span(seq);
  return span?.kind === 'model' ? span.start.data.sampling : {};
}

function endOf(model: TrajectoryModel, seq: number): { readonly finish_reason?: string | undefined } | undefined {
  const span = model.span(seq);
  return span?.kind === 'model' ? span.end?.data : undefined;
}

function timesOf(model: TrajectoryModel): TrainingRow['ms'] {
  const ms: { -readonly [K in keyof TrainingRow['ms']]: TrainingRow['ms'][K] } = {
    queue: 0,
    model: 0,
    tool: 0,
    held: model.end?.data.totals.held_ms ?? 0,
  };
  for (const event of model.events) {
    if ('unknown' in event) continue;
    if (event.kind === 'model.end' && model.sideOf(event) === undefined) {
      ms.queue += event.data.queue_ms ?? 0;
      if (event.data.paused_ms !== undefined) ms.paused = (ms.paused ?? 0) + event.data.paused_ms;
      ms.model += event.data.ms ?? 0;
    } else if (event.kind === 'tool.end') ms.tool += event.data.ms ?? 0;
  }
  return ms;
}
