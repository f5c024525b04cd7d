import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Connection } from '../../client/connect.ts';
import { importOnce } from '../../client/importOnce.ts';
import { gatherOffline } from '../../client/offline/offlineData.ts';
import { offlinePage } from '../../client/offline/offlinePage.ts';
import { openExternal } from '../../client/openExternal.ts';
import { comparePlaceOf, isReference, placeOf, resolveBatch } from '../../client/reference.ts';
import { subscribe } from '../../client/subscribe.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Api } from '../../protocol/api.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { viewUrl } from '../../protocol/viewLink.ts';
import { type Command, flag, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

export const view: Command = {
  name: 'view',
  usage: '[BATCH | ROLLOUT[:STEP|@SEQ] | BATCH/TASK/ATTEMPT | FILE] | BATCH BATCH | BATCH/TASK [BATCH] --compare',
  text:
    'Prints an address that shows a batch, two side by side (the earlier first), a trajectory, a recording or the ' +
    'attempts at a task in a browser, and serves it until Ctrl-C.',
  options: {
    compare: { type: 'boolean', text: 'all attempts at the task, side by side; of a second batch, too' },
    edit: { type: 'boolean', text: 'the address may be used to change things, not only to read' },
    open: { type: 'boolean', text: 'open it in the browser of this machine' },
    save: { type: 'string', value: 'FILE.html', text: 'write it as one file that needs no server, instead' },
    'with-trajectories': { type: 'boolean', text: 'with --save of batches: their trajectories too, as many as fit' },
  },
  async run(context, given) {
    const [word, other, ...more] = given.words;
    if (more.length > 0) throw new StudioError('usage', `usage: rollout view ${view.usage}`);
    const file = textOption(given, 'save');
    const trajectories = flag(given, 'with-trajectories');
    if (file !== undefined && (flag(given, 'edit') || flag(given, 'open')))
      throw new StudioError('usage', '--save writes a file; --edit and --open are for an address.');
    if (file === undefined && trajectories) throw new StudioError('usage', '--with-trajectories is for --save.');
    const connection = await context.connect();
    const alone = flag(given, 'compare')
      ? await comparePlaceOf(connection.api, word ?? '', context.signal)
      : await placeOfWord(context, connection.api, word);
    const place =
      other === undefined ? alone : beside(alone, await resolveBatch(connection.api, other, context.signal));
    if (file !== undefined) return save(context, connection.api, { place, trajectories, file });
    return serve(context, connection, place, { edit: flag(given, 'edit'), open: flag(given, 'open') });
  },
};

/** What a word of the command line means: a reference, or a recording, which is imported first. */
async function placeOfWord(context: Context, api: Api, word = 'last'): Promise<PagePlace> {
  const file = path.resolve(context.cwd, word);
  if (isReference(word) || !existsSync(file)) {
    return placeOf(api, word, context.signal).catch((error: unknown) => {
      if (!StudioError.is(error, 'usage') || isReference(word)) throw error;
      throw new StudioError(
        'usage',
        `“${word}” is neither a reference nor a file.`,
        error.hint === undefined ? {} : { hint: error.hint },
      );
    });
  }
  const { batch, imported } = await importOnce(api, file, context.signal);
  for (const { place, why } of imported?.skipped ?? []) context.tell(`left out ${place}: ${why}`);
  context.tell(
    imported === undefined
      ? `${word} is imported already: batch ${batch}`
      : `${word}: batch ${batch}, ${plural(imported.tasks.length, 'task')}, ${plural(imported.rollouts, 'rollout')}`,
  );
  return { page: 'batch', batch };
}

/** Another batch beside what the first word means. */
function beside(place: PagePlace, other: string): PagePlace {
  if (place.page !== 'batch' && place.page !== 'compare')
    throw new StudioError('usage', 'Only a batch has another beside it.', { hint: `Give ${view.usage}.` });
  if (place.batch === other) throw new StudioError('usage', 'This is one batch twice: there is nothing to compare.');
  return place.page === 'batch' ? { page: 'batches', batch: place.batch, with: other } : { ...place, with: other };
}

async function serve(
  context: Context,
  connection: Connection,
  place: PagePlace,
  how: { edit: boolean; open: boolean },
): Promise<Outcome> {
  const address = (): string => viewUrl(how.edit ? connection.address() : connection.readAddress(), place, how.edit);
  const head = await headOf(connection.api, place, context.signal);
  let url = address();
  if (context.json) context.printJson({ url, place, read_only: !how.edit });
  else context.print(url);
  // A page that cannot be opened here may still be opened elsewhere.
  if (how.open) await openExternal(url).catch((error: unknown) => context.tell(errorText(error)));
  // A server of this machine stays for a while; the way to one elsewhere ends with this command.
  const here = (context.target ?? LOCAL) === LOCAL;
  if (context.json && here) return 0;
  context.tell(
    `${how.edit ? 'Whoever has this address may change things. ' : ''}Ctrl-C ends the viewing; the server ` +
      `${here ? 'ends by itself when nothing runs' : 'goes on'}.`,
  );
  // Being connected keeps the server there, and finds or starts it again should it be lost.
  await subscribe(
    connection,
    head,
    {
      notice: context.tell,
      lost: (lost) => {
        const now = address();
        if (lost) context.tell('The connection to the server was lost; trying again …');
        else if (now !== url) context.print(now);
        url = now;
      },
    },
    context.signal,
  );
  return 0;
}

/**
 * The end of a page's stream: what comes from there on is little, and the page reads the rest itself. Throws
 * `not_found`: a reference may be well-formed and name nothing.
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
    throw new StudioError('storage', `${file} cannot be written: ${errorText(cause)}.`, { cause });
  }
  const { leftOut, valuesLeftOut } = gathered;
  if (leftOut > 0) context.tell(`${plural(leftOut, 'trajectory', 'trajectories')} did not fit into the file.`);
  if (valuesLeftOut > 0)
    context.tell(`${valuesLeftOut} ${valuesLeftOut === 1 ? 'value was' : 'values were'} too large for the file.`);
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
        plural(gathered.trajectories, 'trajectory', 'trajectories'),
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
  if (place.page === 'compare') return `attempts at ${place.task}, ${name} – Rollout Studio`;
  const row = Object.values(data.rollouts)
    .flat()
    .find(({ rollout }) => rollout === place.rollout);
  return `${row?.task ?? ''} attempt ${row?.attempt ?? ''}, ${name} – Rollout Studio`;
}
