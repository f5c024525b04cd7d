/**
 * The judge with marks: used if the prompt makes it a judge and asks for a `<final_evaluation>`. By rule: it compares
 * the predicted observation with the real one (or the answer with the expected one), value by value, and says so. A
 * language model would judge meaning.
 *
 * - format: both are JSON, with the same keys;
 * - factuality: the share of the values that agree;
 * - consistency: both succeed or both fail, and the values that the context shows agree;
 * - realism: values that differ have at least the same form, such as a date;
 * - quality, and any other mark: the mean of these.
 */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';

const SIMULATED = /simulat|predict|^answer$/i;
const TRUTH = /truth|\breal\b|^expected$/i;
/** A mark in the form that the judge must fill in. */
const MARK = /"([^"]+)": <(-?\d+)-(-?\d+)>/g;
/** A text in tags, or in a fence below a line that names it. */
const PART = /<(\w+)>\n?([^]*?)\n?<\/\1>|^(.*)\n+(`{3,}|~{3,})\w*\n([^]*?)\n?\4[ \t]*$/gm;

export function isWorldJudge({ system, requests }: Conversation): boolean {
  return /\bjudge\b/i.test(system) && requests.at(-1)?.includes('<final_evaluation>') === true;
}

export function worldJudge({ requests }: Conversation): Turn {
  const text = requests.at(-1) ?? '';
  const parts = partsOf(text);
  const simulated = parts.findLast(({ name }) => SIMULATED.test(name) && !TRUTH.test(name))?.text;
  const truth = parts.findLast(({ name }) => TRUTH.test(name))?.text;
  if (simulated === undefined || truth === undefined)
    return {
      reasoning: '',
      content: 'The demo model found nothing to compare: no prediction with the real observation.',
      calls: [],
    };
  const { marks, weaknesses } = compare(simulated, truth, text.slice(0, text.lastIndexOf(simulated)));
  const scores = Object.fromEntries(
    [...text.matchAll(MARK)].map(([, name = '', lowest, highest]) => {
      const share = marks[name] ?? marks['quality'] ?? 0;
      return [name, Number(lowest) + Math.round((Number(highest) - Number(lowest)) * share)] as const;
    }),
  );
  const evaluation = {
    strengths: weaknesses.length === 0 ? ['every value agrees'] : [],
    weaknesses,
    scores,
  };
  const rule = 'I am the demo model, and I judge by a rule: I compared each value.';
  return {
    reasoning: '',
    content: `${rule}\n\n<final_evaluation>\n\`\`\`json\n${JSON.stringify(evaluation)}\n\`\`\`\n</final_evaluation>`,
    calls: [],
  };
}

interface Part {
  readonly name: string;
  readonly text: string;
}

function partsOf(text: string): Part[] {
  return [...text.matchAll(PART)].map(([, tag, inTag = '', heading = '', , inFence = '']) =>
    tag === undefined ? { name: heading, text: inFence } : { name: tag, text: inTag },
  );
}

/** Marks are from 0 to 1. */
function compare(
  simulated: string,
  truth: string,
  context: string,
): { readonly marks: Readonly<Record<string, number>>; readonly weaknesses: readonly string[] } {
  const [ours, theirs] = [valuesOf(simulated), valuesOf(truth)];
  const isSameKind = ours.isJson === theirs.isJson;
  const paths = [...theirs.values.keys()];
  const wrong = paths.filter((path) => ours.values.get(path) !== theirs.values.get(path));
  const missing = paths.filter((path) => !ours.values.has(path));
  const additional = [...ours.values.keys()].filter((path) => !theirs.values.has(path));
  const shown = paths.filter((path) => isShown(theirs.values.get(path), context));
  const misshapen = wrong.filter((path) => formOf(ours.values.get(path)) !== formOf(theirs.values.get(path)));
  const isSameStatus = hasFailed(simulated) === hasFailed(truth);
  const share = (bad: number, of: number): number => (of === 0 ? 1 : Math.max(0, 1 - bad / of));
  const marks = {
    format: isSameKind ? share(missing.length + additional.length, paths.length) : 0,
    factuality: isSameStatus ? share(wrong.length, paths.length) : 0,
    consistency: isSameStatus ? share(shown.filter((path) => wrong.includes(path)).length, shown.length) : 0,
    realism: isSameKind ? share(misshapen.length, paths.length) : 0,
  };
  const quality = Object.values(marks).reduce((sum, value) => sum + value, 0) / 4;
  const weaknesses = [
    ...(isSameStatus ? [] : ['one of them fails, the other one does not']),
    ...(isSameKind ? [] : ['one of them is JSON, the other one is not']),
    ...missing.slice(0, 3).map((path) => `${path} is missing`),
    ...additional.slice(0, 3).map((path) => `${path} is not in the real one`),
    ...wrong
      .filter((path) => ours.values.has(path))
      .slice(0, 3)
      .map((path) => `${path} is ${ours.values.get(path) ?? ''}, not ${theirs.values.get(path) ?? ''}`),
  ];
  return { marks: { ...marks, quality }, weaknesses };
}

/** Returns all values of a text by their paths. A text that is no JSON is one value. */
function valuesOf(text: string): { readonly isJson: boolean; readonly values: ReadonlyMap<string, string> } {
  const values = new Map<string, string>();
  const visit = (value: Json, path: string): void => {
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`);
    else if (isJsonObject(value)) for (const [key, item] of Object.entries(value)) visit(item, `${path}.${key}`);
    else values.set(path, JSON.stringify(value));
  };
  try {
    visit(JSON.parse(text) as Json, '$'); // the result of JSON.parse is Json
    return { isJson: true, values };
  } catch {
    return { isJson: false, values: new Map([['$', text.trim()]]) };
  }
}

function hasFailed(text: string): boolean {
  return /^\s*(?:Error\b|\{\s*"error")/.test(text);
}

/** Whether the context has this value as a word. Short ones are anywhere. */
function isShown(value: string | undefined, context: string): boolean {
  return value !== undefined && value.length > 4 && context.includes(value);
}

function formOf(value: string | undefined): string | undefined {
  return value
    ?.replaceAll(/\d+/g, '0')
    .replaceAll(/\p{L}+/gu, 'a')
    .replaceAll(/\s+(?:a\s*)*/g, ' ');
}
