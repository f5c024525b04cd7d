import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deferred } from '../../../../src/common/abort.ts';
import { Counters } from '../../../../src/server/telemetry/counters.ts';
import { collectorOf, type SendResult, sendTraces } from '../../../../src/server/telemetry/otlp/collector.ts';
import { Exporter, type ExporterOptions } from '../../../../src/server/telemetry/otlp/exporter.ts';
import { INTERNAL, type OtlpSpan, spanIdOf, traceIdOf } from '../../../../src/server/telemetry/otlp/span.ts';
import { Collector } from '../../../support/collector.ts';

function spans(rollout: string, count = 1): OtlpSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    traceId: traceIdOf(rollout),
    spanId: spanIdOf(rollout, String(index)),
    name: rollout,
    kind: INTERNAL,
    startTimeUnixNano: '1',
    endTimeUnixNano: '2',
    attributes: [],
  }));
}

interface Kit {
  readonly exporter: Exporter;
  readonly counters: Counters;
  readonly log: string[];
  readonly bodies: string[];
  readonly counted: () => Record<string, number>;
}

function kit(send: (body: string) => Promise<SendResult>, over: Partial<ExporterOptions> = {}): Kit {
  const counters = new Counters();
  const log: string[] = [];
  const bodies: string[] = [];
  const exporter = new Exporter({
    to: 'collector:4318',
    counters,
    log: (text) => log.push(text),
    resource: { 'service.name': 'test' },
    scope: { name: 'test', version: '1' },
    trace: (rollout) => Promise.resolve(spans(rollout)),
    send: (body) => {
      bodies.push(body);
      return send(body);
    },
    ...over,
    limits: { lingerMs: 1, retryMs: 1, maxRetryMs: 4, ...over.limits },
  });
  return {
    exporter,
    counters,
    log,
    bodies,
    counted: () => ({
      ...Object.fromEntries(counters.traces.samples().map(({ labels, value }) => [labels?.['result'] ?? '', value])),
      waiting: counters.tracesWaiting,
    }),
  };
}

const taken: SendResult = { how: 'taken' };

describe('exporting traces', () => {
  test('sends traces that finish together in one request, with a limit on spans', async () => {
    const { exporter, bodies, counted } = kit(() => Promise.resolve(taken), {
      trace: (rollout) => Promise.resolve(spans(rollout, rollout === 'long' ? 5 : 1)),
      limits: { spans: 2 },
    });
    for (const rollout of ['a', 'b', 'long', 'b']) exporter.add(rollout);
    await exporter.close(10_000);
    const sizes = bodies.map((body) => body.split('"spanId"').length - 1);
    assert.deepEqual(sizes, [2, 2, 2, 1]);
    assert.deepEqual(counted(), { exported: 3, lost: 0, waiting: 0 });
  });

  test('retries while a collector is down, and reports that once', async () => {
    const done = deferred<undefined>();
    let attempts = 0;
    const { exporter, log, counted } = kit(() => {
      attempts += 1;
      if (attempts <= 3) return Promise.resolve({ how: 'later', text: 'connect ECONNREFUSED' });
      done.resolve(undefined);
      return Promise.resolve(taken);
    });
    exporter.add('a');
    await done.promise;
    await exporter.close(10_000);
    assert.deepEqual(counted(), { exported: 1, lost: 0, waiting: 0 });
    assert.deepEqual(
      log.map((text) => text.replace(/;.*/, '')),
      [
        'the collector collector:4318 is not available: connect ECONNREFUSED. Up to ' +
          '10000 finished rollouts will wait for it',
        'the collector collector:4318 is available again',
      ],
    );
  });

  test('drops the oldest when too many wait, counts and reports them', async () => {
    const away = deferred<SendResult>();
    const { exporter, log, bodies, counted } = kit(() => away.promise, { limits: { waiting: 3 } });
    for (let n = 0; n < 10; n++) exporter.add(`r${n}`);
    assert.deepEqual(counted(), { exported: 0, lost: 7, waiting: 3 });
    away.resolve(taken);
    await exporter.close(10_000);
    assert.deepEqual(counted(), { exported: 3, lost: 7, waiting: 0 });
    assert.ok(bodies.join('').includes('r9') && !bodies.join('').includes('r6'), 'the newest ones are kept');
    assert.deepEqual(log, [
      '1 finished rollout was not exported as traces: too many are waiting for the collector',
      '6 finished rollouts were not exported as traces: too many are waiting for the collector',
    ]);
  });

  test('drops refused traces, and sends the next ones', async () => {
    const answers: SendResult[] = [{ how: 'refused', text: 'status 400: no' }];
    const { exporter, log, counted } = kit(() => Promise.resolve(answers.shift() ?? taken), { limits: { spans: 1 } });
    exporter.add('a');
    exporter.add('b');
    await exporter.close(10_000);
    assert.deepEqual(counted(), { exported: 1, lost: 1, waiting: 0 });
    assert.deepEqual(log, [
      '1 finished rollout was not exported as traces: the collector rejected them: status 400: no',
    ]);
  });

  test('waits no longer than allowed at the end of the server, and reports what is lost', async () => {
    const { exporter, log, counted } = kit(() => new Promise<SendResult>(() => undefined), {
      send: (_body, signal) =>
        new Promise<SendResult>((resolve) => {
          signal.addEventListener('abort', () => resolve({ how: 'later', text: 'aborted' }), { once: true });
        }),
    });
    exporter.add('a');
    const since = performance.now();
    await exporter.close(50);
    assert.ok(performance.now() - since < 5_000);
    assert.deepEqual(
      [counted(), log],
      [{ exported: 0, lost: 1, waiting: 0 }, ['1 finished rollout was not exported as traces: the server ended']],
    );
  });

  test('is not blocked by an unreadable trace', async () => {
    const { exporter, counted } = kit(() => Promise.resolve(taken), {
      trace: (rollout) =>
        rollout === 'a'
          ? Promise.reject(new Error('damaged'))
          : Promise.resolve(rollout === 'gone' ? undefined : spans(rollout)),
    });
    for (const rollout of ['a', 'gone', 'b']) exporter.add(rollout);
    await exporter.close(10_000);
    assert.deepEqual(counted(), { exported: 1, lost: 1, waiting: 0 });
  });
});

