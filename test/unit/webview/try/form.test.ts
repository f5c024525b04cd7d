/** The form for a tool's schema. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { JsonObject } from '../../../../src/common/json.ts';
import { describe } from '../../../../webview/try/form/shape.ts';
import {
  asJson,
  boundsText,
  type FormValue,
  firstMembers,
  InvalidText,
  problemsOf,
} from '../../../../webview/try/form/value.ts';

const of = (schema: z.ZodType): JsonObject => z.toJSONSchema(schema, { io: 'input' }) as JsonObject;
const errorsOf = (schema: JsonObject, value: FormValue): string[] =>
  problemsOf(schema, schema, value, true).map(({ path, text }) => `${path.join('.')}: ${text}`);
const kind = (schema: z.ZodType): string => describe(of(schema), of(schema)).shape.kind;

test('each kind of schema has its field', () => {
  assert.deepEqual(
    [
      z.string(),
      z.number(),
      z.int(),
      z.boolean(),
      z.enum(['a']),
      z.literal('a'),
      z.null(),
      z.string().nullable(),
      z.union([z.string(), z.int()]),
      z.array(z.string()),
      z.object({ a: z.string() }),
      z.record(z.string(), z.int()),
      z.tuple([z.int()]),
      z.any(),
    ].map(kind),
    [
      'text',
      'number',
      'number',
      'flag',
      'enum',
      'enum',
      'null',
      'variants',
      'variants',
      'list',
      'object',
      'json',
      'json',
      'json',
    ],
  );
  assert.equal(kind(z.object({})), 'object', 'no arguments at all are no JSON to write');
  const shape = describe({ type: ['string', 'null'], description: 'x' }, {});
  assert.deepEqual(shape.shape.kind === 'variants' && shape.shape.options.map(({ name }) => name), ['text', 'null']);
});

test('references are followed, including in a schema that refers to itself', () => {
  const schema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node', description: 'of all' } },
    required: ['tree'],
    $defs: {
      node: {
        type: 'object',
        properties: { name: { type: 'string' }, below: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['name', 'below'],
      },
    },
  };
  assert.deepEqual(asJson(firstMembers(schema)), { tree: { name: '', below: [] } });
  assert.deepEqual(errorsOf(schema, { tree: { name: 'a', below: [{ name: 1, below: [] }] } }), [
    'tree.below.0.name: Must be text.',
  ]);
  assert.equal(
    describe({ $ref: '#/$defs/a' }, { $defs: { a: { $ref: '#/$defs/a' } } }).shape.kind,
    'json',
    'a circle ends',
  );
});

test('a form begins with required fields, defaults, and examples', () => {
  const schema = of(
    z.object({
      id: z.string(),
      n: z.int().min(1),
      free: z.number(),
      kind: z.enum(['a', 'b']),
      at: z.object({ x: z.number().default(3) }),
      yes: z.boolean(),
      all: z.array(z.string()),
      like: z.string().meta({ examples: ['one'] }),
      more: z.string().optional(),
    }),
  );
  assert.deepEqual(asJson(firstMembers(schema)), { id: '', n: 1, kind: 'a', at: {}, yes: false, all: [], like: 'one' });
  assert.deepEqual(errorsOf(schema, firstMembers(schema)), ['free: Required.']);
});

test('errors are shown at their field', () => {
  const schema = of(
    z.object({
      name: z
        .string()
        .min(2)
        .regex(/^[a-z]*$/),
      n: z.int().max(5),
      step: z.number().multipleOf(0.1).optional(),
      tags: z.array(z.enum(['x', 'y'])).min(1),
      any: z.any().optional(),
    }),
  );
  assert.deepEqual(errorsOf(schema, { name: 'ab', n: 5, step: 0.3, tags: ['x'] }), []);
  assert.deepEqual(errorsOf(schema, { name: 'A', n: 6, step: 0.35, tags: [] }), [
    'name: Must have at least 2 characters.',
    'n: Must be at most 5.',
    'step: Must be a multiple of 0.1.',
    'tags: Must have at least 1 item.',
  ]);
  assert.deepEqual(errorsOf(schema, { name: 'AA', n: 1.5, tags: ['z'], any: new InvalidText('{') }), [
    'name: Must match ^[a-z]*$.',
    'n: Must be a whole number.',
    'tags.0: Must be one of the listed values.',
    'any: Not valid JSON.',
  ]);
  assert.deepEqual(errorsOf(schema, { name: 'ab', n: new InvalidText('1x'), tags: ['x'] }), [
    'n: “1x” is not a number.',
  ]);
  assert.deepEqual(errorsOf({ ...schema, additionalProperties: false }, { name: 'ab', n: 1, tags: ['x'], nmae: 'x' }), [
    ': Unknown argument “nmae”. Edit as JSON to remove it.',
  ]);
});

test('errors of a choice are those of the closest variant', () => {
  const shape = z.union([
    z.object({ kind: z.literal('circle'), r: z.number().min(0), x: z.number(), y: z.number() }),
    z.object({ kind: z.literal('text'), text: z.string() }),
  ]);
  const schema = of(z.object({ shape, note: z.string().nullable() }));
  assert.deepEqual(errorsOf(schema, { shape: { kind: 'circle', r: -1 }, note: null }), [
    'shape.r: Must be at least 0.',
    'shape.x: Required.',
    'shape.y: Required.',
  ]);
  assert.deepEqual(errorsOf(schema, { shape: { kind: 'text', text: 'a' }, note: 'b' }), []);
  assert.deepEqual(errorsOf(schema, { shape: { kind: 'text', text: 'a' }, note: 1 }), ['note: Must be text.']);
});

test('bounds are described in a few words', () => {
  assert.deepEqual(
    [
      z.int(),
      z.int().min(1),
      z.number().min(0).max(1),
      z.string().max(80),
      z.array(z.int()).min(1).max(3),
      z.email(),
      z.number().gt(0),
    ].map((schema) => boundsText(of(schema))),
    ['', 'at least 1', '0 to 1', 'at most 80 characters', '1 to 3 items', 'email', 'more than 0'],
  );
});
