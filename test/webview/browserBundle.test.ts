// The built-in browser as it is installed: the bundle holds only the used part of its library.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { findProgram } from '../../src/build/system/programs.ts';
import { type StubServer, startStub } from '../support/stubServer.ts';
import { WorkspaceBench } from '../support/workspace.ts';

const PAGE = `<title>Form</title><h1>Order</h1><label>Name <input></label>
  <select aria-label=Size><option>S<option>L</select><input type=file aria-label=Papers>
  <button onclick="alert(1)">Send</button><a href="/file" download>File</a>`;
/** What an agent calls in turn, and what a result contains. */
const CALLS: readonly (readonly [tool: string, args: object, expected: RegExp])[] = [
  ['navigate', { url: '' }, /heading "Order"/],
  ['type', { element: 'Name', ref: 'e4', text: 'Ada' }, /textbox "Name".*Ada/],
  ['select_option', { element: 'Size', ref: 'e5', values: ['L'] }, /option "L" \[selected\]/],
  ['evaluate', { function: '() => document.title + "?"' }, /Form\?/],
  ['click', { element: 'Send', ref: 'e7' }, /1/],
  ['click', { element: 'File', ref: 'e8' }, /Form\.html|download/i],
  ['file_upload', { element: 'Papers', ref: 'e6', paths: ['missing.txt'] }, /missing\.txt/],
  ['take_screenshot', {}, /image\/png|A screenshot/],
  ['tabs', { action: 'new' }, /about:blank/],
];

let bench: WorkspaceBench;
let site: StubServer;

before(async () => {
  bench = new WorkspaceBench();
  site = await startStub((_, __, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE);
  });
});
after(async () => {
  await site[Symbol.asyncDispose]();
  await bench.close();
});

it('runs from the bundle', async () => {
  const calls = CALLS.map(([tool, args]) => {
    const full = 'url' in args ? { url: site.url } : args;
    return `call browser_${tool} ${JSON.stringify(full)}`;
  });
  const file = bench.batch('browse', {
    tools: '[{ builtin: [browser], browser: { private_addresses: true } }]',
    tasks: { one: `${calls.join('\n')}\nanswer 42` },
  });
  const { report, stderr } = await bench.runBatch(file, { CHROME_PATH: findProgram('chromium') ?? '' });
  assert.deepEqual([report.passed, report.attempts], [1, 1], stderr);
  const [row] = await bench.rows(report.batch);
  const results = (await bench.events(row?.rollout ?? '')).flatMap((event) =>
    event.kind === 'message' && event.data.role === 'tool' ? [JSON.stringify(event.data.parts)] : [],
  );
  assert.equal(results.length, CALLS.length);
  for (const [index, [tool, , expected]] of CALLS.entries())
    assert.match((results[index] ?? '').replaceAll('\\"', '"'), expected, `${tool}: ${results[index]}`);
});
