/**
 * Redacts values that leave the store: keys by their form, values that the user names, patterns, and the names of home
 * folders; and counts what each rule replaced.
 */
import { RE2JS } from 're2js';
import { errorText, StudioError } from '../errors.ts';
import { visibleReason } from './hidable.ts';
import { REDACTED, redactor } from './redactor.ts';

/** What a rule is called in options and reports. Patterns and variables follow their name and a colon. */
export const REDACTION_RULES = ['keys', 'paths', 'env:NAME', 'pattern:REGEX', 'none'] as const;

/** Keys of well-known services, tokens of sessions, and private keys. */
const KEYS = new RegExp(
  [
    '\\bsk-(?:proj-|ant-|or-|svcacct-)?[A-Za-z0-9_-]{20,}',
    '\\bgh[pousr]_[A-Za-z0-9]{30,}',
    '\\bgithub_pat_[A-Za-z0-9_]{22,}',
    '\\bglpat-[A-Za-z0-9_-]{20,}',
    '\\bhf_[A-Za-z0-9]{30,}',
    '\\bnpm_[A-Za-z0-9]{36,}',
    '\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b',
    '\\bAIza[A-Za-z0-9_-]{35}',
    '\\bxox[abeoprs]-[A-Za-z0-9-]{10,}',
    '\\bey[A-Za-z0-9_-]{15,}\\.ey[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}',
    '-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\\s\\\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?',
  ].join('|'),
  'g',
);
/** The name of a user, in the path of the home folder. */
const HOMES = /((?:\/home\/|\/Users\/|\b[A-Za-z]:\\{1,2}Users\\{1,2}))[A-Za-z0-9._-]+/g;

interface Rule {
  readonly name: string;
  /** Returns the text without what the rule hides, and calls `hide` for each place. */
  replace(text: string, hide: () => string): string;
}

export class ExportRedaction {
  readonly #rules: readonly Rule[];
  readonly #counts = new Map<string, number>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    for (const { name } of rules) this.#counts.set(name, 0);
  }

  get empty(): boolean {
    return this.#rules.length === 0;
  }

  /** Places that were replaced, by rule. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Returns the value with its strings and keys redacted; the value itself if nothing is hidden. */
  json<T>(value: T): T {
    return this.#json(value, (name) => this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)) as T; // only strings
  }

  /** Returns how many places of a value would be replaced. Counts nothing. */
  findings(value: unknown): number {
    let found = 0;
    this.#json(value, () => found++);
    return found;
  }

  #json(value: unknown, count: (rule: string) => void): unknown {
    if (typeof value === 'string') return this.#text(value, count);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) {
      if (typeof value[0] === 'number') return value; // IDs and logarithms
      let items: unknown[] | undefined;
      for (const [index, item] of value.entries()) {
        const clean = this.#json(item, count);
        if (clean !== item) (items ??= [...(value as unknown[])])[index] = clean;
      }
      return items ?? value;
    }
    const before = Object.entries(value);
    const after = before.map(([key, member]): [string, unknown] => [this.#text(key, count), this.#json(member, count)]);
    const isSame = after.every(([key, member], index) => key === before[index]?.[0] && member === before[index][1]);
    return isSame ? value : Object.fromEntries(after);
  }

  #text(text: string, count: (rule: string) => void): string {
    let clean = text;
    for (const rule of this.#rules)
      clean = rule.replace(clean, () => {
        count(rule.name);
        return REDACTED;
      });
    return clean;
  }
}

/**
 * Creates the redaction of an export. `rules`: see `REDACTION_RULES`; `keys` is always one of them, except with `none`.
 * Throws StudioError `usage` for an unknown rule, an invalid pattern, or a variable without a value that can be hidden.
 */
export function exportRedaction(
  rules: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ExportRedaction {
  if (rules.includes('none')) {
    if (rules.length > 1) throw new StudioError('usage', 'The rule none cannot be combined with others.');
    return new ExportRedaction([]);
  }
  const names = [...new Set(['keys', ...rules])];
  return new ExportRedaction(names.map((name) => ruleOf(name, env)));
}

function ruleOf(name: string, env: Readonly<Record<string, string | undefined>>): Rule {
  if (name === 'keys') return { name, replace: (text, hide) => text.replace(KEYS, hide) };
  if (name === 'paths')
    return { name, replace: (text, hide) => text.replace(HOMES, (_, folder: string) => folder + hide()) };
  if (name.startsWith('env:')) return variableRule(name, env[name.slice('env:'.length)]);
  if (name.startsWith('pattern:')) return patternRule(name);
  throw new StudioError('usage', `There is no rule ${name} to redact by.`, {
    hint: `Available: ${REDACTION_RULES.join(', ')}.`,
  });
}

function variableRule(name: string, value: string | undefined): Rule {
  const why = value === undefined || value === '' ? 'it is not set' : visibleReason(value);
  if (value === undefined || why !== undefined)
    throw new StudioError('usage', `The value of ${name.slice('env:'.length)} cannot be redacted: ${whyText(why)}.`, {
      hint: 'Set the variable to the value to hide, or use pattern:REGEX.',
    });
  const secrets = redactor([value]);
  return {
    name,
    replace: (text, hide) => {
      const clean = secrets.text(text);
      if (clean === text) return text;
      const places = Math.max(1, clean.split(REDACTED).length - text.split(REDACTED).length);
      for (let place = 0; place < places; place++) hide();
      return clean;
    },
  };
}

function whyText(why: string | undefined): string {
  if (why === 'short') return 'it is too short';
  return why === 'common' ? 'it is too common' : (why ?? 'unknown');
}

/** A pattern runs over text that models and tools chose, so it is matched in linear time. */
function patternRule(name: string): Rule {
  const pattern = name.slice('pattern:'.length);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (cause) {
    throw new StudioError('usage', `The pattern ${pattern} is invalid: ${errorText(cause)}.`, { cause });
  }
  if (compiled.matcher('').find())
    throw new StudioError('usage', `The pattern ${pattern} matches empty text, so it would hide everything.`);
  return {
    name,
    replace: (text, hide) => {
      const matcher = compiled.matcher(text);
      let clean = '';
      let at = 0;
      while (matcher.find()) {
        clean += text.slice(at, matcher.start()) + hide();
        at = matcher.end();
      }
      return at === 0 && clean === '' ? text : clean + text.slice(at);
    },
  };
}
