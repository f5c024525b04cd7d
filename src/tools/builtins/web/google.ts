import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { requestService } from '../serviceRequest.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search, SearchHit } from './provider.ts';

const DEFAULT_URL = 'https://www.googleapis.com/customsearch/v1';
/** Maximum number of results per request; the total maximum is ten times as many. */
const MAX_PER_REQUEST = 10;

const answer = z.object({
  items: z
    .array(z.object({ title: z.string().default(''), link: z.string(), snippet: z.string().default('') }))
    .default([]),
});

/** Google's Programmable Search Engine. */
export function google({ api_key = '', engine = '', url = DEFAULT_URL }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const hits: SearchHit[] = [];
    while (hits.length < count) {
      const address = new URL(url);
      const num = Math.min(MAX_PER_REQUEST, count - hits.length);
      for (const [name, value] of Object.entries({
        key: api_key,
        cx: engine,
        q: query,
        num: String(num),
        start: String(hits.length + 1),
      }))
        address.searchParams.set(name, value);
      const { items } = await requestService(
        { service: 'Google search', url: address, explain, outgoing, signal },
        answer,
      );
      hits.push(...items.map((item) => ({ title: item.title, url: item.link, snippet: item.snippet })));
      if (items.length < num) break;
    }
    return hits;
  };
}

/** Explains errors: quotas per minute are temporary, daily quotas are not. */
function explain(status: number, text: string): { readonly hint: string; readonly final: boolean } | undefined {
  if (/per day|dailyLimitExceeded/i.test(text)) return { hint: 'the daily quota is exhausted', final: true };
  if (/API[ _]key[ _](not[ _]valid|invalid|expired)|keyInvalid/i.test(text))
    return { hint: 'the key in `search.api_key` is invalid', final: true };
  if (status === 403 && /has not been used|is disabled|accessNotConfigured|does not have the access/i.test(text))
    return { hint: 'the Custom Search API is not enabled for the project of the key', final: true };
  return status === 400 && /cx|invalid argument/i.test(text)
    ? { hint: 'check that `search.engine` is the ID of a search engine', final: true }
    : undefined;
}
