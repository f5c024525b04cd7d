/** A stored trajectory as its model calls: request, response, and the tokens of both. */

import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { ToolSpec } from '../../../src/rollout/ports.ts';
import { type ChatMessage, type ChatTool, toChatMessages, toChatTools } from '../../../src/trace/chat/messages.ts';
import {
  type EventData,
  type EventOf,
  type Part,
  type TokenRecord,
  type TraceEvent,
  tokenRecord,
} from '../../../src/trace/schema.ts';

export interface Tokens {
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
  readonly logprobs: Float32Array;
  readonly record: TokenRecord;
  /** Prompt and completion of the call that its prompt is a difference to. */
  readonly base: readonly number[] | undefined;
}

export interface Call {
  readonly rollout: string;
  readonly start: EventOf<'model.start'>;
  readonly end: EventOf<'model.end'>;
  /** In the form the chat template gets them. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  readonly parts: readonly Part[];
  readonly tokens: Tokens | undefined;
}

export interface Trajectory {
  readonly rollout: string;
  readonly events: readonly TraceEvent[];
  readonly calls: readonly Call[];
  readonly end: EventData['rollout.end'];
}

/** One tool call: how the model wrote it, and its result. */
export interface ToolUse {
  readonly start: EventOf<'tool.start'>;
  readonly end: EventOf<'tool.end'>;
  readonly written: Extract<Part, { type: 'tool_call' }>;
  readonly toolMessage: EventData['message'];
}

/** All tool calls of a rollout that has ended, in order. */
export function toolUses(events: readonly TraceEvent[]): ToolUse[] {
  const messages = events.filter((event) => event.kind === 'message').map(({ data }) => data);
  return events
    .filter((event) => event.kind === 'tool.start')
    .map((start) => {
      const end = events.find(
        (event): event is EventOf<'tool.end'> => event.kind === 'tool.end' && event.span === start.seq,
      );
      const written = messages
        .flatMap(({ parts }) => parts)
        .find((part): part is ToolUse['written'] => part.type === 'tool_call' && part.id === start.data.call);
      const toolMessage = messages.find(({ m }) => m === end?.data.m);
      if (end === undefined || written === undefined || toolMessage === undefined)
        throw new Error(`the use of a tool at ${start.seq} is not recorded whole`);
      return { start, end, written, toolMessage };
    });
}

/** Reads trajectories of one server; lists of tools are read once. */
export class Trajectories {
  readonly #api: Api;
  readonly #tools = new Map<string, Promise<ChatTool[]>>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** For a rollout that has ended. */
  async read(rollout: string): Promise<Trajectory> {
    const events: TraceEvent[] = [];
    for await (const page of this.#api.allEvents(rollout)) events.push(...page);
    const messages = new Map(events.filter((event) => event.kind === 'message').map(({ data }) => [data.m, data]));
    const tokens = new Map<number, Tokens>();
    const calls: Call[] = [];
    for (const start of events) {
      if (start.kind !== 'model.start') continue;
      const end = events.find(
        (event): event is EventOf<'model.end'> => event.kind === 'model.end' && event.span === start.seq,
      );
      if (end === undefined) throw new Error(`the call ${start.seq} of ${rollout} has no end`);
      if (end.data.tokens !== undefined) tokens.set(start.seq, await this.#tokens(end.data.tokens.$blob, tokens));
      const context = start.data.context.flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, index) => messages.get(first + index)!),
      );
      calls.push({
        rollout,
        start,
        end,
        parts: messages.get(end.data.m ?? 0)?.parts ?? [],
        tokens: tokens.get(start.seq),
        messages: toChatMessages(context, ['reasoning']),
        tools: start.data.tools === undefined ? [] : await this.#toolsOf(start.data.tools),
      });
    }
    const end = events.at(-1);
    if (end?.kind !== 'rollout.end') throw new Error(`${rollout} has not ended`);
    return { rollout, events, calls, end: end.data };
  }

  async #tokens(sha: string, before: ReadonlyMap<number, Tokens>): Promise<Tokens> {
    const record = tokenRecord.parse(await this.#json(sha));
    const of = record.prompt.of === undefined ? undefined : before.get(record.prompt.of);
    const base = of === undefined ? undefined : [...of.prompt, ...of.completion];
    const bytes = Buffer.from(record.logprobs ?? '', 'base64');
    return {
      prompt: [...(base ?? []).slice(0, record.prompt.keep ?? 0), ...record.prompt.ids],
      completion: record.completion,
      record,
      base,
      logprobs: Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4)),
    };
  }

  #toolsOf(sha: string): Promise<ChatTool[]> {
    let tools = this.#tools.get(sha);
    if (tools === undefined)
      // as stored: [{name, description, parameters}]
      this.#tools.set(sha, (tools = this.#json(sha).then((list) => toChatTools(list as unknown as ToolSpec[]))));
    return tools;
  }

  async #json(sha: string): Promise<Json> {
    return JSON.parse(Buffer.from(await this.#api.getBlob(sha)).toString('utf8')) as Json;
  }
}

/** The text of all parts of a kind. */
export function textOf(parts: readonly Part[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type && typeof part.content === 'string' ? part.content : '')).join('');
}

/** Calls whose arguments could be parsed. */
export function toolCallsOf(parts: readonly Part[]): { name: string; arguments: JsonObject }[] {
  return parts.flatMap((part) =>
    part.type === 'tool_call' && typeof part.arguments === 'object'
      ? [{ name: part.name, arguments: part.arguments as JsonObject }]
      : [],
  );
}
