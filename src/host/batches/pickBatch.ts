/** Finds the batch for a command: its argument, the active page, or one that the user picks. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { argumentPlace } from '../open/argument.ts';
import type { Services } from '../services.ts';
import { batchText, withoutDebugRuns } from './batchText.ts';

interface PickBatchOptions {
  readonly title: string;
  /** Whether the command applies to a batch. */
  readonly applies: (row: BatchRow) => boolean;
  /** If only one batch applies, use it without asking. */
  readonly direct?: boolean;
}

/** Returns undefined if the user cancels. */
export async function pickBatch(
  services: Services,
  argument: unknown,
  options: PickBatchOptions,
): Promise<string | undefined> {
  const named = batchOf(argument) ?? activeBatch(services, argument);
  if (named !== undefined) return named;
  const { api } = await services.server.connection();
  const { batches } = await api.batches({ limit: 200 });
  const applicable = batches.filter(options.applies);
  if (applicable.length === 0) throw new StudioError('not_found', `No batch is available for “${options.title}”.`);
  // A debug run is never the default.
  const measured = withoutDebugRuns(applicable);
  const [only] = measured;
  if (options.direct === true && measured.length === 1 && only !== undefined) return only.batch;
  const rows = [...measured, ...applicable.filter((row) => !measured.includes(row))];
  const items = rows.map((row) => ({
    label: row.name,
    description: `${batchText(row)}${row.debug === true ? ' · debug run' : ''}`,
    detail: `${row.batch} · ${new Date(row.created_at).toLocaleString()}`,
    batch: row.batch,
  }));
  return (
    await vscode.window.showQuickPick(items, {
      title: options.title,
      placeHolder: 'Select a batch',
      matchOnDescription: true,
      matchOnDetail: true,
    })
  )?.batch;
}

/** Title buttons of a page pass the page's URI, which does not identify a batch. */
function activeBatch({ pages }: Services, argument: unknown): string | undefined {
  const place = pages.active.value;
  return place?.page === 'batch' && (argument === undefined || argument instanceof vscode.Uri)
    ? place.batch
    : undefined;
}

function batchOf(argument: unknown): string | undefined {
  const place = argumentPlace(argument);
  if (typeof place === 'string') return place.split('/')[0];
  return place === undefined || place.page === 'trajectory' ? undefined : place.batch;
}
