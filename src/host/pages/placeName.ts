/** Places of pages: which panel one belongs to, and how its file is called. */
import { placeWords } from '../../protocol/editorLink.ts';
import type { PagePlace } from '../../protocol/page.ts';

/** Places with the same key share a panel. */
export function panelKey(place: PagePlace): string {
  if (place.page === 'batches') return `batches:${place.batch}/${place.with}`;
  if (place.page === 'compare') return `compare:${place.batch}/${place.with ?? ''}/${place.task}`;
  return place.page === 'batch' ? `batch:${place.batch}` : `rollout:${place.rollout}`;
}

/** The name of a file that a place is saved as. */
export function placeFile(place: PagePlace): string {
  const name = place.page === 'trajectory' ? place.rollout : placeWords(place).join(' and ');
  return `${name.replaceAll(/[^\w.-]+/g, '-')}.html`;
}
