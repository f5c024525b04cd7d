import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plainMessage, shortMessage } from '../../../../src/tools/builtins/browser/playwrightErrors.ts';
import { accessibleTree, snapshotText } from '../../../../src/tools/builtins/browser/snapshot.ts';

describe('a snapshot', () => {
  it('shows usable elements, with refs and states, without wrappers', () => {
    const tree = accessibleTree.parse([
      {
        role: 'generic',
        active: true,
        ref: 'e1',
        children: [
          { role: 'heading', name: 'Hello you', level: 1, ref: 'e2' },
          { role: 'paragraph', ref: 'e3', text: 'Some words' },
          { role: 'paragraph' },
          { role: 'generic', ref: 'e4', children: ['Name', { role: 'textbox', name: 'Name', ref: 'e5', text: 'Ada' }] },
          { role: 'checkbox', name: 'Agree', checked: true, disabled: false, ref: 'e6' },
          { role: 'button', name: 'Bold', pressed: 'mixed', ref: 'e7' },
          { role: 'link', name: 'On', ref: 'e8', cursor: 'pointer', url: '/x' },
          { role: 'generic', ref: 'e9', cursor: 'pointer', text: 'Clickable' },
          { role: 'cell', name: 'Same', ref: 'e10', text: 'Same' },
          { role: 'list', ref: 'e11', children: [{ role: 'listitem', ref: 'e12', text: 'One' }] },
          { role: 'iframe', ref: 'e13', children: [{ role: 'link', name: 'In "it"', ref: 'f1e2', url: '/y' }] },
        ],
      },
      'Loose text',
    ]);
    assert.equal(
      snapshotText(tree, 'http://x/a'),
      [
        '- heading "Hello you" [level=1] [ref=e2]',
        '- text: Some words',
        '- text: Name',
        '- textbox "Name" [ref=e5]: Ada',
        '- checkbox "Agree" [checked] [ref=e6]',
        '- button "Bold" [pressed=mixed] [ref=e7]',
        '- link "On" [ref=e8] (http://x/x)',
        '- generic [ref=e9]: Clickable',
        '- cell "Same" [ref=e10]',
        '- list [ref=e11]',
        '  - listitem [ref=e12]: One',
        '- iframe [ref=e13]',
        '  - link "In \\"it\\"" [ref=f1e2] (/y)',
        '- text: Loose text',
      ].join('\n'),
    );
    assert.equal(snapshotText([], 'http://x/'), '');
  });
});

it('an error of Playwright is shown without its log, but with the reason', () => {
  const covered = new Error(
    "locator.click: Timeout 5000ms exceeded.\nCall log:\n\u001b[2m  - waiting for locator('aria-ref=e3')\u001b[22m\n" +
      '\u001b[2m    - <div id="cover"></div> intercepts pointer events\u001b[22m\n\u001b[2m    - waiting ' +
      '500ms\u001b[22m\n',
  );
  assert.equal(shortMessage(covered), 'Timeout 5000ms exceeded (<div id="cover"></div> intercepts pointer events)');
  assert.match(plainMessage(covered), /^Timeout 5000ms exceeded\.\nCall log:\n {2}- waiting/);
  const thrown = 'ReferenceError: nothing is not defined\n    at eval (eval at evaluate (:1:1))';
  assert.equal(shortMessage(new Error(`page.evaluate: ${thrown}`)), thrown);
  assert.equal(shortMessage('no error'), 'no error');
});
