import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { type FileKind, fileKind } from '../../../src/common/fileKinds.ts';
import { jsonSchema, jsonSchemas } from '../../../src/config/jsonSchema.ts';
import { agentFile } from '../../../src/config/schema/agentFile.ts';
import { batchFile } from '../../../src/config/schema/batchFile.ts';
import { worldFile } from '../../../src/config/schema/worldFile.ts';
import { parseFile } from '../../../src/config/source/parse.ts';
import { AGENT, BATCH, WORLD } from './sample.ts';

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly description?: string;
  readonly type?: unknown;
  readonly additionalProperties?: unknown;
  readonly default?: unknown;
  readonly [key: string]: unknown;
}

/** Every object of a schema with its path. */
function* groups(node: Node, path: string): Generator<[string, Node]> {
  if (node.properties !== undefined) yield [path, node];
  for (const [key, child] of Object.entries(node)) {
    if (key === 'default') continue;
    if (Array.isArray(child))
      for (const item of child) if (typeof item === 'object' && item !== null) yield* groups(item as Node, path);
    if (typeof child !== 'object' || child === null || Array.isArray(child)) continue;
    if (key === 'properties')
      for (const [name, member] of Object.entries(child)) yield* groups(member as Node, `${path}.${name}`);
    else yield* groups(child as Node, path);
  }
}

describe('JSON Schema', () => {
  for (const kind of ['agent', 'batch', 'world'] as const) {
    it(`of ${kind} files describes every key and refuses others`, () => {
      let keys = 0;
      for (const [path, group] of groups(jsonSchema(kind), kind)) {
        // A group without a type is a condition on the group around it.
        if (group.type !== undefined) assert.equal(group.additionalProperties, false, path);
        for (const [name, member] of Object.entries(group.properties!)) {
          keys++;
          assert.ok((member.description?.length ?? 0) > 3, `${path}.${name} has no description`);
        }
      }
      assert.ok(keys > 10);
    });
  }
  it('holds the defaults and is plain JSON', () => {
    const { agent } = jsonSchemas();
    assert.deepEqual(JSON.parse(JSON.stringify(agent)), agent);
    const properties = (agent as Node).properties!;
    assert.equal(properties['limits']!.properties!['steps']!.default, 30);
    assert.equal(properties['limits']!.properties!['seconds']!.default, 900);
    assert.equal(agent['$schema'], 'http://json-schema.org/draft-07/schema#');
  });
});

describe('the schemas', () => {
  const examples: [FileKind, z.ZodObject, string][] = [
    ['agent', agentFile, AGENT],
    ['batch', batchFile, BATCH],
    ['world', worldFile, WORLD],
  ];
  for (const [kind, schema, text] of examples) {
    it(`accept the ${kind} file of the design, and no additional key`, () => {
      const { value, problems } = parseFile('f', text);
      assert.deepEqual(problems, []);
      assert.ok(schema.safeParse(value).success);
      assert.equal(schema.safeParse({ ...(value as object), extra: 1 }).success, false);
      const nested = Object.entries(value as object).filter(
        ([, member]) => typeof member === 'object' && member !== null && !Array.isArray(member),
      );
      for (const [key, member] of nested)
        assert.equal(
          schema.safeParse({ ...(value as object), [key]: { ...(member as object), extra: 1 } }).success,
          false,
          key,
        );
    });
  }
  it('know the keys that come later', () => {
    const team = { kind: 'handoff', members: ['searcher.agent.yaml', 'writer.agent.yaml'] };
    const program = { command: ['python3', 'my_agent.py'], env: { OPENAI_BASE_URL: '${gateway.url}' } };
    assert.ok(agentFile.safeParse({ ...(parseFile('f', AGENT).value as object), team, program }).success);
  });
});

describe('fileKind', () => {
  it('depends on the name', () => {
    assert.deepEqual(['a.agent.yaml', 'x/b.batch.yml', 'c.World.json', 'agent.yaml', 'a.agent.md'].map(fileKind), [
      'agent',
      'batch',
      'world',
      undefined,
      undefined,
    ]);
  });
});
