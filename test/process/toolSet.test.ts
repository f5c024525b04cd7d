// Rollouts that use each built-in tool against a real counterpart, from the bundles: the trajectory has what the model
// receives.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { BUILTINS } from '../../src/config/schema/toolEntry.ts';
import { isInstalled } from '../../src/executor/local/programs.ts';
import { docxFile, PNG, pdfFile, pptxFile, wavFile, workbookFile } from '../support/officeFiles.ts';
import { type StubServer, startStub } from '../support/stubServer.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

/** CI's other suites have a browser; here one is used if it exists. */
const chromium = isInstalled('chromium');

let demo: WatchedDemo;
let services: StubServer;
let workspace: Workspace;
const heard: string[] = [];

before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
  services = await startStub(({ url = '', headers }, body, response) => {
    const pathname = new URL(url, 'http://x').pathname;
    heard.push(`${pathname} ${headers.authorization ?? ''}`.trim());
    const answers: Readonly<Record<string, string>> = {
      '/search': JSON.stringify({ results: [{ title: 'Gulls', url: `${services.url}/gulls`, content: 'They fly.' }] }),
      '/v1/chat/completions': JSON.stringify({
        choices: [{ message: { content: `A picture of ${body.length > 100 ? 'something' : 'nothing'}.` } }],
      }),
      '/v1/audio/transcriptions': JSON.stringify({ text: 'Meet me at noon.' }),
      '/gulls':
        '<title>Gulls</title><main><h1>Gulls</h1><p>There are 54 kinds of ' +
        'gulls.</p></main><script>document.body.append("Counted by a script.")</script>',
    };
    const answer = answers[pathname];
    if (pathname === '/gulls') response.setHeader('content-type', 'text/html');
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  mkdirSync(workspace.path('files'));
  for (const [name, bytes] of Object.entries({
    'sales.xlsx': workbookFile(),
    'a.pdf': pdfFile('one', 'two'),
    'a.docx': docxFile(),
    'a.pptx': pptxFile(),
    'a.wav': wavFile(),
    'a.png': PNG,
  }))
    writeFileSync(workspace.path('files', name), bytes);
});
after(async () => {
  await workspace.close();
  await services[Symbol.asyncDispose]();
  await demo.close();
});

it('every built-in tool is used by a rollout', { timeout: 120_000 }, async (test) => {
  if (!chromium) test.diagnostic('the browser is left out: there is no Chromium, Chrome or Edge here');
  const call = (name: string, args: object): string => `call ${name} ${JSON.stringify(args)}`;
  const endpoint = `${services.url}/v1`;
  const tasks = [
    {
      id: 'spreadsheet',
      files: ['files/sales.xlsx'],
      answer: '26',
      script: [
        call('read_data_from_excel', {
          filepath: 'files/sales.xlsx',
          sheet_name: 'Sales',
          start_cell: 'B4',
          end_cell: 'C4',
        }),
        call('write_data_to_excel', {
          filepath: 'files/sales.xlsx',
          sheet_name: 'Sales',
          start_cell: 'B2',
          data: [[9]],
        }),
        call('extract_excel_content', { file_path: 'files/sales.xlsx', sheet_names: ['Sales'] }),
        call('apply_formula', { filepath: 'files/sales.xlsx', sheet_name: 'Sales', cell: 'E1', formula: '=C4' }),
      ],
    },
    {
      id: 'documents',
      files: ['files/a.pdf', 'files/a.docx', 'files/a.pptx'],
      answer: 'Penguins',
      script: ['pdf', 'docx', 'pptx'].map((kind) => call('extract_document_content', { file_path: `files/a.${kind}` })),
    },
    {
      id: 'search',
      answer: '54 kinds',
      script: [call('search', { query: 'gulls' }), call('read_webpage', { url: `${services.url}/gulls` })],
    },
    {
      id: 'media',
      files: ['files/a.png', 'files/a.wav'],
      answer: 'noon',
      script: [
        call('image_recognition', { image_urls: ['files/a.png'], question: 'What?' }),
        call('transcribe_audio', { audio_urls: ['files/a.wav'] }),
      ],
    },
    {
      id: 'machine',
      answer: '1764',
      script: [
        call('calculate', { expression: '6 * 7' }),
        call('write_file', { path: 'n.txt', content: '42' }),
        call('execute_command', { command: 'echo hello' }),
        call('read_file', { path: 'n.txt' }),
        call('list_files', {}),
        call('run_code', { code: 'console.log(Number(require("fs").readFileSync("n.txt", "utf8")) ** 2)' }),
      ],
    },
    ...(!chromium
      ? []
      : [
          {
            id: 'browser',
            answer: 'Counted by a script',
            script: [
              call('browser_navigate', { url: `${services.url}/gulls` }),
              call('browser_take_screenshot', {}),
              call('browser_snapshot', {}),
            ],
          },
        ]),
  ];
  const file = workspace.batch('set', {
    endpoint: demo.url,
    agent: {
      tools: [
        {
          builtin: BUILTINS.filter((name) => chromium || name !== 'browser'),
          search: { provider: 'searxng', url: services.url, private_addresses: true },
          vision: { endpoint, model: 'seer', api_key: '${env:MEDIA_KEY}' },
          audio: { endpoint, model: 'whisper' },
          ...(chromium ? { browser: { private_addresses: true } } : {}),
        },
      ],
    },
    tasks: tasks.map(({ script, ...task }) => ({ ...task, question: [...script, 'answer {{last}}'].join('\n') })),
  });
  process.env['MEDIA_KEY'] = 'a-key-nobody-sees';
  const report = await workspace.json<{ batch: string; passed: number; attempts: number }>('run', file);
  const rows = await workspace.rows(report.batch);
  const transcripts = new Map<string, string>();
  for (const { task, rollout } of rows) {
    const events = await workspace.events(rollout);
    assert.deepEqual(
      ofKind(events, 'tool.end').flatMap(({ data }) => (data.error === undefined ? [] : [data.error])),
      [],
      task,
    );
    assert.doesNotMatch(JSON.stringify(events), /a-key-nobody-sees/);
    transcripts.set(
      task,
      `${JSON.stringify(
        ofKind(events, 'message')
          .filter(({ data }) => data.role === 'tool')
          .map(({ data }) => data.parts),
      )} ${JSON.stringify(endOf(events).answer)}`,
    );
  }
  assert.deepEqual([report.passed, report.attempts], [tasks.length, tasks.length], JSON.stringify([...transcripts]));
  const has = (task: string, ...texts: readonly string[]): void => {
    for (const text of texts)
      assert.ok(transcripts.get(task)?.includes(text), `${task}: ${text}\n${transcripts.get(task) ?? ''}`);
  };
  has('spreadsheet', '[[6.5,13]]', '| 4 |  | 13 | 26 | #N/A |', '"value":26');
  has('documents', '--- page 2 of 2 ---\\\\ntwo'.replaceAll('\\\\', '\\'), 'The answer is 42', '# Penguins');
  has('search', 'They fly.', 'There are 54 kinds of gulls.');
  has('media', 'A picture of something.', 'Meet me at noon.');
  has('machine', '"n.txt"', '1764');
  if (chromium) has('browser', 'heading \\"Gulls\\" [level=1]', 'image/png', 'Counted by a script.');
  assert.ok(heard.includes('/v1/chat/completions Bearer a-key-nobody-sees'), heard.join('\n'));
});
