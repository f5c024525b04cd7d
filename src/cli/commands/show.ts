import { batchSnapshot } from '../../client/commands/batchSnapshot.ts';
import { batchId, type Point, parseReference, resolveRollout } from '../../client/reference.ts';
import { batchGrid, batchHeading, heldAttempts, legend } from '../../client/text/batchText.ts';
import { differsText, forkText } from '../../client/text/forkText.ts';
import { finish } from '../../common/piecewise.ts';
import type { Api } from '../../protocol/api.ts';
import { forkRates } from '../../protocol/forkParent.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { unspill } from '../../trace/spill.ts';
import { attemptRows } from '../../trace/statistics/outcomes.ts';
import { rateOf } from '../../trace/statistics/throughput.ts';
import { stepAt, stepText, trajectoryText } from '../../trace/text.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { type Command, type Outcome, oneWord } from '../command.ts';
import type { Context } from '../context.ts';

export const show: Command = {
  name: 'show',
  usage: 'BATCH | ROLLOUT[:STEP] | BATCH/TASK/ATTEMPT[:STEP]',
  text: 'Shows a batch as a grid, a trajectory as text, or a single step in full.',
  options: {},
  async run(context, commandLine) {
    const reference = parseReference(oneWord(show, commandLine));
    const { api } = await context.connect();
    if (reference.kind === 'batch') return showBatch(context, api, await batchId(api, reference.batch, context.signal));
    return showRollout(context, api, await resolveRollout(api, reference, context.signal), reference.point);
  },
};

async function showBatch(context: Context, api: Api, id: string): Promise<Outcome> {
  const { batch, rows: tries } = await batchSnapshot(api, id, context.signal);
  const rows = finish(attemptRows(tries));
  const rate = finish(rateOf(batch, rows));
  const fork = await forkRates(api, batch, rows, context.signal);
  if (context.json) {
    context.printJson({ batch, rollouts: rows, per_hour: rate ?? null, ...(fork === undefined ? {} : { fork }) });
    return 0;
  }
  const { width } = context.terminal;
  const parts = [batchHeading(batch, width, rate), batchGrid(rows, width), legend(width)];
  const held = heldAttempts(rows, Date.now());
  if (held !== '') parts.push(held);
  if (batch.parent?.differs !== undefined) parts.push(differsText(batch.parent.differs));
  if (fork !== undefined) parts.push(forkText(fork));
  context.print(parts.join('\n\n'));
  return 0;
}

async function showRollout(context: Context, api: Api, rollout: string, point: Point): Promise<Outcome> {
  const events: TraceEvent[] = [];
  for await (const page of api.allEvents(rollout, context.signal))
    events.push(...page.filter((event) => point.seq === undefined || event.seq <= point.seq));
  const model = new TrajectoryModel();
  model.push(events.map((event) => readEvent(event)));
  if (context.json) {
    const info = await api.rollout(rollout, context.signal);
    const read = (ref: { $blob: string }): Promise<Uint8Array> => api.getBlob(ref.$blob, context.signal);
    context.printJson({
      rollout: info.row,
      task: info.task,
      lineage: info.lineage,
      ...(point.step === undefined ? {} : { step: point.step }),
      events: await Promise.all(eventsAt(model, events, point).map((event) => unspill(event, read))),
    });
    return 0;
  }
  const page = { width: context.terminal.width, color: context.terminal.colour, rollout };
  context.printColored(point.step === undefined ? trajectoryText(model, page) : stepText(model, point.step, page));
  return 0;
}

/** Returns the events of one step, or all. Throws StudioError `not_found` if the step does not exist. */
function eventsAt(model: TrajectoryModel, events: readonly TraceEvent[], { step }: Point): TraceEvent[] {
  if (step === undefined) return [...events];
  const seqs = new Set(stepAt(model, step).seqs);
  return events.filter((event) => seqs.has(event.seq));
}
