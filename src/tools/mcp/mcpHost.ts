import { setImmediate as turn } from 'node:timers/promises';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { abortable } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import type { OnLog, ToolCall, ToolCallContext, ToolHost, ToolOutcome, ToolSpec } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ErrorClass } from '../../trace/schema.ts';
import { abortedError } from '../aborted.ts';
import type { ToolEnvironment } from '../environment.ts';
import { LateLog } from '../modules/lateLog.ts';
import type { CallOptions, McpConnection, McpEntry } from './connection.ts';
import { ConnectionLost } from './connection.ts';
import { outcomeOf, textOf } from './convert.ts';

/**
 * The tools of an MCP server for one rollout: over a connection of its own, or one that the worker's rollouts share.
 * Throws StudioError as `McpConnection.open`, and `config` when a tool its entry names is not there.
 */
export async function openMcp(entry: McpEntry, environment: ToolEnvironment): Promise<ToolHost> {
  const link = entry.shared ? await sharedLink(entry, environment) : await ownLink(entry, environment);
  const missing = (entry.tools ?? []).filter((name) => !link.tools().some((tool) => tool.name === name));
  if (missing.length > 0) {
    await link.close();
    throw new StudioError(
      'config',
      `The MCP server "${entry.name}" has no tool ${missing.map((name) => `"${name}"`).join(', ')}.`,
      {
        hint: `It has ${link
          .tools()
          .map((tool) => tool.name)
          .join(', ')}.`,
      },
    );
  }
  return new McpHost(entry, link);
}

/** How a rollout reaches its server. */
interface Link {
  tools(): readonly Tool[];
  /** The connection for a call. */
  connection(): Promise<McpConnection>;
  /** Class of a call that lost its connection, or found none. */
  readonly lost: ErrorClass;
  /** A lost connection is made again, since nothing of the rollout lived in it. */
  readonly again: boolean;
  readonly log: LateLog;
  close(): Promise<void>;
}

async function ownLink(entry: McpEntry, environment: ToolEnvironment): Promise<Link> {
  const connections = await environment.pools.connections();
  const log = new LateLog(environment.onLog?.bind(environment));
  const connection = await connections.open(entry, environment.cwd, environment.pools.processGroups, log.tell);
  return {
    tools: () => connection.tools,
    connection: () => Promise.resolve(connection),
    // The rollout's own server, and with it its state: what killed it was the agent, as far as anybody can tell.
    lost: 'tool_error',
    again: false,
    log,
    close: () => connections.end(connection),
  };
}

async function sharedLink(entry: McpEntry, environment: ToolEnvironment): Promise<Link> {
  const server = (await environment.pools.connections()).shared(entry);
  server.use();
  try {
    let { tools } = await server.connection();
    return {
      tools: () => tools,
      connection: async () => {
        const connection = await server.connection();
        tools = connection.tools;
        return connection;
      },
      lost: 'infrastructure',
      again: true,
      log: new LateLog(undefined),
      close: () => {
        server.release();
        return Promise.resolve();
      },
    };
  } catch (error) {
    server.release();
    throw error;
  }
}

class McpHost implements ToolHost {
  readonly #entry: McpEntry;
  readonly #link: Link;
  #from: readonly Tool[] | undefined;
  #specs: readonly ToolSpec[] = [];
  #closed = false;

  constructor(entry: McpEntry, link: Link) {
    this.#entry = entry;
    this.#link = link;
  }

  /** Follows the server's list. */
  get specs(): readonly ToolSpec[] {
    const tools = this.#link.tools();
    if (tools !== this.#from) {
      this.#from = tools;
      this.#specs = tools
        .filter((tool) => this.#entry.tools?.includes(tool.name) ?? true)
        .map((tool) => this.#specOf(tool));
    }
    return this.#specs;
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const spec = this.specs.find((candidate) => candidate.name === call.name);
    if (spec === undefined) throw new ClassedError('unknown_tool', `There is no tool "${call.name}".`);
    if (this.#closed) throw new ClassedError('cancelled', 'The rollout has ended.');
    try {
      return await this.#call(call, context, spec.effect === 'pure');
    } catch (error) {
      if (context.signal.aborted) throw abortedError(context.signal);
      if (error instanceof ConnectionLost)
        throw new ClassedError(this.#link.lost, `The MCP server "${this.#entry.name}" is gone: ${error.message}`, {
          cause: error,
        });
      throw ClassedError.from(error, StudioError.is(error) ? this.#link.lost : 'tool_error');
    }
  }

  async close(onLog?: OnLog): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#link.log.ending(onLog);
    await this.#link.close();
    this.#link.log.close();
  }

  async #call(call: ToolCall, context: ToolCallContext, pure: boolean): Promise<ToolOutcome> {
    const sinks = this.#link.log.sinks(context);
    const options = {
      signal: context.signal,
      onProgress: (text: string | undefined) => {
        context.onProgress();
        if (text !== undefined) sinks.onLog('out', `${text}\n`);
      },
    };
    const over = this.#link.log.during((stream, text) => {
      sinks.onLog(stream, text);
    });
    const result = await this.#answer(call, options, pure).finally(async () => {
      await turn(); // what it printed before it answered is read in the same turn as the answer
      over();
    });
    if (result.isError === true) throw new ClassedError('tool_error', textOf(result));
    return outcomeOf(result);
  }

  async #answer(call: ToolCall, options: CallOptions, pure: boolean): Promise<CallToolResult> {
    const connection = await abortable(this.#link.connection(), options.signal);
    try {
      return await connection.call(call.name, call.arguments, options);
    } catch (error) {
      // Made again only where it cannot do anything twice.
      if (!(error instanceof ConnectionLost) || !this.#link.again || !(pure || error.unsent)) throw error;
      const again = await abortable(this.#link.connection(), options.signal);
      return again.call(call.name, call.arguments, options);
    }
  }

  #specOf(tool: Tool): ToolSpec {
    const pure = tool.annotations?.readOnlyHint === true;
    return {
      name: tool.name,
      description: tool.description ?? tool.title ?? '',
      parameters: tool.inputSchema as JsonObject, // JSON: it came over the wire
      effect: pure ? 'pure' : 'irreversible',
      sessionBound: !pure && !this.#entry.shared,
      ...(tool.annotations?.idempotentHint === true ? { idempotent: true } : {}),
      ...(tool.outputSchema === undefined ? {} : { output: tool.outputSchema as JsonObject }),
      from: { kind: 'mcp', name: this.#entry.name },
    };
  }
}
