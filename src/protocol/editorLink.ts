/**
 * Places as references, and as links that an editor with the extension opens:
 * `vscode://rollout-studio.rollout-studio/open?ref=…`.
 */
import type { PagePlace } from './page.ts';

/** The extension's id: whom the editor gives such a link to. */
export const EXTENSION_ID = 'rollout-studio.rollout-studio';

/** The reference of a place, as the command line takes it too. */
export function placeReference(place: PagePlace): string {
  if (place.page === 'batch' || place.page === 'batches') return place.batch;
  if (place.page === 'compare') return `${place.batch}/${place.task}`;
  if (place.seq !== undefined) return `${place.rollout}@${place.seq}`;
  return place.step === undefined ? place.rollout : `${place.rollout}:${place.step}`;
}

/** The same as words of the command line: what stands beside it has a word of its own. */
export function placeWords(place: PagePlace): readonly string[] {
  const other = place.page === 'compare' || place.page === 'batches' ? place.with : undefined;
  return [placeReference(place), ...(other === undefined ? [] : [other])];
}

/** Path and query of a link to a place; scheme and authority are those of the editor and the extension. */
export function placeLink(place: PagePlace): { readonly path: string; readonly query: string } {
  const query = new URLSearchParams({ ref: placeReference(place) });
  if (place.page === 'batch' && place.filter !== undefined && place.filter !== '') query.set('filter', place.filter);
  if (place.page === 'trajectory' && place.tab !== undefined) query.set('tab', place.tab);
  if (place.page === 'compare') query.set('compare', '1');
  if ((place.page === 'compare' || place.page === 'batches') && place.with !== undefined) query.set('with', place.with);
  return { path: '/open', query: query.toString() };
}

export interface PageLink {
  readonly reference: string;
  readonly filter?: string;
  readonly tab?: string;
  /** The reference is of a task: its attempts side by side. */
  readonly compare?: true;
  /** A later batch beside it. */
  readonly with?: string;
}

/** What a link asks for; undefined when it is not one of ours. */
export function readLink(path: string, query: string): PageLink | undefined {
  const params = new URLSearchParams(query);
  const reference = params.get('ref');
  if (path !== '/open' || reference === null || reference === '') return undefined;
  const filter = params.get('filter');
  const tab = params.get('tab');
  const other = params.get('with');
  return {
    reference,
    ...(filter === null ? {} : { filter }),
    ...(tab === null ? {} : { tab }),
    ...(params.get('compare') === '1' ? { compare: true } : {}),
    ...(other === null ? {} : { with: other }),
  };
}

/** The place of a link, once its reference was looked up. */
export function linkPlace(place: PagePlace, { filter, tab, with: other }: PageLink): PagePlace {
  if (place.page === 'batch')
    return other !== undefined
      ? { page: 'batches', batch: place.batch, with: other }
      : filter === undefined
        ? place
        : { ...place, filter };
  if (place.page === 'compare') return other === undefined ? place : { ...place, with: other };
  if (place.page === 'batches') return place;
  return tab === undefined ? place : { ...place, tab };
}

/** A link for VS Code, as the clipboard takes it. */
export function editorUrl(place: PagePlace): string {
  const { path, query } = placeLink(place);
  return `vscode://${EXTENSION_ID}${path}?${query}`;
}
