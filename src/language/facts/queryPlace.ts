/** Identifies the places that files name (see `config/queryPlaces.ts`). */
import { hashOf } from '../../common/hash.ts';
import { publicUrl } from '../../common/redaction/hidable.ts';
import { envNamesIn } from '../../config/env.ts';
import type { QueryPlace } from '../../config/queryPlaces.ts';
import type { EndpointRef, McpServerRef } from '../workspace/facts.ts';

/** Returns undefined for an endpoint that is never queried, because its URL depends on a variable. */
export function endpointPlace(ref: EndpointRef): QueryPlace | undefined {
  if (ref.endpoint.includes('${')) return undefined;
  return {
    id: hashOf(['endpoint', written(ref)]),
    kind: 'endpoint',
    title: publicUrl(ref.endpoint),
    variables: variablesOf(ref),
  };
}

/** Returns undefined for a server that is never queried, because its command or URL depends on a variable. */
export function serverPlace(ref: McpServerRef, folder: string): QueryPlace | undefined {
  const { command, args = [], cwd, url = '' } = ref;
  if ([command ?? url, ...args, cwd ?? ''].some((text) => text.includes('${'))) return undefined;
  const id = hashOf(['server', written(ref), folder]);
  const variables = variablesOf(ref);
  return command === undefined
    ? { id, kind: 'server', title: publicUrl(url), variables }
    : { id, kind: 'command', title: [command, ...args].join(' '), folder, variables };
}

function variablesOf(ref: EndpointRef | McpServerRef): string[] {
  return [...new Set(envNamesIn(JSON.stringify(ref)))].sort();
}

/** Drops undefined members, which have no canonical JSON. */
function written(ref: EndpointRef | McpServerRef): unknown {
  return JSON.parse(JSON.stringify(ref));
}
