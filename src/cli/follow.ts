/** Shows the progress of a batch until it ends, then prints its report. Ctrl-C cancels the batch. */

import { BatchEnd } from '../client/batchEnd.ts';
import { readSubmission, reportInput } from '../client/commands/reportInput.ts';
import type { Connection } from '../client/connect.ts';
import { podHours } from '../client/podHours.ts';
import { subscribe } from '../client/subscribe.ts';
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Api } from '../protocol/api.ts';
import type { BatchRow } from '../protocol/client.ts';
import { forkRates } from '../protocol/forkParent.ts';
import { rescoredChanges } from '../protocol/rescored.ts';
import { attemptCount } from '../trace/outcome.ts';
import type { Bar } from '../trace/statistics/bar.ts';
import { attemptsOf } from '../trace/statistics/outcomes.ts';
import { report } from '../trace/statistics.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { Outcome } from './command.ts';
import { connectionNotes } from './connectionNotes.ts';
import type { Context } from './context.ts';
import { InfraNotes } from './infraNotes.ts';
import { Progress } from './progress.ts';
import { printReport } from './reporting.ts';
import { outcomeOf, troubleLines } from './troubles.ts';

/** How long to wait for a cancelled batch to end. */
const CANCEL_WAIT_MS = 10_000;

export interface FollowOptions {
  /** Thresholds the report must reach. */
  readonly bars?: readonly Bar[];
  /** Prints another report once the batch has ended. */
  readonly report?: () => Promise<Outcome>;
}

export async function followBatch(
  context: Context,
  connection: Connection,
  batch: string,
  options: FollowOptions,
): Promise<Outcome> {
  const rows = new Map<string, RolloutRow>();
  const progress = new Progress(context.terminal, context.log);
  /** Texts of notes already shown, so that the summary does not repeat them. */
  const reported = new Set<string>();
  // After an interrupt, keep following until the batch ends as cancelled.
  const end = new AbortController();
  const onInterrupt = (): void => {
    progress.note('Cancelling the batch… (press Ctrl-C again to exit without waiting)');
    const wait = AbortSignal.timeout(CANCEL_WAIT_MS);
    wait.addEventListener('abort', () => end.abort(), { once: true });
    connection.api
      .commandBatch(
        batch,
        { command: newId('c'), verb: 'cancel', by: 'rollout', args: { reason: 'interrupted' } },
        wait,
      )
      .catch((error: unknown) => {
        progress.note(`Could not cancel the batch: ${error instanceof Error ? error.message : String(error)}`);
        end.abort();
      });
  };
  context.signal.addEventListener('abort', onInterrupt, { once: true });
  let row = await connection.api.batch(batch, end.signal);
  const pods = await podsOf(connection.api, row, end.signal);
  const notes = new InfraNotes((line) => progress.note(connection.placed?.(line) ?? line), pods);
  const connectionState = connectionNotes((text) => progress.note(text));
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
          for (const changedRow of changed) rows.set(changedRow.rollout, changedRow);
          progress.update(row, rows);
        },
        events: (events) => {
          for (const event of events) {
            if (event.kind === 'infra') {
              reported.add(event.data.text);
              notes.add(event);
            }
          }
          batchEnd.add(events);
        },
        head: () => {
          void batchEnd.head();
        },
        notice: (text) => progress.note(text),
        lost: connectionState.lost,
      },
      end.signal,
    );
  } finally {
    connectionState.end();
    notes.end();
    progress.end();
    context.signal.removeEventListener('abort', onInterrupt);
  }
  if (!batchEnd.reached)
    throw new StudioError('cancelled', `Stopped following batch ${batch}; the server may still be running it.`, {
      hint: `Follow it with rollout tail ${batch}.`,
    });
  connection.checkStore?.();
  row = await connection.api.batch(batch);
  const outcome = await (options.report?.() ?? printedReport(context, connection, row, rows, options.bars ?? []));
  if (context.signal.aborted) {
    context.log(`Batch ${batch} was cancelled.`);
    return 130;
  }
  const attempts = attemptsOf(rows.values());
  for (const line of troubleLines(row, attempts, reported)) context.log(line);
  const attemptOutcome = outcomeOf(attempts);
  return attemptOutcome === 0 ? outcome : attemptOutcome;
}

async function printedReport(
  context: Context,
  { api, placed }: Pick<Connection, 'api' | 'placed'>,
  row: BatchRow,
  rows: ReadonlyMap<string, RolloutRow>,
  bars: readonly Bar[],
): Promise<Outcome> {
  const [fork, rescored, hours] = await Promise.all([
    forkRates(api, row, rows.values()),
    rescoredChanges(api, row, rows.values()),
    podHours(api, row.batch),
  ]);
  return printReport(
    context,
    report(
      await reportInput(
        api,
        row,
        bars.map((bar) => bar.k),
        new AbortController().signal,
        rows.values(),
      ),
    ),
    bars,
    { fork, rescored, hours, placed },
  );
}

/** Returns how many pods the batch needs if each attempt has its own. Only for display: failures return undefined. */
async function podsOf(api: Api, row: BatchRow, signal: AbortSignal): Promise<number | undefined> {
  const submission = await readSubmission(api, row.submission, signal).catch(() => undefined);
  return submission?.pods?.isolation === 'pod' ? attemptCount(row) : undefined;
}
