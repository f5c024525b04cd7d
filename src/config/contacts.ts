/** Lists what a submission names on the network: the addresses that its workers and the server may have to reach. */
import {
  agentsOf,
  type Submission,
  type SubmittedModel,
  type SubmittedTools,
  sideModelsOf,
  toolsOf,
} from './submission.ts';

interface Contacts {
  /** URLs for workers, with unresolved `${env:…}`: model servers, MCP servers, and services of built-in tools. */
  readonly workers: readonly string[];
  /** URLs for the server: model servers, whose load it watches, and the one to notify. */
  readonly server: readonly string[];
}

export function contactsOf({ agent, world, scorer, notify }: Submission): Contacts {
  const models: readonly SubmittedModel[] = [
    ...agentsOf({ agent }).map(({ model }) => model),
    ...sideModelsOf({ agent, world, scorer }).map(({ model }) => model),
  ];
  const endpoints = models.flatMap((model) => model.endpoints);
  const tools = toolsOf({ agent, world }).flatMap(toolContacts);
  return {
    workers: [...new Set([...endpoints, ...tools])],
    server: [...new Set([...endpoints, ...(notify === undefined ? [] : [notify.url])])],
  };
}

/** Keys of settings of built-in tools that hold a URL. */
const URL_KEYS: ReadonlySet<string> = new Set(['url', 'endpoint', 'proxy']);

function toolContacts(tools: SubmittedTools): string[] {
  switch (tools.kind) {
    case 'mcp':
      return 'url' in tools.server ? [tools.server.url] : [];
    case 'builtin':
      return Object.values(tools.settings ?? {}).flatMap((settings) =>
        Object.entries(settings as Readonly<Record<string, unknown>>).flatMap(([key, value]) =>
          URL_KEYS.has(key) && typeof value === 'string' ? [value] : [],
        ),
      );
    case 'module':
      return [];
  }
}
