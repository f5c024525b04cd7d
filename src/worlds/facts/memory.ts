/** The memory of agents in a search world. Its state is what the agents saw. */
import type { Json, JsonObject } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { MEMORY_OPERATIONS } from '../../config/facts/tools.ts';
import { ClassedError } from '../../trace/classedError.ts';

type Operation = (typeof MEMORY_OPERATIONS)[number];

/** More than agents note down. */
const MAX_CHARS = 1_000_000;
const EMPTY = 'The memory is empty.';

export class Memory {
  readonly #entries = new Map<string, string>();

  /** Returns the response, and changes nothing. Throws ClassedError `tool_error` for what is not possible. */
  answer(args: JsonObject): string {
    const { operation, key, value } = read(args);
    const known = key === undefined ? undefined : this.#entries.get(key);
    switch (operation) {
      case 'retrieve_all':
        return this.#entries.size === 0 ? EMPTY : JSON.stringify(Object.fromEntries(this.#entries), undefined, 1);
      case 'remove_all':
        return removedAll(this.#entries.size);
      case 'add':
        if (known !== undefined) throw refused(`${quoted(key)} exists. Use update to change it.`);
        this.#requireRoom(value);
        return added(key);
      default:
        if (known === undefined) throw refused(`${quoted(key)} does not exist.`);
        if (operation === 'update') this.#requireRoom(value);
        return operation === 'update' ? updated(key) : operation === 'remove' ? removed(key) : retrieved(key) + known;
    }
  }

  /** Applies a call as an agent saw it: a response that does not confirm it means that nothing happened. */
  observed(args: JsonObject, response: Json): void {
    let call: Call;
    try {
      call = read(args);
    } catch {
      return; // it was refused
    }
    const { operation, key = '', value = '' } = call;
    if (typeof response !== 'string') return;
    const isConfirmed = response === { add: added(key), update: updated(key) }[operation as string];
    if (isConfirmed) this.#entries.set(key, value);
    else if (operation === 'retrieve' && response.startsWith(retrieved(key)))
      this.#entries.set(key, response.slice(retrieved(key).length)); // a person may have edited it
    else if (operation === 'remove' && response === removed(key)) this.#entries.delete(key);
    else if (operation === 'remove_all' && response === removedAll(this.#entries.size)) this.#entries.clear();
  }

  #requireRoom(value = ''): void {
    const used = [...this.#entries].reduce((sum, [key, held]) => sum + key.length + held.length, 0);
    if (used + value.length > MAX_CHARS) throw refused('The memory is full. Remove something.');
  }
}

interface Call {
  readonly operation: Operation;
  readonly key: string | undefined;
  readonly value: string | undefined;
}

/** Reads the arguments of a call. Published definitions name the operation differently. */
function read(args: JsonObject): Call {
  const written = args['operation'] ?? args['action'] ?? args['command'];
  const operation = MEMORY_OPERATIONS.find((each) => each === written);
  if (operation === undefined) throw refused(`\`operation\` is one of ${MEMORY_OPERATIONS.join(', ')}.`);
  const needsKey = !operation.endsWith('_all');
  const key = args['key'];
  if (needsKey && (typeof key !== 'string' || key === '')) throw refused(`${operation} needs a \`key\`.`);
  const value = args['value'] ?? args['content'];
  const needsValue = operation === 'add' || operation === 'update';
  if (needsValue && value === undefined) throw refused(`${operation} needs a \`value\`.`);
  return {
    operation,
    key: needsKey && typeof key === 'string' ? key : undefined,
    value: needsValue ? (typeof value === 'string' ? value : JSON.stringify(value)) : undefined,
  };
}

const quoted = (key = ''): string => JSON.stringify(key);
const added = (key: string | undefined): string => `Added ${quoted(key)}.`;
const updated = (key: string | undefined): string => `Updated ${quoted(key)}.`;
const removed = (key: string | undefined): string => `Removed ${quoted(key)}.`;
const removedAll = (count: number): string => `Removed ${plural(count, 'entry', 'entries')}.`;
const retrieved = (key: string | undefined): string => `${quoted(key)}: `;

function refused(message: string): ClassedError {
  return new ClassedError('tool_error', message);
}
