import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyEvents } from '../../../../src/tools/builtins/browser/keys.ts';
import {
  type AccessibleNode,
  accessibleNode,
  nodeOf,
  refOf,
  snapshotText,
} from '../../../../src/tools/builtins/browser/snapshot.ts';

function node(
  nodeId: string,
  role: string,
  name: string,
  childIds: string[] = [],
  more: Record<string, unknown> = {},
): AccessibleNode {
  return accessibleNode.parse({
    nodeId,
    role: { type: 'role', value: role },
    name: { type: 'computedString', value: name },
    childIds,
    backendDOMNodeId: Number(nodeId),
    ...more,
  });
}
const property = (name: string, value: unknown): unknown => ({ name, value: { type: 'x', value } });

describe('a snapshot', () => {
  it('tells what can be used, with refs and states, and no text twice', () => {
    const text = snapshotText([
      {
        owner: undefined,
        nodes: [
          node('1', 'RootWebArea', 'Page', ['2', '9']),
          node('2', 'generic', '', ['3', '5', '6', '7', '8']),
          node('3', 'heading', 'Hello  you', ['4'], { properties: [property('level', 1)] }),
          node('4', 'StaticText', 'Hello you'),
          node('5', 'checkbox', 'Agree', [], {
            properties: [property('checked', 'true'), property('disabled', false), property('labelledby', undefined)],
          }),
          node('6', 'textbox', 'Name', ['61'], { value: { type: 'string', value: 'Ada' } }),
          node('61', 'StaticText', 'Ada'),
          node('7', 'link', 'On', [], { properties: [property('url', 'http://x/')] }),
          node('8', 'button', 'Hidden', [], { ignored: true }),
          node('9', 'Iframe', ''),
        ],
      },
      { owner: 9, nodes: [node('1', 'RootWebArea', '', ['20']), node('20', 'button', 'In "it"')] },
    ]);
    assert.equal(
      text,
      [
        '- heading "Hello you" [level=1] [ref=e3]',
        '- checkbox "Agree" [checked] [ref=e5]',
        '- textbox "Name" [ref=e6]: Ada',
        '- link "On" [ref=e7] (http://x/)',
        '- iframe [ref=e9]',
        '  - button "In \\"it\\"" [ref=e20]',
      ].join('\n'),
    );
    assert.deepEqual([nodeOf(refOf(12)), nodeOf('12'), nodeOf('e1x')], [12, undefined, undefined]);
  });
});

it('keys are told as a keyboard does', () => {
  const told = (key: string): unknown =>
    keyEvents(key)?.map(({ type, key: name, code, text, modifiers, commands }) => [
      type,
      name,
      code,
      text,
      modifiers,
      commands,
    ]);
  assert.deepEqual(told('a'), [
    ['keyDown', 'a', 'KeyA', 'a', 0, undefined],
    ['keyUp', 'a', 'KeyA', undefined, 0, undefined],
  ]);
  assert.deepEqual(told('Enter'), [
    ['keyDown', 'Enter', 'Enter', '\r', 0, undefined],
    ['keyUp', 'Enter', 'Enter', undefined, 0, undefined],
  ]);
  assert.deepEqual(told('Control+a'), [
    ['rawKeyDown', 'a', 'KeyA', undefined, 2, ['selectAll']],
    ['keyUp', 'a', 'KeyA', undefined, 2, undefined],
  ]);
  assert.deepEqual(
    [told('+') === undefined, told('Shift++') === undefined, told('Nokey'), told('Foo+a')],
    [false, false, undefined, undefined],
  );
});
