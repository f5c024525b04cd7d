/** A minimal JavaScript debugger over the inspector protocol. */
import { readFile } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { deferred } from '../../src/common/abort.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly params?: Record<string, unknown>;
}

/** The position at which a thread is paused, in the bundle: 0-based. */
export interface PausedAt {
  readonly function: string;
  readonly script: string;
  readonly map: string;
  readonly line: number;
  readonly column: number;
}

interface CallFrame {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number };
}

export class InspectorClient {
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (result: unknown) => void>();
  readonly #scripts = new Map<string, { url: string; map: string }>();
  #paused = deferred<PausedAt>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve());
    });
    // the inspector's own terms
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Message));
  }

  /** Attaches and lets the call begin. */
  static async attach(url: string): Promise<InspectorClient> {
    const socket = new WebSocket(url);
    const client = new InspectorClient(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    for (const method of ['Runtime.enable', 'Debugger.enable', 'Runtime.runIfWaitingForDebugger'])
      await client.post(method);
    return client;
  }

  post(method: string, params: object = {}): Promise<unknown> {
    const answer = deferred<unknown>();
    this.#id += 1;
    this.#answers.set(this.#id, (result) => answer.resolve(result));
    this.#socket.send(JSON.stringify({ id: this.#id, method, params }));
    return answer.promise;
  }

  /** The next stop. */
  async paused(): Promise<PausedAt> {
    const at = await this.#paused.promise;
    this.#paused = deferred();
    return at;
  }

  leave(): void {
    this.#socket.terminate();
  }

  #receive({ id, method, params, result }: Message): void {
    if (id !== undefined) this.#answers.get(id)?.(result);
    if (method === 'Debugger.scriptParsed')
      this.#scripts.set(String(params?.['scriptId']), {
        url: String(params?.['url']),
        map: String(params?.['sourceMapURL']),
      });
    if (method !== 'Debugger.paused') return;
    const [frame] = params?.['callFrames'] as CallFrame[];
    const script = this.#scripts.get(frame?.location.scriptId ?? '');
    this.#paused.resolve({
      function: frame?.functionName ?? '',
      script: script?.url ?? '',
      map: script?.map ?? '',
      line: frame?.location.lineNumber ?? -1,
      column: frame?.location.columnNumber ?? -1,
    });
  }
}

/** Returns that position in the user's source files. */
export async function sourceOf({ script, map, line, column }: PausedAt): Promise<string> {
  const url = new URL(map, script);
  const entry = new SourceMap(JSON.parse(await readFile(url, 'utf8')) as SourceMapPayload).findEntry(line, column);
  const source = 'originalSource' in entry ? new URL(entry.originalSource, url) : undefined;
  return source === undefined ? '' : `${fileURLToPath(source)}:${'originalLine' in entry ? entry.originalLine + 1 : 0}`;
}
