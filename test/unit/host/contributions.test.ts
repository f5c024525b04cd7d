/** The manifest's tables agree with each other and with the code. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../../src/host/contributions/commands.ts';
import { keybindings } from '../../../src/host/contributions/keybindings.ts';
import { CONTEXT_KEYS } from '../../../src/host/contributions/keys.ts';
import { menus } from '../../../src/host/contributions/menus.ts';
import { PAGE_VIEW_TYPE, VIEW_IDS, VIEW_KEYS } from '../../../src/host/contributions/names.ts';
import { configuration, DEFAULTS, SECTION } from '../../../src/host/contributions/settings.ts';
import { views, viewsWelcome } from '../../../src/host/contributions/views.ts';
import { walkthroughs } from '../../../src/host/contributions/walkthrough.ts';
import { manifest } from '../../../src/host/contributions.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const sources = globSync('src/host/**/*.ts', { cwd: root }).map((file) => ({
  file,
  text: readFileSync(path.join(root, file), 'utf8'),
}));
const code = sources
  .filter(({ file }) => !file.split(path.sep).includes('contributions'))
  .map(({ text }) => text)
  .join('\n');
const ids = Object.keys(COMMANDS);

test('every command of the table is registered once, and no other is', () => {
  const groups = [...code.matchAll(/\bregisterGroup\(\s*register,\s*\[([^\]]+)\]/g)]
    .map((match) => match[1] ?? '')
    .join();
  const registered = [
    ...code.matchAll(/\bregister\(\s*'(rollout\.\w+)'/g),
    ...groups.matchAll(/'(rollout\.\w+)'/g),
  ].map((match) => match[1] ?? '');
  assert.deepEqual(registered.toSorted(), ids.toSorted());
});

test('every command that the code or a text calls exists', () => {
  const texts = [JSON.stringify(viewsWelcome), JSON.stringify(walkthroughs), code].join('\n');
  const called = [...texts.matchAll(/command:(rollout\.\w+)|executeCommand\('(rollout\.\w+)'/g)].map(
    (match) => match[1] ?? match[2] ?? '',
  );
  assert.ok(called.length > 5);
  assert.deepEqual(
    called.filter((id) => !ids.includes(id)),
    [],
  );
});

test('every menu, key, and palette entry names a command, and the palette has a condition for each', () => {
  for (const [menu, items] of Object.entries(menus)) {
    for (const item of items) {
      assert.ok(ids.includes(item.command), `${menu}: ${item.command}`);
      assert.notEqual(item.when, '', `${menu}: ${item.command} is shown always`);
    }
  }
  assert.deepEqual((menus['commandPalette'] ?? []).map(({ command }) => command).toSorted(), ids.toSorted());
  for (const { command } of keybindings) assert.ok(ids.includes(command));
});

test('commands that run something are never shown in Restricted Mode', () => {
  const harmless = new Set(
    [
      'showTeam',
      'newAgent',
      'newTool',
      'newBatch',
      'showLog',
      'restartLanguageServer',
      'collectDiagnostics',
      'copyReference',
      'refresh',
      'openBatch',
      'openTrajectory',
      'openWorld',
      'openWorldFile',
    ].map((name) => `rollout.${name}`),
  );
  for (const [menu, items] of Object.entries(menus)) {
    for (const { command, when } of items) {
      // In Restricted Mode the tree has no items.
      if (when === 'false' || harmless.has(command) || menu === 'view/item/context') continue;
      for (const alternative of when.split('||'))
        assert.match(alternative, /\bisWorkspaceTrusted\b/, `${menu}: ${command} when ${when}`);
    }
  }
});

test('the walkthrough quotes code with two backticks: VS Code shows single ones as they are', () => {
  for (const { description } of walkthroughs.flatMap(({ steps }) => steps))
    assert.doesNotMatch(description, /(?<!`)`(?!`)/);
});

test('context keys of when clauses are set by the code', () => {
  const clauses = [
    ...Object.values(menus)
      .flat()
      .map(({ when }) => when),
    ...viewsWelcome.map(({ when }) => when),
  ].join(' ');
  const declared = [
    ...Object.values(CONTEXT_KEYS),
    ...Object.values(VIEW_KEYS),
    ...Object.values(VIEW_IDS),
  ] as string[];
  for (const [key] of clauses.matchAll(/rollout\.\w+/g)) assert.ok(declared.includes(key), key);
  for (const [name, key] of [...Object.entries(CONTEXT_KEYS), ...Object.entries(VIEW_KEYS)]) {
    assert.ok(
      code.includes(`'${key}'`) || new RegExp(`(CONTEXT_KEYS|VIEW_KEYS)\\.${name}\\b`).test(code),
      `nothing sets ${key}`,
    );
  }
});

test('every setting has a default of its type and a description', () => {
  const properties: [
    string,
    { readonly type: string; readonly default: unknown; readonly markdownDescription: string },
  ][] = configuration.flatMap((concern) => Object.entries(concern.properties as Record<string, never>));
  assert.deepEqual(
    properties.map(([name]) => name).toSorted(),
    Object.keys(DEFAULTS)
      .map((name) => `${SECTION}.${name}`)
      .toSorted(),
  );
  for (const [name, property] of properties) {
    assert.equal(property.type === 'integer' ? 'number' : property.type, typeof property.default, name);
    assert.ok(property.markdownDescription.length > 20, name);
  }
});

test('files that the manifest names exist, and every view has a text for when it is empty', () => {
  const named = [...JSON.stringify(manifest).matchAll(/"(?:\.\/)?(media\/[^"]+)"/g)].map((match) => match[1] ?? '');
  assert.ok(named.length > 5);
  assert.deepEqual(
    named.filter((file) => !existsSync(path.join(root, file))),
    [],
  );
  for (const { id } of Object.values(views).flat())
    assert.ok(
      viewsWelcome.some(({ view }) => view === id),
      id,
    );
});

test('a stored page activates the extension', () => {
  assert.ok((manifest['activationEvents'] as string[]).includes(`onWebviewPanel:${PAGE_VIEW_TYPE}`));
  for (const call of ['createWebviewPanel', 'registerWebviewPanelSerializer'])
    assert.match(code, new RegExp(`${call}\\(\\s*PAGE_VIEW_TYPE,`));
});
