/** Spans in OTLP's JSON format: IDs in hex, 64-bit numbers as text. */
import { sha256Hex } from '../../../common/hash.ts';

export type Attribute = string | number | boolean | readonly string[] | null | undefined;

interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  /** Whole numbers as text, because they have 64 bits. */
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

export interface SpanEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly KeyValue[];
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent at the root. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events?: readonly SpanEvent[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code: 2; readonly message?: string };
}

export const INTERNAL = 1;
export const CLIENT = 3;

/** Returns the body of `POST /v1/traces`. */
export function exportRequest(
  resource: Readonly<Record<string, Attribute>>,
  scope: { readonly name: string; readonly version: string },
  spans: readonly OtlpSpan[],
): string {
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: attributes(resource) }, scopeSpans: [{ scope, spans }] }],
  });
}

/** Formats attributes and leaves out those without a value. */
export function attributes(values: Readonly<Record<string, Attribute>>): KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: anyValue(key, value) }],
  );
}

/** Attributes that are doubles, even if a value happens to be whole. */
const DOUBLES = /(?:temperature|top_p|top_k|_penalty|time_to_first_chunk|score\.value|reward|_seconds|cost)$/;

function anyValue(key: string, value: string | number | boolean | readonly string[]): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && !DOUBLES.test(key) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
}

/** Converts milliseconds to nanoseconds. */
export function nanos(ms: number): string {
  return `${Math.max(0, Math.round(ms))}000000`;
}

/** Returns the trace ID of a rollout. It is stable: a trace that is sent twice is the same trace. */
export function traceIdOf(rollout: string): string {
  return sha256Hex(`rollout ${rollout}`).slice(0, 32);
}

/** Returns the span ID of a part of a rollout. `what`: the key of the part. */
export function spanIdOf(rollout: string, what: string): string {
  return sha256Hex(`rollout ${rollout} ${what}`).slice(0, 16);
}
