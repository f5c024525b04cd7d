import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnPlaces } from '../../../src/language/names/columnPlaces.ts';

test('a column is found in every record, and only as a key of the record itself', () => {
  const jsonl = '{"city": "Oslo", "meta": {"city": 1}}\n{broken\n{"a": "city", "city" : [{"city": 2}]}\n';
  assert.deepEqual(
    columnPlaces(jsonl, 'jsonl', 'city').map(({ start, end }) => [start, jsonl.slice(start - 1, end + 1)]),
    [
      [2, '"city"'],
      [61, '"city"'],
    ],
  );
  const json = '[{"city": {"city": 1}}, {"b": "city"}, {"city": 2}]';
  assert.deepEqual(
    columnPlaces(json, 'json', 'city').map(({ start }) => start),
    [3, 41],
  );
});

test('in a CSV file it is found in the header', () => {
  const at = (text: string, column: string): string[] =>
    columnPlaces(text, 'csv', column).map(({ start, end }) => `${start}:${text.slice(start, end)}`);
  assert.deepEqual(at('id, city,"a, b"\r\n1,city,x\n', 'city'), ['4:city']);
  assert.deepEqual(at('id,city,"a, b"\r\n1,city,x\n', 'a, b'), ['9:a, b']);
  assert.deepEqual(at('\uFEFFcity\n', 'city'), ['1:city']);
  assert.deepEqual(at('id,city', 'cit'), []);
});
