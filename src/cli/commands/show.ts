import { batchSnapshot } from '../../client/commands/batchSnapshot.ts';
import { readModel, readStep } from '../../client/readStep.ts';
import { readSteps } from '../../client/readSteps.ts';
import { batchId, type Point, parseReference, resolveRollout } from '../../client/reference.ts';
import { batchGrid, batchHeading, heldAttempts, legend } from '../../client/text/batchText.ts';
import { differsText, forkText } from '../../client/text/forkText.ts';
import { finish } from '../../common/piecewise.ts';
import type { Api, RolloutInfo } from '../../protocol/api.ts';
import { forkRates } from '../../protocol/forkParent.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { unspill } from '../../trace/spill.ts';
import { attemptRows } from '../../trace/statistics/outcomes.ts';
import { rateOf } from '../../trace/statistics/throughput.ts';
import { stepText, trajectoryPieces, wholePart } from '../../trace/text.ts';
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
  const info = await api.rollout(rollout, context.signal);
  const options = { width: context.terminal.width, color: context.terminal.colour, rollout };
  if (point.step !== undefined) {
    const { model, header, events } = await readStep(api, info, point.step, context.signal);
    if (context.json) await printEvents(context, api, info, { step: point.step }, [events]);
    else context.printColored(stepText(model, point.step, options, header));
    return 0;
  }
  if (context.json) {
    await printEvents(context, api, info, {}, api.allEvents(rollout, context.signal, point.seq));
    return 0;
  }
  const parts =
    point.seq === undefined
      ? readSteps(api, info, 0, context.signal)
      : [wholePart(await readModel(api, rollout, context.signal, point.seq))];
  await context.printColoredBlocks(trajectoryPieces(parts, options));
  context.print('');
  return 0;
}

function printEvents(
  context: Context,
  api: Api,
  { row, task, lineage }: RolloutInfo,
  point: Point,
  pages: AsyncIterable<readonly TraceEvent[]> | Iterable<readonly TraceEvent[]>,
): Promise<void> {
  const read = (ref: { $blob: string }): Promise<Uint8Array> => api.getBlob(ref.$blob, context.signal);
  async function* whole(): AsyncGenerator<TraceEvent> {
    // One at a time, because each value can be large.
    for await (const page of pages) for (const event of page) yield await unspill(event, read);
  }
  return context.printJsonList({ rollout: row, task, lineage, ...point }, 'events', whole());
}
