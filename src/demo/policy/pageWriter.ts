/**
 * The page writer: used if the system prompt makes it the search engine and the web of an agent, as that of a search
 * world with facts does. By rule: it writes the page of the last turn from the facts that come with it. With
 * `demo:?world=existing:0.5`, it changes a fact in every other page on purpose, which its reasoning names; the seed
 * decides where.
 */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { hashText, mix, Random } from '../random.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';
import type { ErrorRates } from './deskWorld/seededErrors.ts';

export function isPageWriter(system: string): boolean {
  return /\byou are the search engine and the web of an agent\b/i.test(system);
}

/** `errors`: of the faulty world; undefined: it is faithful. */
export function pageWriter({ requests }: Conversation, seed: number, errors: ErrorRates | undefined): Turn {
  const who = 'I am the demo model, a program that writes pages from their facts, not a language model.';
  const written = requests
    .flatMap((request) => /\n\*\*Facts:\*\*\n```json\n(.*)\n```$/.exec(request)?.[1] ?? [])
    .at(-1);
  const page = written === undefined ? undefined : objectIn(written);
  if (written === undefined || page === undefined)
    return { reasoning: who, content: 'Error: the demo model only writes pages with facts.', calls: [] };
  const facts = objectOf(page['facts']);
  const random = new Random(mix(seed, requests.length, hashText(written)));
  const planted = random.chance(errors?.existing ?? 0) ? changed(facts, random) : undefined;
  const how = errors === undefined ? '' : ' This world errs on purpose.';
  const error = planted === undefined ? '' : ` Planted error: existing (${planted.detail}).`;
  return {
    reasoning: `${who}${how}${error}`,
    content: markdown(page, planted?.facts ?? facts),
    calls: [],
  };
}

function markdown({ title = '', date, texts = [] }: JsonObject, facts: JsonObject): string {
  const lines = Object.entries({ ...facts, ...(date === undefined ? {} : { date }) }).map(
    ([name, value]) => `- ${labelOf(name)}: ${valueText(value)}`,
  );
  return [`# ${valueText(title)}`, ...(Array.isArray(texts) ? texts : []).map(valueText), lines.join('\n')]
    .filter((part) => part !== '')
    .join('\n\n');
}

function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the facts with another value for one of them; undefined if there are none. */
function changed(
  facts: JsonObject,
  random: Random,
): { readonly facts: JsonObject; readonly detail: string } | undefined {
  const names = Object.keys(facts);
  const name = names[Math.floor(random.next() * names.length)];
  if (name === undefined) return undefined;
  const right = facts[name] ?? null;
  const wrong = typeof right === 'number' ? right + 10 : 'unknown';
  return { facts: { ...facts, [name]: wrong }, detail: `${name}: ${wrong} instead of ${valueText(right)}` };
}

function valueText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function objectOf(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json; // the result of JSON.parse is Json
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
