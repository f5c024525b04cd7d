import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ask } from '../ask.ts';
import type { Search } from './provider.ts';

const answer = z.object({ results: z.array(z.object({ title: z.string().default(''), url: z.string(), content: z.string().nullish() })) });

/** A SearXNG of one's own. Its settings must allow the format `json`, else it refuses with status 403. */
export function searxng({ url = '' }: SearchSettings): Search {
  return async (query, count, signal) => {
    const address = new URL(`${url.replace(/\/+$/, '')}/search`);
    address.searchParams.set('q', query);
    address.searchParams.set('format', 'json');
    const { results } = await ask({ who: 'SearXNG', url: address, hints: { 403: 'its settings must name `json` among `search.formats`' }, signal }, answer);
    return results.slice(0, count).map((result) => ({ title: result.title, url: result.url, snippet: result.content ?? '' }));
  };
}
