/** What a row of the transcript shows: its heading, and its texts, calls, and images in order. */
import type { Json } from '../../../src/common/json.ts';
import { plural } from '../../../src/common/text.ts';
import { compact, duration } from '../../../src/common/units.ts';
import { isGivenReply } from '../../../src/trace/model/messages.ts';
import { askingCall } from '../../../src/trace/model/sideCalls.ts';
import type { ModelSpan, ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { endOutcome, type Outcome } from '../../../src/trace/outcome.ts';
import { provenanceOf } from '../../../src/trace/provenance.ts';
import type { BlobRef, Part } from '../../../src/trace/schema.ts';
import { errorLabel, sideLabel } from '../../../src/trace/text/labels.ts';
import { inline, partsText, valueText } from '../../../src/trace/text/values.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { TROUBLES } from '../../components/marks/glyphShapes.ts';
import type { IconName } from '../../components/marks/icon.tsx';
import { sideIcon } from '../sides.ts';
import type { TranscriptRow } from './rows.ts';

/** A part that opens and closes: one line, and the whole text. */
export interface Folded {
  /** Unique in the transcript. */
  readonly key: string;
  readonly line: string;
  readonly text: string;
}

export type Block =
  | { readonly kind: 'text'; readonly key: string; readonly text: string }
  | ({ readonly kind: 'folded'; readonly label: string } & Folded)
  | { readonly kind: 'large'; readonly title: string; readonly value: BlobRef }
  | { readonly kind: 'image'; readonly url: string }
  | { readonly kind: 'link'; readonly url: string }
  | {
      readonly kind: 'call';
      readonly seq: number;
      readonly name: string;
      readonly args: Folded;
      /** Absent while the call runs. */
      readonly result?: Folded;
      readonly outcome?: Outcome;
      /** The class of an error. */
      readonly error?: string;
    }
  | { readonly kind: 'failure'; readonly key: string; readonly text: string; readonly outcome: Outcome };

export interface Content {
  readonly icon: IconName;
  readonly title: string;
  /** After the title. */
  readonly detail?: string;
  /** Number of the step. */
  readonly step?: number;
  /** When it ended, since the start of the rollout. */
  readonly time?: string;
  readonly outcome?: Outcome;
  readonly blocks: readonly Block[];
}

const LINE_CHARS = 300;
const ROLES = {
  system: ['gear', 'System'],
  user: ['person', 'User'],
  assistant: ['comment', 'Agent'],
  tool: ['tools', 'Tool'],
} as const;

export function contentOf(
  model: TrajectoryModel,
  row: TranscriptRow,
  liveText: (span: number) => string | undefined = () => undefined,
): Content {
  const event = model.event(row.seq);
  if (event === undefined || 'unknown' in event) return { icon: 'question', title: '', blocks: [] };
  switch (event.kind) {
    case 'message': {
      const entry = model.currentMessage(event.data.m)?.event ?? event;
      const { role, parts, from, to } = entry.data;
      const [icon, name] = ROLES[role];
      const isGiven = isGivenReply(entry.data);
      const title = isGiven ? 'Assistant' : role === 'assistant' ? agentName(model, event.agent) : name;
      const route = from === undefined && to === undefined ? undefined : `${from ?? ''} → ${to ?? ''}`.trim();
      const detail = isGiven ? 'given with the task' : route;
      return {
        icon,
        title,
        ...(detail === undefined ? {} : { detail }),
        ...timeOf(model, event.seq),
        blocks: blocksOf(event.seq, parts, role === 'system'),
      };
    }
    case 'model.start':
      if (event.data.side !== undefined) return sideOf(model, row.seq, event.data.side, liveText);
      return turnOf(model, row.seq, liveText);
    case 'tool.start': {
      const span = model.span(row.seq);
      if (span?.kind !== 'tool') return { icon: 'tools', title: 'Call', blocks: [] };
      return { icon: 'tools', title: 'Call', ...timeOf(model, span.end?.seq), blocks: [callOf(model, span)] };
    }
    case 'agent.start': {
      const span = model.span(row.seq);
      const end = span?.kind === 'agent' ? span.end : undefined;
      const steps = model.agent(event.agent ?? '')?.modelStarts.length ?? 0;
      return {
        icon: 'hubot',
        title: agentName(model, event.agent),
        detail: [
          'sub-agent',
          plural(steps, 'step'),
          ...(end === undefined
            ? ['running']
            : model.timed && end.data.ms !== undefined
              ? [duration(end.data.ms)]
              : []),
        ].join(' · '),
        ...timeOf(model, end?.seq),
        blocks: [],
      };
    }
    case 'score': {
      const { scorer, value, passed, explanation, error } = event.data;
      const text = explanation ?? (error === undefined ? undefined : `${errorLabel(error.class)}: ${error.message}`);
      return {
        icon: 'beaker',
        title: 'Score',
        detail: `${value ?? 'none'} · ${scorer}`,
        outcome: passed === true ? 'passed' : passed === false ? 'failed' : 'unscored',
        ...timeOf(model, event.seq),
        blocks: text === undefined ? [] : [{ kind: 'text', key: `${event.seq}:text`, text }],
      };
    }
    case 'rollout.end': {
      const { error } = event.data;
      const outcome = endOutcome(event.data);
      return {
        icon: 'circle-filled',
        title: 'End',
        outcome,
        ...timeOf(model, event.seq),
        blocks: error === undefined ? [] : [failureOf(event.seq, error.class, error.message, outcome)],
      };
    }
    default:
      return { icon: 'question', title: event.kind, blocks: [] };
  }
}

function turnOf(model: TrajectoryModel, seq: number, liveText: (span: number) => string | undefined): Content {
  const step = model.stepOf(seq);
  const span: ModelSpan | undefined = step?.model;
  const end = span?.end;
  const entry = end?.data.m === undefined ? undefined : model.currentMessage(end.data.m);
  const live = span === undefined || end !== undefined ? undefined : liveText(span.seq);
  const calls = step?.tools ?? [];
  const made = new Set(calls.map((call) => call.start.data.call));
  const blocks: Block[] = entry === undefined ? [] : blocksOf(seq, entry.event.data.parts, false, made);
  if (live !== undefined && live !== '') blocks.push({ kind: 'text', key: `${seq}:live`, text: live });
  const error = end?.data.error;
  const trouble = troubleOf(span);
  if (error !== undefined && trouble !== undefined)
    blocks.push(failureOf(seq, error.class, error.message, TROUBLES[trouble]));
  for (const call of calls) blocks.push(callOf(model, call));
  const last = calls.reduce((newest, call) => Math.max(newest, call.end?.seq ?? 0), end?.seq ?? 0);
  return {
    icon: 'comment',
    title: agentName(model, span?.agent),
    ...(step === undefined ? {} : { step: step.index }),
    ...(end === undefined ? { detail: 'running' } : timeOf(model, last)),
    blocks,
  };
}

/** A side model's call: its prompt and its reply, folded. What a simulated user says is the next message. */
function sideOf(
  model: TrajectoryModel,
  seq: number,
  side: string,
  liveText: (span: number) => string | undefined,
): Content {
  const span = model.span(seq);
  if (span?.kind !== 'model') return { icon: sideIcon(side), title: sideLabel(side), blocks: [] };
  const end = span.end?.data;
  const prompt = span.start.data.context.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => model.message(first + index)?.event.data),
  );
  const text = prompt
    .flatMap((message) => (message === undefined ? [] : [`${message.role}: ${partsText(message.parts)}`]))
    .join('\n\n');
  const message = end?.m === undefined ? undefined : model.currentMessage(end.m)?.event.data;
  const reply = message === undefined ? liveText(seq) : message.side === undefined ? '' : partsText(message.parts);
  const trouble = troubleOf(span);
  const call = askingCall(model, span.start);
  const facts = [
    span.start.data.model,
    call === undefined ? undefined : `in ${call.start.data.name}`,
    end === undefined ? 'running' : undefined,
    end?.usage === undefined
      ? undefined
      : `${compact(end.usage.input_tokens)} → ${compact(end.usage.output_tokens)} tokens`,
    end?.source === 'recorded' ? 'recorded' : undefined,
  ].filter((fact) => fact !== undefined);
  return {
    icon: sideIcon(side),
    title: sideLabel(side),
    ...(facts.length === 0 ? {} : { detail: facts.join(' · ') }),
    ...timeOf(model, span.end?.seq),
    blocks: [
      { kind: 'folded', label: 'Prompt', ...folded(`${seq}:prompt`, text) },
      ...(reply === undefined || reply === ''
        ? []
        : [{ kind: 'folded' as const, label: 'Reply', ...folded(`${seq}:reply`, reply) }]),
      ...(end?.error === undefined || trouble === undefined
        ? []
        : [failureOf(seq, end.error.class, end.error.message, TROUBLES[trouble])]),
    ],
  };
}

