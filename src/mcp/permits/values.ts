/**
 * Finds what a submission would newly do with values of environment variables: a value may go only to places where a
 * batch of this store already sent it, which a person launched or allowed.
 */
import { canonicalJson } from '../../common/json.ts';
import { envNamesIn } from '../../config/env.ts';
import {
  agentsOf,
  type Submission,
  type SubmittedModel,
  type SubmittedTools,
  submission,
} from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';

/** Number of newest batches whose places are known. */
const KNOWN_BATCHES = 50;

/** A place that values are inserted into. */
interface Place {
  /** Its settings, exactly. */
  readonly key: string;
  readonly names: readonly string[];
  /** The place for people. */
  readonly title: string;
}

/** Returns a sentence for each place that values would newly be sent to. `parent`: what the batch continues. */
export async function newPlaces(
  api: Api,
  planned: Submission,
  parent: Submission | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const known = new Set(parent === undefined ? [] : placesOf(parent).map(({ key }) => key));
  const open = (): Place[] => placesOf(planned).filter(({ key }) => !known.has(key));
  if (open().length === 0) return [];
  const { batches } = await api.batches({ limit: KNOWN_BATCHES }, signal);
  const shas = new Set(batches.filter(({ imported }) => !imported).map((batch) => batch.submission));
  for (const sha of shas) {
    if (open().length === 0) return [];
    const text = new TextDecoder().decode(await api.getBlob(sha, signal));
    for (const { key } of placesOf(submission.parse(JSON.parse(text)))) known.add(key);
  }
  return [...new Set(open().map(({ names, title }) => `It sends the value of ${names.join(', ')} to ${title}.`))];
}

function placesOf({ agent, world, scorer, notify, pods }: Submission): Place[] {
  const models = [
    ...agentsOf({ agent }).map(({ model }) => model),
    ...(world?.user === undefined ? [] : [world.user.model]),
    ...(scorer.kind === 'judge' ? [scorer.model] : []),
  ];
  return [
    ...models.flatMap(modelPlace),
    ...agentsOf({ agent }).flatMap(({ tools }) => tools.flatMap(toolsPlace)),
    ...(notify === undefined ? [] : place(notify, notify.url)),
    ...(pods?.sidecars ?? []).flatMap((sidecar) => place(sidecar, 'a sidecar of its pods')),
  ];
}

/** The name and sampling of a model may change, unless they contain values. */
function modelPlace({ endpoints, api_key: key, headers, name, sampling }: SubmittedModel): Place[] {
  const withValues = [name, sampling].filter((part) => envNamesIn(JSON.stringify(part)).length > 0);
  return place({ endpoints, key, headers, withValues }, endpoints.join(', '));
}

function toolsPlace(tools: SubmittedTools): Place[] {
  switch (tools.kind) {
    case 'mcp':
      return place(tools.server, `the MCP server ${serverText(tools.server)}`);
    case 'module':
      return place({ file: tools.module.file, secrets: tools.secrets }, `the module ${tools.module.file}`);
    case 'builtin':
      return place({ name: tools.name, settings: tools.settings }, `the tools \`${tools.name}\``);
  }
}

type McpServerPart = Extract<SubmittedTools, { kind: 'mcp' }>['server'];

function serverText(server: McpServerPart): string {
  return 'url' in server ? server.url : [server.command, ...server.args].join(' ');
}

function place(settings: object, title: string): Place[] {
  const key = canonicalJson(JSON.parse(JSON.stringify(settings))); // drops undefined members
  const names = [...new Set(envNamesIn(key))].sort();
  return names.length === 0 ? [] : [{ key, names, title }];
}
