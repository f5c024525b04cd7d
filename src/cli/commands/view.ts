import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Connection } from '../../client/connect.ts';
import { importOnce } from '../../client/importOnce.ts';
import { gatherOffline } from '../../client/offline/offlineData.ts';
import { offlinePage } from '../../client/offline/offlinePage.ts';
import { openExternal } from '../../client/openExternal.ts';
import {
  comparePlaceOf,
  isReference,
  parseReference,
  placeOf,
  resolveBatch,
  resolveRollout,
} from '../../client/reference.ts';
import { subscribe } from '../../client/subscribe.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Api } from '../../protocol/api.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { ticketUrl, viewUrl } from '../../protocol/viewLink.ts';
import { type Command, flag, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

export const view: Command = {
  name: 'view',
  usage: '[BATCH | ROLLOUT[:STEP|@SEQ] | BATCH/TASK/ATTEMPT | FILE] | BATCH BATCH | BATCH/TASK [BATCH] --compare',
  text:
    'Prints a URL that shows a batch, two batches (the earlier one first), a trajectory, a recording, or the ' +
    'attempts of a task in a browser, and serves it until Ctrl-C.',
  options: {
    compare: { type: 'boolean', text: 'show all attempts of the task side by side, optionally with a second batch’s' },
    left: { type: 'string', value: 'ATTEMPT', text: 'with --compare: the ROLLOUT or BATCH/TASK/ATTEMPT on the left' },
    edit: { type: 'boolean', text: 'allow changes from the page; by default it is read-only' },
    open: { type: 'boolean', text: 'open the URL in the default browser' },
    save: { type: 'string', value: 'FILE.html', text: 'instead, save the page as a file that needs no server' },
    'with-trajectories': { type: 'boolean', text: 'with --save of a batch: include as many trajectories as fit' },
  },
  async run(context, commandLine) {
    const [word, other, ...more] = commandLine.words;
    if (more.length > 0) throw new StudioError('usage', `usage: rollout view ${view.usage}`);
    const file = textOption(commandLine, 'save');
    const trajectories = flag(commandLine, 'with-trajectories');
    if (file !== undefined && (flag(commandLine, 'edit') || flag(commandLine, 'open')))
      throw new StudioError('usage', '--save cannot be combined with --edit or --open.');
    if (file === undefined && trajectories) throw new StudioError('usage', '--with-trajectories requires --save.');
    const connection = await context.connect();
    const page = flag(commandLine, 'compare')
      ? await comparePlaceOf(connection.api, word ?? '', context.signal)
      : await placeOfWord(context, connection.api, word);
    const whole =
      other === undefined ? page : withOther(page, await resolveBatch(connection.api, other, context.signal));
    const left = textOption(commandLine, 'left');
    const place = left === undefined ? whole : await withLeft(whole, left, connection.api, context.signal);
    if (file !== undefined) return save(context, connection.api, { place, trajectories, file });
    return serve(context, connection, place, { edit: flag(commandLine, 'edit'), open: flag(commandLine, 'open') });
  },
};

/** Resolves a reference, or a recording file, which is imported first. */
async function placeOfWord(context: Context, api: Api, word = 'last'): Promise<PagePlace> {
  const file = path.resolve(context.cwd, word);
  if (isReference(word) || !existsSync(file)) {
    return placeOf(api, word, context.signal).catch((error: unknown) => {
      if (!StudioError.is(error, 'usage') || isReference(word)) throw error;
      throw new StudioError(
        'usage',
        `“${word}” is not a reference or a file.`,
        error.hint === undefined ? {} : { hint: error.hint },
      );
    });
  }
  const { batch, imported } = await importOnce(api, file, context.signal);
  for (const { place, why } of imported?.skipped ?? []) context.log(`Skipped ${place}: ${why}`);
  context.log(
    imported === undefined
      ? `${word} is already imported as batch ${batch}`
      : `${word}: batch ${batch}, ${plural(imported.tasks.length, 'task')}, ${plural(imported.rollouts, 'rollout')}`,
  );
  return { page: 'batch', batch };
}

/** Adds a second batch to compare with. */
function withOther(place: PagePlace, other: string): PagePlace {
  if (place.page !== 'batch' && place.page !== 'compare')
    throw new StudioError('usage', 'Only batches and tasks can be compared with another batch.', {
      hint: `Use ${view.usage}.`,
    });
  if (place.batch === other) throw new StudioError('usage', 'A batch cannot be compared with itself.');
  return place.page === 'batch' ? { page: 'batches', batch: place.batch, with: other } : { ...place, with: other };
}

/** Puts an attempt on the left. Throws StudioError `usage` if it is not one of those that are compared. */
async function withLeft(place: PagePlace, word: string, api: Api, signal: AbortSignal): Promise<PagePlace> {
  if (place.page !== 'compare') throw new StudioError('usage', '--left requires --compare.');
  const reference = parseReference(word);
  if (reference.kind === 'batch')
    throw new StudioError('usage', `“${word}” is not an attempt.`, { hint: 'Use ROLLOUT or BATCH/TASK/ATTEMPT.' });
  const rollout = await resolveRollout(api, reference, signal);
  const { row } = await api.rollout(rollout, signal);
  if (row.task !== place.task || ![place.batch, place.with].includes(row.batch))
    throw new StudioError('usage', `${word} is not an attempt of ${place.batch}/${place.task}.`, {
      hint: `List its attempts with rollout compare ${place.batch}/${place.task}.`,
    });
  return { ...place, rollout };
}

async function serve(
  context: Context,
  connection: Connection,
  place: PagePlace,
  options: { edit: boolean; open: boolean },
): Promise<Outcome> {
  const address = (): string =>
    viewUrl(options.edit ? connection.address() : connection.readAddress(), place, options.edit);
  const head = await headOf(connection.api, place, context.signal);
  let url = address();
  if (context.json) context.printJson({ url, place, read_only: !options.edit });
  else context.print(url);
  // If no browser can be opened here, the URL may still work elsewhere.
  if (options.open)
    await openOnce(connection, place, options.edit).catch((error: unknown) => context.log(errorText(error)));
  // The local server keeps running for a while, but a port forward to a remote one ends with this command.
  const isLocal = (context.target ?? LOCAL) === LOCAL;
  if (context.json && isLocal) return 0;
  context.log(
    `${options.edit ? 'Anyone with this URL can make changes. ' : ''}Press Ctrl-C to stop serving it; the server ` +
      `${isLocal ? 'stops by itself when idle' : 'keeps running'}.`,
  );
  // The subscription keeps the server running, and reconnects to it or restarts it if it is lost.
  await subscribe(
    connection,
    head,
    {
      notice: context.log,
      lost: (lost) => {
        const now = address();
        if (lost) context.log('Lost the connection to the server. Reconnecting…');
        else if (now !== url) context.print(now);
        url = now;
      },
    },
    context.signal,
  );
  return 0;
}

/** Opens the page with a ticket: other users of the machine see the arguments of the browser. */
async function openOnce(connection: Connection, place: PagePlace, edit: boolean): Promise<void> {
  const ticket = await connection.api.ticket(edit);
  await openExternal(ticketUrl(connection.address().url, ticket, place, edit));
}

/**
 * Returns the end of the page's stream, so that the subscription carries little; the page itself reads the rest.
 * Throws StudioError `not_found` if the reference does not exist.
 */
async function headOf(
  api: Api,
  place: PagePlace,
  signal: AbortSignal,
): Promise<{ stream: string; after: number; afterRev?: number }> {
  if (place.page === 'trajectory')
    return { stream: place.rollout, after: (await api.rollout(place.rollout, signal)).row.last };
  if ('with' in place && place.with !== undefined) await api.batch(place.with, signal);
  const { batch, last, rev } = await api.batch(place.batch, signal);
  return { stream: batch, after: last, afterRev: rev };
}

async function save(
  context: Context,
  api: Api,
  { place, trajectories, file }: { place: PagePlace; trajectories: boolean; file: string },
): Promise<Outcome> {
  const { signal } = context;
  const gathered = await gatherOffline(api, { place, trajectories, signal });
  const html = await offlinePage({ title: titleOf(place, gathered.data), data: gathered.data });
  const target = path.resolve(context.cwd, file);
  try {
    await writeFile(target, html);
  } catch (cause) {
    throw new StudioError('storage', `Cannot write ${file}: ${errorText(cause)}.`, { cause });
  }
  const { leftOut, valuesLeftOut } = gathered;
  if (leftOut > 0) context.log(`${plural(leftOut, 'trajectory', 'trajectories')} did not fit into the file.`);
  if (valuesLeftOut > 0)
    context.log(`${valuesLeftOut} ${valuesLeftOut === 1 ? 'value was' : 'values were'} too large for the file.`);
  if (context.json)
    context.printJson({
      file: target,
      bytes: Buffer.byteLength(html),
      trajectories: gathered.trajectories,
      left_out: leftOut,
      values_left_out: valuesLeftOut,
    });
  else
    context.print(
      `${file}: ${(Buffer.byteLength(html) / 1e6).toFixed(1)} MB, ` +
        (place.page === 'batch' && !trajectories
          ? 'without trajectories; --with-trajectories includes them'
          : plural(gathered.trajectories, 'trajectory', 'trajectories')),
    );
  return 0;
}

function titleOf(
  place: PagePlace,
  data: {
    batches: readonly { batch: string; name: string }[];
    rollouts: Readonly<Record<string, readonly { rollout: string; task: string; attempt: number }[]>>;
  },
): string {
  const name = data.batches.map((batch) => batch.name).join(' and ');
  if (place.page === 'batch' || place.page === 'batches') return `${name} – Rollout Studio`;
  if (place.page === 'fidelity') return `Fidelity of ${name} – Rollout Studio`;
  if (place.page === 'compare') return `attempts of ${place.task}, ${name} – Rollout Studio`;
  const row = Object.values(data.rollouts)
    .flat()
    .find(({ rollout }) => rollout === place.rollout);
  return `${row?.task ?? ''} attempt ${row?.attempt ?? ''}, ${name} – Rollout Studio`;
}