function blocksOf(seq: number, parts: readonly Part[], isSystem: boolean, made?: ReadonlySet<string>): Block[] {
  return parts.flatMap((part, index): Block[] => {
    const key = `${seq}:${index}`;
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const title = part.type === 'reasoning' ? 'Reasoning' : '';
        if (typeof part.content !== 'string')
          return [{ kind: 'large', title: title === '' ? 'Text' : title, value: part.content }];
        if (part.content.trim() === '') return [];
        if (part.type === 'text' && !isSystem) return [{ kind: 'text', key, text: part.content }];
        return [{ kind: 'folded', label: title, ...folded(key, part.content) }];
      }
      case 'tool_call':
        if (made?.has(part.id) === true) return [];
        return [{ kind: 'call', seq, name: part.name, args: argsOf(key, part.arguments) }];
      case 'tool_call_response':
        return [{ kind: 'text', key, text: valueText(part.response) }];
      case 'blob': {
        const isImage = part.mime_type.startsWith('image/') || part.modality === 'image';
        if (typeof part.content !== 'string')
          return [{ kind: 'large', title: part.modality ?? part.mime_type, value: part.content }];
        if (!isImage) return [{ kind: 'text', key, text: `[${part.modality ?? part.mime_type}]` }];
        return [{ kind: 'image', url: `data:${part.mime_type};base64,${part.content}` }];
      }
      case 'uri':
        return [{ kind: 'link', url: part.uri }];
    }
  });
}