describe('the collector', () => {
  test('is named by the option, else by the variables of OpenTelemetry', () => {
    const warnings: string[] = [];
    const of = (option: string | undefined, variables: Readonly<Record<string, string>>) =>
      collectorOf(option, variables, (text) => warnings.push(text));
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://col:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20x,b=c',
    };
    const headers = { authorization: 'Bearer x', b: 'c' };
    assert.equal(of(undefined, {}), undefined);
    assert.deepEqual(of(undefined, env), { url: 'http://col:4318/v1/traces', headers });
    assert.deepEqual(of('http://other:1/base', env), { url: 'http://other:1/base/v1/traces', headers });
    assert.deepEqual(
      of(undefined, { ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://x/mine' })?.url,
      'https://x/mine',
    );
    assert.equal(of(undefined, { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), undefined);
    assert.equal(of(undefined, { ...env, OTEL_SDK_DISABLED: 'true' }), undefined);
    assert.equal(warnings.length, 1, 'of gRPC only');
    assert.equal(of(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4317' }), undefined);
    assert.match(warnings[1] ?? '', /not exported to localhost:4317: this server supports only OTLP over HTTP/);
  });

  test('explains a request that it did not accept', async () => {
    await using collector = await Collector.start();
    const to = { url: `${collector.url}/v1/traces`, headers: { 'x-key': 'k' } };
    const send = (): Promise<SendResult> => sendTraces(to, '{"resourceSpans":[]}', new AbortController().signal);
    collector.answers.push(
      { status: 503, headers: { 'retry-after': '3' }, body: 'busy' },
      { status: 429 },
      { status: 500, body: 'broken' },
      { status: 200, body: '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}' },
      { status: 200, body: '' },
    );
    assert.deepEqual(await send(), { how: 'later', text: 'status 503: busy', afterMs: 3_000 });
    assert.deepEqual(await send(), { how: 'later', text: 'status 429: {}' });
    assert.deepEqual(await send(), { how: 'refused', text: 'status 500: broken' });
    assert.deepEqual(await send(), { how: 'taken', note: '2 spans rejected: too old' });
    assert.deepEqual(await send(), taken);
    assert.deepEqual(
      [
        collector.requests[0]!.url,
        collector.requests[0]!.headers['x-key'],
        collector.requests[0]!.headers['content-type'],
      ],
      ['POST /v1/traces', 'k', 'application/json'],
    );
    await collector[Symbol.asyncDispose]();
    assert.equal((await send()).how, 'later');
  });
});
