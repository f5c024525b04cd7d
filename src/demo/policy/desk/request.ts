/**
 * Parses a request at the lending desk. It does not understand English: only a few verbs, names of people (two or more
 * capitalized words), titles (in double quotes), and the requested value at the end.
 *
 *   renew, keep … longer · return, bring back · borrow, check out, lend · hold, reserve · pay
 *   "overdue", "all", "everything"; "it", "them" and "the book" mean the titles named last
 *   "for each of the two", "both": everybody named so far; "lives at 4 Mill Lane" distinguishes people of one name
 *   "whatever cannot be renewed he returns"; "otherwise answer with the word …"
 *   "how much does X owe", "how many loans does X have", "when is T due", "answer with the due date | number | sum | …"
 */
export interface Person {
  readonly name: string;
  address: string | undefined;
}

type Verb = 'renew' | 'return' | 'borrow' | 'hold' | 'pay' | 'look';
/** Which loans or fines: the named ones, the overdue ones, all, or only those that result from earlier actions. */
export type Which = 'titles' | 'overdue' | 'all' | 'new';

export interface Intent {
  readonly verb: Verb;
  readonly people: readonly Person[];
  readonly which: Which;
  readonly titles: readonly string[];
  /** What to do with a loan that cannot be renewed. */
  otherwise: 'return' | undefined;
}

export type RequestedValue = 'due' | 'renewed' | 'returned' | 'loans' | 'overdue' | 'paid' | 'owed' | 'position';

export interface DeskRequest {
  readonly intents: readonly Intent[];
  readonly people: readonly Person[];
  readonly requestedValue: RequestedValue | undefined;
  /** The answer if a rule forbids a part of the request. */
  readonly refusal: string | undefined;
}

