// The editor's descriptions of built-in tools.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILTINS } from '../../../../src/config/schema/toolEntry.ts';
import { BUILTIN_TOOLS } from '../../../../src/config/tools/builtinTools.ts';
import { builtinSpecs } from '../../../../src/tools/builtins/specs.ts';

it('each set describes exactly the tools it contains, and their parameters', async () => {
  for (const name of BUILTINS) {
    const specs = await builtinSpecs(name);
    assert.deepEqual(specs.map((spec) => spec.name).sort(), [...BUILTIN_TOOLS[name]].sort());
    for (const { description, parameters } of specs) assert.ok(description !== '' && parameters['type'] === 'object');
  }
});
