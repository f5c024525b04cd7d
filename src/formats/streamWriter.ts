/** Writes the stream of a finished rollout from a recording. What the recording lacks stays absent. */
import type { Json, JsonObject } from '../common/json.ts';
import { firstLine } from '../common/text.ts';
import { Fingerprint } from '../trace/fingerprint.ts';
import {
  type Change,
  type Effect,
  type EventData,
  type EventKind,
  type Part,
  type Role,
  type RolloutEndStatus,
  TRACE_VERSION,
  type TraceError,
  type TraceEvent,
} from '../trace/schema.ts';
import { callsOf, type OpenAiMessage, partsOf, type RequestedCall, textIn } from './openAiMessages.ts';

interface End {
  readonly status: RolloutEndStatus;
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly error?: TraceError;
}

interface DrivenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly effect: Effect;
  readonly result: Json;
  readonly error?: TraceError;
  readonly changes: readonly Change[];
}

export class StreamWriter {
  readonly #at: number;
  readonly #events: TraceEvent[] = [];
  readonly #fingerprint = new Fingerprint();
  /** Calls that were answered without an error, in order of their answers. */
  readonly succeeded: { readonly name: string; readonly arguments: Json }[] = [];
  /** Calls without a result so far, with the seq of their start. */
  readonly #openCalls: (RequestedCall & { readonly seq: number })[] = [];
  #messages = 0;
  #steps = 0;
  #toolCalls = 0;
  #unnamed = 0;

  constructor(rollout: { readonly batch: string; readonly task: string; readonly attempt: number }, at: number) {
    this.#at = at;
    this.#add('rollout.start', { ...rollout, try: 1, times: 'none' });
  }

  /** Adds the next message of an OpenAI conversation. `isError`: returns whether a tool's text reports a failure. */
  openAi(message: OpenAiMessage, rules: { isError(text: string): boolean }): void {
    switch (message.role) {
      case 'system':
      case 'developer':
        this.#message('system', partsOf(message.content));
        return;
      case 'user':
        this.#message('user', partsOf(message.content));
        return;
      case 'assistant':
        this.#modelCall(message);
        return;
      case 'tool':
        this.#toolResult(message, rules);
    }
  }

  /** Adds the world that all calls are made in. */
  world({ world, kind, seed }: { readonly world: string; readonly kind: string; readonly seed: number }): void {
    const span = this.#add('world.open', { world, kind, seed });
    this.#add('world.close', {}, span);
  }

  /** Adds a call that a person made, with what it changed. */
  call({ id, name, arguments: args, effect, result, error, changes }: DrivenCall): void {
    this.#steps += 1;
    this.#toolCalls += 1;
    const span = this.#add('model.start', {
      step: this.#steps,
      context: this.#messages === 0 ? [] : [[1, this.#messages]],
      sampling: {},
    });
    const m = this.#message('assistant', [{ type: 'tool_call', id, name, arguments: args }], span);
    this.#add(
      'model.end',
      { status: 'ok', m, trainable: false, why_not: 'a person made the call', source: 'imported' },
      span,
    );
    const seq = this.#add('tool.start', { call: id, name, arguments: args, effect });
    if (changes.length > 0) this.#add('world.diff', { changes: [...changes] }, seq);
    const response = error === undefined ? result : `Error: ${error.message}`;
    const answer = this.#message('tool', [{ type: 'tool_call_response', id, response }], seq);
    this.#add(
      'tool.end',
      {
        status: error === undefined ? 'ok' : 'error',
        m: answer,
        source: 'imported',
        ...(error === undefined ? {} : { error }),
      },
      seq,
    );
  }

  score(data: EventData['score']): void {
    this.#add('score', data);
  }

  /** Ends the stream and returns all its events. */
  end({ status, passed, reward, error }: End): TraceEvent[] {
    this.#add('rollout.end', {
      status,
      passed,
      reward,
      answer: null,
      touched: false,
      ...(error === undefined ? {} : { error }),
      totals: { steps: this.#steps, tool_calls: this.#toolCalls },
      fingerprint: this.#fingerprint.digest(),
    });
    return this.#events;
  }

  #modelCall(message: Extract<OpenAiMessage, { role: 'assistant' }>): void {
    this.#steps += 1;
    const calls = callsOf(message, () => `unnamed_${++this.#unnamed}`);
    const span = this.#add('model.start', {
      step: this.#steps,
      context: this.#messages === 0 ? [] : [[1, this.#messages]],
      sampling: {},
    });
    const reasoning: Part[] =
      typeof message.reasoning_content === 'string' && message.reasoning_content !== ''
        ? [{ type: 'reasoning', content: message.reasoning_content }]
        : [];
    const requests = calls.map(
      (call): Part => ({ type: 'tool_call', id: call.id, name: call.name, arguments: call.arguments }),
    );
    const m = this.#message('assistant', [...reasoning, ...partsOf(message.content), ...requests], span);
    this.#add(
      'model.end',
      { status: 'ok', m, trainable: false, why_not: 'imported without token ids', source: 'imported' },
      span,
    );
    for (const call of calls) {
      this.#toolCalls += 1;
      // The recording does not say whether a call can be repeated, so assume that it cannot.
      const seq = this.#add('tool.start', {
        call: call.id,
        name: call.name,
        arguments: call.arguments,
        ...(call.raw === undefined ? {} : { raw: call.raw }),
        effect: 'irreversible',
      });
      this.#openCalls.push({ ...call, seq });
    }
  }

  #toolResult(message: Extract<OpenAiMessage, { role: 'tool' }>, rules: { isError(text: string): boolean }): void {
    const index = this.#openCalls.findIndex((call) =>
      message.tool_call_id === undefined || message.tool_call_id === null
        ? call.name === message.name
        : call.id === message.tool_call_id,
    );
    const [call] = index < 0 ? [] : this.#openCalls.splice(index, 1);
    const text = textIn(message.content);
    const others = partsOf(message.content).filter((part) => part.type !== 'text');
    const m = this.#message(
      'tool',
      [{ type: 'tool_call_response', id: call?.id ?? message.tool_call_id ?? '', response: text }, ...others],
      call?.seq,
    );
    if (call === undefined) return; // the result of an unrecorded call: kept as a message only
    const failed = rules.isError(text);
    if (!failed) this.succeeded.push({ name: call.name, arguments: call.arguments });
    this.#add(
      'tool.end',
      {
        status: failed ? 'error' : 'ok',
        m,
        source: 'imported',
        ...(failed ? { error: { class: 'tool_error', message: firstLine(text, 500) } } : {}),
      },
      call.seq,
    );
  }

  #message(role: Role, parts: Part[], span?: number): number {
    this.#messages += 1;
    const origin = role === 'assistant' ? 'sampled' : role === 'tool' ? 'tool' : 'given';
    this.#add('message', { m: this.#messages, role, parts, origin }, span);
    return this.#messages;
  }

  #add<K extends EventKind>(kind: K, data: EventData[K], span?: number): number {
    const seq = this.#events.length + 1;
    // The signature ensures that kind and data match, which the compiler cannot infer for the union.
    const event = {
      seq,
      v: TRACE_VERSION,
      at: this.#at,
      kind,
      ...(span === undefined ? {} : { span }),
      data,
    } as TraceEvent;
    this.#events.push(event);
    this.#fingerprint.add(event);
    return seq;
  }
}
