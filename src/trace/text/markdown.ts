/** Formats a trajectory, or a step, as Markdown for an issue or a chat. */
import type { Json } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { compact, duration } from '../../common/units.ts';
import { isGivenReply, textOf } from '../model/messages.ts';
import type { ModelSpan, ToolSpan } from '../model/spans.ts';
import type { Step } from '../model/step.ts';
import type { TrajectoryModel } from '../model.ts';
import { isBlobRef, unescapeKeys } from '../values/keys.ts';
import { scoreText } from './score.ts';
import { changeText, errorText, partsText } from './values.ts';

export function trajectoryMarkdown(model: TrajectoryModel, rollout: string): string {
  const { start, end } = model;
  const usage = model.usageAt();
  const facts = [
    ...(end === undefined
      ? ['not ended']
      : [
          end.data.status,
          ...(end.data.passed === null ? [] : [end.data.passed ? '**passed**' : '**failed**']),
          `reward ${end.data.reward === null ? 'none' : scoreText(end.data.reward)}`,
        ]),
    plural(model.steps.length - 1, 'step'),
    `${compact(usage.input_tokens + usage.output_tokens)} tokens`,
    ...(end?.data.totals.ms === undefined ? [] : [duration(end.data.totals.ms)]),
  ];
  const parts = [
    `# ${start?.data.task ?? 'Trajectory'}, attempt ${start?.data.attempt ?? 1}`,
    `${facts.join(' · ')}\n\`${rollout}\``,
  ];
  for (const step of model.steps) parts.push(...stepParts(model, step));
  for (const { data } of model.scores)
    parts.push(
      `## Score`,
      `${data.scorer}: ${scoreText(data.value)}${data.explanation === undefined ? '' : `: ${data.explanation}`}`,
    );
  if (end !== undefined)
    parts.push(
      '## End',
      ...(end.data.error === undefined ? [] : [errorText(end.data.error)]),
      ...(end.data.answer === null ? [] : [block(end.data.answer)]),
    );
  return `${parts.join('\n\n')}\n`;
}

/** Returns undefined if there is no such step. */
export function stepMarkdown(model: TrajectoryModel, index: number): string | undefined {
  const step = model.step(index);
  return step === undefined ? undefined : `${stepParts(model, step).join('\n\n')}\n`;
}

function stepParts(model: TrajectoryModel, step: Step): string[] {
  const parts: string[] = [];
  for (const seq of step.seqs) {
    const event = model.event(seq);
    if (event === undefined || 'unknown' in event || event.kind !== 'message') continue;
    const { role, origin, parts: content } = event.data;
    if (origin !== 'sampled' && origin !== 'tool')
      parts.push(
        `**${role}**${origin === 'given' && !isGivenReply(event.data) ? '' : ` (${origin})`}`,
        quote(partsText(content)),
      );
  }
  if (step.model !== undefined) parts.push(...modelParts(model, step.model));
  for (const tool of step.tools) parts.push(...toolParts(model, tool));
  if (step.index === 0) return parts;
  const agent = step.agent === '' ? '' : ` · ${step.agent}`;
  return [`## Step ${step.index}${agent}`, ...parts];
}

function modelParts(model: TrajectoryModel, { end }: ModelSpan): string[] {
  if (end === undefined) return ['*No response from the model.*'];
  const content = end.data.m === undefined ? [] : (model.currentMessage(end.data.m)?.event.data.parts ?? []);
  const [reasoning, text] = [textOf(content, 'reasoning'), textOf(content)];
  return [
    ...(reasoning.trim() === '' ? [] : [quote(reasoning)]),
    ...(text.trim() === '' ? [] : [text]),
    ...(end.data.error === undefined ? [] : [`✗ ${errorText(end.data.error)}`]),
  ];
}

function toolParts(model: TrajectoryModel, span: ToolSpan): string[] {
  const input = model.argumentsOf(span);
  const result = model.resultOf(span);
  const changes = model.diffsOf(span.seq).flatMap((diff) => diff.data.changes);
  const error = span.end?.data.error;
  const marks = [...(input.edited ? ['arguments edited'] : []), ...(result?.edited === true ? ['result edited'] : [])];
  return [
    `**\`${span.start.data.name}\`**${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`,
    block(input.value),
    ...(span.end === undefined ? ['*not ended*'] : []),
    ...(error === undefined ? [] : [`✗ ${errorText(error)}`]),
    ...(result === undefined || error !== undefined ? [] : ['→', block(result.value)]),
    ...(changes.length === 0 ? [] : [changes.map((change) => `- ${code(changeText(change))}`).join('\n')]),
  ];
}

function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}

/** Returns a fenced block, with a fence longer than any in the value. */
function block(stored: Json): string {
  const value = isBlobRef(stored) ? `${stored.head}…` : unescapeKeys(stored);
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${typeof value === 'string' ? '' : 'json'}\n${text}\n${fence}`;
}

function code(text: string): string {
  const ticks = '`'.repeat(longestRun(text) + 1);
  const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${text}${pad}${ticks}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}
