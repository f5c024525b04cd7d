/** Derives panel keys and file names from places. */
import { placeWords } from '../../protocol/editorLink.ts';
import type { PagePlace } from '../../protocol/page.ts';

/** Returns the panel key. Places with the same key share a panel. */
export function panelKey(place: PagePlace): string {
  if (place.page === 'batches') return `batches:${place.batch}/${place.with}`;
  if (place.page === 'compare') return `compare:${place.batch}/${place.with ?? ''}/${place.task}`;
  return place.page === 'batch' ? `batch:${place.batch}` : `rollout:${place.rollout}`;
}

/** Returns the file name for saving a place. */
export function placeFile(place: PagePlace): string {
  const name = place.page === 'trajectory' ? place.rollout : placeWords(place).join(' and ');
  return `${name.replaceAll(/[^\w.-]+/g, '-')}.html`;
}
