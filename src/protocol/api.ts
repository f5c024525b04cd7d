/**
 * The HTTP API of a server, typed. Every response is validated; every failure is a StudioError with the server's
 * message.
 */
import { z } from 'zod';
import { StudioError } from '../common/errors.ts';
import type { Trimmed } from '../common/trimmed.ts';
import type { TraceEvent } from '../trace/schema.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { TaskRecord } from '../trace/task.ts';
import { type AuditPage, auditPage, type Exported } from './access.ts';
import { query, readFailure, validated } from './apiReply.ts';
import {
  type BatchPage,
  type BatchRow,
  batchPage,
  batchRow,
  blobTexts,
  eventPage,
  type Fork,
  type ForkReply,
  forkReply,
  MAX_BLOB_TEXTS,
  type NewBatchBody,
  type RolloutPage,
  rolloutInfo,
  rolloutPage,
  type ServerInfo,
  serverInfo,
  taskPage,
  ticketReply,
} from './client.ts';
import { type BatchCommand, type CommandReply, commandReply, type RolloutCommand } from './commands.ts';
import { type EndpointInfo, endpointInfo, endpointList, type SetEndpoint } from './endpoints.ts';
import {
  type FinishedGroup,
  finishedGroup,
  type GroupPage,
  type GroupRow,
  groupPage,
  groupRow,
  type RequestGroup,
  type TokenPage,
  tokenPage,
} from './groups.ts';
import { type PodList, type PodLogOptions, podList } from './pods.ts';
import { type BatchHours, batchHours, type SharesReply, sharesReply } from './shares.ts';
import type { BlobBytes, ByteRange, Transport, WireReply, WireRequest, WireStream } from './transport.ts';
import type { Lineage } from './worker.ts';

export interface RolloutInfo {
  readonly row: RolloutRow;
  readonly lineage: Lineage;
  readonly task: TaskRecord;
  readonly submission: string;
  /** Of a batch that was trimmed: the events that are left, such as its scores and its end. */
  readonly trimmed?: (Trimmed & { readonly events: readonly TraceEvent[] }) | undefined;
}

const anyResponse = z.unknown();

/** HTTP 206: only the requested range. */
const PARTIAL = 206;

export class Api {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  server(signal?: AbortSignal): Promise<ServerInfo> {
    return this.#json('GET', '/v1/server', serverInfo, undefined, signal);
  }

