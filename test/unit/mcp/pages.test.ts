/** Pages of a trajectory, its calls in full, and searches in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf, PAGE_BYTES } from '../../../src/mcp/answers/bounds.ts';
import { callTexts, partOf } from '../../../src/mcp/reading/callText.ts';
import { compare } from '../../../src/mcp/reading/comparison.ts';
import { findIn } from '../../../src/mcp/reading/search.ts';
import { readPage } from '../../../src/mcp/tools/readTrajectory.ts';
import { Api } from '../../../src/protocol/api.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { compileQuery } from '../../../src/trace/query.ts';
import { trajectoryText, wholePart } from '../../../src/trace/text.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

function modelOf(stream: Stream): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(stream.events);
  return model;
}

/** `steps` steps with a call each that returns a text of `size` characters. */
function long(steps: number, size: number): TrajectoryModel {
  const s = new Stream();
  s.start();
  s.message('user', 'Go on.');
  for (let step = 1; step <= steps; step++) {
    s.model(`Step ${step} it is.`, [{ id: `c${step}`, name: 'fetch', arguments: { step } }]);
    s.toolEnd(s.toolStart(`c${step}`, 'fetch', { step }), `c${step}`, 'wörd '.repeat(size / 5));
  }
  s.end();
  return modelOf(s);
}

async function allPages(
  model: TrajectoryModel,
  { first, ...range }: { first: number; last: number; full: boolean },
): Promise<string[]> {
  const pages: string[] = [];
  let place: { step: number; offset: number } | undefined = { step: -1, offset: 0 };
  while (place !== undefined) {
    const parts = [wholePart(model, Math.max(first, place.step))];
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(parts, 'r1', range, place);
    assert.ok(bytesOf(page.text) <= PAGE_BYTES && page.text !== '');
    pages.push(page.text);
    place = page.next;
  }
  return pages;
}

const PLAIN = { width: 120, color: false, rollout: 'r1' } as const;

test('pages add up to the whole text, and begin where steps begin', async () => {
  const model = long(400, 400);
  const pages = await allPages(model, { first: 0, last: Infinity, full: false });
  assert.ok(pages.length > 2);
  assert.equal(pages.join(''), trajectoryText(model, PLAIN));
  for (const page of pages.slice(1)) assert.match(page, /^\nstep \d+ ──/);
});

test('a step larger than a page is split', async () => {
  const model = long(2, 3 * PAGE_BYTES);
  const pages = await allPages(model, { first: 0, last: Infinity, full: true });
  assert.ok(pages.length >= 6);
  assert.equal(pages.join('').split('wörd').length - 1, (2 * (3 * PAGE_BYTES)) / 5);
});

test('a range of steps has its header and nothing of the others', async () => {
  const model = long(6, 10);
  const [page = ''] = await allPages(model, { first: 2, last: 3, full: false });
  assert.match(page, /^task renew-overdue/);
  assert.match(page, /Step 2 it is[^]*Step 3 it is/);
  assert.doesNotMatch(page, /Step [1456] it is|── done/);
  assert.match((await allPages(model, { first: 5, last: 6, full: false })).join(''), /Step 6 it is[^]*end/);
});

test('a call has all its parts, and values in blobs are whole', async () => {
  const s = new Stream();
  s.start();
  s.model('', [{ id: 'c1', name: 'fetch', arguments: { $$deep: 1 } }]);
  const call = s.toolStart('c1', 'fetch', { $$deep: 1 });
  s.add('log', { stream: 'out', text: 'on my way\n' }, { span: call });
  s.toolEnd(
    call,
    'c1',
    { $blob: 'a'.repeat(64), bytes: 9, media: 'application/json', head: '[1' },
    { error: { class: 'tool_error', message: 'too much', stack: 'at fetch' } },
  );
  s.diff([{ table: 'loans', key: 17, op: 'delete' }], call);
  const model = modelOf(s);
  const api = new Api({
    request: ({ path }) =>
      Promise.resolve({
        status: path === `/v1/blobs/${'a'.repeat(64)}` ? 200 : 404,
        text: () => Promise.resolve(''),
        bytes: () => Promise.resolve(new TextEncoder().encode('[1,{"a":2}]')),
      }),
  });
  const [span] = model.tools;
  assert.ok(span !== undefined);
  const texts = await callTexts(model, span, api, new AbortController().signal);
  assert.deepEqual(texts, {
    arguments: '{\n  "$deep": 1\n}',
    result: '[\n  1,\n  {\n    "a": 2\n  }\n]',
    error: 'tool_error: too much\nat fetch',
    world: 'delete loans 17',
    output: 'on my way\n',
  });
  assert.match(partOf(texts, 'all'), /^arguments:\n\{[^]*\n\nresult:\n\[[^]*\n\nerror:\ntool_error/);
});

test('a search returns one place for each step, with the surrounding words', () => {
  const model = modelOf(lendingDesk());
  const find = (text: string, from = 0): string[] =>
    [...findIn(model, compileQuery(text), { reference: 'b1/t/1', task: undefined, from })].map(
      (one) => `${one.reference} ${one.events} ${one.what}: ${one.excerpt}`,
    );
  assert.deepEqual(find('overdue ADA'), ['b1/t/1:0 1 user message: Renew everything overdue for Ada.']);
  assert.deepEqual(find('tool.error != null && tool.name == "renew_loan"'), [
    'b1/t/1:2 1 tool.end: error, 12 ms, limit reached',
  ]);
  assert.deepEqual(
    find('ada').map((one) => one.split(' ')[0]),
    ['b1/t/1:0', 'b1/t/1:1'],
  );
  assert.deepEqual(
    find('ada', 1).map((one) => one.split(' ')[0]),
    ['b1/t/1:1'],
  );
  assert.deepEqual(find('nothing of the kind'), []);
});

test('two attempts are compared turn by turn', () => {
  const attempt = (...looks: string[]): TrajectoryModel => {
    const s = new Stream();
    s.start();
    s.message('user', 'Look.');
    for (const [index, text] of looks.entries()) {
      s.model(`I look for ${text}.`, [
        { id: `c${index}`, name: text === 'stop' ? 'halt' : 'look', arguments: { text } },
      ]);
      s.toolEnd(s.toolStart(`c${index}`, text === 'stop' ? 'halt' : 'look', { text }), `c${index}`, `seen ${text}`);
    }
    s.model(`I saw ${looks.length}.`);
    s.end();
    return modelOf(s);
  };
  const { split, common, rows, row, otherResult } = compare(
    attempt('sun', 'rain', 'wind', 'moon'),
    attempt('sun', 'snow', 'stop', 'wind', 'moon'),
  );
  assert.deepEqual([common, otherResult, split?.rejoin?.a.step, split?.rejoin?.b.step], [1, undefined, 3, 4]);
  assert.deepEqual(
    Array.from({ length: rows }, (_, index) => [row(index).what, row(index).a?.step, row(index).b?.step]),
    [
      ['same', 1, 1],
      ['other arguments', 2, 2],
      ['only b', undefined, 3],
      ['same', 3, 4],
      ['same', 4, 5],
      ['other words', 5, 6],
    ],
  );
  assert.deepEqual(row(1).differences, [
    'look arguments/text: "rain" → "snow"',
    'look result: "seen rain" → "seen snow"',
  ]);
  assert.deepEqual(row(2).b, { step: 3, calls: ['halt {text: "stop"} ← seen stop'], text: 'I look for stop.' });
  assert.equal(compare(attempt('sun'), attempt('sun')).split, undefined);
});
