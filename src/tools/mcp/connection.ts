import path from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { PRODUCT } from '../../common/product.ts';
import { CHROMIUM, installHint } from '../../config/needs.ts';
import type { SubmittedTools } from '../../config/submission.ts';
import type { OnLog } from '../../rollout/ports.ts';
import { findChromium, mayHaveSandbox } from '../chromium.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { unkeptText } from '../processes/processLimits.ts';
import { answerElicitation } from './elicitation.ts';
import { HttpTransport, STREAM_LOST } from './http.ts';
import { machineArgs } from './machineArgs.ts';
import { StdioTransport } from './stdio.ts';

export type McpEntry = Extract<SubmittedTools, { kind: 'mcp' }>;

export interface ConnectionOptions {
  readonly entry: McpEntry;
  /** Where a server on stdio runs; a folder that its entry names is taken from here. */
  readonly cwd: string;
  /** What its process sees beside the environment of its entry. */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** What the server prints, and the log messages it sends. */
  readonly onLog: OnLog;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  onProgress(text: string | undefined): void;
}

/** The connection ended, with this call under way or before it. */
export class ConnectionLost extends Error {
  /** The server never got the call: to make it again on a new connection does nothing twice. */
  readonly unsent: boolean;
  constructor(message: string, unsent: boolean) {
    super(message);
    this.unsent = unsent;
  }
}

/** Time for a server to start and introduce itself; `npx` and `uvx` may install it first. */
const CONNECT_MS = 60_000;
/** Servers of the protocol's older revisions may not answer the question for newer ones at all. */
const PROBE_MS = 3000;
/** Calls are ended by their signal; the SDK wants a number. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** One connection to one MCP server. */
export class McpConnection {
  /** Kept up to date when the server tells that its list changed. */
  tools: readonly Tool[] = [];
  readonly #options: ConnectionOptions;
  readonly #client: Client;
  readonly #transport: StdioTransport | HttpTransport;
  #lost: string | undefined;

  private constructor(options: ConnectionOptions, client: Client, transport: StdioTransport | HttpTransport) {
    this.#options = options;
    this.#client = client;
    this.#transport = transport;
  }

  /** Throws StudioError: `config` when the program does not exist, `unavailable` when the server does not come up. */
  static async open(options: ConnectionOptions, signal?: AbortSignal): Promise<McpConnection> {
    try {
      return await McpConnection.#connect(options, 'auto', signal);
    } catch (error) {
      // A server of an older revision may take the question for newer ones as a reason to exit.
      if (
        !(error instanceof SdkError) ||
        error.code !== SdkErrorCode.EraNegotiationFailed ||
        !('command' in options.entry.server)
      )
        throw error;
      return McpConnection.#connect(options, 'legacy', signal);
    }
  }

  /** Why it ended; undefined while it works. */
  get lost(): string | undefined {
    return this.#lost;
  }

  /** Throws ConnectionLost, the signal's reason through the SDK, or what the server answered as an error. */
  async call(name: string, args: JsonObject, options: CallOptions): Promise<CallToolResult> {
    if (this.#lost !== undefined) throw new ConnectionLost(this.#lost, true);
    try {
      return await this.#client.callTool(
        { name, arguments: args },
        {
          signal: options.signal,
          timeout: NO_TIMEOUT,
          onprogress: (progress) => {
            options.onProgress(progress.message);
          },
        },
      );
    } catch (error) {
      throw this.#lossOf(error) ?? error;
    }
  }

