import { StudioError } from '../common/errors.ts';
import type { SubmittedTools } from '../config/submission.ts';
import type { OnLog, ToolCall, ToolCallContext, ToolHost, ToolOutcome, ToolSpec } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import { openBuiltin } from './builtins/open.ts';
import type { ToolEnvironment } from './environment.ts';
import { openModule } from './modules/moduleHost.ts';
import { RolloutProcesses } from './processes/processGroups.ts';

/**
 * All tools of an agent for one rollout. Secrets are put into the entries before.
 * Throws StudioError `config` (a module that cannot be loaded, a tool twice) or `unavailable` (an MCP server that
 * does not come up); what was opened until then is closed again.
 */
export async function openTools(entries: readonly SubmittedTools[], environment: ToolEnvironment): Promise<ToolHost> {
  const processes = new RolloutProcesses(environment.pools.processGroups);
  const own = { ...environment, pools: { ...environment.pools, processGroups: processes } };
  const opened = await Promise.allSettled(entries.map((entry) => open(entry, own)));
  const hosts = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    for (const result of opened) {
      if (result.status === 'rejected') throw result.reason;
    }
    refuseCollisions(hosts);
    return new MergedHost(hosts, processes);
  } catch (error) {
    await closeAll(hosts, processes);
    throw error;
  }
}

function open(entry: SubmittedTools, environment: ToolEnvironment): Promise<ToolHost> {
  switch (entry.kind) {
    case 'module':
      return openModule(entry.module, environment, entry.secrets);
    case 'mcp':
      // Half of a worker's code, and most batches need none of it.
      return import('./mcp/mcpHost.ts').then(({ openMcp }) => openMcp(entry, environment));
    case 'builtin':
      return Promise.resolve(
        openBuiltin(
          entry.name,
          entry.limits === undefined ? environment : { ...environment, limits: entry.limits },
          entry.settings,
        ),
      );
  }
}

/** Throws StudioError `config` when two tools have one name. */
function refuseCollisions(hosts: readonly ToolHost[]): void {
  const seen = new Map<string, ToolSpec>();
  for (const spec of hosts.flatMap((host) => host.specs)) {
    const other = seen.get(spec.name);
    if (other !== undefined) {
      throw new StudioError(
        'config',
        `Two tools have the name "${spec.name}": one of ${origin(other)}, one of ${origin(spec)}.`,
        {
          hint: 'Rename one, or take in only some tools of an MCP server with its `tools:` list.',
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

/** Ends all of them, whatever one of them throws, and what they left behind. */
async function closeAll(hosts: readonly ToolHost[], processes: RolloutProcesses, onLog?: OnLog): Promise<void> {
  await Promise.allSettled(hosts.map((host) => host.close(onLog)));
  await processes.end();
}

/**
 * Several hosts as one. A server may tell of new tools while it runs, so names are looked up anew when lists changed.
 */
class MergedHost implements ToolHost {
  readonly #hosts: readonly ToolHost[];
  readonly #processes: RolloutProcesses;
  #lists: readonly (readonly ToolSpec[])[] = [];
  #specs: readonly ToolSpec[] = [];
  #byName = new Map<string, ToolHost>();

  constructor(hosts: readonly ToolHost[], processes: RolloutProcesses) {
    this.#hosts = hosts;
    this.#processes = processes;
  }

  get specs(): readonly ToolSpec[] {
    this.#refresh();
    return this.#specs;
  }

  call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    this.#refresh();
    const host = this.#byName.get(call.name);
    if (host === undefined) return Promise.reject(new ClassedError('unknown_tool', `There is no tool "${call.name}".`));
    return host.call(call, context);
  }

  close(onLog?: OnLog): Promise<void> {
    return closeAll(this.#hosts, this.#processes, onLog);
  }

  #refresh(): void {
    const lists = this.#hosts.map((host) => host.specs);
    if (lists.length === this.#lists.length && lists.every((list, i) => list === this.#lists[i])) return;
    this.#lists = lists;
    this.#byName = new Map();
    const specs: ToolSpec[] = [];
    this.#hosts.forEach((host, i) => {
      for (const spec of lists[i] ?? []) {
        // A collision that comes later: the first keeps the name.
        if (this.#byName.has(spec.name)) continue;
        this.#byName.set(spec.name, host);
        specs.push(spec);
      }
    });
    this.#specs = specs;
  }
}
