import { StudioError } from '../common/errors.ts';
import type { SubmittedTools } from '../config/submission.ts';
import type { OnLog, ToolCall, ToolCallContext, ToolHost, ToolOutcome, ToolSpec } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import { openBuiltin } from './builtins/open.ts';
import type { ToolEnvironment } from './environment.ts';
import { openModule } from './modules/moduleHost.ts';
import { RolloutProcesses } from './processes/processGroups.ts';
import { Programs } from './sandbox/programs.ts';

/**
 * Opens all tools of an agent for one rollout. Secrets must already be resolved in the entries. Throws StudioError
 * `config` (a module cannot be loaded, two tools have the same name) or `unavailable` (an MCP server does not start),
 * after closing everything that was opened.
 */
export async function openTools(entries: readonly SubmittedTools[], environment: ToolEnvironment): Promise<ToolHost> {
  const processes = new RolloutProcesses(environment.pools.processGroups);
  const own = { ...environment, pools: { ...environment.pools, processGroups: processes } };
  const programs = new Programs(own);
  const opened = await Promise.allSettled(entries.map((entry) => open(entry, own, programs)));
  const end = async (): Promise<void> => {
    await programs.end();
    await processes.end();
  };
  const hosts = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    for (const result of opened) {
      if (result.status === 'rejected') throw result.reason;
    }
    refuseCollisions(hosts);
    return new MergedHost(hosts, end);
  } catch (error) {
    await closeAll(hosts, end);
    throw error;
  }
}

function open(entry: SubmittedTools, environment: ToolEnvironment, programs: Programs): Promise<ToolHost> {
  switch (entry.kind) {
    case 'module':
      return openModule(entry.module, environment, entry);
    case 'mcp':
      // This is half of the worker's code, and most batches do not need it.
      return import('./mcp/mcpHost.ts').then(({ openMcp }) => openMcp(entry, environment));
    case 'builtin':
      return Promise.resolve(
        openBuiltin(
          entry.name,
          entry.limits === undefined ? environment : { ...environment, limits: entry.limits },
          entry.settings,
          programs,
        ),
      );
  }
}

/** Throws StudioError `config` if two tools have the same name. */
function refuseCollisions(hosts: readonly ToolHost[]): void {
  const seen = new Map<string, ToolSpec>();
  for (const spec of hosts.flatMap((host) => host.specs)) {
    const other = seen.get(spec.name);
    if (other !== undefined) {
      throw new StudioError(
        'config',
        `Two tools are named "${spec.name}": one from ${origin(other)}, one from ${origin(spec)}.`,
        {
          hint: 'Rename one of them, or select tools of an MCP server with its `tools:` list.',
        },
      );
    }
    seen.set(spec.name, spec);
  }
}

function origin(spec: ToolSpec): string {
  switch (spec.from.kind) {
    case 'module':
      return spec.from.name;
    case 'mcp':
      return `the MCP server "${spec.from.name}"`;
    case 'builtin':
      return `the built-in ${spec.from.name}`;
    case 'world':
      return `the world ${spec.from.name}`;
    case 'agent':
      return `the agent ${spec.from.name}`;
  }
}

/** Closes all hosts, even if one fails, and ends their remaining processes. */
async function closeAll(hosts: readonly ToolHost[], end: () => Promise<void>, onLog?: OnLog): Promise<void> {
  await Promise.allSettled(hosts.map((host) => host.close(onLog)));
  await end();
}

/**
 * Combines several hosts. A server may announce new tools while it runs, so names are updated when lists change.
 */
class MergedHost implements ToolHost {
  readonly #hosts: readonly ToolHost[];
  readonly #end: () => Promise<void>;
  #lists: readonly (readonly ToolSpec[])[] = [];
  #specs: readonly ToolSpec[] = [];
  #byName = new Map<string, ToolHost>();

  constructor(hosts: readonly ToolHost[], end: () => Promise<void>) {
    this.#hosts = hosts;
    this.#end = end;
  }

  get specs(): readonly ToolSpec[] {
    this.#refresh();
    return this.#specs;
  }

  call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    this.#refresh();
    const host = this.#byName.get(call.name);
    if (host === undefined) return Promise.reject(new ClassedError('unknown_tool', `Unknown tool "${call.name}".`));
    return host.call(call, context);
  }

  close(onLog?: OnLog): Promise<void> {
    return closeAll(this.#hosts, this.#end, onLog);
  }

  #refresh(): void {
    const lists = this.#hosts.map((host) => host.specs);
    if (lists.length === this.#lists.length && lists.every((list, i) => list === this.#lists[i])) return;
    this.#lists = lists;
    this.#byName = new Map();
    const specs: ToolSpec[] = [];
    this.#hosts.forEach((host, i) => {
      for (const spec of lists[i] ?? []) {
        // In a later collision, the first tool keeps the name.
        if (this.#byName.has(spec.name)) continue;
        this.#byName.set(spec.name, host);
        specs.push(spec);
      }
    });
    this.#specs = specs;
  }
}
