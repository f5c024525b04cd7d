/** Builds the scopes of a frame for the Variables view. */

import type { Json, JsonObject } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import { joinedLines } from '../../common/text.ts';
import type { ForkEdit } from '../../config/submission.ts';
import { stateAt } from '../../trace/fold.ts';
import type { ChangedRow } from '../../trace/model/changes.ts';
import type { MessageEntry } from '../../trace/model/messages.ts';
import type { ModelSpan, ToolSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { predictionsOf } from '../../trace/prediction/ofCall.ts';
import { provenanceOf } from '../../trace/provenance.ts';
import type { Change, EventData, Part, TraceError } from '../../trace/schema.ts';
import type { Place } from '../../trace/stops.ts';
import { changeText, partsText } from '../../trace/text/values.ts';
import { replaceAt } from '../../trace/values/pointer.ts';
import type { Debuggee } from '../debuggee.ts';
import type { Frame } from '../frames.ts';
import {
  type EditTarget,
  factNode,
  fixed,
  type Node,
  type ReadBlob,
  recordChildren,
  type ValueOptions,
  type VariableNodes,
  valueNode,
} from './node.ts';
import { tokenChildren } from './tokens.ts';

interface Scope {
  readonly name: string;
  readonly children: VariableNodes;
  /** Whether the client should load it only on request. */
  readonly expensive: boolean;
  /** The client's icon for it. */
  readonly hint?: 'arguments' | 'returnValue';
}

/** The context of scopes, besides the frame. */
export interface ScopeContext {
  readonly debuggee: Debuggee;
  readonly place: Place;
  /** Edits pending for a fork, shown as if they were applied. */
  readonly pending: readonly ForkEdit[];
  readonly limits: Readonly<Record<string, number>>;
}

export function scopesOf(frame: Frame, context: ScopeContext): Scope[] {
  switch (frame.kind) {
    case 'tool':
      return toolScopes(frame.span, context);
    case 'step':
      return stepScopes(frame.span, context);
    case 'message':
      return [scope('Message', fixed(messageNodes(frame.entry, context)))];
    case 'agent':
      return [contextScope(frame.path, context, false), usageScope(context)];
    case 'rollout':
      return rolloutScopes(context);
  }
}

function toolScopes(span: ToolSpan, context: ScopeContext): Scope[] {
  const { model } = context.debuggee;
  const { data } = span.start;
  const args = withPending(model.argumentsOf(span).value, { seq: span.seq }, '/arguments', context);
  const result = model.resultOf(span);
  const scopes = [
    scope(
      'Arguments',
      membersOf(args, {
        ...options(context),
        expression: 'tool.arguments',
        edit: { of: { seq: span.seq }, path: '/arguments' },
      }),
      'arguments',
    ),
  ];
  const from = provenanceOf(model, span);
  if (span.end !== undefined && result !== undefined) {
    const target: EditTarget = { of: { seq: span.end.seq }, path: '/result' };
    scopes.push(
      scope(
        from.length === 0 ? 'Result' : `Result (${from.join(', ')})`,
        fixed([
          valueNode('result', withPending(result.value, target.of, target.path, context), {
            ...options(context),
            expression: 'tool.result',
            edit: target,
          }),
        ]),
        'returnValue',
      ),
    );
  }
  if (span.end?.data.real !== undefined)
    scopes.push(scope('Real Result', fixed([valueNode('result', span.end.data.real, options(context))])));
  const seen = model.seenOf(span);
  if (seen !== undefined)
    scopes.push(scope('Seen by the Agent (injected)', fixed([valueNode('seen', seen, options(context))])));
  for (const { data: score } of predictionsOf(model, span.seq)) scopes.push(predictionScope(score, context));
  if (span.end?.data.error !== undefined) scopes.push(scope('Error', fixed(errorNodes(span.end.data.error))));
  const changes = model.diffsOf(span.seq).flatMap((diff) => diff.data.changes);
  if (changes.length > 0)
    scopes.push(scope('World Changes', fixed(changes.map((change) => changeNode(change, options(context))))));
  const facts = [
    ...factNode('call', data.call),
    ...factNode('effect', data.effect),
    ...factNode('source', span.end?.data.source),
    ...factNode('duration (ms)', span.end?.data.ms),
    ...factNode('injected by', span.end?.data.injected),
    ...factNode('bytes cut', span.end?.data.cut),
    ...factNode('raw arguments', data.raw),
    ...factNode('edited', model.argumentsOf(span).edited || result?.edited === true ? true : undefined),
  ];
  return [...scopes, scope('Call', fixed(facts)), usageScope(context)];
}

/** What a world predicted, which the agent never sees. */
function predictionScope(
  { prediction, value, parts, error, explanation }: EventData['score'],
  context: ScopeContext,
): Scope {
  const { world = '', response } = prediction ?? {};
  return scope(
    `Predicted by ${world}`,
    fixed([
      ...(response === undefined ? [] : [valueNode('predicted', response, options(context))]),
      ...factNode('agreement', value ?? undefined),
      ...Object.entries(parts ?? {}).flatMap(([part, share]) => factNode(part, share)),
      ...factNode('reasons', explanation),
      ...(error === undefined ? [] : errorNodes(error)),
    ]),
  );
}

function stepScopes(span: ModelSpan, context: ScopeContext): Scope[] {
  const { model } = context.debuggee;
  const { end, start, agent } = span;
  const scopes: Scope[] = [];
  const reply = end?.data.m === undefined ? undefined : model.currentMessage(end.data.m);
  if (reply !== undefined) scopes.push(scope('Reply', fixed(messageNodes(reply, context)), 'returnValue'));
  if (end?.data.error !== undefined) scopes.push(scope('Error', fixed(errorNodes(end.data.error))));
  const fresh = newMessages(model, span);
  scopes.push(scope('New Messages', fixed(fresh.map((entry) => messageNode(entry, context)))));
  scopes.push(contextScope(agent, { ...context, place: { seq: span.seq, at: span.seq } }, true));
  const sampling = withPending(start.data.sampling, { seq: span.seq }, '/sampling', context);
  scopes.push(
    scope(
      'Sampling',
      membersOf(sampling, { ...options(context), edit: { of: { seq: span.seq }, path: '/sampling' } }),
      'arguments',
    ),
  );
  const facts = [
    ...factNode('model', start.data.model),
    ...factNode('endpoint', start.data.endpoint),
    ...factNode('finish reason', end?.data.finish_reason),
    ...factNode('source', end?.data.source),
    ...factNode('input tokens', end?.data.usage?.input_tokens),
    ...factNode('output tokens', end?.data.usage?.output_tokens),
    ...factNode('cached tokens', end?.data.usage?.cached_tokens),
    ...factNode('reasoning tokens', end?.data.usage?.reasoning_tokens),
    ...factNode('duration (ms)', end?.data.ms),
    ...factNode('queue time (ms)', end?.data.queue_ms),
    ...factNode('paused (ms)', end?.data.paused_ms),
    ...factNode('paused by', end?.data.pause?.by),
    ...factNode('waited (ms)', end?.data.waited_ms),
    ...factNode('time to first token (ms)', end?.data.first_ms),
    ...factNode('trainable', end?.data.trainable),
    ...factNode('not usable for training', end?.data.why_not),
    ...factNode('weights at start', end?.data.weights_from ?? start.data.weights),
    ...factNode('weights', end?.data.weights),
  ];
  scopes.push(scope('Call', fixed(facts)));
  if (end?.data.tokens !== undefined)
    scopes.push({ name: 'Tokens', expensive: true, children: tokenChildren(model, span, options(context).readBlob) });
  return [...scopes, usageScope(context)];
}

function rolloutScopes(context: ScopeContext): Scope[] {
  const { debuggee, place } = context;
  const { model, task } = debuggee;
  const state = stateAt(model, place.at);
  const scores = state.scores.map(
    (score): Node => ({
      name: score.data.scorer,
      value:
        `${score.data.value ?? 'unscorable'}` +
        (score.data.passed === null ? '' : score.data.passed ? ', passed' : ', failed'),
      children: recordChildren({ ...score.data } as JsonObject, options(context)),
    }),
  );
  const about = [
    ...factNode('rollout', debuggee.rollout),
    ...factNode('batch', debuggee.batch),
    ...factNode('attempt', debuggee.attempt),
    ...factNode('status', state.status),
    ...factNode('passed', state.passed),
    ...factNode('reward', state.reward),
    ...factNode('seed', model.start?.data.seed),
    ...factNode('try', model.start?.data.try),
  ];
  const world: VariableNodes = {
    list: ({ start, count }) =>
      [...stateAt(model, place.at).world.values()]
        .slice(start, start + count)
        .map((row) => rowNode(row, options(context))),
  };
  return [
    scope('Rollout', fixed(about)),
    scope(
      'Task',
      recordChildren(JSON.parse(JSON.stringify(task)) as JsonObject, { ...options(context), expression: 'task' }),
    ),
    ...(scores.length === 0 ? [] : [scope('Scores', fixed(scores))]),
    { name: 'World', children: world, expensive: true },
    usageScope(context),
  ];
}

/** Returns the context of the agent at the place, newest message last. */
function contextScope(agent: string, context: ScopeContext, expensive: boolean): Scope {
  const { model } = context.debuggee;
  const entries = stateAt(model, context.place.at, agent).messages; // once: there may be ten thousands
  return {
    name: 'Context',
    expensive,
    children: {
      indexed: entries.length,
      list: ({ start, count }) => entries.slice(start, start + count).map((entry) => messageNode(entry, context)),
    },
  };
}

function usageScope({ debuggee: { model }, place, limits }: ScopeContext): Scope {
  const used = model.usageAt(place.at);
  const side = model.usageAt(place.at, 'side');
  const step = model.stepOf(place.at)?.index ?? 0;
  const of = (name: string): string => (limits[name] === undefined ? '' : ` of ${limits[name]}`);
  return scope(
    'Usage',
    fixed([
      { name: 'steps', value: `${step}${of('steps')}` },
      {
        name: 'tokens',
        value: `${used.input_tokens + used.output_tokens}${of('tokens')}`,
        expression: 'usage.input_tokens + usage.output_tokens',
      },
      { name: 'input tokens', value: String(used.input_tokens), expression: 'usage.input_tokens' },
      { name: 'output tokens', value: String(used.output_tokens), expression: 'usage.output_tokens' },
      { name: 'cached tokens', value: String(used.cached_tokens), expression: 'usage.cached_tokens' },
      ...(side.calls === 0 ? [] : factNode("side models' tokens", side.input_tokens + side.output_tokens)),
      ...factNode('time limit (s)', limits['seconds']),
      ...factNode('tool time limit (s)', limits['tool_seconds']),
    ]),
  );
}

/** Messages of a call's context that the agent's call before did not have. */
function newMessages(model: TrajectoryModel, span: ModelSpan): MessageEntry[] {
  const starts = model.agent(span.agent)?.modelStarts ?? [];
  const before = model.span(starts[starts.indexOf(span.seq) - 1] ?? 0);
  const earlier = new Set<number>();
  if (before?.kind === 'model') {
    for (const [first, last] of before.start.data.context) for (let m = first; m <= last; m++) earlier.add(m);
    if (before.end?.data.m !== undefined) earlier.add(before.end.data.m);
  }
  const fresh: MessageEntry[] = [];
  for (const [first, last] of span.start.data.context) {
    for (let m = first; m <= last; m++) {
      const entry = earlier.has(m) ? undefined : model.message(m);
      if (entry !== undefined) fresh.push(entry);
    }
  }
  return fresh;
}

function messageNode(entry: MessageEntry, context: ScopeContext): Node {
  const { role, origin, parts } = entry.event.data;
  const text = joinedLines(partsText(parts), ' ⏎ ');
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part.name] : [])).join(', ');
  const summary = [text, calls === '' ? '' : `→ ${calls}`].filter((piece) => piece !== '').join(' ');
  return {
    name: `${entry.m} ${role}`,
    value: `${origin === 'edited' ? '(edited) ' : ''}${summary.length > 300 ? `${summary.slice(0, 300)}…` : summary}`,
    children: fixed(messageNodes(entry, context)),
  };
}

