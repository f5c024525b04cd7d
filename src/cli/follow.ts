/** Follows a batch to its end with a progress display, then prints its report. Ctrl-C cancels the batch. */

import { BatchEnd } from '../client/batchEnd.ts';
import { readSubmission, reportInput } from '../client/commands/reportInput.ts';
import type { Connection } from '../client/connect.ts';
import { subscribe } from '../client/subscribe.ts';
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Api } from '../protocol/api.ts';
import type { BatchRow } from '../protocol/client.ts';
import { forkRates } from '../protocol/forkParent.ts';
import type { Bar } from '../trace/statistics/bar.ts';
import { attemptsOf } from '../trace/statistics/outcomes.ts';
import { report } from '../trace/statistics.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { Outcome } from './command.ts';
import type { Context } from './context.ts';
import { InfraNotes } from './infraNotes.ts';
import { Progress } from './progress.ts';
import { printReport } from './reporting.ts';
import { outcomeOf, troubleLines } from './troubles.ts';

/** How long a cancelled batch may take to end before we stop waiting. */
const CANCEL_WAIT_MS = 10_000;

export interface FollowOptions {
  /** Bars the report must reach. */
  readonly bars?: readonly Bar[];
}

export async function followBatch(
  context: Context,
  connection: Connection,
  batch: string,
  options: FollowOptions,
): Promise<Outcome> {
  const rows = new Map<string, RolloutRow>();
  const progress = new Progress(context.terminal, context.tell);
  /** What was said on the way need not be said again at the end. */
  const told = new Set<string>();
  // An interrupted batch is still followed, to its end as a cancelled one.
  const end = new AbortController();
  const onInterrupt = (): void => {
    progress.note('Cancelling the batch … (Ctrl-C again leaves it to the server)');
    const wait = AbortSignal.timeout(CANCEL_WAIT_MS);
    wait.addEventListener('abort', () => end.abort(), { once: true });
    connection.api
      .commandBatch(
        batch,
        { command: newId('c'), verb: 'cancel', by: 'rollout', args: { reason: 'interrupted' } },
        wait,
      )
      .catch((error: unknown) => {
        progress.note(`The batch could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
        end.abort();
      });
  };
  context.signal.addEventListener('abort', onInterrupt, { once: true });
  let row = await connection.api.batch(batch, end.signal);
  const pods = await podsOf(connection.api, row, end.signal);
  const notes = new InfraNotes((line) => progress.note(line), pods);
  const batchEnd = new BatchEnd(
    async () => (await connection.api.batch(batch, end.signal)).state === 'ended',
    () => end.abort(),
  );
  try {
    await subscribe(
      connection,
      { stream: batch },
      {
        rows: (changed) => {
          for (const one of changed) rows.set(one.rollout, one);
          progress.update(row, rows);
        },
        events: (events) => {
          for (const event of events) {
            if (event.kind === 'infra') {
              told.add(event.data.text);
              notes.add(event);
            }
          }
          batchEnd.add(events);
        },
        head: () => {
          void batchEnd.head();
        },
        notice: (text) => progress.note(text),
        lost: (lost) =>
          progress.note(lost ? 'The connection to the server was lost; trying again …' : 'The connection is back.'),
      },
      end.signal,
    );
  } finally {
    notes.end();
    progress.end();
    context.signal.removeEventListener('abort', onInterrupt);
  }
  if (!batchEnd.reached)
    throw new StudioError('cancelled', `Batch ${batch} was left to the server.`, {
      hint: `rollout tail ${batch} follows it.`,
    });
  row = await connection.api.batch(batch);
  const bars = options.bars ?? [];
  const fork = await forkRates(connection.api, row, rows.values());
  const outcome = printReport(
    context,
    report(
      await reportInput(
        connection.api,
        row,
        bars.map((bar) => bar.k),
        new AbortController().signal,
        rows.values(),
      ),
    ),
    bars,
    { fork },
  );
  if (context.signal.aborted) {
    context.tell(`Batch ${batch} was cancelled.`);
    return 130;
  }
  const attempts = attemptsOf(rows.values());
  for (const line of troubleLines(row, attempts, told)) context.tell(line);
  const lost = outcomeOf(attempts);
  return lost === 0 ? outcome : lost;
}

/** How many pods it is to have, where each attempt has its own. Only to be told: without it, that is left out. */
async function podsOf(api: Api, row: BatchRow, signal: AbortSignal): Promise<number | undefined> {
  const submission = await readSubmission(api, row.submission, signal).catch(() => undefined);
  return submission?.pods?.isolation === 'pod' ? row.tasks * row.attempts : undefined;
}
