/** The debugging protocol of Chromium over its socket. */
import { WebSocket } from 'ws';
import { z } from 'zod';
import type { JsonObject } from '../../../common/json.ts';
import { jsonOf } from '../../../common/json.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';

const message = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  sessionId: z.string().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ message: z.string() }).optional(),
});

type Listener = (params: Readonly<Record<string, unknown>>, session: string | undefined) => void;

/** The error of a call that its browser has left. */
export function browserEnded(): ClassedError {
  return new ClassedError('tool_error', 'The browser has ended. The next call starts another one.');
}

/** The protocol refused a command. */
export class ProtocolError extends Error {}

export class Protocol {
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<
    number,
    {
      readonly session: string | undefined;
      readonly resolve: (result: Readonly<Record<string, unknown>>) => void;
      readonly reject: (error: Error) => void;
    }
  >();
  readonly #listeners = new Map<string, Listener[]>();
  #next = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const { reject } of this.#waiting.values()) reject(browserEnded());
        this.#waiting.clear();
        resolve();
      });
    });
    socket.on('message', (data: Buffer) => {
      this.#take(data.toString('utf8'));
    });
    socket.on('error', () => undefined); // `close` follows
  }

  static async connect(address: string): Promise<Protocol> {
    const socket = new WebSocket(address, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', (error) => {
        reject(new ClassedError('tool_error', `The browser cannot be spoken to: ${error.message}`, { cause: error }));
      });
    });
    return new Protocol(socket);
  }

  /** `session`: of a page; absent: the browser itself. Throws ProtocolError, or ClassedError as the signal says. */
  async send<T extends z.ZodType>(
    method: string,
    params: JsonObject,
    schema: T,
    options: { readonly session?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<z.output<T>> {
    const { session, signal } = options;
    if (signal?.aborted === true) throw abortedError(signal);
    const id = this.#next++;
    const onAbort = (): void => {
      if (signal !== undefined) this.#waiting.get(id)?.reject(abortedError(signal));
    };
    try {
      const result = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
        if (this.#socket.readyState !== WebSocket.OPEN) {
          reject(browserEnded());
          return;
        }
        this.#waiting.set(id, { session, resolve, reject });
        signal?.addEventListener('abort', onAbort, { once: true });
        this.#socket.send(
          JSON.stringify({ id, method, params, ...(session === undefined ? {} : { sessionId: session }) }),
        );
      });
      return schema.parse(result);
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  on(method: string, listener: Listener): void {
    this.#listeners.set(method, [...(this.#listeners.get(method) ?? []), listener]);
  }

  /** What was asked of a page that is gone is never answered. */
  fail(session: string, error: Error): void {
    for (const waiting of this.#waiting.values()) if (waiting.session === session) waiting.reject(error);
  }

  close(): void {
    this.#socket.terminate();
  }

  #take(text: string): void {
    const { data } = message.safeParse(jsonOf(text));
    if (data === undefined) return;
    if (data.id !== undefined) {
      const waiting = this.#waiting.get(data.id);
      if (data.error !== undefined) waiting?.reject(new ProtocolError(data.error.message));
      else waiting?.resolve(data.result ?? {});
      return;
    }
    if (data.method !== undefined)
      for (const listener of this.#listeners.get(data.method) ?? []) listener(data.params ?? {}, data.sessionId);
  }
}
