/** Examples of bridges are short, and each file that a README or another one names is there. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const FOLDER = path.join(import.meta.dirname, '..', '..', '..', '..', 'examples', 'bridges');

test('bridges have 50 to 150 lines, and use what the client has', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.py'));
  const client = readFileSync(path.join(FOLDER, 'rollout_client.py'), 'utf8');
  const readme = readFileSync(path.join(FOLDER, 'README.md'), 'utf8');
  assert.equal(files.length, 6);
  for (const name of files) {
    const text = readFileSync(path.join(FOLDER, name), 'utf8');
    const lines = text.split('\n').length - 1;
    assert.ok(lines >= 50 && lines <= 150, `${name} has ${lines} lines`);
    assert.ok(readme.includes(`\`${name}\``), name);
    for (const [, imported = ''] of text.matchAll(/^from rollout_client import (.+)$/gm))
      for (const one of imported.split(', ')) assert.match(client, new RegExp(`^(?:class|def) ${one}\\b`, 'm'), name);
  }
});
