/** Writes event streams for tests: counts seqs, spans, and ordinals; everything else has a short default. */

import type { Json } from '../../src/common/json.ts';
import {
  type Change,
  type EventData,
  type EventKind,
  type Part,
  type Role,
  TRACE_VERSION,
  type TraceError,
  type TraceEvent,
} from '../../src/trace/schema.ts';

const START = 1_795_000_000_000;

export interface Envelope {
  readonly agent?: string;
  readonly span?: number;
  readonly parent?: number;
}

export class Stream {
  readonly events: TraceEvent[] = [];
  #m = 0;
  #steps = 0;
  #first: number;

  /** `first`: seq of the first event, for the own part of a fork. */
  constructor(first = 1) {
    this.#first = first;
  }

  get last(): number {
    return this.#first + this.events.length - 1;
  }

  get m(): number {
    return this.#m;
  }

  /** Returns its seq. */
  add<K extends EventKind>(kind: K, data: EventData[K], envelope: Envelope = {}): number {
    const seq = this.last + 1;
    // the signature ties data to kind
    this.events.push({ seq, v: TRACE_VERSION, at: START + seq * 10, kind, ...envelope, data } as TraceEvent);
    return seq;
  }

  start(over: Partial<EventData['rollout.start']> = {}): number {
    return this.add('rollout.start', {
      batch: 'b1',
      task: 'renew-overdue',
      attempt: 1,
      try: 1,
      seed: 7,
      model: 'demo',
      ...over,
    });
  }

