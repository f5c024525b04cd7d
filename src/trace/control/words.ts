/** What the names of tools and keys say: verbs, things, and IDs. */

const READS = words(
  'find get list search read show query lookup look describe view fetch count browse peek inspect check',
);
/** `check_out` and `lookup_or_create` do more than their first word says. */
const WRITES = words(
  'create add update set rename edit change modify put post insert save write register delete remove destroy cancel ' +
    'close return pay renew place book reserve order send move assign check_out checkout check_in checkin',
);
/** The named thing gets the values of the arguments. */
const SETS = words('update set rename edit change modify');
const CREATES = words('create insert register');
const DELETES = words('delete remove destroy');
/** The named thing is no longer as lists have shown it. */
const ENDS = words('return pay cancel close complete finish archive resolve settle dismiss delete remove destroy');
/** Wrappers of results, which name no thing. */
const WRAPPERS = words(
  'result results data item items value values response output record records row rows list object',
);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

/** What a tool does, as far as its name says. */
export interface Verb {
  readonly reads: boolean;
  readonly sets: boolean;
  readonly creates: boolean;
  readonly deletes: boolean;
  readonly ends: boolean;
  /** `loan` for `list_loans`; empty if the name has nothing behind its verb. */
  readonly thing: string;
}

/** Returns what a tool does by its name. Unknown verbs may write. */
export function verbOf(tool: string): Verb {
  const parts = partsOf(tool.split(/__|[./:]/).at(-1) ?? tool);
  const at = parts.findIndex((part) => READS.has(part) || WRITES.has(part));
  const verb = parts[at] ?? '';
  const two = `${verb}_${parts[at + 1] ?? ''}`;
  return {
    reads: READS.has(verb) && !WRITES.has(two) && !parts.some((part) => CREATES.has(part)),
    sets: SETS.has(verb),
    creates: CREATES.has(verb),
    deletes: DELETES.has(verb),
    ends: ENDS.has(verb),
    thing: singular(parts.slice(at + 1).find((part) => !PREPOSITIONS.has(part)) ?? ''),
  };
}

const PREPOSITIONS = words('by for of in with all out the a my');

/** Returns the thing that a key identifies: `loan` for `loan_id`, empty for `id`; undefined if it is no ID. */
export function identified(key: string): string | undefined {
  if (/^(?:id|uuid)$/i.test(key)) return '';
  const name = /^(.+?)(?:_id|_uuid|Id|ID)$/.exec(key)?.[1];
  return name === undefined ? undefined : singular(partsOf(name).at(-1) ?? '');
}

/** Returns the thing that a key with an object or a list names; empty for a wrapper. */
export function thingOf(key: string): string {
  const last = partsOf(key).at(-1) ?? '';
  return WRAPPERS.has(last) ? '' : singular(last);
}

const VOLATILE = words(
  'at time timestamp now age elapsed updated modified etag version count total position rank score url token cursor',
);

/** Values of these keys change without a call: times, counts, and positions. */
export function isVolatile(key: string): boolean {
  return VOLATILE.has(partsOf(key).at(-1) ?? '');
}

function partsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_\-\s]+/)
    .filter((part) => part !== '');
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
