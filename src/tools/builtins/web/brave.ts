import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { requestService } from '../serviceRequest.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search } from './provider.ts';
import { readable } from './readable.ts';

const DEFAULT_URL = 'https://api.search.brave.com/res/v1/web/search';
const MAX_PER_REQUEST = 20;

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
export function brave({ api_key = '', url = DEFAULT_URL }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const address = new URL(url);
    address.searchParams.set('q', query);
    address.searchParams.set('count', String(Math.min(MAX_PER_REQUEST, count)));
    const { web } = await requestService(
      {
        service: 'Brave search',
        url: address,
        headers: { 'x-subscription-token': api_key },
        explain,
        outgoing,
        signal,
      },
      answer,
    );
    // Results contain tags that highlight matches.
    return (web?.results ?? []).slice(0, count).map(({ title, url: found, description }) => ({
      title: readable(title).text,
      url: found,
      snippet: readable(description).text,
    }));
  };
}

/** Explains errors: the rate limit per second is temporary, the monthly quota is not. */
function explain(status: number, text: string): { readonly hint: string; readonly final: boolean } | undefined {
  if (/SUBSCRIPTION_TOKEN_INVALID|SUBSCRIPTION_NOT_FOUND/.test(text) || status === 401)
    return { hint: 'the key in `search.api_key` is invalid', final: true };
  if (/QUOTA_LIMITED|QUOTA_EXCEEDED/.test(text) || status === 402)
    return { hint: 'the quota of the subscription is exhausted', final: true };
  return undefined;
}
