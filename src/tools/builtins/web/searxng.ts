import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { requestService } from '../serviceRequest.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search } from './provider.ts';

const answer = z.object({
  results: z.array(z.object({ title: z.string().default(''), url: z.string(), content: z.string().nullish() })),
  unresponsive_engines: z.array(z.array(z.string())).optional(),
});

/** Searches with a SearXNG instance. Its settings must enable the format `json`; otherwise it returns status 403. */
export function searxng({ url = '' }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const address = new URL(`${url.replace(/\/+$/, '')}/search`);
    address.searchParams.set('q', query);
    address.searchParams.set('format', 'json');
    const { results, unresponsive_engines: unresponsive = [] } = await requestService(
      { service: 'SearXNG', url: address, explain, outgoing, signal },
      answer,
    );
    // Distinguishes an empty result from failed engines.
    if (results.length === 0 && unresponsive.length > 0)
      throw new ClassedError(
        'tool_error',
        'SearXNG found nothing because some of its engines do not respond: ' +
          `${unresponsive.map(([name, why]) => `${name ?? ''} (${why ?? ''})`).join(', ')}.`,
      );
    return results
      .slice(0, count)
      .map((result) => ({ title: result.title, url: result.url, snippet: result.content ?? '' }));
  };
}

function explain(status: number): { readonly hint: string; readonly final: boolean } | undefined {
  if (status === 403) return { hint: 'add `json` to `search.formats` in its settings', final: true };
  return status === 429 ? { hint: 'its rate limiter blocks this machine', final: false } : undefined;
}
