// What is checked again after a change, and the reported problems.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Files } from '../../../../src/config/files.ts';
import type { Problem } from '../../../../src/config/source/problem.ts';
import { checkFile } from '../../../../src/language/diagnostics/check.ts';
import { Checker } from '../../../../src/language/diagnostics/checker.ts';
import { NO_FACTS } from '../../../../src/language/workspace/facts.ts';
import { Workspace } from '../../../../src/language/workspace.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';
import { DESK, workspaceOf } from '../workspaceKit.ts';

const [DESK_AGENT, INLINE, ONE, TWO] = [
  '/w/agents/desk.agent.yaml',
  '/w/agents/inline.agent.yaml',
  '/w/batches/one.batch.yaml',
  '/w/batches/two.batch.yaml',
];
const PROMPT = '/w/prompts/desk.md';

interface Kit {
  readonly workspace: Workspace;
  readonly checker: Checker;
  readonly published: Map<string, readonly Problem[]>;
  /** Files whose problems were reported since the last call. */
  readonly news: () => string[];
  /** Files that were read from the disk since the last call. */
  readonly read: () => string[];
}

async function kitOf(files: Readonly<Record<string, string>> = DESK): Promise<Kit> {
  const memory = memoryFiles(files);
  let reads: string[] = [];
  const disk: Files = { ...memory, readText: (path) => (reads.push(path), memory.readText(path)) };
  const workspace = new Workspace(disk, ['/w']);
  const published = new Map<string, readonly Problem[]>();
  const news: string[] = [];
  const checker = new Checker(workspace, {
    publish: (file, problems) => {
      published.set(file, problems);
      news.push(file);
    },
    failed: (file, thrown) => assert.fail(`${file}: ${String(thrown)}`),
  });
  await checker.checkAll();
  await checker.settled();
  return {
    workspace,
    checker,
    published,
    news: () => news.splice(0).sort(),
    read: () => {
      const all = reads;
      reads = [];
      return all;
    },
  };
}

const summaries = (problems: readonly Problem[] | undefined): string[] =>
  (problems ?? []).map(({ code, line }) => `${code} ${line}`);

describe('the checks of a workspace', () => {
  it('report problems once, at their place, however many files lead there', async () => {
    const { published, news } = await kitOf({
      ...DESK,
      [PROMPT]: 'For {{task.meta.town}}.\n',
      [DESK_AGENT]: (DESK[DESK_AGENT] ?? '').replace('answer:', 'anwser:'),
    });
    assert.deepEqual(news(), [DESK_AGENT, PROMPT, '/w/worlds/library.world.yaml'].sort());
    assert.deepEqual(summaries(published.get(PROMPT)), ['placeholder 1']);
    assert.deepEqual(summaries(published.get(DESK_AGENT)), ['unknown_key 7']);
  });

  it('read no unchanged file again, and touch only what depends on the change', async () => {
    const { workspace, checker, published, news, read } = await kitOf();
    news();
    read();
    workspace.edit(PROMPT, 'For {{task.meta.town}}.\n', 1);
    await checker.changed([PROMPT], { typed: true });
    await checker.settled();
    assert.deepEqual(news(), [PROMPT]);
    assert.deepEqual(summaries(published.get(PROMPT)), ['placeholder 1']);
    assert.deepEqual(read(), []);
    workspace.edit(PROMPT, 'For {{task.meta.city}}.\n', 2);
    await checker.changed([PROMPT], { typed: true });
    await checker.settled();
    assert.deepEqual(published.get(PROMPT), []);
  });

  it('notice created and deleted files', async () => {
    const files: Record<string, string> = { ...DESK, [TWO]: (DESK[TWO] ?? '').replace('inline.agent', 'later.agent') };
    const { workspace, checker, published } = await kitOf(files);
    assert.deepEqual(summaries(published.get(TWO)), ['file 2']);
    workspace.edit('/w/agents/later.agent.yaml', DESK[INLINE] ?? '', 1);
    await checker.changed(['/w/agents/later.agent.yaml'], { typed: true });
    await checker.settled();
    assert.deepEqual(published.get(TWO), []);
    workspace.close('/w/agents/later.agent.yaml');
    await checker.changed(['/w/agents/later.agent.yaml'], { typed: false });
    await checker.settled();
    assert.deepEqual(summaries(published.get(TWO)), ['file 2']);
  });

  it('drop problems of an outdated text', async () => {
    const { workspace, checker, published } = await kitOf();
    const text = DESK[ONE] ?? '';
    for (let version = 1; version <= 20; version++) {
      workspace.edit(ONE, version % 2 === 1 ? `${text}x${version}: 1\n` : text, version);
      void checker.changed([ONE], { typed: true });
      await Promise.resolve();
    }
    await checker.settled();
    assert.deepEqual(published.get(ONE), []);
  });
});

