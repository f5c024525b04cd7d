import { shortened } from '../../common/text.ts';
import type { Ask, SideQuestion } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { type Marks, marksOf, type Scale, shareOf } from './marks.ts';

/** How often a reply without marks is asked for, each time with another seed, as published. */
const TRIES = 3;
/** Longer reasoning is shortened: the record has the whole reply. */
const MAX_REASONING = 2000;

/** A question whose answer has marks. */
export interface MarksQuestion extends SideQuestion {
  /** Names of the marks. */
  readonly parts: readonly string[];
  readonly scale: Scale;
}

/** What a judge said, as part of a score. */
export interface MarksVerdict {
  /** Mean of the marks, from 0 to 1. */
  readonly value: number;
  /** The marks, on the scale; those that the judge did not give are absent. */
  readonly parts: Readonly<Record<string, number>>;
  readonly explanation: string;
}

/**
 * Asks a judge for marks. Throws ClassedError: the errors of the model call, and `malformed_output` if none of three
 * replies has marks.
 */
export async function askMarks({ parts, scale, ...question }: MarksQuestion, ask: Ask): Promise<MarksVerdict> {
  let reply = '';
  for (let tried = 0; tried < TRIES; tried++) {
    reply = await ask(question);
    const found = marksOf(reply, parts, scale);
    if (found?.total !== undefined)
      return {
        value: shareOf(found.total, scale),
        parts: found.marks,
        explanation: explanationOf(found, parts, scale),
      };
  }
  throw new ClassedError(
    'malformed_output',
    reply.trim() === ''
      ? `The judge replied ${TRIES} times without any text.`
      : `The judge replied ${TRIES} times without marks for ${parts.join(', ')}: ` +
          JSON.stringify(shortened(reply, 300)),
  );
}

function explanationOf(found: Marks, parts: readonly string[], [, highest]: Scale): string {
  const missing = parts.filter((name) => !Object.hasOwn(found.marks, name));
  const notes = [
    ...Object.entries(found.beyond).map(([name, mark]) => `The judge gave ${name} ${mark}: it counts as ${highest}.`),
    ...(missing.length === 0 ? [] : [`The judge gave no mark for ${missing.join(', ')}.`]),
  ];
  return [
    list('Strengths:', found.strengths),
    list('Weaknesses:', found.weaknesses),
    notes.join(' '),
    shortened(found.reasoning, MAX_REASONING),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function list(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : [title, ...items.map((item) => `- ${item}`)].join('\n');
}
