/** Renders a tool call in full, including values stored as blobs. */

import type { Json } from '../../common/json.ts';
import type { Api } from '../../protocol/api.ts';
import type { ToolSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { callDifference } from '../../trace/prediction/callDifference.ts';
import { predictionsOf } from '../../trace/prediction/ofCall.ts';
import { differenceText, placeLines } from '../../trace/prediction/text.ts';
import { PROVENANCE_TITLES, provenanceOf } from '../../trace/provenance.ts';
import type { EventData } from '../../trace/schema.ts';
import { wholeValue } from '../../trace/spill.ts';
import { changeText, errorText, placeText, valueText } from '../../trace/text/values.ts';
import { isBlobRef, unescapeKeys } from '../../trace/values/keys.ts';

export const CALL_PARTS = [
  'all',
  'arguments',
  'result',
  'real',
  'seen',
  'provenance',
  'predicted',
  'rule',
  'error',
  'world',
  'output',
] as const;
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
  const from = provenanceOf(model, span);
  if (from.length > 0) texts.provenance = from.map((one) => `${one}: ${PROVENANCE_TITLES[one]}`).join('\n');
  const predictions = predictionsOf(model, span.seq);
  if (predictions.length > 0)
    texts.predicted = predictions.map(({ data }) => predictionText(model, span, data)).join('\n\n');
  const { injected, made, real } = span.end?.data ?? {};
  if (real !== undefined) texts.real = await whole(real);
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

/** Returns what a world predicted, and where it was wrong. */
function predictionText(model: TrajectoryModel, span: ToolSpan, { prediction, error }: EventData['score']): string {
  const { world = '', response } = prediction ?? {};
  if (response === undefined) return `${world}: no prediction${error === undefined ? '' : ` (${errorText(error)})`}`;
  const difference = callDifference(model, span, response);
  return [
    `${world}: ${difference === undefined ? '' : differenceText(difference)}`,
    plain(response),
    ...(difference === undefined ? [] : placeLines(difference)),
  ].join('\n');
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