const TITLE = /["“]([^"”]+)["”]/g;
const NAME = /\b\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)+/gu;
const ADDRESS = /\blives? (?:at|in|on) (\d+[a-z]? )?(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)/u;
/** Capitalized first words of sentences that are not names. */
const NO_NAMES = new Set([
  'renew',
  'return',
  'place',
  'lend',
  'check',
  'take',
  'pay',
  'extend',
  'please',
  'for',
  'when',
  'does',
  'is',
  'has',
  'did',
  'let',
  'and',
  'then',
  'reserve',
  'give',
  'member',
]);
const VERBS: readonly (readonly [Exclude<Verb, 'look'>, RegExp])[] = [
  ['renew', /\b(?:renews?|extends?|keeps?\b[^.;]*?\blonger)\b/gi],
  ['return', /\b(?:returns?|(?:brings?|gives?|hands?|takes?)(?: it| them| §\d+)? (?:back|in))\b/gi],
  ['borrow', /\b(?:borrows?|checks? out|lends?|takes? (?:it )?home)\b/gi],
  ['hold', /\b(?:(?:place|put)s? (?:a )?holds?|reserves?)\b/gi],
  ['pay', /\bpays?\b/gi],
];
const CANNOT =
  /\b(?:whatever|what|those that|the ones that|the others,? which|any that) (?:cannot|can't|can not) be renewed\b/i;

export function readRequest(texts: readonly string[]): DeskRequest {
  const reader = new Reader();
  for (const text of texts) reader.read(text);
  return reader.result();
}

class Reader {
  readonly #titles: string[] = [];
  readonly #people: Person[] = [];
  readonly #intents: Intent[] = [];
  #person: Person | undefined;
  #named: readonly string[] = [];
  #requestedValue: RequestedValue | undefined;
  #refusal: string | undefined;

  read(text: string): void {
    // titles first: they contain periods, verbs, and capitals
    const masked = text.replace(TITLE, (_, title: string) => `§${this.#titles.push(title) - 1}`);
    for (const sentence of masked.split(/(?<=[.;:?!])\s+|\n+/)) this.#sentence(sentence);
  }

  result(): DeskRequest {
    return {
      intents: this.#intents,
      people: this.#people,
      requestedValue: this.#requestedValue,
      refusal: this.#refusal,
    };
  }

  #sentence(sentence: string): void {
    const refusal =
      /\botherwise,? (?:answer|say|reply) (?:only )?(?:with )?(?:the (?:one )?word )?(?:§(\d+)|(\p{L}+))/iu.exec(
        sentence,
      );
    if (refusal !== null) {
      this.#refusal = refusal[1] === undefined ? refusal[2] : this.#titles[Number(refusal[1])];
      return;
    }
    if (/^\s*(?:answer|reply|tell|say)\b/i.test(sentence)) {
      this.#requestedValue = requestedValueIn(sentence) ?? this.#requestedValue;
      return;
    }
    const names = this.#namesIn(sentence);
    const question = /^\s*(?:how (?:much|many)|when)\b/i.test(sentence);
    if (question) {
      this.#requestedValue = requestedValueIn(sentence) ?? this.#requestedValue;
      this.#turnTo(names.at(-1)?.person);
      this.#named = this.#titlesIn(sentence, this.#named);
      this.#add('look', sentence, []);
      return;
    }
    const verbs = VERBS.flatMap(([verb, pattern]) =>
      [...sentence.matchAll(pattern)].map((found) => ({ verb, at: found.index, end: found.index + found[0].length })),
    ).sort((a, b) => a.at - b.at);
    const cannot = CANNOT.exec(sentence);
    let from = 0;
    for (const [i, { verb, at, end }] of verbs.entries()) {
      const to = verbs[i + 1]?.at ?? sentence.length;
      const before = names.filter((name) => name.at >= from && name.at < at).at(-1);
      const after = names.find((name) => name.at >= end && name.at < to);
      this.#turnTo(before?.person);
      if (after !== undefined && (before === undefined || /\b(?:for|to|of|by)\s*$/.test(sentence.slice(0, after.at))))
        this.#turnTo(after.person);
      if (cannot !== null && cannot.index < at) {
        const last = this.#intents.findLast((intent) => intent.verb === 'renew');
        if (last !== undefined && verb === 'return') last.otherwise = 'return';
      } else {
        const object = sentence.slice(end, to);
        const titles = this.#titlesIn(sentence.slice(i === 0 ? 0 : at, to), []);
        this.#named = titles.length > 0 ? titles : this.#named;
        this.#add(
          verb,
          object,
          /\b(?:both|each of (?:the two|them)|for (?:the )?two)\b/i.test(object) ? this.#people : [],
        );
      }
      from = end;
    }
    if (verbs.length > 0) return;
    this.#turnTo(names.at(-1)?.person);
    this.#named = this.#titlesIn(sentence, this.#named);
  }

  #add(verb: Verb, object: string, people: readonly Person[]): void {
    const all = /\b(?:all|every|everything)\b/i.test(object);
    const which: Which =
      verb === 'pay'
        ? all || !this.#intents.some((intent) => intent.verb === 'return')
          ? 'all'
          : 'new'
        : /\boverdue\b/i.test(object)
          ? 'overdue'
          : all
            ? 'all'
            : 'titles';
    const who = people.length > 0 ? [...people] : this.#person === undefined ? [] : [this.#person];
    const titles = which === 'titles' ? this.#named : [];
    if (who.length === 0 || (which === 'titles' && titles.length === 0 && verb !== 'look')) return;
    const isDuplicate = this.#intents.some(
      (intent) =>
        intent.verb === verb &&
        intent.which === which &&
        intent.titles.join('\n') === titles.join('\n') &&
        intent.people.every((person, i) => person === who[i]),
    );
    if (!isDuplicate) this.#intents.push({ verb, people: who, which, titles, otherwise: undefined });
  }

  #turnTo(person: Person | undefined): void {
    if (person !== undefined) this.#person = person;
  }

  #titlesIn(text: string, otherwise: readonly string[]): readonly string[] {
    const found = [...text.matchAll(/§(\d+)/g)].flatMap(([, n]) => this.#titles[Number(n)] ?? []);
    return found.length > 0 ? found : otherwise;
  }

  #namesIn(sentence: string): { person: Person; at: number }[] {
    const address = ADDRESS.exec(sentence);
    // an address has capitals, too: blank it out without changing positions
    const text = address === null ? sentence : sentence.replace(address[0], ' '.repeat(address[0].length));
    const found: { person: Person; at: number }[] = [];
    for (const match of text.matchAll(NAME)) {
      const words = match[0].replace(/['’]s$/, '').split(' ');
      while (words.length > 0 && NO_NAMES.has((words[0] ?? '').toLowerCase())) words.shift();
      if (words.length < 2) continue;
      const name = words.join(' ');
      let person = this.#people.find((candidate) => candidate.name === name);
      if (person === undefined) {
        person = { name, address: undefined };
        this.#people.push(person);
      }
      found.push({ person, at: match.index });
    }
    const person = found.at(-1)?.person ?? this.#person;
    if (address !== null && person !== undefined) person.address = `${address[1] ?? ''}${address[2] ?? ''}`;
    return found;
  }
}

function requestedValueIn(sentence: string): RequestedValue | undefined {
  if (/\b(?:due|when)\b/i.test(sentence)) return 'due';
  if (/\bnumber\b|\bhow many\b/i.test(sentence)) {
    if (/\brenewed\b/i.test(sentence)) return 'renewed';
    if (/\breturned\b|\bbrought back\b/i.test(sentence)) return 'returned';
    return /\boverdue\b/i.test(sentence) ? 'overdue' : 'loans';
  }
  if (/\b(?:place|position) (?:in|on) the (?:queue|waiting list|list|line)\b/i.test(sentence)) return 'position';
  if (/\bpaid\b/i.test(sentence)) return 'paid';
  if (/\b(?:owes?|fines?|amount|sum|how much)\b/i.test(sentence)) return 'owed';
  return undefined;
}
