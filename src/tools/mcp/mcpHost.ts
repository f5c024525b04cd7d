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
 * Opens the tools of an MCP server for one rollout, with its own connection or one shared by the worker's rollouts.
 * Throws StudioError as `McpConnection.open`, and `config` if the server lacks a tool named in the entry.
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
        hint: `Available tools: ${link
          .tools()
          .map((tool) => tool.name)
          .join(', ')}.`,
      },
    );
  }
  return new McpHost(entry, link);
}

/** Connection of a rollout to its server. */
interface Link {
  tools(): readonly Tool[];
  /** Returns the connection for a call. */
  connection(): Promise<McpConnection>;
  /** Error class of a call whose connection was lost. */
  readonly lossClass: ErrorClass;
  /** Whether to reconnect, which is safe if the server keeps no state of the rollout. */
  readonly reconnects: boolean;
  readonly log: LateLog;
  close(): Promise<void>;
}

async function ownLink(entry: McpEntry, environment: ToolEnvironment): Promise<Link> {
  const connections = await environment.pools.connections();
  const log = new LateLog(environment.onLog?.bind(environment));
  const connection = await connections.open(entry, environment, log.write);
  return {
    tools: () => connection.tools,
    connection: () => Promise.resolve(connection),
    // The server belongs to the rollout, so the agent probably caused its end.
    lossClass: 'tool_error',
    reconnects: false,
    log,
    close: () => connections.end(connection),
  };
}

async function sharedLink(entry: McpEntry, environment: ToolEnvironment): Promise<Link> {
  const server = (await environment.pools.connections()).shared(entry, environment.sandbox);
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
      lossClass: 'infrastructure',
      reconnects: true,
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

  /** Current tools of the server. */
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
    if (spec === undefined) throw new ClassedError('unknown_tool', `Unknown tool "${call.name}".`);
    if (this.#closed) throw new ClassedError('cancelled', 'The rollout has ended.');
    try {
      return await this.#call(call, context, spec.effect === 'pure');
    } catch (error) {
      if (context.signal.aborted) throw abortedError(context.signal);
      if (error instanceof ConnectionLost)
        throw new ClassedError(
          this.#link.lossClass,
          `The connection to the MCP server "${this.#entry.name}" was lost: ${error.message}`,
          {
            cause: error,
          },
        );
      throw ClassedError.from(error, StudioError.is(error) ? this.#link.lossClass : 'tool_error');
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
    const stopLogging = this.#link.log.during((stream, text) => {
      sinks.onLog(stream, text);
    });
    let result: CallToolResult;
    try {
      result = await this.#request(call, options, pure);
    } finally {
      await turn(); // output before the response is read in the same turn as the response
      stopLogging();
    }
    if (result.isError === true) throw new ClassedError('tool_error', textOf(result));
    return outcomeOf(result);
  }

  async #request(call: ToolCall, options: CallOptions, pure: boolean): Promise<CallToolResult> {
    const connection = await abortable(this.#link.connection(), options.signal);
    try {
      return await connection.call(call.name, call.arguments, options);
    } catch (error) {
      // Retries only if the call cannot take effect twice.
      if (!(error instanceof ConnectionLost) || !this.#link.reconnects || !(pure || error.unsent)) throw error;
      const reconnected = await abortable(this.#link.connection(), options.signal);
      return reconnected.call(call.name, call.arguments, options);
    }
  }

  #specOf(tool: Tool): ToolSpec {
    const pure = tool.annotations?.readOnlyHint === true;
    return {
      name: tool.name,
      description: tool.description ?? tool.title ?? '',
      parameters: tool.inputSchema as JsonObject, // parsed JSON
      effect: pure ? 'pure' : 'irreversible',
      sessionBound: !pure && !this.#entry.shared,
      ...(tool.annotations?.idempotentHint === true ? { idempotent: true } : {}),
      ...(tool.outputSchema === undefined ? {} : { output: tool.outputSchema as JsonObject }),
      from: { kind: 'mcp', name: this.#entry.name },
    };
  }
}
