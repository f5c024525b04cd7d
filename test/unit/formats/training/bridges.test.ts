/** Examples of bridges are short, and each file that a README or another one names is there. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const FOLDER = path.join(import.meta.dirname, '..', '..', '..', '..', 'examples', 'bridges');

test('bridges have 50 to 150 lines, and use what their clients have', () => {
  const read = (name: string): string => readFileSync(path.join(FOLDER, name), 'utf8');
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.py'));
  const readme = read('README.md');
  const bridges = files.filter((name) => !name.endsWith('_client.py'));
  assert.deepEqual([bridges.length, files.length], [5, 7]);
  for (const name of bridges) {
    const text = read(name);
    const lines = text.split('\n').length - 1;
    assert.ok(lines >= 50 && lines <= 150, `${name} has ${lines} lines`);
    const imports = [...text.matchAll(/^from (\w+_client) import (.+)$/gm)];
    assert.equal(imports.length, 1, name);
    for (const [, client = '', imported = ''] of imports)
      for (const one of imported.split(', '))
        assert.match(read(`${client}.py`), new RegExp(`^(?:class|def) ${one}\\b`, 'm'), name);
  }
  for (const name of files) assert.ok(readme.includes(`\`${name}\``), name);
});
