import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBatch } from '../../../src/config/load.ts';
import { needsOf } from '../../../src/config/needs.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { type Submission, submittedTools } from '../../../src/config/submission.ts';
import { chromiumPlaces } from '../../../src/config/tools/chromium.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { FILES } from './sample.ts';

const AGENT = 'agents/desk.agent.yaml';

/** Problems of an agent with only these tools. */
async function problems(tools: string, target = 'local'): Promise<string[]> {
  const files = {
    ...FILES,
    [AGENT]: `version: 1\nname: desk\nmodel: { endpoint: "http://x/v1", name: m }\nprompt: p\ntools:\n${tools}\n`,
    'batches/nightly.batch.yaml':
      `version: 1\nagent: ../${AGENT}\ndataset: { file: ../data/tasks.jsonl }\nscorer: { kind: exact }\ntarget: ` +
      `${target}\n`,
  };
  return (await loadBatch(memoryFiles(files), 'batches/nightly.batch.yaml')).problems
    .map((problem) => formatProblem(problem, '/w'))
    .filter((text) => text.startsWith('agents/'));
}

describe('settings of built-in sets', () => {
  it('are next to their set', async () => {
    assert.deepEqual(
      await problems(
        [
          '  - builtin: [terminal, search, browser]',
          '    search: { provider: brave, api_key: "${env:BRAVE_KEY}" }',
          '    browser: { private_addresses: true }',
          '  - { builtin: [vision, audio], vision: { endpoint: "http://x/v1", model: v }, audio: { endpoint: ' +
            '"${env:WHISPER}", model: w } }',
        ].join('\n'),
      ),
      [],
    );
  });

  it('are reported when they are missing, wrong, or meaningless', async () => {
    assert.deepEqual(
      await problems('  - builtin: [files, search]\n  - builtin: [calculator]\n    vision: { endpoint: x, model: y }'),
      [
        'agents/desk.agent.yaml:6:22: the built-in `search` needs settings under `search` — Add `search: { ' +
          'provider: brave, api_key: "${env:BRAVE_KEY}" }`. Other providers are google and searxng.',
        'agents/desk.agent.yaml:8:13: `vision` requires `builtin: [vision]` — Add vision to `builtin`, or remove ' +
          '`vision`.',
      ],
    );
    assert.deepEqual(
      (await problems('  - builtin: [search]\n    search: { provider: google, url: x }')).map((text) =>
        text.replace(/^.*?: /, ''),
      ),
      [
        '`google` needs `api_key` — Add `api_key: ${env:SEARCH_KEY}`.',
        '`google` needs `engine` — Add `engine:` with the ID of your Programmable Search Engine.',
      ],
    );
    assert.match(
      (await problems('  - builtin: [search]\n    search: { provider: bing }')).join('\n'),
      /`tools\[0\]\.search\.provider` must be one of google, brave, searxng/,
    );
    assert.match(
      (await problems('  - builtin: [search]\n    search: { provider: brave, api_key: BSA4f8Kd02jLm93Qx7Zt }')).join(
        '\n',
      ),
      /secret/,
    );
    assert.match(
      (await problems('  - mcp: { command: npx }\n    browser: {}')).join('\n'),
      /`browser` requires `builtin: \[browser\]`/,
    );
  });

  it('are part of the submission', () => {
    const entry = {
      kind: 'builtin',
      name: 'search',
      settings: { search: { provider: 'searxng', url: 'http://x' } },
    } as const;
    assert.deepEqual(submittedTools.parse(entry), entry);
  });
});

describe('the built-in browser', () => {
  it('needs Chromium, which pods declare', async () => {
    const submission = {
      agent: {
        file: 'a.agent.yaml',
        tools: [
          { kind: 'builtin', name: 'browser' },
          { kind: 'builtin', name: 'files' },
        ],
      },
    } as unknown as Submission;
    assert.deepEqual(needsOf(submission), [
      { name: 'chromium', of: 'the built-in browser', declared: true, at: 'a.agent.yaml' },
    ]);
    assert.match(
      (await problems('  - builtin: [files, browser]', 'gpu')).join('\n'),
      /^agents\/desk\.agent\.yaml:6:22: the built-in browser needs chromium, which the image of the pods does not have/,
    );
  });

  it('is looked for where the documentation says', () => {
    const linux = chromiumPlaces(
      'linux',
      { CHROME_PATH: '/opt/c', PATH: '/bin:/usr/bin', HOME: '/home/a' },
      (folder) => (folder === '/home/a/.cache/ms-playwright' ? ['chromium-999', 'chromium-1200', 'firefox-1'] : []),
    );
    assert.deepEqual([linux[0], linux[1]], ['/opt/c', '/bin/chromium']);
    assert.deepEqual(linux.filter((file) => file.includes('ms-playwright')).slice(0, 2), [
      '/home/a/.cache/ms-playwright/chromium-1200/chrome-linux/chrome',
      '/home/a/.cache/ms-playwright/chromium-1200/chrome-linux64/chrome',
    ]);
    assert.ok(
      chromiumPlaces('darwin', { HOME: '/Users/a' }, () => []).includes(
        '/Users/a/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      ),
    );
    assert.ok(
      chromiumPlaces('win32', { PROGRAMFILES: 'C:\\Program Files' }, () => []).some((file) =>
        file.endsWith('/Microsoft/Edge/Application/msedge.exe'),
      ),
    );
  });
});
