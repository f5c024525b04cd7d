import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { EventData, Part } from '../../trace/schema.ts';
import { INJECTED, type InjectedMessage } from '../act/history.ts';
import { type Draft, type Log, messageDraft } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';
import { type Edits, editParts, editStart } from './edits.ts';
import type { By, CurrentHold } from './holds.ts';
import type { Subject } from './subject.ts';

interface EditArgs {
  readonly of: EventData['edit']['of'];
  readonly path: string;
  readonly value: Json;
}

/** Changes at the head of a held rollout. Each writes its events immediately and returns the seq for the command. */
export class HeadEdits {
  readonly #log: Log;
  readonly #edits: Edits;
  readonly #inbox: (agent: string) => InjectedMessage[];

  /** `inbox` returns the injected messages of an agent. */
  constructor(log: Log, edits: Edits, inbox: (agent: string) => InjectedMessage[]) {
    this.#log = log;
    this.#edits = edits;
    this.#inbox = inbox;
  }

  /**
   * Edits the held call. Throws StudioError `conflict` for anything that is not at this gate, `usage` for an invalid
   * path.
   */
  edit(hold: CurrentHold, args: EditArgs, by: By): number {
    const { subject, side } = hold;
    const { of, path, value } = args;
    if (side === 'before' && of.seq === subject.span) {
      subject.start = editStart(subject.kind, subject.start, path, value);
      this.#edits.addToStart(subject.span, { path, value, by: by.by });
      return this.#log.append([editDraft(subject, args, by)]);
    }
    const target = this.#messageAt(hold, of);
    if (target === undefined) {
      throw new StudioError('conflict', `The rollout is not held at ${nameOf(of)}.`, {
        hint: `At this gate, you can edit ${held(hold)}. To change anything earlier, fork the rollout.`,
      });
    }
    const parts = editParts(target, path, value);
    const edited = this.#log.addMessage({ role: target.role, parts, origin: 'edited' });
    const seq = this.#log.append([editDraft(subject, args, by), messageDraft(edited, { from: by.by }, subject.agent)]);
    this.#edits.replace(seq, target.m, edited);
    if (side === 'after' && subject.end !== undefined) subject.end.message = edited;
    return seq;
  }

  /** Injects a message into the context of an agent, at the end of what its next (or held) model call sees. */
  inject(
    agent: string,
    message: { readonly role: LoggedMessage['role']; readonly parts: readonly Part[] },
    by: By,
  ): number {
    if (message.role === 'tool')
      throw new StudioError('usage', 'A tool message answers a call and cannot be injected.', {
        hint: "Use the role user or system, or edit the tool's result.",
      });
    const added = this.#log.addMessage({ role: message.role, parts: message.parts, origin: 'given' });
    const headers = { [INJECTED]: by.command ?? true, ...(by.by === undefined ? {} : { by: by.by }) };
    const seq = this.#log.append([messageDraft(added, { from: by.by, to: agent, headers }, agent)]);
    this.#inbox(agent).push({ seq, message: added });
    return seq;
  }

  /** Returns the events that answer a held tool call without making it. `firstSeq`: seq of the first event. */
  skip(subject: Subject, result: Json, firstSeq: number): Draft[] {
    if (!isTool(subject))
      throw new StudioError('conflict', `A ${subject.kind} call cannot be skipped.`, {
        hint: 'Only tool calls can be skipped. Release, step, or cancel.',
      });
    const { call } = subject.start;
    const message = this.#log.addMessage({
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: call, response: result }],
      origin: 'edited',
    });
    const end: EventData['tool.end'] = { status: 'ok', m: message.m, ms: 0, source: 'edited' };
    subject.end = { seq: firstSeq + 1, data: end, message };
    return [
      messageDraft(message, {}, subject.agent),
      { kind: 'tool.end', agent: subject.agent, span: subject.span, data: end },
    ];
  }

  #messageAt(hold: CurrentHold, of: EditArgs['of']): LoggedMessage | undefined {
    const { subject, side } = hold;
    if (side === 'after') {
      const message = subject.end?.message;
      if (message === undefined) return undefined;
      return of.seq === subject.end?.seq || (of.m !== undefined && this.#current(of.m)?.m === message.m)
        ? message
        : undefined;
    }
    const current = of.m === undefined ? undefined : this.#current(of.m);
    return current !== undefined && subject.isNew?.(current.m) === true ? current : undefined;
  }

  /** Returns the current version of a message. */
  #current(m: number): LoggedMessage | undefined {
    const message = this.#log.messages.get(m);
    return message === undefined ? undefined : this.#edits.resolve(message);
  }
}

function isTool(subject: Subject): subject is Subject<'tool'> {
  return subject.kind === 'tool';
}

function editDraft(subject: Subject, args: EditArgs, by: By): Draft {
  return {
    kind: 'edit',
    agent: subject.agent === '' ? undefined : subject.agent,
    span: subject.span,
    data: {
      of: args.of,
      path: args.path,
      value: args.value,
      ...(by.by === undefined ? {} : { by: by.by }),
      ...(by.command === undefined ? {} : { command: by.command }),
    },
  };
}

function nameOf(of: EditArgs['of']): string {
  return of.m === undefined ? `Event ${of.seq ?? '?'}` : `Message ${of.m}`;
}

function held({ side, subject }: CurrentHold): string {
  if (side === 'before')
    return `event ${subject.span}${
      subject.kind === 'model' ? ', or a message that this call is the first to ' + 'see,' : ''
    }`;
  return subject.end === undefined ? 'nothing' : `event ${subject.end.seq}`;
}
