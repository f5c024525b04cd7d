/** Formats calls as a text document: a line for each, with arguments and result indented below, so that they fold. */
import type { Json } from '../../common/json.ts';
import { duration } from '../../common/units.ts';
import { errorText, valueText } from '../text/values.ts';
import type { CallFact } from './fact.ts';
import { argumentsLine, cut, resultLine } from './text.ts';

/** The attempt of a call. */
interface CallAttempt {
  readonly task: string;
  readonly attempt: number;
  /** One word, such as `passed`. */
  readonly outcome: string;
}

export interface CallBlock {
  readonly fact: CallFact;
  /** First and last line, from 0. */
  readonly line: number;
  readonly lastLine: number;
  /** Length of the attempt's outcome, which is colored. */
  readonly outcomeLength: number;
}

interface CallsText {
  readonly text: string;
  readonly blocks: readonly CallBlock[];
}

const MAX_LINE = 240;
/** Longer values are shortened. The step shows them in full. */
const MAX_VALUE_LINES = 40;
const MAX_VALUE_CHARS = 4_000;

export function callsText(
  title: string,
  facts: readonly CallFact[],
  attemptOf: (fact: CallFact) => CallAttempt | undefined,
  withToolNames: boolean,
): CallsText {
  const lines = [title, ''];
  const blocks: CallBlock[] = [];
  for (const fact of facts) {
    const attempt = attemptOf(fact);
    const outcome = attempt?.outcome ?? 'unknown';
    const line = lines.length;
    lines.push(
      cut(`${outcome}  ${withToolNames ? `${fact.tool} ` : ''}${argumentsLine(fact)} ${resultLine(fact)}`, MAX_LINE),
    );
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
        `  ✗ ${cut(errorText(fact.error), MAX_LINE)}`,
        ...indented(fact.error.stack?.split('\n').slice(1) ?? [], 2),
      );
    else if (fact.values?.result !== undefined) lines.push('  result', ...value(fact.values.result));
    blocks.push({ fact, line, lastLine: lines.length - 1, outcomeLength: outcome.length });
    lines.push('');
  }
  return { text: lines.join('\n'), blocks };
}

function value(stored: Json): string[] {
  const whole = valueText(stored, true);
  const lines = whole.slice(0, MAX_VALUE_CHARS).split('\n');
  const visible = lines.slice(0, MAX_VALUE_LINES);
  const omitted = whole.length - visible.join('\n').length;
  return [
    ...indented(visible, 4),
    ...(omitted > 0 ? [`    … ${omitted.toLocaleString('en')} more characters. Open the step to see all.`] : []),
  ];
}

function indented(lines: readonly string[], by: number): string[] {
  return lines.map((line) => ' '.repeat(by) + line.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' '));
}
