import { z } from 'zod';
import type { SearchSettings } from '../../../config/schema/builtinSettings.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { ask } from '../ask.ts';
import type { Outgoing } from './outgoing.ts';
import type { Search } from './provider.ts';

const answer = z.object({
  results: z.array(z.object({ title: z.string().default(''), url: z.string(), content: z.string().nullish() })),
  unresponsive_engines: z.array(z.array(z.string())).optional(),
});

/** A SearXNG of one's own. Its settings must allow the format `json`, else it refuses with status 403. */
export function searxng({ url = '' }: SearchSettings, outgoing: Outgoing): Search {
  return async (query, count, signal) => {
    const address = new URL(`${url.replace(/\/+$/, '')}/search`);
    address.searchParams.set('q', query);
    address.searchParams.set('format', 'json');
    const { results, unresponsive_engines: away = [] } = await ask(
      { who: 'SearXNG', url: address, explain, outgoing, signal },
      answer,
    );
    // Nothing found and nobody heard are not the same.
    if (results.length === 0 && away.length > 0)
      throw new ClassedError(
        'tool_error',
        'SearXNG has found nothing, for engines of it do not answer: ' +
          `${away.map(([name, why]) => `${name ?? ''} (${why ?? ''})`).join(', ')}.`,
      );
    return results
      .slice(0, count)
      .map((result) => ({ title: result.title, url: result.url, snippet: result.content ?? '' }));
  };
}

function explain(status: number): { readonly hint: string; readonly final: boolean } | undefined {
  if (status === 403) return { hint: 'its settings must name `json` among `search.formats`', final: true };
  return status === 429 ? { hint: 'its limiter holds this machine for a robot', final: false } : undefined;
}
