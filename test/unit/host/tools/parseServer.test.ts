import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServer, splitWords } from '../../../../src/host/tools/mcp/parseServer.ts';

test('a server is typed as a command line or a URL', () => {
  assert.deepEqual(parseServer('npx -y "@scope/a server" --at=\'x y\''), {
    name: 'a server',
    server: { command: 'npx', args: ['-y', '@scope/a server', '--at=x y'] },
    notes: [],
  });
  assert.deepEqual(parseServer(' https://example.com:3000/mcp?key=${env:KEY} '), {
    name: 'example.com:3000',
    server: { url: 'https://example.com:3000/mcp?key=${env:KEY}' },
    notes: [],
  });
  assert.equal(parseServer('  '), 'Enter a command or a URL.');
  assert.equal(parseServer('http://'), 'Enter a valid URL.');
  assert.deepEqual(splitWords('C:\\tools\\x.exe ""'), ['C:\\tools\\x.exe', '']);
});