  /** Returns the model endpoints that are in use or were announced, with their calls in flight. */
  async endpoints(signal?: AbortSignal): Promise<EndpointInfo[]> {
    return (await this.#json('GET', '/v1/endpoints', endpointList, undefined, signal)).endpoints;
  }

  /** Returns hours of GPUs and CPUs that the pods of a batch requested. */
  hours(batch: string, signal?: AbortSignal): Promise<BatchHours> {
    return this.#json('GET', `/v1/batches/${encodeURIComponent(batch)}/hours`, batchHours, undefined, signal);
  }

  /** Pauses or resumes an endpoint. Waits for its calls in flight if the state is `paused`. */
  setEndpoint(change: SetEndpoint, signal?: AbortSignal): Promise<EndpointInfo> {
    return this.#json('POST', '/v1/endpoints', endpointInfo, change, signal);
  }

  /** Returns a ticket that a page exchanges for a token: once, within a minute. */
  async ticket(edit: boolean, signal?: AbortSignal): Promise<string> {
    return (await this.#json('POST', '/v1/tickets', ticketReply, { edit }, signal)).ticket;
  }

  createBatch(batch: NewBatchBody, signal?: AbortSignal): Promise<BatchRow> {
    return this.#json('POST', '/v1/batches', batchRow, batch, signal);
  }

  async appendTasks(
    batch: string,
    from: number,
    tasks: readonly TaskRecord[],
    signal?: AbortSignal,
    rates?: NewBatchBody['rates'],
  ): Promise<void> {
    const body = { from, tasks, ...(rates === undefined ? {} : { rates }) };
    await this.#json('POST', `/v1/batches/${batch}/tasks`, anyResponse, body, signal);
  }

  async importRollouts(
    batch: string,
    rollouts: readonly {
      rollout: string;
      task: string;
      attempt: number;
      from?: number;
      events: readonly TraceEvent[];
    }[],
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#json('POST', `/v1/batches/${batch}/import`, anyResponse, { rollouts }, signal);
  }

  batches(page: { before?: string; limit?: number } = {}, signal?: AbortSignal): Promise<BatchPage> {
    return this.#json('GET', `/v1/batches${query(page)}`, batchPage, undefined, signal);
  }

  batch(id: string, signal?: AbortSignal): Promise<BatchRow> {
    return this.#json('GET', `/v1/batches/${encodeURIComponent(id)}`, batchRow, undefined, signal);
  }

  /** `excerpt`: maximum length of each text, without the state of worlds; default: whole tasks. */
  tasks(
    batch: string,
    page: { after?: number; limit?: number; excerpt?: number } = {},
    signal?: AbortSignal,
  ): Promise<{ tasks: TaskRecord[]; next?: number | undefined }> {
    return this.#json('GET', `/v1/batches/${batch}/tasks${query(page)}`, taskPage, undefined, signal);
  }

  rollouts(
    batch: string,
    page: { after?: string; limit?: number; task?: string; attempt?: number; all?: 1 } = {},
    signal?: AbortSignal,
  ): Promise<RolloutPage> {
    return this.#json('GET', `/v1/batches/${batch}/rollouts${query(page)}`, rolloutPage, undefined, signal);
  }

  /** Yields all rows of a batch, page by page. */
  async *allRollouts(
    batch: string,
    filter: { task?: string; all?: 1 } = {},
    signal?: AbortSignal,
  ): AsyncGenerator<RolloutRow> {
    let after: string | undefined;
    do {
      const page = await this.rollouts(
        batch,
        { ...filter, limit: 1000, ...(after === undefined ? {} : { after }) },
        signal,
      );
      yield* page.rollouts;
      after = page.next;
    } while (after !== undefined);
  }

  rollout(id: string, signal?: AbortSignal): Promise<RolloutInfo> {
    return this.#json('GET', `/v1/rollouts/${encodeURIComponent(id)}`, rolloutInfo, undefined, signal);
  }

  events(
    stream: string,
    page: { after?: number; until?: number; limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<{ events: TraceEvent[]; last: number }> {
    return this.#json(
      'GET',
      `/v1/streams/${encodeURIComponent(stream)}/events${query(page)}`,
      eventPage,
      undefined,
      signal,
    );
  }

  /** Yields all current events of a stream up to `until`, page by page. Includes the shared events of a fork. */
  async *allEvents(stream: string, signal?: AbortSignal, until = Infinity): AsyncGenerator<readonly TraceEvent[]> {
    let after = 0;
    while (after < until) {
      const page = await this.events(stream, { after, ...(until === Infinity ? {} : { until }) }, signal);
      if (page.events.length === 0) return;
      yield page.events;
      after = page.events.at(-1)?.seq ?? page.last;
      if (after >= page.last) return;
    }
  }

  commandRollout(rollout: string, command: RolloutCommand, signal?: AbortSignal): Promise<CommandReply> {
    return this.#json('POST', `/v1/rollouts/${rollout}/commands`, commandReply, command, signal);
  }

  commandBatch(batch: string, command: BatchCommand, signal?: AbortSignal): Promise<CommandReply> {
    return this.#json('POST', `/v1/batches/${batch}/commands`, commandReply, command, signal);
  }

  /** Requests a group of a batch. Idempotent by the group's ID. */
  requestGroup(request: RequestGroup, signal?: AbortSignal): Promise<GroupRow> {
    return this.#json('POST', '/v1/groups', groupRow, request, signal);
  }

  /** Lists the groups of a batch in order of their requests. */
  groups(
    batch: string,
    page: { after?: number; limit?: number; group?: string } = {},
    signal?: AbortSignal,
  ): Promise<GroupPage> {
    return this.#json('GET', `/v1/groups${query({ batch, ...page })}`, groupPage, undefined, signal);
  }

  /** Yields all groups of a batch, in order of their requests. */
  async *allGroups(batch: string, signal?: AbortSignal): AsyncGenerator<GroupRow> {
    let after: number | undefined;
    do {
      const page = await this.groups(batch, { limit: 1_000, ...(after === undefined ? {} : { after }) }, signal);
      yield* page.groups;
      after = page.next;
    } while (after !== undefined);
  }

  /**
   * Returns the groups of a batch that ended after a cursor, in the order in which they ended. `wait`: seconds to wait
   * for the first one.
   */
  async finishedGroups(
    batch: string,
    page: { after?: string; limit?: number; wait?: number; estimator?: string } = {},
    signal?: AbortSignal,
  ): Promise<FinishedGroup[]> {
    const path = `/v1/batches/${batch}/groups${query(page)}`;
    const text = await (await this.#request('GET', path, undefined, signal)).text();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => validated(finishedGroup, line, `GET ${path}`));
  }

  /** Returns token records of a batch by task, attempt, and call. */
  tokens(batch: string, page: { after?: string; limit?: number } = {}, signal?: AbortSignal): Promise<TokenPage> {
    return this.#json('GET', `/v1/batches/${batch}/tokens${query(page)}`, tokenPage, undefined, signal);
  }

  /** Returns how the server divides what it has, and why batches wait. Throws `not_found` if it is too old to say. */
  shares(signal?: AbortSignal): Promise<SharesReply> {
    return this.#json('GET', '/v1/shares', sharesReply, undefined, signal);
  }

  /** Returns the pods of a batch, or its worker processes. */
  pods(batch: string, signal?: AbortSignal): Promise<PodList> {
    return this.#json('GET', `/v1/batches/${encodeURIComponent(batch)}/pods`, podList, undefined, signal);
  }

  /** Yields the log of a pod, as it arrives. Throws `not_found` if it has none. */
  async *podLog(batch: string, pod: string, options: PodLogOptions, signal?: AbortSignal): AsyncGenerator<string> {
    const { container, tail, follow } = options;
    const path = `/v1/batches/${encodeURIComponent(batch)}/pods/${encodeURIComponent(pod)}/log`;
    const reply = await this.stream({
      method: 'GET',
      path: path + query({ container, tail, follow: follow === true ? 1 : undefined }),
      ...(signal === undefined ? {} : { signal }),
    });
    const decoder = new TextDecoder();
    for await (const bytes of reply.chunks()) yield decoder.decode(bytes, { stream: true });
  }

  /** Records that this client exports attempts of a batch. */
  async exported(batch: string, what: Exported, signal?: AbortSignal): Promise<void> {
    await this.#json('POST', `/v1/batches/${batch}/exports`, anyResponse, what, signal);
  }

  /** Returns entries of the audit log, newest first. `before`: `next` of the previous page. */
  audit(
    page: { user?: string; batch?: string; since?: number; before?: number; limit?: number } = {},
    signal?: AbortSignal,
  ): Promise<AuditPage> {
    return this.#json('GET', `/v1/audit${query(page)}`, auditPage, undefined, signal);
  }

  fork(fork: Fork, signal?: AbortSignal): Promise<ForkReply> {
    return this.#json('POST', '/v1/forks', forkReply, fork, signal);
  }

  gc(
    options: {
      older_than_ms?: number;
      batches?: readonly string[];
      rules?: boolean;
      trim?: boolean;
      dry_run: boolean;
    },
    signal?: AbortSignal,
  ): Promise<GcResult> {
    return this.#json('POST', '/v1/gc', gcResult, options, signal);
  }

  async putBlob(sha: string, bytes: BlobBytes, signal?: AbortSignal): Promise<void> {
    await this.#request('PUT', `/v1/blobs/${sha}`, bytes, signal);
  }

  /** Returns whether the server already has a blob. */
  async hasBlob(sha: string, signal?: AbortSignal): Promise<boolean> {
    try {
      await this.#request('HEAD', `/v1/blobs/${sha}`, undefined, signal);
      return true;
    } catch (error) {
      if (StudioError.is(error, 'not_found')) return false;
      throw error;
    }
  }

  async getBlob(sha: string, signal?: AbortSignal): Promise<Uint8Array> {
    const response = await this.#request('GET', `/v1/blobs/${sha}`, undefined, signal);
    return response.bytes();
  }

  /**
   * Returns the contents of many small blobs of text, in this order, with few requests. Throws StudioError `not_found`
   * if one is missing.
   */
  async blobTexts(shas: readonly string[], signal?: AbortSignal): Promise<string[]> {
    const all: string[] = [];
    while (all.length < shas.length) {
      const body = { shas: shas.slice(all.length, all.length + MAX_BLOB_TEXTS) };
      all.push(...(await this.#json('POST', '/v1/blobs/texts', blobTexts, body, signal)).texts);
    }
    return all;
  }

  /** Returns `length` bytes of a blob from `start`; fewer at its end. Throws StudioError `usage` beyond its end. */
  async blobPart(sha: string, start: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const end = start + length - 1;
    const reply = await this.#request('GET', `/v1/blobs/${sha}`, undefined, signal, { start, end });
    const bytes = await reply.bytes();
    return reply.status === PARTIAL ? bytes : bytes.subarray(start, end + 1); // the response was the whole blob
  }

  /**
   * Yields a large blob of `size` bytes in chunks of at most `chunkSize` bytes, so that a page never has to handle all
   * of it at once.
   */
  async *blobChunks(sha: string, size: number, chunkSize: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < size; start += chunkSize) {
      const reply = await this.#request('GET', `/v1/blobs/${sha}`, undefined, signal, {
        start,
        end: Math.min(start + chunkSize, size) - 1,
      });
      yield await reply.bytes();
      if (reply.status !== PARTIAL) return; // the response was the whole blob
    }
  }

  async #json<T>(
    method: string,
    path: string,
    schema: z.ZodType<T>,
    body: unknown,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const response = await this.#request(method, path, body === undefined ? undefined : JSON.stringify(body), signal);
    return validated(schema, await response.text(), `${method} ${path}`);
  }

  async #request(
    method: string,
    path: string,
    body: string | BlobBytes | undefined,
    signal: AbortSignal | undefined,
    range?: ByteRange,
  ): Promise<WireReply> {
    return this.send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
      ...(range === undefined ? {} : { range }),
    });
  }

  /** Sends any request. Throws the error of a reply that is one. */
  async send(request: WireRequest): Promise<WireReply> {
    const reply = await this.#transport.request(request);
    if (reply.status >= 200 && reply.status < 300) return reply;
    throw await readFailure(reply, `${request.method} ${request.path}`);
  }

  /** The same for a response that is read while it arrives, or at once where the transport cannot do that. */
  async stream(request: WireRequest): Promise<WireStream> {
    const reply = await this.#transport.stream?.(request);
    if (reply === undefined) {
      const whole = await this.send(request);
      return { status: whole.status, text: () => whole.text(), chunks: () => only(whole.bytes()) };
    }
    if (reply.status >= 200 && reply.status < 300) return reply;
    throw await readFailure(reply, `${request.method} ${request.path}`);
  }
}

async function* only(bytes: Promise<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield await bytes;
}

export const gcResult = z.object({
  batches: z.array(z.string()),
  /** Batches whose trajectories were dropped. Servers of earlier versions drop none. */
  trimmed: z.array(z.string()).default([]),
  kept: z.array(z.object({ batch: z.string(), why: z.string() })),
  blobs: z.number(),
  bytes: z.number(),
  /** By which rule of the server each batch is removed or trimmed, and how many bytes that frees. */
  why: z
    .array(z.object({ batch: z.string(), why: z.string(), bytes: z.number(), trim: z.boolean().optional() }))
    .optional(),
});
export type GcResult = z.infer<typeof gcResult>;
