import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ask } from '../ask.ts';
import type { Search, SearchHit } from './provider.ts';

const ADDRESS = 'https://www.googleapis.com/customsearch/v1';
/** It gives no more at once, and no more than ten times as many. */
const AT_ONCE = 10;

const answer = z.object({ items: z.array(z.object({ title: z.string().default(''), link: z.string(), snippet: z.string().default('') })).default([]) });

/** Google's Programmable Search Engine. */
export function google({ api_key = '', engine = '', url = ADDRESS }: SearchSettings): Search {
  return async (query, count, signal) => {
    const hits: SearchHit[] = [];
    while (hits.length < count) {
      const address = new URL(url);
      const num = Math.min(AT_ONCE, count - hits.length);
      for (const [name, value] of Object.entries({ key: api_key, cx: engine, q: query, num: String(num), start: String(hits.length + 1) })) address.searchParams.set(name, value);
      const { items } = await ask({ who: 'Google search', url: address, signal }, answer);
      hits.push(...items.map((item) => ({ title: item.title, url: item.link, snippet: item.snippet })));
      if (items.length < num) break;
    }
    return hits;
  };
}
