import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ask } from '../ask.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search } from './provider.ts';
import { readable } from './readable.ts';

const ADDRESS = 'https://api.search.brave.com/res/v1/web/search';
const AT_ONCE = 20;

const answer = z.object({
  web: z
    .object({
      results: z.array(
        z.object({ title: z.string().default(''), url: z.string(), description: z.string().default('') }),
      ),
    })
    .nullish(),
});

/** The Brave Search API. */
export function brave({ api_key = '', url = ADDRESS }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const address = new URL(url);
    address.searchParams.set('q', query);
    address.searchParams.set('count', String(Math.min(AT_ONCE, count)));
    const { web } = await ask(
      { who: 'Brave search', url: address, headers: { 'x-subscription-token': api_key }, explain, outgoing, signal },
      answer,
    );
    // It marks what was found with tags.
    return (web?.results ?? []).slice(0, count).map(({ title, url: found, description }) => ({
      title: readable(title).text,
      url: found,
      snippet: readable(description).text,
    }));
  };
}

/** More than one request in a second is refused for that second; what the month allows is refused until it ends. */
function explain(status: number, text: string): { readonly hint: string; readonly final: boolean } | undefined {
  if (/SUBSCRIPTION_TOKEN_INVALID|SUBSCRIPTION_NOT_FOUND/.test(text) || status === 401)
    return { hint: 'the key `search.api_key` is not taken', final: true };
  if (/QUOTA_LIMITED|QUOTA_EXCEEDED/.test(text) || status === 402)
    return { hint: 'what the subscription allows is used up', final: true };
  return undefined;
}
