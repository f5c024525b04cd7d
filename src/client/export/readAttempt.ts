/** Reads what formats need of an attempt: its segments and messages, with few requests. */

import { utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { Json } from '../../common/json.ts';
import type { WholeMessage } from '../../formats/training/conversations.ts';
import type { Api } from '../../protocol/api.ts';
import type { ChatTool } from '../../trace/chat/messages.ts';
import { toChatTools } from '../../trace/chat/messages.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { type BlobRef, type EventOf, type TokenRecord, tokenRecord } from '../../trace/schema.ts';
import { unspill } from '../../trace/spill.ts';
import { isBlobRef } from '../../trace/values/keys.ts';
import { readModel } from '../readStep.ts';

export interface ReadAttempt {
  readonly model: TrajectoryModel;
  /** By seq of the start of their call. */
  readonly records: ReadonlyMap<number, TokenRecord>;
  /** By ordinal. */
  readonly messages: ReadonlyMap<number, WholeMessage>;
  readonly tools: readonly ChatTool[];
}

const storedTools = z.array(
  z.object({
    name: z.string(),
    description: z.string().default(''),
    parameters: z.record(z.string(), z.unknown() as unknown as z.ZodType<Json>).default({}),
  }),
);
const NO_TEXTS: Pick<ReadAttempt, 'messages' | 'tools'> = { messages: new Map(), tools: [] };
const TEXT = /^(?:text\/|application\/json)/;

export class AttemptReader {
  readonly #api: Api;
  readonly #signal: AbortSignal;
  /** Lists of tools by hash: the attempts of a batch share theirs. */
  readonly #tools = new Map<string, Promise<ChatTool[]>>();

  constructor(api: Api, signal: AbortSignal) {
    this.#api = api;
    this.#signal = signal;
  }

  /**
   * Reads attempts together, so that their tokens need few requests. `tokens`: whether to read the records of tokens.
   * `messages`: whether to read messages and tools.
   */
  async read(
    rollouts: readonly string[],
    needs: { readonly tokens: boolean; readonly messages: boolean },
  ): Promise<ReadAttempt[]> {
    const models = await Promise.all(rollouts.map((rollout) => readModel(this.#api, rollout, this.#signal)));
    const [records, others] = await Promise.all([
      needs.tokens ? this.#records(models) : Promise.resolve([]),
      needs.messages ? Promise.all(models.map((model) => this.#texts(model))) : Promise.resolve([]),
    ]);
    return models.map((model, index) => ({
      model,
      records: records[index] ?? new Map<number, TokenRecord>(),
      ...(others[index] ?? NO_TEXTS),
    }));
  }

  async #texts(model: TrajectoryModel): Promise<Pick<ReadAttempt, 'messages' | 'tools'>> {
    const [messages, tools] = await Promise.all([this.#messages(model), this.#toolsOf(model)]);
    return { messages, tools };
  }

  async #records(models: readonly TrajectoryModel[]): Promise<Map<number, TokenRecord>[]> {
    const refs = models.map((model) =>
      model.events.flatMap((event) => {
        if ('unknown' in event || event.kind !== 'model.end' || event.span === undefined) return [];
        return event.data.tokens === undefined ? [] : [{ seq: event.span, sha: event.data.tokens.$blob }];
      }),
    );
    const shas = refs.flatMap((some) => some.map(({ sha }) => sha));
    const texts = await this.#api.blobTexts(shas, this.#signal);
    let next = 0;
    return refs.map(
      (some) => new Map(some.map(({ seq }) => [seq, tokenRecord.parse(JSON.parse(texts[next++] ?? ''))])),
    );
  }

  async #messages(model: TrajectoryModel): Promise<Map<number, WholeMessage>> {
    const events = model.messages.map(({ event }) => event);
    const blobs = await this.#blobs(events);
    const whole = await Promise.all(
      events.map((event) => unspill(event, ({ $blob }) => Promise.resolve(blobs.get($blob) ?? new Uint8Array()))),
    );
    return new Map(whole.map(({ data: { m, role, parts } }) => [m, { m, role, parts }]));
  }

  /** Reads the values that were moved out of events: texts with few requests, images one by one. */
  async #blobs(events: readonly EventOf<'message'>[]): Promise<Map<string, Uint8Array>> {
    const refs = new Map<string, BlobRef>();
    for (const event of events) findRefs(event.data.parts, refs);
    const all = [...refs.values()];
    const texts = all.filter(({ media }) => TEXT.test(media)).map(({ $blob }) => $blob);
    const blobs = new Map<string, Uint8Array>();
    for (const [index, text] of (await this.#api.blobTexts(texts, this.#signal)).entries())
      blobs.set(texts[index] ?? '', utf8ToBytes(text));
    for (const { $blob } of all) if (!blobs.has($blob)) blobs.set($blob, await this.#api.getBlob($blob, this.#signal));
    return blobs;
  }

  async #toolsOf(model: TrajectoryModel): Promise<ChatTool[]> {
    const first = model.events.find(
      (event): event is EventOf<'model.start'> =>
        !('unknown' in event) && event.kind === 'model.start' && event.data.side === undefined,
    );
    const sha = first?.data.tools;
    if (sha === undefined) return [];
    let tools = this.#tools.get(sha);
    if (tools === undefined) this.#tools.set(sha, (tools = this.#readTools(sha)));
    return tools;
  }

  async #readTools(sha: string): Promise<ChatTool[]> {
    const [text] = await this.#api.blobTexts([sha], this.#signal);
    return toChatTools(storedTools.parse(JSON.parse(text ?? '[]')));
  }
}

function findRefs(value: unknown, refs: Map<string, BlobRef>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isBlobRef(value)) refs.set(value.$blob, value);
  else for (const member of Object.values(value)) findRefs(member, refs);
}
