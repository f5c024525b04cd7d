/** Common interface of the search providers. */

import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { brave } from './brave.ts';
import { google } from './google.ts';
import type { Outgoing } from './outgoing.ts';
import { searxng } from './searxng.ts';

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** Returns at most `count` pages. Throws ClassedError. */
export type Search = (query: string, count: number, signal: AbortSignal) => Promise<readonly SearchHit[]>;

export function searchOf(settings: SearchSettings, outgoing: Outgoing): Search {
  switch (settings.provider) {
    case 'google':
      return google(settings, outgoing);
    case 'brave':
      return brave(settings, outgoing);
    case 'searxng':
      return searxng(settings, outgoing);
  }
}