function callOf(model: TrajectoryModel, span: ToolSpan): Block {
  const { end } = span;
  const args = argsOf(`${span.seq}:args`, model.argumentsOf(span).value);
  const trouble = troubleOf(span);
  const from = provenanceOf(model, span).join(', ');
  const result = model.resultOf(span)?.value;
  const error = end?.data.error;
  const text = [
    ...(error === undefined ? [] : [error.message]),
    ...(result === undefined || (typeof result === 'string' && error?.message.includes(result) === true)
      ? []
      : [valueText(result, true)]),
  ].join('\n');
  return {
    kind: 'call',
    seq: span.seq,
    name: span.start.data.name,
    args,
    ...(end === undefined
      ? {}
      : {
          result: {
            key: `${span.seq}:result`,
            line:
              (from === '' ? '' : `(${from}) `) +
              (error !== undefined || result === undefined || typeof result === 'string'
                ? firstLine(text === '' ? (end.data.status === 'cut' ? 'repeated in the fork' : '(no result)') : text)
                : firstLine(valueText(result))),
            text,
          },
        }),
    ...(trouble === undefined ? {} : { outcome: TROUBLES[trouble] }),
    ...(error === undefined ? {} : { error: errorLabel(error.class) }),
  };
}

function argsOf(key: string, value: Json): Folded {
  const line = inline(value);
  return {
    key,
    line: firstLine(line.startsWith('{') && line.endsWith('}') ? line.slice(1, -1) : line),
    text: valueText(value, true),
  };
}

function failureOf(seq: number, errorClass: string, message: string, outcome: Outcome): Block {
  return { kind: 'failure', key: `${seq}:failure`, text: `${errorLabel(errorClass)}: ${message}`, outcome };
}

function folded(key: string, text: string): Folded {
  return { key, line: firstLine(text).replace(/^#+\s+/, ''), text };
}

/** Returns the first line with a text, cut to what a row can show. */
function firstLine(text: string): string {
  const start = text.trimStart().slice(0, LINE_CHARS);
  return (start.split('\n', 1)[0] ?? '').trimEnd();
}

/** Returns `84 lines`, or `12 words` for a single line. */
export function lengthOf(text: string): string {
  const lines = text.trim().split('\n').length;
  return lines > 1 ? plural(lines, 'line') : plural(text.split(/\s+/).filter((word) => word !== '').length, 'word');
}

/** Returns the name of an agent, `Agent` if there is only one. */
function agentName(model: TrajectoryModel, path: string | undefined): string {
  if (path === undefined || path === '') return 'Agent';
  const speaking = model.agents.filter(({ modelStarts, side }) => side === undefined && modelStarts.length > 0);
  return speaking.length <= 1 && !path.includes('/') ? 'Agent' : (path.split('/').at(-1) ?? path);
}

function timeOf(model: TrajectoryModel, seq: number | undefined): { readonly time?: string } {
  const [first, event] = [model.event(1), seq === undefined ? undefined : model.event(seq)];
  if (!model.timed || first === undefined || event === undefined) return {};
  return { time: duration(Math.max(0, event.at - first.at)) };
}
