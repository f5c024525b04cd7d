import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  isSpecType,
} from '@modelcontextprotocol/client';
import type { StdioTransport } from './stdio.ts';

/** How long a rejection of `initialize` is held back for the answer to the negotiation request that was sent before. */
const HOLD_MS = 3000;
/**
 * Added to the IDs of the client that continues. Both clients count from zero, and the server may still answer requests
 * of the first one.
 */
const CONTINUED_IDS = 1_000_000;

/**
 * A client's connection to a server process that can be handed over to another client.
 *
 * Whether a server speaks a current protocol revision is asked with `server/discover`. If it does not answer in time,
 * the client assumes an older revision and sends `initialize` to the same process. But the server may only be slow to
 * start: then it answers the first request and rejects the second, and another client continues with that answer.
 */
export class HandoverTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly stderr: StdioTransport['stderr'];
  readonly #process: StdioTransport;
  readonly #onAnswer: (discovered: unknown) => boolean;
  #probe: RequestId | undefined;
  #initialize: RequestId | undefined;
  #held: JSONRPCMessage | undefined;
  /** Another client continues: nothing that this one still does reaches the process. */
  #detached = false;

  /**
   * `onAnswer` receives the result of a negotiation request that was answered after `initialize` was sent. It returns
   * whether another client continues.
   */
  constructor(process: StdioTransport, onAnswer: (discovered: unknown) => boolean = () => false) {
    this.#process = process;
    this.#onAnswer = onAnswer;
    this.stderr = process.stderr;
    process.onclose = () => {
      this.#release();
      this.onclose?.();
    };
    process.onerror = (error) => {
      this.onerror?.(error);
    };
    process.onmessage = (message) => {
      this.#receive(message);
    };
  }

  /** Together with `stderr`, identifies a stdio transport to the SDK. */
  get pid(): number | null {
    return this.#process.pid;
  }

  async start(): Promise<void> {
    await this.#process.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#detached) return;
    if (isJSONRPCRequest(message)) {
      if (message.method === 'server/discover') this.#probe = message.id;
      if (message.method === 'initialize') this.#initialize = message.id;
    }
    await this.#process.send(message);
  }

  /** Ends the process, unless another client continues with it. */
  async close(): Promise<void> {
    if (!this.#detached) await this.#process.close();
  }

  #receive(message: JSONRPCMessage): void {
    if (this.#detached) return; // e.g. the rejection of `initialize`, right after the answer that is continued with
    const isLate = this.#initialize !== undefined && this.#probe !== undefined;
    if (isJSONRPCResponse(message) && message.id === this.#probe) {
      this.#probe = undefined;
      if (isLate) {
        if (isJSONRPCResultResponse(message) && this.#onAnswer(message.result)) this.#detached = true;
        else this.#release();
        return;
      }
    } else if (isLate && isJSONRPCErrorResponse(message) && message.id === this.#initialize) {
      this.#held = message;
      void delay(HOLD_MS, undefined, { ref: false }).then(() => {
        this.#release();
      });
      return;
    }
    this.onmessage?.(message);
  }

  /** Delivers the rejection of `initialize`, if it was held back. */
  #release(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && !this.#detached) this.onmessage?.(held);
  }
}

/** The connection of the client that continues with a process after a handover. */
export class ContinuedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly stderr: StdioTransport['stderr'];
  readonly #process: StdioTransport;

  constructor(process: StdioTransport) {
    this.#process = process;
    this.stderr = process.stderr;
    process.onclose = () => {
      this.onclose?.();
    };
    process.onerror = (error) => {
      this.onerror?.(error);
    };
    process.onmessage = (message) => {
      if (!isJSONRPCResponse(message)) this.onmessage?.(message);
      else if (isContinued(message.id)) this.onmessage?.({ ...message, id: message.id - CONTINUED_IDS });
    };
  }

  /** Together with `stderr`, identifies a stdio transport to the SDK. */
  get pid(): number | null {
    return this.#process.pid;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#process.send(continued(message));
  }

  async close(): Promise<void> {
    await this.#process.close();
  }
}

const isContinued = (id: RequestId | undefined): id is number => typeof id === 'number' && id >= CONTINUED_IDS;

/** Moves the ID of a request, and of one that is cancelled, out of the range of the first client. */
function continued(message: JSONRPCMessage): JSONRPCMessage {
  if (isJSONRPCRequest(message)) return { ...message, id: movedId(message.id) };
  if (!isSpecType.CancelledNotification(message)) return message;
  const { requestId } = message.params;
  return requestId === undefined
    ? message
    : { ...message, params: { ...message.params, requestId: movedId(requestId) } };
}

function movedId(id: RequestId): RequestId {
  return typeof id === 'number' ? id + CONTINUED_IDS : id;
}