describe('names that other files define', () => {
  const codes = async (files: Readonly<Record<string, string>>, file: string, facts = NO_FACTS): Promise<string[]> =>
    (await checkFile(workspaceOf({ ...DESK, ...files }, facts), file)).problems.map(
      ({ code, line, severity, hint }) => `${code} ${line} ${severity} ${hint}`,
    );

  it('include tools of a module and of a server; a world may add more', async () => {
    const wrong = { [INLINE]: `${DESK[INLINE] ?? ''}answer: { tool: find_book }\n` };
    assert.deepEqual(await codes(wrong, INLINE), ['unknown_tool 8 warning Did you mean `find_books`?']);
    assert.deepEqual(
      await codes(
        { ...wrong, [TWO]: (DESK[TWO] ?? '').replace('dataset:', 'world: ../worlds/library.world.yaml\ndataset:') },
        INLINE,
      ),
      [],
    );
    const server = {
      [INLINE]:
        'version: 1\nname: a\nmodel: { endpoint: "demo:", name: m }\nprompt: Go.\ntools:\n  - mcp: { command: ' +
        'uvx }\n    tools: [loook]\n',
    };
    assert.deepEqual(await codes(server, INLINE), []);
    assert.deepEqual(await codes(server, INLINE, { ...NO_FACTS, mcpTools: () => [{ name: 'look' }] }), [
      'unknown_tool 7 warning Did you mean `look`?',
    ]);
  });
  it('include functions of modules', async () => {
    const scored = (more: string): Record<string, string> => ({
      [TWO]: (DESK[TWO] ?? '').replace('{ kind: exact }', `{ kind: module, module: s.ts${more} }`),
      '/w/batches/s.ts': 'export const scored = () => 1;\n',
    });
    assert.deepEqual(await codes(scored(''), TWO), ['unknown_export 6 error It exports scored.']);
    assert.deepEqual(await codes(scored(', export: score'), TWO), ['unknown_export 6 error Did you mean `scored`?']);
    assert.deepEqual(await codes(scored(', export: scored'), TWO), []);
  });
  it('exclude models that an endpoint does not serve', async () => {
    assert.deepEqual(await codes({}, INLINE, { ...NO_FACTS, models: () => ['other'] }), [
      'not_served 3 warning Available models: other.',
    ]);
    assert.deepEqual(await codes({}, INLINE, { ...NO_FACTS, models: () => ['m'] }), []);
    const seeing = {
      [INLINE]:
        'version: 1\nname: a\nmodel: { endpoint: "demo:", name: m }\nprompt: Go.\ntools:\n  - builtin: ' +
        '[vision]\n    vision: { endpoint: "http://gpu:8000/v1", model: seee }\n',
    };
    assert.deepEqual(
      await codes(seeing, INLINE, {
        ...NO_FACTS,
        models: ({ endpoint }) => (endpoint === 'http://gpu:8000/v1' ? ['see'] : undefined),
      }),
      ['not_served 7 warning Did you mean `see`?'],
    );
    const queriedFor = async (entry: string): Promise<string[]> => {
      const endpoints: string[] = [];
      await codes({ [INLINE]: (seeing[INLINE] ?? '').replace('builtin: [vision]', entry) }, INLINE, {
        ...NO_FACTS,
        models: ({ endpoint }) => {
          endpoints.push(endpoint);
          return ['other'];
        },
      });
      return endpoints;
    };
    assert.deepEqual(await queriedFor('builtin: [calculator, vision]'), ['http://gpu:8000/v1']);
    for (const entry of ['builtin: [audio]', 'mcp: playwright', 'module: tools/words.ts'])
      assert.deepEqual(await queriedFor(entry), [], entry);
  });
});
