/** What a box of the outcome flow says: the arguments first that distinguish it from the boxes around it. */
import { isJsonObject, isSameJson, type Json } from '../../../src/common/json.ts';
import { plural } from '../../../src/common/text.ts';
import type { Action } from '../../../src/trace/align/actions.ts';
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import { actionText } from '../../../src/trace/align/label.ts';
import { harmlessLine } from '../../../src/trace/text/terminal.ts';
import { inline } from '../../../src/trace/text/values.ts';
import type { FlowBox } from './flowLayout.ts';

export interface BoxText {
  readonly name: string;
  /** Arguments that differ from those of the same tool in boxes around it; empty if there are none. */
  readonly different: string;
  /** The other arguments. */
  readonly other: string;
}

export function boxText(box: FlowBox, attempts: readonly ComparedAttempt[]): BoxText {
  const { kind, actions, depth, siblings } = box;
  const only = (name: string): BoxText => ({ name, different: '', other: '' });
  if (kind === 'ended') return only('no more steps');
  if (kind === 'equal')
    return only(actions.length === 0 ? 'start' : `${actions.length} equal ${actions.length === 1 ? 'step' : 'steps'}`);
  if (kind === 'rest') {
    const lengths = box.attempts.map((index) => (attempts[index]?.actions.length ?? depth) - depth);
    const [least, most] = [Math.min(...lengths), Math.max(...lengths)];
    return only(least === most ? plural(most, 'more step') : `${least}–${most} more steps`);
  }
  const [action] = actions;
  if (action === undefined || action.kind === 'error') return only('model call failed');
  if (action.kind === 'text') return only('answer');
  const [call, ...more] = action.calls;
  if (call === undefined) return only('');
  if (more.length > 0)
    return {
      name: action.calls.map(({ name }) => name).join(' + '),
      different: '',
      other: action.calls.map((one) => argumentsText(one.arguments)).join(' + '),
    };
  return { name: call.name, ...argumentTexts(action, siblings) };
}

/** Formats a branch on one line, with the arguments first that distinguish it from its sibling branches. */
export function branchText(action: Action, siblings: readonly Action[]): string {
  const { different, other } = argumentTexts(action, siblings);
  const [call] = action.calls;
  return different === '' || other === '' || call === undefined || action.agent.includes('/')
    ? actionText(action)
    : harmlessLine(`${call.error === undefined ? '' : '✗ '}${call.name} ${different}, ${other}`);
}

/** Returns the arguments of an action with one call. */
function argumentTexts(action: Action, siblings: readonly Action[]): Pick<BoxText, 'different' | 'other'> {
  const [call, ...more] = action.calls;
  if (call === undefined || more.length > 0) return { different: '', other: '' };
  const others = siblings.filter(({ shape }) => shape === action.shape).map(({ calls }) => calls[0]?.arguments);
  const [different, other] = parted(call.arguments, others);
  return { different, other };
}

export function boxTitle({ kind, actions }: FlowBox): string {
  return kind === 'ended' ? 'These attempts end here' : actions.map((action) => actionText(action)).join('\n');
}

/** Returns the members that are not the same in all others, and the rest. */
function parted(value: Json, others: readonly (Json | undefined)[]): readonly [string, string] {
  if (others.length === 0) return ['', argumentsText(value)];
  if (!isJsonObject(value)) return [argumentsText(value), ''];
  const isShared = ([key, one]: readonly [string, Json]): boolean =>
    others.every((other) => other !== undefined && isJsonObject(other) && isSameJson(other[key], one));
  const { shared = [], own = [] } = Object.groupBy(Object.entries(value), (entry) =>
    isShared(entry) ? 'shared' : 'own',
  );
  return [argumentsText(Object.fromEntries(own)), argumentsText(Object.fromEntries(shared))];
}

/** A list that is the only argument needs no name and no brackets. */
function argumentsText(value: Json): string {
  const [only, ...more] = isJsonObject(value) ? Object.values(value) : [];
  if (Array.isArray(only) && only.length > 0 && more.length === 0 && only.every((item) => typeof item === 'string'))
    return harmlessLine(only.join(', '));
  const text = inline(value);
  return text.startsWith('{') ? text.slice(1, -1) : text;
}
