/** Calls as a text document: a line for each, what it was given and gave below, folded by indentation. */

import type { Json } from '../../common/json.ts';
import { duration } from '../../common/units.ts';
import { errorText, valueText } from '../text/values.ts';
import type { CallFact } from './fact.ts';
import { argumentsLine, cut, resultLine } from './text.ts';

/** What is told of the attempt that a call is in. */
interface CallAttempt {
  readonly task: string;
  readonly attempt: number;
  /** In one word, e.g. `passed`. */
  readonly outcome: string;
}

export interface CallBlock {
  readonly fact: CallFact;
  /** From 0. */
  readonly line: number;
  readonly lastLine: number;
  /** Length of what is marked in it: the attempt's outcome. */
  readonly marked: number;
}

interface CallsText {
  readonly text: string;
  readonly blocks: readonly CallBlock[];
}

const LINE = 240;
/** Longer values are cut: the step has the whole. */
const VALUE_LINES = 40;
const VALUE_CHARS = 4_000;

export function callsText(
  title: string,
  facts: readonly CallFact[],
  attemptOf: (fact: CallFact) => CallAttempt | undefined,
  named: boolean,
): CallsText {
  const lines = [title, ''];
  const blocks: CallBlock[] = [];
  for (const fact of facts) {
    const attempt = attemptOf(fact);
    const outcome = attempt?.outcome ?? 'unknown';
    const line = lines.length;
    lines.push(cut(`${outcome}  ${named ? `${fact.tool} ` : ''}${argumentsLine(fact)} ${resultLine(fact)}`, LINE));
    lines.push(
      '  ' +
        [
          ...(attempt === undefined ? [] : [`${attempt.task} · attempt ${attempt.attempt}`]),
          `step ${fact.step}`,
          ...(fact.ms === undefined ? [] : [duration(fact.ms)]),
          `${fact.rollout}@${fact.seq}`,
        ].join(' · '),
    );
    if (fact.values !== undefined) lines.push('  arguments', ...value(fact.values.arguments));
    if (fact.error !== undefined)
      lines.push(
        `  ✗ ${cut(errorText(fact.error), LINE)}`,
        ...indented(fact.error.stack?.split('\n').slice(1) ?? [], 2),
      );
    else if (fact.values?.result !== undefined) lines.push('  result', ...value(fact.values.result));
    blocks.push({ fact, line, lastLine: lines.length - 1, marked: outcome.length });
    lines.push('');
  }
  return { text: lines.join('\n'), blocks };
}

function value(stored: Json): string[] {
  const whole = valueText(stored, true);
  const lines = whole.slice(0, VALUE_CHARS).split('\n');
  const visible = lines.slice(0, VALUE_LINES);
  const left = whole.length - visible.join('\n').length;
  return [
    ...indented(visible, 4),
    ...(left > 0 ? [`    … ${left.toLocaleString('en')} more characters. Open the step to see all.`] : []),
  ];
}

function indented(lines: readonly string[], by: number): string[] {
  return lines.map((line) => ' '.repeat(by) + line.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' '));
}
