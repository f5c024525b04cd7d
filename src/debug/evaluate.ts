/** Evaluates and completes CEL expressions at a place of a trajectory: watches, the debug console, and hovers. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { StudioError } from '../common/errors.ts';
import { isJsonObject, type Json } from '../common/json.ts';
import { environmentOf } from '../trace/query/environment.ts';
import { fieldsOf, VARIABLES } from '../trace/query/vocabulary.ts';
import { compileExpression } from '../trace/query.ts';
import { unescapeKeys } from '../trace/values/keys.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { Frame } from './frames.ts';

/**
 * Returns the value of an expression after the event `at`. A hover can also be a name or path of the call's arguments,
 * as written in the tool's code. Throws `usage`.
 */
export function evaluate(
  text: string,
  { debuggee }: DebuggedRollout,
  frame: Frame | undefined,
  at: number,
  context: string | undefined,
): Json {
  if (context === 'hover' && frame?.kind === 'tool') {
    const found = argumentAt(text, unescapeKeys(debuggee.model.argumentsOf(frame.span).value));
    if (found !== undefined) return found;
  }
  const result = compileExpression(text).evaluate(environmentOf(debuggee.model, at, debuggee.task));
  if (result.ok) return result.value;
  throw new StudioError('usage', `No value: ${result.why}.`);
}

/**
 * Returns the value of `loan_id`, `args.loan_id`, or `args.lines[0].title`: ways in which a tool's code refers to its
 * arguments.
 */
function argumentAt(text: string, args: Json): Json | undefined {
  if (!/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*|\[\d+\])*$/.test(text.trim())) return undefined;
  const path = text
    .trim()
    .split(/[.[\]]/)
    .filter((part) => part !== '');
  const inside = follow(args, path);
  return inside ?? (path.length > 1 ? follow(args, path.slice(1)) : undefined);
}

function follow(value: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const key of path) {
    if (Array.isArray(current)) current = current[Number(key)];
    else if (isJsonObject(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

/** Returns what can complete a text at a column (from 1): variables, their fields, and keys of their current values. */
export function complete(
  text: string,
  column: number,
  { debuggee }: DebuggedRollout,
  at: number,
): DebugProtocol.CompletionItem[] {
  const before = text.slice(0, column - 1);
  const match = /((?:[A-Za-z_]\w*(?:\[\d+\])?\.)*)([A-Za-z_]\w*)?$/.exec(before);
  const path = (match?.[1] ?? '').replace(/\.$/, '');
  const typed = match?.[2] ?? '';
  const items =
    path === ''
      ? Object.keys(VARIABLES).map((name) => ({ label: name, type: 'variable' as const }))
      : membersOf(path, debuggee, at);
  return items
    .filter(({ label }) => label.startsWith(typed))
    .map((item) => ({ ...item, start: column - 1 - typed.length, length: typed.length }));
}

function membersOf(
  path: string,
  debuggee: DebuggedRollout['debuggee'],
  at: number,
): { label: string; type: 'property' }[] {
  let value: Json | undefined;
  try {
    const result = compileExpression(path).evaluate(environmentOf(debuggee.model, at, debuggee.task));
    value = result.ok ? result.value : undefined;
  } catch (error) {
    if (!StudioError.is(error, 'usage')) throw error; // The expression is incomplete.
  }
  const names = isJsonObject(value) ? Object.keys(value).filter((name) => /^[A-Za-z_]\w*$/.test(name)) : [];
  return [...new Set([...names, ...(fieldsOf(path) ?? [])])]
    .slice(0, 200)
    .map((label) => ({ label, type: 'property' }));
}
