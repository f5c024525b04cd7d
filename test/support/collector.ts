/** A stand-in for a trace collector: accepts OTLP/HTTP in JSON, checks its form, keeps the spans. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const value = z.strictObject({
  stringValue: z.string().optional(),
  boolValue: z.boolean().optional(),
  intValue: z
    .string()
    .regex(/^-?\d+$/)
    .optional(),
  doubleValue: z.number().optional(),
  arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }).optional(),
});
const attributes = z.array(z.strictObject({ key: z.string().min(1), value }));
const spanId = z.string().regex(/^[0-9a-f]{16}$/);
const traceId = z.string().regex(/^[0-9a-f]{32}$/);
const nano = z.string().regex(/^\d+$/);

export const otlpSpan = z.strictObject({
  traceId,
  spanId,
  parentSpanId: spanId.optional(),
  name: z.string().min(1),
  kind: z.number().int().min(1).max(5),
  startTimeUnixNano: nano,
  endTimeUnixNano: nano,
  attributes,
  events: z.array(z.strictObject({ timeUnixNano: nano, name: z.string(), attributes })).optional(),
  links: z.array(z.strictObject({ traceId, spanId })).optional(),
  status: z.strictObject({ code: z.literal(2), message: z.string().optional() }).optional(),
});
export type ReceivedSpan = z.infer<typeof otlpSpan>;

const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({ scope: z.strictObject({ name: z.string(), version: z.string() }), spans: z.array(otlpSpan) }),
      ),
    }),
  ),
});

/** Returns the value of one attribute. */
export function attribute(
  of: { readonly attributes: ReceivedSpan['attributes'] },
  key: string,
): string | number | boolean | string[] | undefined {
  const found = of.attributes.find((one) => one.key === key)?.value;
  if (found === undefined) return undefined;
  return (
    found.stringValue ??
    found.boolValue ??
    found.doubleValue ??
    (found.intValue === undefined ? undefined : Number(found.intValue)) ??
    found.arrayValue?.values.map((item) => item.stringValue)
  );
}

export class Collector implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  /** The next responses, instead of accepting the request. */
  readonly answers: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }[] =
    [];
  readonly wrong: string[] = [];
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = createServer((incoming, response) => {
      let body = '';
      incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
      incoming.on('end', () => {
        this.requests.push({ url: `${incoming.method ?? ''} ${incoming.url ?? ''}`, headers: incoming.headers });
        const answer = this.answers.shift();
        if (answer === undefined) this.#take(body);
        response
          .writeHead(answer?.status ?? 200, { 'content-type': 'application/json', ...answer?.headers })
          .end(answer?.body ?? '{}');
        for (const look of this.#waiting.splice(0)) look();
      });
    });
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Root spans, one for each received trace. */
  roots(): ReceivedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === undefined);
  }

  /** Resolves after requests until `done` is true. Fails after 30 s. */
  async until(done: () => boolean, what: string): Promise<void> {
    const end = performance.now() + 30_000;
    while (!done()) {
      const left = end - performance.now();
      if (left <= 0)
        throw new Error(`no ${what} within 30 s: ${this.requests.length} requests, ${this.spans.length} spans`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(body: string): void {
    const parsed = request.safeParse(JSON.parse(body));
    if (parsed.success)
      for (const { scopeSpans } of parsed.data.resourceSpans)
        for (const { spans } of scopeSpans) this.spans.push(...spans);
    else this.wrong.push(parsed.error.message);
  }
}
