/** Who searches the web, behind one interface. */
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { brave } from './brave.ts';
import { google } from './google.ts';
import { searxng } from './searxng.ts';

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** Gives at most `count` pages. Throws ClassedError. */
export type Search = (query: string, count: number, signal: AbortSignal) => Promise<readonly SearchHit[]>;

export function searchOf(settings: SearchSettings): Search {
  switch (settings.provider) {
    case 'google':
      return google(settings);
    case 'brave':
      return brave(settings);
    case 'searxng':
      return searxng(settings);
  }
}
