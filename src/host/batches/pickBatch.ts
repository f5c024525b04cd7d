/** Which batch a command is about: the one it was called on, the one on the active page, else one that is chosen. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { argumentPlace } from '../open/argument.ts';
import type { Services } from '../services.ts';
import { batchText } from './batchText.ts';

export interface PickBatchOptions {
  readonly title: string;
  /** Whether the command makes sense for a batch. */
  readonly sensible: (row: BatchRow) => boolean;
  /** The only sensible one is taken without asking. */
  readonly direct?: boolean;
}

/** undefined: the user closed the question. */
export async function pickBatch(
  services: Services,
  argument: unknown,
  want: PickBatchOptions,
): Promise<string | undefined> {
  const named = batchOf(argument) ?? activeBatch(services, argument);
  if (named !== undefined) return named;
  const { api } = await services.server.connection();
  const { batches } = await api.batches({ limit: 200 });
  const rows = batches.filter(want.sensible);
  const [only] = rows;
  if (only === undefined) throw new StudioError('not_found', `No batch is available for “${want.title}”.`);
  if (want.direct === true && rows.length === 1) return only.batch;
  const items = rows.map((row) => ({
    label: row.name,
    description: batchText(row),
    detail: `${row.batch} · ${new Date(row.created_at).toLocaleString()}`,
    batch: row.batch,
  }));
  return (
    await vscode.window.showQuickPick(items, {
      title: want.title,
      placeHolder: 'Select a batch',
      matchOnDescription: true,
      matchOnDetail: true,
    })
  )?.batch;
}

/** A title button of a page gives the page's address, which names nothing. */
function activeBatch({ pages }: Services, argument: unknown): string | undefined {
  const place = pages.active.value;
  return place?.page === 'batch' && (argument === undefined || argument instanceof vscode.Uri)
    ? place.batch
    : undefined;
}

function batchOf(argument: unknown): string | undefined {
  const place = argumentPlace(argument);
  if (typeof place === 'string') return place.split('/')[0];
  return place?.page === 'batch' || place?.page === 'compare' || place?.page === 'batches' ? place.batch : undefined;
}
