// Values in the Variables view: paged, truncated, editable, and large ones loaded on demand.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { type Node, valueNode } from '../../../src/debug/variables/node.ts';

const signal = new AbortController().signal;
const none = { readBlob: () => Promise.reject(new Error('nothing was to be read')) };
const all = { start: 0, count: Infinity };

async function inside(node: Node, page = all): Promise<Node[]> {
  return (await node.children?.list(page, signal)) ?? [];
}

describe('values', () => {
  it('are named as their user wrote them, with the expression and the edit that reach them', async () => {
    const node = valueNode(
      'arguments',
      { loan_id: 17, 'odd key/~': [1, { deep: 'x' }], $$ref: 'y' },
      { ...none, expression: 'tool.arguments', edit: { of: { seq: 9 }, path: '/arguments' } },
    );
    const members = await inside(node);
    assert.deepEqual(
      members.map(({ name, value }) => `${name}=${value}`),
      ['loan_id=17', 'odd key/~=(2) [1, {…}]', '$ref="y"'],
    );
    const [, odd] = members;
    assert.equal(odd?.expression, 'tool.arguments["odd key/~"]');
    assert.equal(odd.edit?.path, '/arguments/odd key~1~0');
    const [, deep] = await inside(odd);
    assert.equal((deep === undefined ? [] : await inside(deep))[0]?.edit?.path, '/arguments/odd key~1~0/1/deep');
  });

  it('of any size are requested page by page', async () => {
    const list = valueNode(
      'rows',
      Array.from({ length: 100_000 }, (_, index) => index),
      none,
    );
    assert.equal(list.children?.indexed, 100_000);
    assert.deepEqual(
      (await inside(list, { start: 99_998, count: 100 })).map(({ name }) => name),
      ['99998', '99999'],
    );
    const record = valueNode(
      'map',
      Object.fromEntries(Array.from({ length: 2_500 }, (_, index): [string, Json] => [`k${index}`, index])),
      none,
    );
    const groups = await inside(record);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['[0…999]', '[1000…1999]', '[2000…2499]'],
    );
    assert.equal((groups[2] === undefined ? [] : await inside(groups[2])).at(-1)?.name, 'k2499');
    const text = valueNode('log', 'line\n'.repeat(5_000), none);
    assert.ok(text.value.length < 500);
    assert.deepEqual(
      (await inside(text, { start: 4_999, count: 1 })).map(({ name, value }) => [name, value]),
      [['5000', 'line']],
    );
  });

  it('in blobs are read when they are opened, not before', async () => {
    let reads = 0;
    const bytes = new TextEncoder().encode(
      JSON.stringify({ rows: Array.from({ length: 1_000 }, (_, id) => ({ id })) }),
    );
    const ref = { $blob: 'a'.repeat(64), bytes: 20_000_000, media: 'application/json', head: '{"rows":[{"id":0}' };
    const node = valueNode('result', ref, {
      readBlob: () => {
        reads += 1;
        return Promise.resolve(bytes);
      },
    });
    assert.match(node.value, /^20\.0M bytes, application\/json: \{"rows"/);
    assert.equal(reads, 0);
    const [rows] = await inside(node);
    assert.equal(reads, 1);
    assert.equal(rows?.children?.indexed, 1_000);
    const long = valueNode('result', ref, {
      readBlob: () => Promise.resolve(new TextEncoder().encode(JSON.stringify([1, 2, 3]))),
    });
    assert.deepEqual(
      (await inside(long)).map(({ name, children }) => [name, children?.indexed]),
      [['value', 3]],
      'a list is one step in, where it can be paged',
    );
  });

  it('are described when they have no children', () => {
    assert.deepEqual(
      [[], {}, '', null, true, 1.5]
        .map((value) => valueNode('x', value, none))
        .map(({ value, children }) => [value, children !== undefined]),
      [
        ['(0) []', false],
        ['{}', false],
        ['""', false],
        ['null', false],
        ['true', false],
        ['1.5', false],
      ],
    );
  });
});
