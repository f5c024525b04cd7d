/** Renders a tool call in full, including values stored as blobs. */

import type { Json } from '../../common/json.ts';
import type { Api } from '../../protocol/api.ts';
import type { ToolSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { wholeValue } from '../../trace/spill.ts';
import { changeText, errorText, placeText, valueText } from '../../trace/text/values.ts';
import { isBlobRef, unescapeKeys } from '../../trace/values/keys.ts';

export const CALL_PARTS = ['all', 'arguments', 'result', 'seen', 'rule', 'error', 'world', 'output'] as const;
type CallPart = (typeof CALL_PARTS)[number];

/** Returns the texts of a call by part. Missing parts are absent. */
type CallTexts = Partial<Record<Exclude<CallPart, 'all'>, string>>;

export async function callTexts(
  model: TrajectoryModel,
  span: ToolSpan,
  api: Api,
  signal: AbortSignal,
): Promise<CallTexts> {
  const whole = async (stored: Json): Promise<string> =>
    isBlobRef(stored)
      ? plain(wholeValue(stored, await api.getBlob(stored.$blob, signal)))
      : plain(unescapeKeys(stored));
  const texts: CallTexts = {};
  texts.arguments = span.start.data.raw ?? (await whole(model.argumentsOf(span).value));
  const result = model.resultOf(span);
  if (result !== undefined) texts.result = await whole(result.value);
  const seen = model.seenOf(span);
  if (seen !== undefined) texts.seen = await whole(seen);
  const { injected, made } = span.end?.data ?? {};
  if (injected !== undefined) texts.rule = `${injected}${made === false ? ' (the tool was never called)' : ''}`;
  const error = span.end?.data.error;
  if (error !== undefined)
    texts.error = [errorText(error), placeText(error), error.stack].filter((line) => line !== undefined).join('\n');
  const changes = model.diffsOf(span.seq).flatMap((diff) => diff.data.changes);
  if (changes.length > 0) texts.world = changes.map(changeText).join('\n');
  const logs = model.logs.filter((log) => log.span === span.seq);
  if (logs.length > 0) texts.output = (await Promise.all(logs.map((log) => whole(log.data.text)))).join('');
  return texts;
}

/** Returns a text unchanged, or a value as indented JSON. */
function plain(value: Json): string {
  return isBlobRef(value) ? valueText(value) : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Returns all parts of a call, or one. */
export function partOf(texts: CallTexts, part: CallPart): string {
  if (part !== 'all') return texts[part] ?? '';
  return CALL_PARTS.flatMap((name) =>
    name === 'all' || texts[name] === undefined ? [] : [`${name}:\n${texts[name]}`],
  ).join('\n\n');
}
