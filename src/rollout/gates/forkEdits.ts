import { StudioError } from '../../common/errors.ts';
import type { ForkEdit } from '../../config/submission.ts';
import type { EventData } from '../../trace/schema.ts';
import type { History } from '../act/history.ts';
import { type Draft, type Log, messageDraft } from '../log/log.ts';
import { editParts, editStart } from './edits.ts';

/**
 * Returns the events of the initial edits of a fork, starting at seq `first`. They apply to everything after the cut.
 * Throws StudioError `usage` for an edit of something that does not exist or was completed before the cut.
 */
export function forkEditDrafts(edits: readonly ForkEdit[], log: Log, history: History, first: number): Draft[] {
  const drafts: Draft[] = [];
  for (const edit of edits) {
    const of: EventData['edit']['of'] = {
      ...(edit.of.seq === undefined ? {} : { seq: edit.of.seq }),
      ...(edit.of.m === undefined ? {} : { m: edit.of.m }),
    };
    const seq = first + drafts.length;
    const draft: Draft = { kind: 'edit', data: { of, path: edit.path, value: edit.value } };
    const action = of.seq === undefined ? undefined : history.actions.find((candidate) => candidate.seq === of.seq);
    if (action !== undefined) {
      if (action.end !== undefined) throw alreadyCompleted(of.seq);
      editStart(action.kind, action.start, edit.path, edit.value); // reports invalid edits now
      history.edits.addToStart(action.seq, { path: edit.path, value: edit.value, by: undefined });
      drafts.push({ ...draft, agent: action.agent === '' ? undefined : action.agent });
      continue;
    }
    const m = of.m ?? (of.seq === undefined ? undefined : history.messageOf(of.seq));
    const message = m === undefined ? undefined : log.messages.get(m);
    if (message === undefined) {
      throw new StudioError(
        'usage',
        `The fork edits ${of.m === undefined ? `event ${of.seq ?? '?'}` : `message ${of.m}`}, which is not ` +
          'before its cut or has no message.',
      );
    }
    const target = history.edits.resolve(message);
    const edited = log.addMessage({
      role: target.role,
      parts: editParts(target, edit.path, edit.value),
      origin: 'edited',
    });
    history.edits.replace(seq, target.m, edited);
    drafts.push(draft, messageDraft(edited, {}, undefined));
  }
  return drafts;
}

function alreadyCompleted(seq: number | undefined): StudioError {
  return new StudioError(
    'usage',
    `The fork edits the request of event ${seq ?? '?'}, which was completed before its cut.`,
    { hint: 'Fork immediately before or after that event.' },
  );
}