  async close(): Promise<void> {
    this.#lost ??= 'it was closed';
    await (this.#transport instanceof HttpTransport ? this.#transport.end() : this.#transport.close());
  }

  static async #connect(
    options: ConnectionOptions,
    mode: 'auto' | 'legacy',
    signal: AbortSignal | undefined,
  ): Promise<McpConnection> {
    const { entry } = options;
    const transport = createTransport(options);
    const client = new Client(
      { name: 'rollout-studio', version: PRODUCT.split(' ')[1] ?? 'dev' },
      {
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } },
        listChanged: {
          tools: {
            onChanged: (error, tools) => {
              if (error === null && tools !== null) connection.tools = tools;
            },
          },
        },
      },
    );
    const connection = new McpConnection(options, client, transport);
    client.setRequestHandler('elicitation/create', (request) => {
      const answer = answerElicitation(request);
      options.onLog('err', `${entry.name} asks: ${request.params.message}\nAnswered: ${JSON.stringify(answer)}\n`);
      return answer;
    });
    client.setNotificationHandler('notifications/message', (notification) => {
      const { level, data } = notification.params;
      options.onLog('err', `[${level}] ${typeof data === 'string' ? data : JSON.stringify(data)}\n`);
    });
    client.onclose = () => {
      connection.#lost ??=
        transport instanceof StdioTransport ? (transport.ending ?? 'it ended') : 'the connection was closed';
    };
    try {
      await client.connect(transport, { timeout: CONNECT_MS, ...(signal === undefined ? {} : { signal }) });
      connection.tools = (
        await client.listTools(undefined, { timeout: CONNECT_MS, ...(signal === undefined ? {} : { signal }) })
      ).tools;
      return connection;
    } catch (error) {
      await connection.close();
      if (
        error instanceof SdkError &&
        error.code === SdkErrorCode.EraNegotiationFailed &&
        mode === 'auto' &&
        transport instanceof StdioTransport &&
        transport.started
      )
        throw error;
      throw connectError(entry, transport, error);
    }
  }

  /** The error as a loss of the connection, when it is one. */
  #lossOf(error: unknown): ConnectionLost | undefined {
    if (error instanceof ProtocolError)
      return error.message.includes(STREAM_LOST) ? new ConnectionLost(STREAM_LOST, false) : undefined;
    if (this.#transport instanceof StdioTransport) {
      const { ending } = this.#transport;
      if (ending === undefined) return undefined;
      this.#lost = ending;
      return new ConnectionLost(ending, false);
    }
    if (error instanceof SdkHttpError) {
      if (this.#transport.sessionId === undefined || !isForgotten(error)) return undefined;
      this.#lost = 'the server no longer knows the session (it was restarted, or ended the session)';
      return new ConnectionLost(this.#lost, true);
    }
    const cause = networkError(error);
    if (cause === undefined) return undefined;
    this.#lost =
      `the server at ${'url' in this.#options.entry.server ? this.#options.entry.server.url : ''} cannot be ` +
      `reached (${cause.code})`;
    return new ConnectionLost(this.#lost, cause.code === 'ECONNREFUSED');
  }
}

function createTransport(options: ConnectionOptions): StdioTransport | HttpTransport {
  const { server, limits } = options.entry;
  if ('url' in server) return new HttpTransport(new URL(server.url), server.headers);
  const unkept = unkeptText(limits);
  if (unkept !== undefined) options.onLog('err', unkept);
  const chromium = (): string => {
    const file = findChromium();
    if (file === undefined)
      throw new StudioError(
        'config',
        `${placedName(options.entry)} needs ${CHROMIUM}, and the machine of this rollout has none.`,
        { hint: `${installHint(CHROMIUM)}.` },
      );
    return file;
  };
  return new StdioTransport(
    {
      command: server.command,
      args: machineArgs(server.args, { chromium, mayHaveSandbox }),
      env: { ...options.env, ...server.env },
      cwd: path.resolve(options.cwd, server.cwd ?? '.'),
      limits,
    },
    options.processGroups,
    options.onLog,
  );
}

function connectError(entry: McpEntry, transport: StdioTransport | HttpTransport, error: unknown): StudioError {
  const what = placedName(entry);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new StudioError('unavailable', `${what} said nothing for ${CONNECT_MS / 1000} s.`, {
      cause: error,
      hint: 'If it is installed at its start, as by `npx` or `uvx`, run its command by hand once: it is there then.',
    });
  }
  if (transport instanceof StdioTransport) {
    const { ending } = transport;
    if (!transport.started) {
      return new StudioError('config', `${what} ${ending ?? 'could not be started'}.`, {
        cause: error,
        hint: `Is ${transport.command} installed where the worker runs, and on its PATH?`,
      });
    }
    if (ending !== undefined)
      return new StudioError('unavailable', `${what} ${ending}`, {
        cause: error,
        hint: 'Run its command by hand to see what it misses; it gets only the environment its entry names.',
      });
  }
  if (error instanceof SdkHttpError && (error.status === 401 || error.status === 403)) {
    return new StudioError('config', `${what} refuses us (HTTP ${error.status}).`, {
      cause: error,
      hint: 'Give it a token in `headers`, e.g. Authorization: Bearer ${env:TOKEN}.',
    });
  }
  const network = networkError(error);
  const text =
    network === undefined
      ? error instanceof Error
        ? error.message
        : String(error)
      : `cannot be reached (${network.code})`;
  return new StudioError('unavailable', `${what} did not come up: ${text}.`, {
    cause: error,
    ...('url' in entry.server
      ? { hint: `Is it running, and is ${entry.server.url} its address as seen from the worker?` }
      : {}),
  });
}

/** What it is called in an error, with its place. */
function placedName({ name, position }: McpEntry): string {
  return (
    `${position === undefined ? '' : `${position.file}:${position.line}:${position.column}: `}the MCP server ` +
    `"${name}"`
  );
}

/**
 * By the protocol 404 says that the server knows the session no more, so it has not run the call. Some say it by 400.
 */
function isForgotten(error: SdkHttpError): boolean {
  return error.status === 404 || (error.status === 400 && /session/i.test(error.message));
}

/** What the SDK keeps of the error behind one of its own. */
function causeOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined;
}

/** The error of the socket behind what fetch threw. */
function networkError(error: unknown): { code: string } | undefined {
  for (
    let next = error;
    next instanceof Error;
    next = next.cause ?? (next instanceof SdkError ? causeOf(next.data) : undefined)
  ) {
    if ('code' in next && typeof next.code === 'string' && /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(next.code))
      return { code: next.code };
  }
  return undefined;
}