function messageNodes(entry: MessageEntry, context: ScopeContext): Node[] {
  const { role, origin, parts, from, to, topic } = entry.event.data;
  return [
    ...factNode('role', role),
    ...factNode('origin', origin),
    ...factNode('from', from),
    ...factNode('to', to),
    ...factNode('topic', topic),
    ...parts.map((part, index) => partNode(part, index, entry, context)),
  ];
}

function partNode(part: Part, index: number, entry: MessageEntry, context: ScopeContext): Node {
  const at = (field: string): EditTarget => ({ of: { m: entry.m }, path: `/parts/${index}/${field}` });
  const value = (name: string, stored: Json, field: string): Node =>
    valueNode(name, withPending(stored, { m: entry.m }, `/parts/${index}/${field}`, context), {
      ...options(context),
      edit: at(field),
    });
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return value(part.type, part.content, 'content');
    case 'tool_call':
      return value(part.name, part.arguments, 'arguments');
    case 'tool_call_response':
      return value('response', part.response, 'response');
    case 'blob':
      return { name: part.modality ?? 'blob', value: part.mime_type };
    case 'uri':
      return { name: 'uri', value: part.uri };
  }
}

function errorNodes(error: TraceError): Node[] {
  const place = error.place;
  return [
    ...factNode('class', error.class),
    ...factNode('message', error.message),
    ...factNode('place', place === undefined ? undefined : `${place.file}:${place.line}:${place.column}`),
    ...factNode('stack', error.stack),
  ];
}

