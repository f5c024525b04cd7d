/** Derives panel keys and file names from places. */
import { placeWords } from '../../protocol/editorLink.ts';
import type { PagePlace } from '../../protocol/page.ts';

/** Returns the panel key. Places with the same key share a panel. */
export function panelKey(place: PagePlace): string {
  if (place.page === 'batches') return `batches:${place.batch}/${place.with}`;
  if (place.page === 'compare') return `compare:${place.batch}/${place.with ?? ''}/${place.task}`;
  if (place.page === 'fidelity') return `fidelity:${place.batch}`;
  return place.page === 'batch' ? `batch:${place.batch}` : `rollout:${place.rollout}`;
}

/** Returns the file name for saving a place. */
export function placeFile(place: PagePlace): string {
  const words = placeWords(place).join(' and ');
  const name = place.page === 'trajectory' ? place.rollout : place.page === 'fidelity' ? `fidelity ${words}` : words;
  return `${name.replaceAll(/[^\w.-]+/g, '-')}.html`;
}
