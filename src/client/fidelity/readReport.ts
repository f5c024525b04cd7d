/** Reads what a batch that compares a world with recordings came to. */
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { type FidelityReport, fidelityReport } from '../../trace/prediction/fidelityReport.ts';
import { type PredictedCall, predictedCalls } from '../../trace/prediction/statistics.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { readSubmission } from '../commands/reportInput.ts';

export interface BatchFidelity extends FidelityReport {
  readonly batch: string;
  /** Of the models of the world and its judge. */
  readonly tokens: { readonly input: number; readonly output: number };
  /** Absent if a model has no price. */
  readonly cost?: number;
}

/** @param worst Number of the worst calls to list. */
export async function readFidelity(
  api: Api,
  batch: string,
  worst: number,
  signal: AbortSignal,
): Promise<BatchFidelity> {
  const row = await api.batch(batch, signal);
  const submission = row.imported ? undefined : await readSubmission(api, row.submission, signal);
  const replayed = submission?.world?.kind === 'replay' ? submission.world : undefined;
  const tested = replayed?.worlds?.shadow;
  if (replayed === undefined || tested === undefined)
    throw new StudioError('usage', `Batch ${batch} compares no world with recordings.`, {
      hint: 'Compare one: rollout world fidelity BATCH --world FILE.',
    });
  const calls: PredictedCall[] = [];
  const tokens = { input: 0, output: 0 };
  const costs: number[] = [];
  const domains = new Map<string, string | undefined>();
  for await (const { rollout, task, progress } of api.allRollouts(batch, { all: 1 }, signal)) {
    const { side } = progress;
    tokens.input += side?.input_tokens ?? 0;
    tokens.output += side?.output_tokens ?? 0;
    if (side?.cost !== undefined) costs.push(side.cost);
    domains.set(rollout, replayed.recordings[task]?.domain);
    const model = new TrajectoryModel();
    for await (const page of api.allEvents(rollout, signal)) model.push(page.map((event) => readEvent(event)));
    calls.push(...predictedCalls(model, rollout));
  }
  const own = tested.kind === 'simulated' ? tested.domain : tested.kind;
  return {
    batch,
    ...fidelityReport(calls, {
      world: tested.name,
      how: replayed.shadow?.how ?? 'forced',
      worst,
      domainOf: ({ rollout }) => domains.get(rollout) ?? own,
    }),
    tokens,
    ...(costs.length === 0 ? {} : { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
  };
}
