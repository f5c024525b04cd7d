import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ask } from '../ask.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search, SearchHit } from './provider.ts';

const ADDRESS = 'https://www.googleapis.com/customsearch/v1';
/** It gives no more at once, and no more than ten times as many. */
const AT_ONCE = 10;

const answer = z.object({
  items: z
    .array(z.object({ title: z.string().default(''), link: z.string(), snippet: z.string().default('') }))
    .default([]),
});

/** Google's Programmable Search Engine. */
export function google({ api_key = '', engine = '', url = ADDRESS }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const hits: SearchHit[] = [];
    while (hits.length < count) {
      const address = new URL(url);
      const num = Math.min(AT_ONCE, count - hits.length);
      for (const [name, value] of Object.entries({
        key: api_key,
        cx: engine,
        q: query,
        num: String(num),
        start: String(hits.length + 1),
      }))
        address.searchParams.set(name, value);
      const { items } = await ask({ who: 'Google search', url: address, explain, outgoing, signal }, answer);
      hits.push(...items.map((item) => ({ title: item.title, url: item.link, snippet: item.snippet })));
      if (items.length < num) break;
    }
    return hits;
  };
}

/** Quotas by the minute pass, those of a day do not. */
function explain(status: number, text: string): { readonly hint: string; readonly final: boolean } | undefined {
  if (/per day|dailyLimitExceeded/i.test(text)) return { hint: 'the quota of the day is used up', final: true };
  if (/API[ _]key[ _](not[ _]valid|invalid|expired)|keyInvalid/i.test(text))
    return { hint: 'the key `search.api_key` is not taken', final: true };
  if (status === 403 && /has not been used|is disabled|accessNotConfigured|does not have the access/i.test(text))
    return { hint: 'the project of the key has no Custom Search API', final: true };
  return status === 400 && /cx|invalid argument/i.test(text)
    ? { hint: 'is `search.engine` the ID of a search engine?', final: true }
    : undefined;
}
