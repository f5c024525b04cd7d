/** Determines the trace collector from the command line or OpenTelemetry's variables, and sends requests to it. */
import { errorText } from '../../../common/errors.ts';
import type { Log } from '../../../common/log.ts';
import { publicUrl } from '../../../common/redaction/hidable.ts';
import { outboundRequest } from '../../../net/outboundRequest.ts';

export interface Collector {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type SendResult =
  | { readonly how: 'taken'; readonly note?: string }
  /** The collector is unreachable or busy. `afterMs`: when to retry, if it says so. */
  | { readonly how: 'later'; readonly text: string; readonly afterMs?: number }
  /** The collector will never accept this. */
  | { readonly how: 'refused'; readonly text: string };

const TIMEOUT_MS = 10_000;
/** Retryable statuses according to the specification. */
const TRY_AGAIN = new Set([429, 502, 503, 504]);
const MAX_TEXT = 300;

/**
 * Returns undefined when nothing is exported. `option` is a URL. The variables may be meant for other programs on this
 * machine, so unsupported values are logged instead of failing.
 */
export function collectorOf(
  option: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Collector | undefined {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' && option === undefined) return undefined;
  const traces = set(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  const base = option ?? (traces === undefined ? set(env['OTEL_EXPORTER_OTLP_ENDPOINT']) : undefined);
  const text = base ?? traces;
  if (text === undefined) return undefined;
  const protocol = set(env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL']) ?? set(env['OTEL_EXPORTER_OTLP_PROTOCOL']);
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || (option === undefined && protocol === 'grpc')) {
    log(
      `finished rollouts are not exported to ${publicUrl(text)}: this server supports only OTLP over HTTP. Set the ` +
        'collector’s HTTP address with --otlp http://name:4318',
      { level: 'warning' },
    );
    return undefined;
  }
  if (base !== undefined) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
  return {
    url: url.href,
    headers: headersOf(set(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']) ?? set(env['OTEL_EXPORTER_OTLP_HEADERS']) ?? ''),
  };
}

/** Sends one request. Never throws. */
export async function sendTraces({ url, headers }: Collector, body: string, signal: AbortSignal): Promise<SendResult> {
  try {
    const response = await outboundRequest(url, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await response.text();
    if (response.ok) return { how: 'taken', ...partly(text) };
    const reason = `status ${response.status}${text === '' ? '' : `: ${text.slice(0, MAX_TEXT)}`}`;
    if (!TRY_AGAIN.has(response.status)) return { how: 'refused', text: reason };
    const afterMs = retryAfter(response.header('retry-after'));
    return { how: 'later', text: reason, ...(afterMs === undefined ? {} : { afterMs }) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { how: 'later', text: errorText(cause) };
  }
}

/** Reads the note of a collector that accepted only a part. The rest must not be sent again. */
function partly(text: string): { note?: string } {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
  if (typeof raw !== 'object' || raw === null || !('partialSuccess' in raw)) return {};
  const partial = raw.partialSuccess;
  if (typeof partial !== 'object' || partial === null) return {};
  const rejected = 'rejectedSpans' in partial ? Number(partial.rejectedSpans) : 0;
  const message = 'errorMessage' in partial && typeof partial.errorMessage === 'string' ? partial.errorMessage : '';
  return rejected > 0 || message !== '' ? { note: `${rejected} spans rejected: ${message.slice(0, MAX_TEXT)}` } : {};
}

/** Parses a Retry-After header: seconds or a date. */
function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Parses `key=value,key=value`, percent-encoded. */
function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    if (at < 1) continue;
    headers[pair.slice(0, at).trim().toLowerCase()] = decoded(pair.slice(at + 1).trim());
  }
  return headers;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

function set(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value;
}
