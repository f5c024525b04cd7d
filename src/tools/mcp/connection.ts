import { existsSync } from 'node:fs';
import path from 'node:path';
import type { CallToolResult, DiscoverResult, Tool } from '@modelcontextprotocol/client';
import { Client, isSpecType, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { errorText, StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { PRODUCT } from '../../common/product.ts';
import { shortageOf } from '../../common/shortage.ts';
import { sentence } from '../../common/text.ts';
import { CHROMIUM, installHint } from '../../config/needs.ts';
import type { SubmittedSandbox, SubmittedTools } from '../../config/submission.ts';
import type { OnLog } from '../../rollout/ports.ts';
import { findChromium, mayHaveSandbox } from '../chromium.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { ignoredLimitsText } from '../processes/processLimits.ts';
import { type CommandFolders, commandFolders, interpreterFolders, scratchIn } from '../sandbox/folders.ts';
import { openSandbox } from '../sandbox/open.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { answerElicitation } from './elicitation.ts';
import { ContinuedTransport, HandoverTransport } from './handover.ts';
import { HttpTransport, STREAM_LOST } from './http.ts';
import { machineArgs } from './machineArgs.ts';
import { StdioTransport } from './stdio.ts';

export type McpEntry = Extract<SubmittedTools, { kind: 'mcp' }>;

interface ConnectionOptions {
  readonly entry: McpEntry;
  /** Working directory of stdio servers; the `cwd` of an entry is relative to it. */
  readonly cwd: string;
  /** Environment of its process, in addition to that of the entry. */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Folder for the scratch folder of its sandbox. */
  readonly scratch: string;
  readonly sandbox: SubmittedSandbox;
  /** Receives the server's output and log messages. */
  readonly onLog: OnLog;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  onProgress(text: string | undefined): void;
}

/** The connection ended before or during a call. */
export class ConnectionLost extends Error {
  /** Whether the server never received the call, so that it can safely be repeated. */
  readonly unsent: boolean;
  constructor(message: string, unsent: boolean) {
    super(message);
    this.unsent = unsent;
  }
}

/** Time for a server to start and initialize; `npx` and `uvx` may install it first. */
const CONNECT_MS = 60_000;
/** Servers with older protocol revisions may not respond to a negotiation request at all. */
const PROBE_MS = 3000;
/** Calls end with their signal, but the SDK requires a timeout. */
const NO_TIMEOUT = 2 ** 31 - 1;

type Mode = 'auto' | 'legacy';

/** One connection to one MCP server. */
export class McpConnection {
  /** Updated when the server reports a changed list. */
  tools: readonly Tool[] = [];
  readonly #options: ConnectionOptions;
  readonly #transport: StdioTransport | HttpTransport;
  #client: Client;
  #lossReason: string | undefined;

  private constructor(options: ConnectionOptions, mode: Mode) {
    this.#options = options;
    this.#transport = createTransport(options);
    this.#client = this.#createClient(mode);
  }

  /**
   * Opens a connection. Throws StudioError: `config` if the program does not exist, `unavailable` if the server fails
   * to start.
   */
  static async open(options: ConnectionOptions, signal?: AbortSignal): Promise<McpConnection> {
    try {
      return await McpConnection.#connect(options, 'auto', signal);
    } catch (error) {
      // Servers with older revisions may exit on a negotiation request.
      if (
        !(error instanceof SdkError) ||
        error.code !== SdkErrorCode.EraNegotiationFailed ||
        !('command' in options.entry.server)
      )
        throw error;
      return McpConnection.#connect(options, 'legacy', signal);
    }
  }

  /** The reason why the connection ended; undefined while it is open. */
  get lossReason(): string | undefined {
    return this.#lossReason;
  }

  /** Calls a tool. Throws ConnectionLost, the reason of the signal (through the SDK), or the error from the server. */
  async call(name: string, args: JsonObject, options: CallOptions): Promise<CallToolResult> {
    if (this.#lossReason !== undefined) throw new ConnectionLost(this.#lossReason, true);
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
    this.#lossReason ??= 'it was closed';
    await (this.#transport instanceof HttpTransport ? this.#transport.end() : this.#transport.close());
  }

  static async #connect(
    options: ConnectionOptions,
    mode: Mode,
    signal: AbortSignal | undefined,
  ): Promise<McpConnection> {
    const connection = new McpConnection(options, mode);
    const transport = connection.#transport;
    const request = { timeout: CONNECT_MS, ...(signal === undefined ? {} : { signal }) };
    try {
      if (transport instanceof HttpTransport) await connection.#client.connect(transport, request);
      else await connection.#connectProcess(transport, request);
      connection.tools = (await connection.#client.listTools(undefined, request)).tools;
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
      throw connectError(options.entry, transport, error);
    }
  }

  /** Connects to a process. A server that was only slow to say that it speaks a current revision gets a new client. */
  async #connectProcess(process: StdioTransport, request: { timeout: number; signal?: AbortSignal }): Promise<void> {
    const late = new AbortController();
    let discover: DiscoverResult | undefined;
    const transport = new HandoverTransport(process, (discovered) => {
      if (!isSpecType.DiscoverResult(discovered)) return false;
      discover = discovered;
      late.abort();
      return true;
    });
    try {
      const signal = request.signal === undefined ? late.signal : AbortSignal.any([late.signal, request.signal]);
      await this.#client.connect(transport, { ...request, signal });
    } catch (error) {
      if (discover === undefined) throw error;
      this.#client = this.#createClient('auto');
      await this.#client.connect(new ContinuedTransport(process), { ...request, prior: { kind: 'modern', discover } });
    }
  }

  #createClient(mode: Mode): Client {
    const { entry, onLog } = this.#options;
    const transport = this.#transport;
    const client = new Client(
      { name: 'rollout-studio', version: PRODUCT.split(' ')[1] ?? 'dev' },
      {
        capabilities: { elicitation: { form: { applyDefaults: true } } },
        versionNegotiation: {
          mode,
          probe: { timeoutMs: transport instanceof HttpTransport ? CONNECT_MS : PROBE_MS },
        },
        listChanged: {
          tools: {
            onChanged: (error, tools) => {
              if (error === null && tools !== null) this.tools = tools;
            },
          },
        },
      },
    );
    client.setRequestHandler('elicitation/create', (request) => {
      const answer = answerElicitation(request);
      onLog('err', `${entry.name} asked: ${request.params.message}\nAnswer: ${JSON.stringify(answer)}\n`);
      return answer;
    });
    client.setNotificationHandler('notifications/message', (notification) => {
      const { level, data } = notification.params;
      onLog('err', `[${level}] ${typeof data === 'string' ? data : JSON.stringify(data)}\n`);
    });
    client.onclose = () => {
      this.#lossReason ??=
        transport instanceof StdioTransport ? `the server ${transport.ending ?? 'ended'}` : 'the connection was closed';
    };
    return client;
  }

  /** Returns ConnectionLost if the error means that the connection was lost. */
  #lossOf(error: unknown): ConnectionLost | undefined {
    if (error instanceof ProtocolError)
      return error.message.includes(STREAM_LOST) ? new ConnectionLost(STREAM_LOST, false) : undefined;
    if (this.#transport instanceof StdioTransport) {
      const { ending } = this.#transport;
      if (ending === undefined) return undefined;
      this.#lossReason = `the server ${ending}`;
      return new ConnectionLost(this.#lossReason, false);
    }
    if (error instanceof SdkHttpError) {
      if (this.#transport.sessionId === undefined || !isExpired(error)) return undefined;
      this.#lossReason = 'the session has expired (the server restarted or ended it)';
      return new ConnectionLost(this.#lossReason, true);
    }
    const cause = networkError(error);
    if (cause === undefined) return undefined;
    this.#lossReason =
      `cannot reach the server at ${'url' in this.#options.entry.server ? this.#options.entry.server.url : ''} ` +
      `(${cause.code})`;
    return new ConnectionLost(this.#lossReason, cause.code === 'ECONNREFUSED');
  }
}

function createTransport(options: ConnectionOptions): StdioTransport | HttpTransport {
  const { server, limits } = options.entry;
  if ('url' in server) return new HttpTransport(new URL(server.url), server.headers);
  const ignored = ignoredLimitsText(limits);
  if (ignored !== undefined) options.onLog('err', ignored);
  const chromium = (): string => {
    const file = findChromium();
    if (file === undefined)
      throw new StudioError(
        'config',
        `${placedName(options.entry)} needs ${CHROMIUM}, which is not installed on the machine of this rollout.`,
        { hint: `${installHint(CHROMIUM)}.` },
      );
    return file;
  };
  const { command } = server;
  const args = machineArgs(server.args, { chromium, mayHaveSandbox });
  const cwd = path.resolve(options.cwd, server.cwd ?? '.');
  return new StdioTransport(
    {
      command,
      args,
      env: { ...options.env, ...server.env },
      cwd,
      limits,
      openSandbox: () =>
        openServerSandbox(commandFolders({ file: command, args, env: server.env, cwd }, options.cwd), options),
    },
    options.processGroups,
    options.onLog,
  );
}

/** Opens the sandbox of a server: it sees what its command names, and its working directory. */
async function openServerSandbox(
  named: CommandFolders,
  { sandbox, processGroups, cwd, env, scratch }: ConnectionOptions,
): Promise<Sandbox | undefined> {
  const view = {
    read: [...interpreterFolders(env), ...named.read, ...sandbox.read],
    write: [cwd, ...named.write, ...sandbox.write],
    own: [cwd],
    hide: sandbox.hide,
    caches: named.caches,
    scratch: scratchIn(scratch),
    // Its command is the user's own program, which may need databases or services of this machine.
    network: sandbox.network !== false,
  };
  return await openSandbox(sandbox, view, processGroups);
}

function connectError(entry: McpEntry, transport: StdioTransport | HttpTransport, error: unknown): StudioError {
  const what = placedName(entry);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new StudioError('unavailable', `${what} did not respond within ${CONNECT_MS / 1000} s.`, {
      cause: error,
      hint: 'If `npx` or `uvx` installs it on start, run its command manually once to install it.',
    });
  }
  if (transport instanceof StdioTransport) {
    const { ending } = transport;
    if (!transport.started) {
      if (shortageOf(error) !== undefined || isOwnFolderGone(entry, transport))
        return new StudioError('unavailable', `${what} ${ending ?? `could not be started: ${errorText(error)}`}.`, {
          cause: error,
        });
      return new StudioError('config', `${what} ${ending ?? 'could not be started'}.`, {
        cause: error,
        hint: `Check that ${transport.command} is installed and on the PATH where the worker runs.`,
      });
    }
    if (ending !== undefined && !transport.ranUntilClosed)
      return new StudioError('unavailable', `${what} ${ending.includes('\n') ? ending : sentence(ending)}`, {
        cause: error,
        hint: 'Run its command manually to find the cause. It only gets the environment in its entry.',
      });
  }
  if (error instanceof SdkHttpError && (error.status === 401 || error.status === 403)) {
    return new StudioError('config', `${what} denied access (HTTP ${error.status}).`, {
      cause: error,
      hint: 'Add a token in `headers`, e.g. Authorization: Bearer ${env:TOKEN}.',
    });
  }
  const network = networkError(error);
  const text =
    network === undefined
      ? error instanceof Error
        ? error.message
        : String(error)
      : `cannot reach it (${network.code})`;
  const lastWords = transport instanceof StdioTransport ? transport.lastWords : '';
  const output = lastWords === '' ? '' : ` Last output:\n${lastWords}`;
  return new StudioError('unavailable', `${what} failed to start: ${text.replace(/\.$/, '')}.${output}`, {
    cause: error,
    ...('url' in entry.server
      ? { hint: `Check that it is running and that the worker can reach ${entry.server.url}.` }
      : {}),
  });
}

/** Returns whether the rollout's or worker's own folder is gone, in which the server should run. */
function isOwnFolderGone({ server }: McpEntry, { cwd }: StdioTransport): boolean {
  return 'command' in server && server.cwd === undefined && !existsSync(cwd);
}

/** Returns the name of a server for errors, with its position. */
function placedName({ name, position }: McpEntry): string {
  return position === undefined
    ? `The MCP server "${name}"`
    : `${position.file}:${position.line}:${position.column}: the MCP server "${name}"`;
}

/**
 * Returns whether the session has expired, so that the server has not run the call: 404 by the protocol, but some
 * servers return 400.
 */
function isExpired(error: SdkHttpError): boolean {
  return error.status === 404 || (error.status === 400 && /session/i.test(error.message));
}

/** Returns the cause that the SDK stores in its errors. */
function causeOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined;
}

/** Returns the socket error behind an error of fetch. */
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
