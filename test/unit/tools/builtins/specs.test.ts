// What the editor says of built-in tools.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILTINS } from '../../../../src/config/schema/toolEntry.ts';
import { BUILTIN_TOOLS } from '../../../../src/config/tools/builtinTools.ts';
import { builtinSpecs } from '../../../../src/tools/builtins/specs.ts';

it('each set tells of just the tools that it is known to bring, and what they take', async () => {
  for (const name of BUILTINS) {
    const specs = await builtinSpecs(name);
    assert.deepEqual(specs.map((spec) => spec.name).sort(), [...BUILTIN_TOOLS[name]].sort());
    for (const { description, parameters } of specs) assert.ok(description !== '' && parameters['type'] === 'object');
  }
});
