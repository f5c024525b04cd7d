import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverOf, wordsOf } from '../../../../src/host/tools/mcp/typedServer.ts';

test('a server is typed as a command line or a URL', () => {
  assert.deepEqual(serverOf('npx -y "@scope/a server" --at=\'x y\''), {
    name: 'a server',
    server: { command: 'npx', args: ['-y', '@scope/a server', '--at=x y'] },
    notes: [],
  });
  assert.deepEqual(serverOf(' https://example.com:3000/mcp?key=${env:KEY} '), {
    name: 'example.com:3000',
    server: { url: 'https://example.com:3000/mcp?key=${env:KEY}' },
    notes: [],
  });
  assert.equal(serverOf('  '), 'Enter a command or a URL.');
  assert.equal(serverOf('http://'), 'Enter a valid URL.');
  assert.deepEqual(wordsOf('C:\\tools\\x.exe ""'), ['C:\\tools\\x.exe', '']);
});
