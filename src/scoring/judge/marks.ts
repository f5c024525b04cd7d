/** The marks in a judge's reply, read and added up by the rules of Qwen-AgentWorld's evaluation. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { asciiDigits, strip } from '../../common/pythonText.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { reasoningOf, replyJson } from './replyJson.ts';

/** The lowest and the highest mark, both whole numbers. */
export type Scale = readonly [lowest: number, highest: number];

/** Without another one. */
export const MARK_SCALE: Scale = DEFAULTS.scorer.scale;

/** What a judge said. */
export interface Marks {
  /** By name; those that the judge did not give are absent. */
  readonly marks: Readonly<Record<string, number>>;
  /** Mean of the marks; undefined without any. */
  readonly total: number | undefined;
  /** What the judge wrote for marks beyond the scale, by name: the highest one counts. */
  readonly beyond: Readonly<Record<string, number>>;
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  /** What the judge wrote before its evaluation. */
  readonly reasoning: string;
}

/**
 * Returns the marks in a reply: from the last `<final_evaluation>`, the last fenced object with `scores`, repaired
 * where commas or quotes are wrong. Marks are rounded; one below the scale is missing. Returns undefined if there is no
 * object with scores.
 *
 * Source: the judge parser of https://github.com/QwenLM/Qwen-AgentWorld.
 */
export function marksOf(reply: string, names: readonly string[], [lowest, highest]: Scale): Marks | undefined {
  const json = replyJson(reply);
  const scores = json?.marks['scores'];
  if (json === undefined || !isJsonObject(scores)) return undefined;
  const written = names.flatMap((name) => {
    const mark = wholeOf(Object.hasOwn(scores, name) ? scores[name] : undefined);
    return mark === undefined ? [] : [[name, mark] as const];
  });
  if (written.some(([, mark]) => !Number.isFinite(mark))) return undefined;
  const given = written.filter(([, mark]) => mark >= lowest);
  const marks = given.map(([name, mark]) => [name, Math.min(highest, mark)] as const);
  return {
    marks: Object.fromEntries(marks),
    total: marks.length === 0 ? undefined : marks.reduce((sum, [, mark]) => sum + mark, 0) / marks.length,
    beyond: Object.fromEntries(given.filter(([, mark]) => mark > highest)),
    strengths: listOf(json.reasons['strengths']),
    weaknesses: listOf(json.reasons['weaknesses']),
    reasoning: reasoningOf(reply),
  };
}

/** Returns a mean of marks from 0 (the lowest mark) to 1 (the highest). */
export function shareOf(total: number, [lowest, highest]: Scale): number {
  return (total - lowest) / (highest - lowest);
}

/**
 * Returns a mark as a whole number; undefined if it is none. It is not finite only if the judge wrote such a number.
 */
function wholeOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return roundHalfEven(value);
  if (typeof value === 'boolean') return Number(value);
  const text = typeof value === 'string' ? asciiDigits(strip(value.split('/')[0] ?? '')) : '';
  return /^[+-]?\d+(?:_\d+)*$/.test(text) ? Number(text.replaceAll('_', '')) : undefined;
}

function roundHalfEven(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  if (rest !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

function listOf(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return typeof value === 'string' && value !== '' ? [value] : [];
}
