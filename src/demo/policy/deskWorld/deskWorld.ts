/**
 * The world model: used if the system prompt makes it the environment of an agent and lists the rows of the sample's
 * library. By rule: it makes the calls of all turns on these rows, and returns what the desk of the sample returns for
 * the last one, changed as the instructions say that it knows (`instructions.ts`). In an overlay, that is what the real
 * desk returned, changed by the calls of the conversation (`overlay.ts`). So its simulation is faithful, which no
 * language model's is. With `demo:?world=faulty`, it makes seeded errors on purpose (`seededErrors.ts`).
 *
 * Its reasoning says which of the two it is, and names each planted error.
 */
import type { Json } from '../../../common/json.ts';
import { hashText, mix, Random } from '../../random.ts';
import type { Turn } from '../../text/completion.ts';
import type { Conversation } from '../conversation.ts';
import { instructed } from './instructions.ts';
import { Library, Refused } from './library.ts';
import { overlaid } from './overlay.ts';
import { type LibraryRows, rowsIn } from './rows.ts';
import { type DeskAnswer, type ErrorRates, type Planted, plantedError, textOf } from './seededErrors.ts';
import { type Action, failed, type WorldTurn, worldTurns } from './turns.ts';

/** Returns the rows of the library that it plays; undefined if it does not play one. */
export function playedLibrary(system: string): LibraryRows | undefined {
  return /\byou are the environment of an agent\b/i.test(system) ? rowsIn(system) : undefined;
}

/** `errors`: of the faulty world; undefined: it is faithful. */
export function deskWorld(
  conversation: Conversation,
  rows: LibraryRows,
  seed: number,
  errors: ErrorRates | undefined,
): Turn {
  const { text, planted, turn } = observe(conversation, rows, seed, errors ?? {});
  const who = `I am the demo model, a program that plays the desk by its rules, not a language model. Turn ${turn}`;
  const error = planted === undefined ? 'No error here.' : `Planted error: ${planted.kind} (${planted.detail}).`;
  const how = errors === undefined ? 'the rules decide.' : `this world errs on purpose. ${error}`;
  return { reasoning: `${who}: ${how}`, content: text, calls: [] };
}

/** An observation, and the error planted in it. */
export interface Observed {
  readonly text: string;
  readonly planted: Planted | undefined;
  /** 1-based. */
  readonly turn: number;
}

/** Answers the last turn. Pure: the same conversation with the same seed gets the same answer and the same error. */
export function observe(conversation: Conversation, rows: LibraryRows, seed: number, errors: ErrorRates): Observed {
  const turns = worldTurns(conversation);
  const action = turns.at(-1)?.action;
  const turn = turns.length;
  if (action === undefined)
    return { text: textOf({ error: 'The action is no call of a tool.' }), planted: undefined, turn };
  const past = turns.slice(0, -1);
  const plain = answerIn(rows, turns);
  if (plain === undefined)
    return { text: `Error (unknown_tool): Unknown tool "${action.name}".`, planted: undefined, turn };
  const ruled = instructed(conversation.system, turns, plain);
  const right = ruled?.answer ?? plain;
  const answers = {
    action,
    right,
    unruled: ruled === undefined ? undefined : plain,
    forgotten: () => (ruled === undefined ? forgottenWrite(rows, past, action, plain) : undefined),
  };
  const random = new Random(mix(seed, turn, hashText(JSON.stringify(action))));
  const planted = plantedError(answers, errors, random);
  return { text: planted?.text ?? textOf(right), planted, turn };
}

/** Returns the answer to the last turn by the rules; undefined for an unknown tool. */
function answerIn(rows: LibraryRows, turns: readonly WorldTurn[]): DeskAnswer | undefined {
  const last = turns.at(-1);
  if (last?.action === undefined) return undefined;
  const answer = answerTo(libraryAfter(rows, turns.slice(0, -1)), last.action);
  const real = last.real === undefined ? undefined : valueOf(last.real);
  if (real === undefined) return answer;
  const before = answerTo(new Library(rows), last.action);
  if (before === undefined || answer === undefined || 'error' in before || 'error' in answer) return { ok: real };
  return { ok: overlaid(real, before.ok, answer.ok) };
}

/** Returns the value of a result; undefined for an error, and for any other text. */
function valueOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // the result of JSON.parse is Json
  } catch {
    return undefined;
  }
}

/** Returns the library after the calls that the agent saw succeed. */
function libraryAfter(rows: LibraryRows, past: readonly WorldTurn[]): Library {
  const library = new Library(rows);
  for (const turn of past) if (turn.action !== undefined && !failed(turn)) answerTo(library, turn.action);
  return library;
}

/** Returns undefined for an unknown tool. */
function answerTo(library: Library, { name, args }: Action): DeskAnswer | undefined {
  try {
    const ok = library.call(name, args);
    return ok === undefined ? undefined : { ok };
  } catch (error) {
    if (error instanceof Refused) return { error: error.message };
    throw error;
  }
}

/** Returns the answer of a read without the newest write that it shows. */
function forgottenWrite(
  rows: LibraryRows,
  past: readonly WorldTurn[],
  action: Action,
  right: DeskAnswer,
): { readonly answer: DeskAnswer; readonly write: string } | undefined {
  if (!/^(find|list)_/.test(action.name)) return undefined;
  for (let at = past.length - 1; at >= 0; at--) {
    const write = past[at]?.action;
    if (write === undefined || /^(find|list)_/.test(write.name)) continue;
    const answer = answerTo(libraryAfter(rows, past.toSpliced(at, 1)), action);
    if (answer !== undefined && textOf(answer) !== textOf(right))
      return { answer, write: `the ${write.name} of turn ${at + 1}` };
  }
  return undefined;
}
