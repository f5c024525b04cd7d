/** Places of pages: which panel one belongs to, how it is called, and as a link that others can follow. */
import type { PagePlace } from '../../protocol/page.ts';

/** Places with the same key share a panel. */
export function panelKey(place: PagePlace): string {
  if (place.page === 'compare') return `compare:${place.batch}/${place.task}`;
  return place.page === 'batch' ? `batch:${place.batch}` : `rollout:${place.rollout}`;
}

/** The reference of a place, as the command line takes it too. */
export function placeReference(place: PagePlace): string {
  if (place.page === 'batch') return place.batch;
  if (place.page === 'compare') return `${place.batch}/${place.task}`;
  if (place.seq !== undefined) return `${place.rollout}@${place.seq}`;
  return place.step === undefined ? place.rollout : `${place.rollout}:${place.step}`;
}

/** The name of a file that a place is saved as. */
export function placeFile(place: PagePlace): string {
  const name = place.page === 'trajectory' ? place.rollout : placeReference(place);
  return `${name.replaceAll(/[^\w.-]+/g, '-')}.html`;
}

/** Path and query of a link to a place; scheme and authority are those of the editor and the extension. */
export function placeLink(place: PagePlace): { readonly path: string; readonly query: string } {
  const query = new URLSearchParams({ ref: placeReference(place) });
  if (place.page === 'batch' && place.filter !== undefined && place.filter !== '') query.set('filter', place.filter);
  if (place.page === 'trajectory' && place.tab !== undefined) query.set('tab', place.tab);
  if (place.page === 'compare') query.set('compare', '1');
  return { path: '/open', query: query.toString() };
}

export interface PageLink {
  readonly reference: string;
  readonly filter?: string;
  readonly tab?: string;
  /** The reference is of a task: its attempts side by side. */
  readonly compare?: true;
}

/** What a link asks for; undefined when it is not one of ours. */
export function readLink(path: string, query: string): PageLink | undefined {
  const params = new URLSearchParams(query);
  const reference = params.get('ref');
  if (path !== '/open' || reference === null || reference === '') return undefined;
  const filter = params.get('filter');
  const tab = params.get('tab');
  return { reference, ...(filter === null ? {} : { filter }), ...(tab === null ? {} : { tab }), ...(params.get('compare') === '1' ? { compare: true } : {}) };
}

/** The place of a link, once its reference was looked up. */
export function linkPlace(place: PagePlace, { filter, tab }: PageLink): PagePlace {
  if (place.page === 'batch') return filter === undefined ? place : { ...place, filter };
  if (place.page === 'compare') return place;
  return tab === undefined ? place : { ...place, tab };
}
