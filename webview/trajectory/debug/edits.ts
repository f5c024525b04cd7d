/** Determines what can be edited in a trajectory and where an edit takes effect, and reads the edits of a form. */
import { isJsonObject, type Json } from '../../../src/common/json.ts';
import type { ForkEdit } from '../../../src/config/submission.ts';
import type { Hold } from '../../../src/trace/model/holds.ts';
import type { ModelSpan, ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { isBlobRef, unescapeKeys } from '../../../src/trace/values/keys.ts';
import { type Subject, subjectAt } from '../detail/subject.ts';

export type EditKind =
  | 'arguments'
  | 'result'
  | 'sampling'
  | 'reply'
  | 'message'
  | 'skip'
  | 'inject'
  | 'answer'
  | 'fork';

/** What a form edits. */
export interface EditTarget {
  readonly kind: EditKind;
  readonly title: string;
  /**
   * `here`: the rollout is held there and continues with the edit. `fork`: it is recorded, so a fork applies the edit.
   */
  readonly where: 'here' | 'fork';
  readonly of: ForkEdit['of'];
  /** The event that shows the form; undefined to show it above the details. */
  readonly seq?: number;
  /** The last event that a fork shares. */
  readonly cut: number;
  readonly fields: readonly EditField[];
}

export interface EditField {
  readonly name: string;
  /** JSON pointer into the edited data. */
  readonly path: string;
  readonly before: Json;
}

/** Records with more members are edited as one value. */
const MAX_FIELDS = 16;

/** Returns the current hold of a rollout. */
export function currentHold(model: TrajectoryModel): Hold | undefined {
  return model.end === undefined ? model.holdsAt().at(-1) : undefined;
}

/** Returns what can be edited in place at a hold. */
export function heldTargets(model: TrajectoryModel, hold: Hold): EditTarget[] {
  const subject = subjectAt(model, hold.event.span ?? 0);
  return subject === undefined ? [] : editTargets(model, subject).filter(({ where }) => where === 'here');
}

/** Returns what can be edited in the selection, in the page's order. */
export function editTargets(model: TrajectoryModel, subject: Subject): EditTarget[] {
  switch (subject.kind) {
    case 'tool':
      return toolTargets(model, subject.span);
    case 'model':
      return modelTargets(model, subject.span);
    case 'message':
      return messageTargets(model, subject.entry.m);
    default:
      return [];
  }
}

function toolTargets(model: TrajectoryModel, span: ToolSpan): EditTarget[] {
  const targets: EditTarget[] = [];
  const { end } = span;
  const args = model.argumentsOf(span).value;
  if (!isBlobRef(args))
    targets.push({
      kind: 'arguments',
      title: 'Arguments',
      where: whereOf(model, span.seq, 'before'),
      of: { seq: span.seq },
      cut: span.seq,
      fields: fieldsOf('/arguments', args),
      seq: span.seq,
    });
  const result = model.resultOf(span)?.value;
  if (end !== undefined && result !== undefined && !isBlobRef(result))
    targets.push({
      kind: 'result',
      title: 'Result',
      where: whereOf(model, span.seq, 'after'),
      of: { seq: end.seq },
      cut: end.seq,
      fields: fieldsOf('/result', result),
      seq: span.seq,
    });
  return targets;
}

function modelTargets(model: TrajectoryModel, span: ModelSpan): EditTarget[] {
  const { end } = span;
  const m = end?.data.m;
  const reply = m === undefined ? undefined : textFields(model, m);
  return [
    ...(end === undefined || m === undefined || reply === undefined || reply.length === 0
      ? []
      : [
          {
            kind: 'reply',
            title: 'Reply',
            where: whereOf(model, span.seq, 'after'),
            of: { m },
            cut: end.seq,
            fields: reply,
            seq: span.seq,
          } as const,
        ]),
    {
      kind: 'sampling',
      title: 'Sampling',
      where: whereOf(model, span.seq, 'before'),
      of: { seq: span.seq },
      cut: span.seq,
      fields: fieldsOf('/sampling', span.start.data.sampling),
      seq: span.seq,
    },
  ];
}

function messageTargets(model: TrajectoryModel, m: number): EditTarget[] {
  const entry = model.message(m);
  const { origin } = entry?.event.data ?? {};
  if (entry === undefined || origin === 'sampled' || origin === 'tool') return []; // These are edited with their call.
  const fields = textFields(model, m);
  if (fields.length === 0) return [];
  const hold = currentHold(model);
  const call = hold?.event.data.side === 'before' ? model.span(hold.event.span ?? 0) : undefined;
  const isNew = call?.kind === 'model' && isFirstSeenBy(model, call, m);
  return [
    {
      kind: 'message',
      title: 'Message',
      where: isNew ? 'here' : 'fork',
      of: { m },
      cut: entry.event.seq,
      fields,
      seq: entry.event.seq,
    },
  ];
}

/** Returns the target of a fork without edits. For a step, the fork repeats its model call; for a call, that call. */
export function forkTarget(model: TrajectoryModel, subject: Subject): EditTarget | undefined {
  const step = subject.step === undefined || subject.step.index === 0 ? '' : `, step ${subject.step.index}`;
  const at = (cut: number, title: string): EditTarget | undefined =>
    cut < 1 ? undefined : { kind: 'fork', title: `Fork from ${title}${step}`, where: 'fork', of: {}, cut, fields: [] };
  switch (subject.kind) {
    case 'tool':
      return at(subject.span.seq, subject.span.start.data.name);
    case 'model':
      return at(subject.span.seq - 1, 'the model call');
    case 'message':
      return at(subject.entry.event.seq, `message ${subject.entry.m}`);
    case 'agent':
      return at(subject.span.seq - 1, subject.span.agent);
    case 'world':
    case 'score':
    case 'event': {
      const seq = subject.kind === 'world' ? subject.span.seq : subject.event.seq;
      return model.end === undefined || seq < model.end.seq ? at(seq, `event ${seq}`) : undefined;
    }
  }
}

/** Returns the target for answering a held call without making it. */
export function skipTarget(model: TrajectoryModel, hold: Hold): EditTarget | undefined {
  const span = model.span(hold.event.span ?? 0);
  if (span?.kind !== 'tool' || hold.event.data.side !== 'before' || hold.event.data.why === 'input') return undefined;
  return {
    kind: 'skip',
    title: `Skip ${span.start.data.name}`,
    where: 'here',
    of: { seq: span.seq },
    cut: span.seq,
    fields: [{ name: 'result', path: '', before: '' }],
  };
}

export function injectTarget(hold: Hold): EditTarget {
  return {
    kind: 'inject',
    title: 'Message to the agent',
    where: 'here',
    of: {},
    cut: hold.seq,
    fields: [{ name: 'message', path: '', before: '' }],
  };
}

export function answerTarget(hold: Hold): EditTarget | undefined {
  return hold.event.data.why === 'input'
    ? {
        kind: 'answer',
        title: 'Answer',
        where: 'here',
        of: {},
        cut: hold.seq,
        fields: [{ name: 'answer', path: '', before: '' }],
      }
    : undefined;
}

function whereOf(model: TrajectoryModel, span: number, side: 'before' | 'after'): EditTarget['where'] {
  const hold = currentHold(model);
  return hold?.event.span === span && hold.event.data.side === side && hold.event.data.why !== 'input'
    ? 'here'
    : 'fork';
}

/** Returns whether no earlier call of the agent had the message in its context. */
function isFirstSeenBy(model: TrajectoryModel, call: ModelSpan, m: number): boolean {
  const holds = (span: ModelSpan): boolean => span.start.data.context.some(([first, last]) => first <= m && m <= last);
  const before = (model.agent(call.agent)?.modelStarts ?? []).filter((seq) => seq < call.seq).at(-1);
  const earlier = before === undefined ? undefined : model.span(before);
  return holds(call) && (earlier?.kind !== 'model' || !holds(earlier));
}

/** Returns a field for each member of a record, or one for any other value. */
function fieldsOf(path: string, stored: Json): EditField[] {
  const value = unescapeKeys(stored);
  const members = isJsonObject(value) ? Object.entries(value) : [];
  if (members.length === 0 || members.length > MAX_FIELDS || members.some(([, member]) => isBlobRef(member)))
    return [{ name: path.slice(1), path, before: value }];
  return members.map(([name, before]) => ({
    name,
    path: `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    before,
  }));
}

function textFields(model: TrajectoryModel, m: number): EditField[] {
  const parts = model.currentMessage(m)?.event.data.parts ?? [];
  return parts.flatMap((part, index): EditField[] =>
    (part.type === 'text' || part.type === 'reasoning') && typeof part.content === 'string'
      ? [{ name: part.type, path: `/parts/${index}/content`, before: part.content }]
      : [],
  );
}

/** Returns the text of a value for its field. */
export function fieldText(value: Json): string {
  return typeof value === 'string'
    ? value
    : JSON.stringify(value, null, isJsonObject(value) || Array.isArray(value) ? 2 : undefined);
}

/** Parses a field's text; text stays text. Returns undefined for invalid JSON. */
function readField({ before }: EditField, text: string): { readonly value: Json } | undefined {
  if (typeof before === 'string') return { value: text };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

/** Returns the edits of changed fields. `wrong`: names of fields with invalid text. */
export function editsOf(
  { of, fields }: EditTarget,
  texts: ReadonlyMap<string, string>,
): { readonly edits: readonly ForkEdit[]; readonly wrong: readonly string[] } {
  const edits: ForkEdit[] = [];
  const wrong: string[] = [];
  for (const field of fields) {
    const text = texts.get(field.path);
    if (text === undefined) continue;
    const read = readField(field, text);
    if (read === undefined) wrong.push(field.name);
    else if (JSON.stringify(read.value) !== JSON.stringify(field.before))
      edits.push({ of: { ...of }, path: field.path, value: read.value });
  }
  return { edits, wrong };
}
