import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonLine, textLine } from '../../../src/server/log.ts';
import { parseOptions } from '../../../src/server/process/options.ts';

const time = new Date(0);

test('a line for programs is one object, and names its subject', () => {
  const line = jsonLine(time, 'one\ntwo', { level: 'warning', batch: 'b1', worker: 'w' });
  assert.ok(!line.includes('\n'));
  assert.deepEqual(JSON.parse(line), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'warning',
    message: 'one\ntwo',
    batch: 'b1',
    worker: 'w',
  });
  assert.deepEqual(JSON.parse(jsonLine(time, 'x', {})), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'info',
    message: 'x',
  });
});

test('a line for people has its level unless it is the default', () => {
  assert.equal(textLine(time, 'one\ntwo', { batch: 'b1' }), '1970-01-01T00:00:00.000Z one\n  two');
  assert.equal(textLine(time, 'x', { level: 'error' }), '1970-01-01T00:00:00.000Z error: x');
});

test('options select what a server logs', () => {
  const parse = (...args: string[]) => parseOptions(['--store', 'x', ...args]);
  const { log, metrics, otlp } = parse();
  assert.deepEqual([log, metrics, otlp], ['text', 'token', undefined]);
  assert.equal(parse('--otlp', 'http://collector:4318').otlp, 'http://collector:4318/');
  assert.throws(() => parse('--otlp', 'collector:4318'), /--otlp must be the address/);
  assert.throws(() => parse('--log', 'xml'), /--log must be one of text, json, not xml/);
  assert.throws(() => parse('--metrics', 'shut'), /--metrics must be/);
  assert.equal(parse('--metrics', 'open').metrics, 'open');
  assert.equal(parse('--metrics', 'open', '--host', '0.0.0.0', '--executor', 'kubernetes').metrics, 'open');
  assert.throws(() => parse('--metrics', 'open', '--host', '0.0.0.0'), /on loopback or in a cluster/);
});
