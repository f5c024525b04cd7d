/**
 * Converts places to references, and to links that an editor with the extension opens:
 * `vscode://rollout-studio.rollout-studio/open?ref=…`.
 */
import type { PagePlace } from './page.ts';

/** The extension's ID, to which the editor passes such a link. */
export const EXTENSION_ID = 'rollout-studio.rollout-studio';

/** Returns the reference of a place, as used on the command line too. */
export function placeReference(place: PagePlace): string {
  if (place.page === 'batch' || place.page === 'batches' || place.page === 'fidelity') return place.batch;
  if (place.page === 'compare') return `${place.batch}/${place.task}`;
  if (place.seq !== undefined) return `${place.rollout}@${place.seq}`;
  return place.step === undefined ? place.rollout : `${place.rollout}:${place.step}`;
}

/** Returns a place as words of the command line; a second batch is a separate word. */
export function placeWords(place: PagePlace): readonly string[] {
  const other = place.page === 'compare' || place.page === 'batches' ? place.with : undefined;
  return [placeReference(place), ...(other === undefined ? [] : [other])];
}

/** Returns path and query of a link to a place; the caller adds scheme and authority. */
export function placeLink(place: PagePlace): { readonly path: string; readonly query: string } {
  const query = new URLSearchParams({ ref: placeReference(place) });
  if (place.page === 'batch' && place.filter !== undefined && place.filter !== '') query.set('filter', place.filter);
  if (place.page === 'trajectory' && place.check !== undefined) query.set('check', String(place.check));
  if (place.page === 'trajectory' && place.tab !== undefined) query.set('tab', place.tab);
  if (place.page === 'fidelity') query.set('fidelity', '1');
  if (place.page === 'compare') query.set('compare', '1');
  if (place.page === 'compare' && place.rollout !== undefined) query.set('rollout', place.rollout);
  if ((place.page === 'compare' || place.page === 'batches') && place.with !== undefined) query.set('with', place.with);
  return { path: '/open', query: query.toString() };
}

interface PageLink {
  readonly reference: string;
  readonly filter?: string;
  /** Index of a check of the score that is referenced. */
  readonly check?: number;
  readonly tab?: string;
  /** The reference is a task: shows its attempts side by side. */
  readonly compare?: true;
  /** The reference is a batch: shows the fidelity of the world that it compares with recordings. */
  readonly fidelity?: true;
  /** The attempt to compare with others. */
  readonly rollout?: string;
  /** A later batch to compare with. */
  readonly with?: string;
}

/** Parses a link. Returns undefined for a link of another extension. */
export function readLink(path: string, query: string): PageLink | undefined {
  const params = new URLSearchParams(query);
  const reference = params.get('ref');
  if (path !== '/open' || reference === null || reference === '') return undefined;
  const filter = params.get('filter');
  const check = params.get('check');
  const tab = params.get('tab');
  const rollout = params.get('rollout');
  const other = params.get('with');
  return {
    reference,
    ...(filter === null ? {} : { filter }),
    ...(check !== null && /^\d{1,9}$/.test(check) ? { check: Number(check) } : {}),
    ...(tab === null ? {} : { tab }),
    ...(params.get('compare') === '1' ? { compare: true } : {}),
    ...(params.get('fidelity') === '1' ? { fidelity: true } : {}),
    ...(rollout === null ? {} : { rollout }),
    ...(other === null ? {} : { with: other }),
  };
}

/** Returns the place of a link, once its reference was resolved. */
export function linkPlace(
  place: PagePlace,
  { filter, check, tab, rollout, fidelity, with: other }: PageLink,
): PagePlace {
  if (place.page === 'batch' && fidelity === true) return { page: 'fidelity', batch: place.batch };
  if (place.page === 'batch')
    return other !== undefined
      ? { page: 'batches', batch: place.batch, with: other }
      : filter === undefined
        ? place
        : { ...place, filter };
  if (place.page === 'compare')
    return {
      ...place,
      ...(rollout === undefined ? {} : { rollout }),
      ...(other === undefined ? {} : { with: other }),
    };
  if (place.page === 'batches' || place.page === 'fidelity') return place;
  return { ...place, ...(check === undefined ? {} : { check }), ...(tab === undefined ? {} : { tab }) };
}

/** Returns a link for VS Code, for the clipboard. */
export function editorUrl(place: PagePlace): string {
  const { path, query } = placeLink(place);
  return `vscode://${EXTENSION_ID}${path}?${query}`;
}