function changeNode(change: Change, values: ValueOptions): Node {
  return {
    name: nameOf(change),
    value: changeText(change),
    ...dataOf(change),
    children: recordChildren({ ...change } as unknown as JsonObject, values),
  }; // a change is JSON
}

function rowNode(row: ChangedRow, values: ValueOptions): Node {
  return {
    name: nameOf(row),
    value: changeText(row),
    ...dataOf(row),
    children: recordChildren(
      {
        op: row.op,
        key: row.key,
        ...(row.before === undefined ? {} : { before: row.before }),
        ...(row.after === undefined ? {} : { after: row.after }),
      },
      values,
    ),
  };
}

type RowLike = Pick<Change, 'table' | 'file' | 'key'>;

function nameOf({ table, file, key }: RowLike): string {
  return file ?? `${table ?? ''} ${typeof key === 'string' ? key : JSON.stringify(key)}`;
}

/** A data breakpoint watches the row; without its key, the table. */
function dataOf({ table, file, key }: RowLike): { data: string } {
  return { data: JSON.stringify(file === undefined ? { table: table ?? '', key } : { file }) };
}

function membersOf(value: Json, values: ValueOptions): VariableNodes {
  if (isJsonObject(value) && !('$blob' in value)) return recordChildren(value, values);
  return fixed([valueNode('value', value, values)]);
}

/** A value with the edits that wait for a fork. */
function withPending(value: Json, of: EditTarget['of'], root: string, { pending }: ScopeContext): Json {
  let current = value;
  for (const edit of pending) {
    if (edit.of.seq !== of.seq || edit.of.m !== of.m) continue;
    if (edit.path !== root && !edit.path.startsWith(`${root}/`)) continue;
    current = replaceAt(current, edit.path.slice(root.length), edit.value) ?? current;
  }
  return current;
}

function options({ debuggee }: ScopeContext): { readBlob: ReadBlob } {
  return { readBlob: (ref, signal) => debuggee.readBlob(ref, signal) };
}

function scope(name: string, children: VariableNodes, hint?: Scope['hint']): Scope {
  return { name, children, expensive: false, ...(hint === undefined ? {} : { hint }) };
}
