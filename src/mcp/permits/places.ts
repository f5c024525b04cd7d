/**
 * Finds what a submission would newly reach: commands and images that it starts, addresses that it sends to, and places
 * that get values of environment variables. A batch of this store that did the same before was launched or allowed by
 * a person; everything else needs one.
 */
import { canonicalJson } from '../../common/json.ts';
import { publicUrl } from '../../common/redaction/hidable.ts';
import { envNamesIn } from '../../config/env.ts';
import { isInstalled } from '../../config/submission/installed.ts';
import { withPart } from '../../config/submission/mix.ts';
import {
  agentsOf,
  type SimulationSources,
  type Submission,
  type SubmittedModel,
  type SubmittedTools,
  sideModelsOf,
  sourcesOf,
  submission,
  toolsOf,
} from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';

/** Number of newest batches whose places are known. */
const KNOWN_BATCHES = 50;

/** Something that a batch starts or sends to. */
interface Access {
  /** Its settings, exactly. */
  readonly key: string;
  /** A sentence for people. */
  readonly text: string;
}

/** A part of a submission with the values and the accesses that it needs. */
interface Place {
  /** Absent if no values are inserted. Whoever allows it also allows the accesses. */
  readonly values: Access | undefined;
  readonly accesses: readonly Access[];
}

interface PlaceOptions {
  /** What the batch continues. */
  readonly parent: Submission | undefined;
  /** Variables of the person who started the server. */
  readonly env: NodeJS.ProcessEnv;
}

/** Returns a sentence for everything that would newly be started or sent. */
export async function newPlaces(
  api: Api,
  planned: Submission,
  { parent, env }: PlaceOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const known = new Set(env['ROLLOUT_SANDBOX'] === 'off' ? [NO_SANDBOX.key] : []);
  if (parent !== undefined) addKnown(known, parent);
  const open = (): Access[] =>
    placesOf(planned).flatMap(({ values, accesses }) =>
      values !== undefined && !known.has(values.key) ? [values] : accesses.filter(({ key }) => !known.has(key)),
    );
  if (open().length === 0) return [];
  const { batches } = await api.batches({ limit: KNOWN_BATCHES }, signal);
  const shas = new Set(batches.filter(({ imported }) => !imported).map((batch) => batch.submission));
  for (const sha of shas) {
    if (open().length === 0) return [];
    const text = new TextDecoder().decode(await api.getBlob(sha, signal));
    addKnown(known, submission.parse(JSON.parse(text)));
  }
  return [...new Set(open().map(({ text }) => text))];
}

function addKnown(known: Set<string>, past: Submission): void {
  for (const { values, accesses } of placesOf(past))
    for (const { key } of [...accesses, ...(values === undefined ? [] : [values])]) known.add(key);
}

function placesOf(planned: Submission): Place[] {
  const { agent, mix = [], world, scorer, notify, pods, sandbox } = planned;
  const models = [
    ...[planned, ...mix.map((part) => withPart(planned, part))].flatMap(agentsOf).map(({ model }) => model),
    ...sideModelsOf({ agent, world, scorer }).map(({ model }) => model),
  ];
  return [
    ...models.map(modelPlace),
    ...toolsOf({ agent, world }).map(toolsPlace),
    ...sourcesOf({ world }).flatMap(sourcePlaces),
    ...(notify === undefined ? [] : [place(notify, notify.url, [requestsTo(notify.url)])]),
    ...(sandbox?.mode === 'off' ? [{ values: undefined, accesses: [NO_SANDBOX] }] : []),
    ...(sandbox?.network === true ? [{ values: undefined, accesses: [NETWORK] }] : []),
    ...(sandbox?.allow ?? []).map((address) => ({
      values: undefined,
      accesses: [access({ allow: address }, `Its programs reach ${address}.`)],
    })),
    ...(pods?.image === undefined ? [] : [{ values: undefined, accesses: [image(pods.image)] }]),
    ...(pods?.sidecars ?? []).map((sidecar) =>
      place(sidecar, 'a sidecar of its pods', [
        access({ sidecar }, `It runs the sidecar ${JSON.stringify(sidecar)} in its pods.`),
      ]),
    ),
  ];
}

/** The name and sampling of a model may change, unless they contain values. */
function modelPlace({ endpoints, api_key: key, headers, name, sampling }: SubmittedModel): Place {
  const withValues = [name, sampling].filter((part) => envNamesIn(JSON.stringify(part)).length > 0);
  return place(
    { endpoints, key, headers, withValues },
    endpoints.join(', '),
    endpoints.filter((url) => !url.startsWith('demo:') && !isInstalled(url)).map(requestsTo),
  );
}

function toolsPlace(tools: SubmittedTools): Place {
  switch (tools.kind) {
    case 'mcp':
      return mcpPlace(tools.server);
    case 'module':
      return place({ file: tools.module.file, secrets: tools.secrets }, `the module ${tools.module.file}`, []);
    case 'builtin': {
      const { search, vision, audio, browser } = tools.settings ?? {};
      const urls = [search?.url, vision?.endpoint, audio?.endpoint];
      const proxies = [search, vision, audio, browser].map((settings) => settings?.proxy);
      return place(
        { name: tools.name, settings: tools.settings },
        `the tools \`${tools.name}\``,
        [...urls, ...proxies].flatMap((url) => (url === undefined ? [] : [requestsTo(url)])),
      );
    }
  }
}

/** What the submitting machine opens and runs to learn the tools and the state of a simulated world. */
function sourcePlaces({ tools = [], command, cwd }: SimulationSources): Place[] {
  if (command === undefined) return tools.map(toolsPlace);
  const text = command.join(' ');
  return [
    ...tools.map(toolsPlace),
    place({ state: command, cwd }, `the program ${text}`, [
      access({ state: command, cwd }, `It runs ${text} on this machine for the initial state of its world.`),
    ]),
  ];
}

function mcpPlace(server: Extract<SubmittedTools, { kind: 'mcp' }>['server']): Place {
  if ('url' in server) return place(server, `the MCP server ${server.url}`, [requestsTo(server.url)]);
  const command = [server.command, ...server.args].join(' ');
  const env = Object.entries(server.env).map(([name, value]) => `${name}=${value}`);
  return place(server, `the MCP server ${command}`, [
    access(server, `It starts the MCP server ${[...env, command].join(' ')}.`),
  ]);
}

const NETWORK = access({ network: true }, 'Its programs reach everything on your network.');
const NO_SANDBOX = access({ sandbox: 'off' }, 'It runs the programs of its tools without a sandbox.');

function image(name: string): Access {
  return access({ image: name }, `It runs the image ${name} in its pods.`);
}

function requestsTo(url: string): Access {
  return access({ url }, `It sends requests to ${publicUrl(url)}.`);
}

function place(settings: object, title: string, accesses: readonly Access[]): Place {
  const values = access(settings, '');
  const names = [...new Set(envNamesIn(values.key))].sort();
  const text = `It sends the value of ${names.join(', ')} to ${title}.`;
  return { values: names.length === 0 ? undefined : { ...values, text }, accesses };
}

function access(settings: object, text: string): Access {
  return { key: canonicalJson(JSON.parse(JSON.stringify(settings))), text }; // drops undefined members
}
