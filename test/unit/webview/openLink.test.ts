import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { webLink } from '../../../src/common/webLink.ts';
import { openLink } from '../../../webview/host/openLink.ts';

const REFUSED = [
  'javascript:alert(1)',
  ' JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'file:///etc/passwd',
  'vscode://file/etc/passwd',
  'command:workbench.action.terminal.new',
  'blob:https://example.org/1',
  '/v1/tickets',
  'example.org',
  '',
];

test('only links to websites and mail addresses open', (context) => {
  const opened: unknown[][] = [];
  Object.defineProperty(globalThis, 'window', {
    configurable: true,
    value: { open: (...args: unknown[]) => opened.push(args) },
  });
  context.after(() => Reflect.deleteProperty(globalThis, 'window'));
  for (const link of REFUSED) {
    assert.equal(webLink(link), undefined, link);
    assert.throws(
      () => openLink(link),
      (error) => StudioError.is(error, 'forbidden'),
    );
  }
  assert.equal(opened.length, 0);
  for (const link of ['http://example.org/', 'https://example.org/a?b#c', 'mailto:ada@example.org']) openLink(link);
  assert.deepEqual(
    opened.map(([url]) => url),
    ['http://example.org/', 'https://example.org/a?b#c', 'mailto:ada@example.org'],
  );
});