  /** Returns its ordinal. */
  message(
    role: Role,
    content: string | Part[],
    origin: EventData['message']['origin'] = 'given',
    envelope: Envelope = {},
    mail: Pick<EventData['message'], 'from' | 'to' | 'topic' | 'priority' | 'side'> = {},
  ): number {
    this.#m += 1;
    this.add(
      'message',
      { m: this.#m, role, parts: typeof content === 'string' ? [{ type: 'text', content }] : content, origin, ...mail },
      envelope,
    );
    return this.#m;
  }

  /** A model call that says `text` and requests `calls`. Returns the seq of its start. */
  model(
    text: string,
    calls: readonly { id: string; name: string; arguments: Json }[] = [],
    over: {
      usage?: EventData['model.end']['usage'];
      ms?: number;
      agent?: string;
      parent?: number;
      context?: [number, number][];
      endpoint?: string;
    } = {},
  ): number {
    this.#steps += 1;
    const of = over.agent === undefined ? {} : { agent: over.agent };
    const context = over.context ?? (this.#m === 0 ? [] : [[1, this.#m]]);
    const at = over.endpoint === undefined ? {} : { endpoint: over.endpoint };
    const span = this.add(
      'model.start',
      { step: this.#steps, model: 'demo', ...at, context, sampling: { temperature: 1 } },
      { ...of, ...(over.parent === undefined ? {} : { parent: over.parent }) },
    );
    const parts: Part[] = [
      ...(text === '' ? [] : [{ type: 'text' as const, content: text }]),
      ...calls.map((call) => ({ type: 'tool_call' as const, ...call })),
    ];
    const m = this.message('assistant', parts, 'sampled', { ...of, span });
    this.add(
      'model.end',
      {
        status: 'ok',
        m,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        usage: over.usage ?? { input_tokens: 100, output_tokens: 10 },
        ms: over.ms ?? 800,
        trainable: true,
        source: 'live',
      },
      { ...of, span },
    );
    return span;
  }

  /**
   * A call of a side model in the newest step, with a prompt that only it sees. What a user says is a message to
   * `agent`. Returns the seq of its start.
   */
  side(side: string, prompt: string, reply: string, over: { agent?: string; parent?: number } = {}): number {
    this.message('system', prompt, 'given', { agent: side }, { to: side, side });
    const { m } = this;
    const parent = over.parent === undefined ? {} : { parent: over.parent };
    const span = this.add(
      'model.start',
      { step: this.#steps, side, model: `${side}-model`, context: [[m, m]], sampling: {} },
      { agent: side, ...parent },
    );
    const isUser = side === 'user';
    this.message(
      isUser ? 'user' : 'assistant',
      reply,
      'given',
      { agent: side },
      {
        from: side,
        ...(isUser ? { to: over.agent ?? 'desk' } : { side }),
      },
    );
    this.add(
      'model.end',
      {
        status: 'ok',
        m: this.#m,
        finish_reason: 'stop',
        usage: { input_tokens: 40, output_tokens: 4 },
        ms: 300,
        trainable: false,
        why_not: 'it is a call of a side model',
        source: 'live',
      },
      { agent: side, span },
    );
    return span;
  }

  toolStart(id: string, name: string, args: Json, envelope: Envelope = {}): number {
    return this.add('tool.start', { call: id, name, arguments: args, effect: 'restorable' }, envelope);
  }

  toolEnd(
    span: number,
    id: string,
    response: Json,
    over: {
      error?: TraceError;
      agent?: string;
      ms?: number;
      injected?: string;
      made?: false;
      result?: Json;
      source?: EventData['tool.end']['source'];
      recorded?: EventData['tool.end']['recorded'];
      real?: Json;
    } = {},
  ): number {
    const { injected, made, result, real, recorded } = over;
    const envelope = { span, ...(over.agent === undefined ? {} : { agent: over.agent }) };
    const m = this.message('tool', [{ type: 'tool_call_response', id, response }], 'tool', envelope);
    return this.add(
      'tool.end',
      {
        status: over.error === undefined ? 'ok' : 'error',
        m,
        ms: over.ms ?? 12,
        source: over.source ?? 'live',
        ...(recorded === undefined ? {} : { recorded }),
        ...(real === undefined ? {} : { real }),
        ...(over.error === undefined ? {} : { error: over.error }),
        ...(injected === undefined ? {} : { injected }),
        ...(made === undefined ? {} : { made }),
        ...(result === undefined ? {} : { result }),
      },
      envelope,
    );
  }

  diff(changes: Change[], span?: number): number {
    return this.add('world.diff', { changes }, span === undefined ? {} : { span });
  }

  end(over: Partial<EventData['rollout.end']> = {}): number {
    return this.add('rollout.end', {
      status: 'done',
      passed: true,
      reward: 1,
      answer: 'done',
      touched: false,
      totals: {
        steps: this.#steps,
        tool_calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        cached_tokens: 0,
        ms: 42_100,
        held_ms: 0,
      },
      ...over,
    });
  }
}

/** A small rollout of the lending desk: 3 steps, a tool that fails, one change of the world, a failing score. */
export function lendingDesk(): Stream {
  const s = new Stream();
  s.start();
  s.add('rollout.lease', { epoch: 1, worker: 'w1', how: 'fresh' });
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message('system', 'You are the lending desk of a small library.\nBe brief.');
  s.message('user', 'Renew everything overdue for Ada.');
  s.model('I will look up the member first.', [{ id: 'c1', name: 'find_member', arguments: { name: 'Ada' } }]);
  const find = s.toolStart('c1', 'find_member', { name: 'Ada' });
  s.toolEnd(find, 'c1', { id: 3, name: 'Ada Byron', loans: [17, 18] });
  s.model(
    '',
    [
      { id: 'c2', name: 'renew_loan', arguments: { loan_id: 17, days: 14 } },
      { id: 'c3', name: 'renew_loan', arguments: { loan_id: 18, days: 14 } },
    ],
    { ms: 1100 },
  );
  const first = s.toolStart('c2', 'renew_loan', { loan_id: 17, days: 14 });
  const second = s.toolStart('c3', 'renew_loan', { loan_id: 18, days: 14 });
  s.toolEnd(second, 'c3', 'limit reached', {
    error: { class: 'tool_error', message: 'limit reached', place: { file: 'tools/loans.ts', line: 41, column: 9 } },
  });
  s.diff(
    [
      {
        table: 'loans',
        key: 17,
        op: 'update',
        before: { due: '2026-05-01', copy: 4 },
        after: { due: '2026-05-15', copy: 4 },
      },
    ],
    first,
  );
  s.toolEnd(first, 'c2', { due: '2026-05-15' });
  s.model('One loan was renewed, the other has reached its limit.');
  s.add('score', { scorer: 'world', value: 0, passed: false, explanation: 'loan 18 is still overdue' });
  s.end({
    passed: false,
    reward: 0,
    answer: 'One loan was renewed, the other has reached its limit.',
    totals: { steps: 3, tool_calls: 3, input_tokens: 300, output_tokens: 30, cached_tokens: 0, ms: 4_321, held_ms: 0 },
  });
  return s;
}

/** Two steps of an agent, with a simulated user between them and a judge at the end. */
export function conversation(): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew my loan.', 'given', { agent: 'desk' });
  s.model('Which loan?', [], { agent: 'desk' });
  s.side('user', 'You are Ada.', 'Loan 17, please.');
  s.model('Loan 17 is renewed.', [], {
    agent: 'desk',
    context: [
      [1, 2],
      [4, 4],
    ],
  });
  s.side('judge', 'You are a judge.', '{"score": 1, "explanation": "It is renewed."}');
  s.add('score', { scorer: 'judge', value: 1, passed: true, explanation: 'It is renewed.' });
  s.end({
    answer: 'Loan 17 is renewed.',
    totals: {
      steps: 2,
      tool_calls: 0,
      input_tokens: 200,
      output_tokens: 20,
      cached_tokens: 0,
      ms: 4_321,
      held_ms: 0,
      side: { calls: 2, input_tokens: 80, output_tokens: 8, cached_tokens: 0 },
    },
  });
  return s;
}

/** Two calls of one step, each with a question of its code to a model, made at once; then the answer. */
export function askingTools(): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Are these reviews polite?', 'given', { agent: 'desk' });
  s.model(
    'I will grade both.',
    [
      { id: 'c1', name: 'grade', arguments: { of: 'a' } },
      { id: 'c2', name: 'rank', arguments: { of: 'b' } },
    ],
    { agent: 'desk' },
  );
  const first = s.toolStart('c1', 'grade', { of: 'a' }, { agent: 'desk' });
  const second = s.toolStart('c2', 'rank', { of: 'b' }, { agent: 'desk' });
  s.side('judge', 'Is a polite?', 'Very polite.', { parent: first });
  s.side('judge', 'Is b polite?', 'Quite rude.', { parent: second });
  s.toolEnd(first, 'c1', 'polite', { agent: 'desk' });
  s.toolEnd(second, 'c2', 'rude', { agent: 'desk' });
  s.model('One of them.', [], { agent: 'desk' });
  s.add('score', { scorer: 'exact', value: 1, passed: true });
  s.end({
    answer: 'One of them.',
    totals: {
      steps: 2,
      tool_calls: 2,
      input_tokens: 200,
      output_tokens: 20,
      cached_tokens: 0,
      ms: 4_321,
      held_ms: 0,
      side: { calls: 2, input_tokens: 80, output_tokens: 8, cached_tokens: 0 },
    },
  });
  return s;
}
