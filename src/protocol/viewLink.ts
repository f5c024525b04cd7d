/**
 * The address of a page in a browser: `http://…/view/#token=…&rollout=r…&seq=12`, with `edit=1` when the token has full
 * access. Token and place are in the fragment, which browsers do not send.
 */
import type { PagePlace } from './page.ts';
import type { ServerAddress } from './transport.ts';

export const VIEW_PATH = '/view/';

export function viewUrl({ url, token }: ServerAddress, place: PagePlace, edit: boolean): string {
  return pageUrl(url, { token }, place, edit);
}

/** Returns an address that can be opened once: the page exchanges the ticket for a token. */
export function ticketUrl(url: string, ticket: string, place: PagePlace, edit: boolean): string {
  return pageUrl(url, { ticket }, place, edit);
}

function pageUrl(
  url: string,
  access: { readonly token: string } | { readonly ticket: string },
  place: PagePlace,
  edit: boolean,
): string {
  const values = new URLSearchParams([...Object.entries(access), ...placeToParams(place)]);
  if (edit) values.set('edit', '1');
  return `${url}${VIEW_PATH}#${values.toString()}`;
}

/** Converts a place to URL parameters. */
export function placeToParams(place: PagePlace): URLSearchParams {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(place))
    if (key !== 'page' && value !== undefined) params.set(key, String(value));
  if (place.page === 'fidelity') params.set('fidelity', '1');
  return params;
}

/** Converts URL parameters to a place; undefined without a batch or rollout. */
export function placeFromParams(params: URLSearchParams): PagePlace | undefined {
  const [batch, task, rollout] = [params.get('batch'), params.get('task'), params.get('rollout')];
  if (rollout !== null && task === null) {
    const [seq, check, step] = ['seq', 'check', 'step'].map((name) => whole(params.get(name)));
    const tab = params.get('tab');
    return {
      page: 'trajectory',
      rollout,
      ...(seq === undefined ? {} : { seq }),
      ...(check === undefined ? {} : { check }),
      ...(step === undefined ? {} : { step }),
      ...(tab === null ? {} : { tab }),
      ...(params.get('fork') === 'true' ? { fork: true } : {}),
    };
  }
  if (batch === null) return undefined;
  const other = params.get('with');
  if (task !== null)
    return {
      page: 'compare',
      batch,
      task,
      ...(rollout === null ? {} : { rollout }),
      ...(other === null ? {} : { with: other }),
    };
  if (other !== null) return { page: 'batches', batch, with: other };
  if (params.get('fidelity') === '1') return { page: 'fidelity', batch };
  const filter = params.get('filter');
  return { page: 'batch', batch, ...(filter === null ? {} : { filter }) };
}

function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
