import { BatchEnd } from '../../client/batchEnd.ts';
import { batchId, parseReference, resolveRollout } from '../../client/reference.ts';
import { subscribe } from '../../client/subscribe.ts';
import { eventLine, rowLine } from '../../client/text/lines.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type Command, numberOption, oneWord } from '../command.ts';
import { connectionNotes } from '../connectionNotes.ts';

export const tail: Command = {
  name: 'tail',
  usage: 'BATCH|ROLLOUT [--after SEQ]',
  text: 'Prints events as they arrive until the batch or rollout ends. --json prints JSON Lines.',
  options: { after: { type: 'string', value: 'SEQ', text: 'start after this seq (0)' } },
  async run(context, commandLine) {
    const reference = parseReference(oneWord(tail, commandLine));
    const connection = await context.connect();
    const after = numberOption(commandLine, 'after', 0) ?? 0;
    const isBatch = reference.kind === 'batch';
    const stream = isBatch
      ? await batchId(connection.api, reference.batch, context.signal)
      : await resolveRollout(connection.api, reference, context.signal);
    const end = new AbortController();
    const show = (value: TraceEvent | RolloutRow, text: () => string): void => {
      if (context.json) context.printJson(value);
      else context.print(text());
    };
    const progress = { end: false }; // whether the rollout’s end event arrived
    const batchEnd = new BatchEnd(
      async () => (await connection.api.batch(stream, context.signal)).state === 'ended',
      () => end.abort(),
      after === 0,
    );
    await subscribe(
      connection,
      { stream, after },
      {
        events: (events) => {
          for (const event of events) {
            show(event, () => eventLine(event));
            if (event.kind === 'rollout.end') progress.end = true;
          }
          if (isBatch) batchEnd.add(events);
        },
        rows: (rows) => rows.forEach((row) => show(row, () => rowLine(row))),
        head: () => {
          if (isBatch) void batchEnd.head();
          else if (progress.end) end.abort();
        },
        notice: context.log,
        lost: connectionNotes(context.log).lost,
      },
      AbortSignal.any([context.signal, end.signal]),
    );
    return 0;
  },
};
