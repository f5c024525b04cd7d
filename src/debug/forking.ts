/** Determines where a fork from a frame is cut, and parses edits typed by the user. */
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { Frame } from './frames.ts';
import type { Node } from './variables/node.ts';

/**
 * Returns the last event that a fork from a frame shares; undefined if it cannot be forked. Before a step, the event
 * before its model call. For a tool, its start, so that the call is repeated. If the end of the call is edited, that
 * end.
 */
export function cutOf(frame: Frame, { debuggee: { model }, pending }: DebuggedRollout): number | undefined {
  switch (frame.kind) {
    case 'tool': {
      const { span } = frame;
      const edited = pending.some(({ of }) => of.seq !== undefined && of.seq === span.end?.seq);
      return edited ? span.end?.seq : span.seq;
    }
    case 'step':
      return pending.some(({ of }) => of.seq === frame.seq) ? frame.seq : frame.seq - 1;
    case 'message': {
      // The fork applies the edit to the message, so the message is shared.
      const { m, event } = frame.entry;
      return pending.some(({ of }) => of.m === m) ? event.seq : undefined;
    }
    case 'agent': {
      const start = frame.span?.seq ?? model.agent(frame.path)?.modelStarts[0];
      return start === undefined ? undefined : start - 1;
    }
    case 'rollout':
      return undefined;
  }
}

/** Returns an edit of a variable from typed JSON. Text that replaces text needs no quotes. Throws `usage`. */
export function editOf(node: Node | undefined, typed: string): ForkEdit {
  if (node?.edit === undefined) {
    throw new StudioError('usage', 'This value cannot be edited.', {
      hint:
        'You can edit the arguments and results of a tool call, the parts of a ' +
        'message, and the sampling of a model call.',
    });
  }
  const { of, path } = node.edit;
  return { of: { ...of }, path, value: valueOf(typed, node.json) };
}

function valueOf(typed: string, before: Json | undefined): Json {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    if (typeof before === 'string') return typed;
    throw new StudioError('usage', `“${typed}” is not JSON.`, {
      hint: 'Enter text in double quotes, a number, true, false, null, an array, or an object.',
    });
  }
}
