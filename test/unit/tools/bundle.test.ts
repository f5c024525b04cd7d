import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { StudioError } from '../../../src/common/errors.ts';
import type { BundleProblem } from '../../../src/tools/bundle.ts';
import { bundleModule } from '../../../src/tools/bundle.ts';
import { StackMapper } from '../../../src/tools/modules/userStack.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'bundle-'));
});
after(() => rm(folder, { recursive: true }));

const TOOL = `import { tool } from 'rollout-studio';
import { z } from 'zod';
import { add } from './lib/add.ts';
export const sum = tool({
  description: 'Adds.',
  input: z.object({ a: z.number() }),
  run: ({ a }) => add(a, 1),
});
`;

async function workspace(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const root = path.join(folder, name);
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  }
  return root;
}

async function problems(
  root: string,
  file: string,
): Promise<{ message: string; problems: BundleProblem[]; hint: string | undefined }> {
  const error = await bundleModule(path.join(root, file), root).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(StudioError.is(error, 'config'), String(error));
  return { message: error.message, problems: error.details?.['problems'] as BundleProblem[], hint: error.hint };
}

describe('bundleModule', () => {
  it('bundles a workspace without node_modules, to the same bytes in any folder', async () => {
    const one = await workspace('one', {
      'tools/sum.ts': TOOL,
      'tools/lib/add.ts': 'export const add = (a: number, b: number): number => a + b;\n',
    });
    const two = path.join(folder, 'elsewhere/deeper/two');
    await cp(one, two, { recursive: true });
    const [a, b] = [
      await bundleModule(path.join(one, 'tools/sum.ts'), one),
      await bundleModule(path.join(two, 'tools/sum.ts'), two),
    ];
    assert.equal(a.file, 'tools/sum.ts');
    assert.equal(a.bundleSha, b.bundleSha);
    assert.equal(a.mapSha, b.mapSha);
    const text = Buffer.from(a.code).toString();
    assert.ok(
      !text.includes(folder) && !text.includes(import.meta.dirname.split(path.sep).slice(0, 3).join(path.sep)),
      'no path of this machine',
    );
    assert.doesNotMatch(text, /^import .* from ["'](?!node:)/m);
  });

  it("has a source map of only the user's files", async () => {
    const root = path.join(folder, 'one');
    const bundle = await bundleModule(path.join(root, 'tools/sum.ts'), root);
    const map = JSON.parse(Buffer.from(bundle.map).toString()) as { sources: string[]; sourcesContent: string[] };
    const own = map.sources.filter((source) => !source.endsWith('~library'));
    assert.deepEqual(own.sort(), ['tools/lib/add.ts', 'tools/sum.ts']);
    assert.equal(map.sourcesContent[map.sources.indexOf('tools/sum.ts')], TOOL);
    assert.ok(bundle.map.length < 100_000, `${bundle.map.length} bytes`);
  });

  it("maps a bundle's code to its source", async () => {
    const root = path.join(folder, 'one');
    const bundle = await bundleModule(path.join(root, 'tools/sum.ts'), root);
    const lines = Buffer.from(bundle.code).toString().split('\n');
    const line = lines.findIndex((text) => text.includes('add(a, 1)')) + 1;
    const column = (lines[line - 1]?.indexOf('add(a, 1)') ?? 0) + 1;
    const library = lines.findIndex((text) => text.includes('function tool(')) + 2;
    const mapper = new StackMapper(bundle.map, 'file:///x.mjs');
    const stack =
      `Error: no\n    at run (file:///x.mjs:${line}:${column})\n    at file:///x.mjs:${library}:3\n    at other ` +
      `(file:///y.mjs:${line}:${column})\n    at node:internal/timers:1:2`;
    assert.deepEqual(mapper.userStack('no', stack), {
      text: 'no\n    at run (tools/sum.ts:7:19)',
      place: { file: 'tools/sum.ts', line: 7, column: 19 },
    });
    assert.deepEqual(mapper.userStack('no', undefined), { text: 'no', place: undefined });
  });

  it('reports each problem with its place', async () => {
    const root = await workspace('wrong', {
      'syntax.ts': 'export const a = 1;\nexport const ü = = 2;\n',
      'resolve.ts': 'import x from "not-there";\nimport y from "./gone.ts";\nexport const z = [x, y];\n',
    });
    const syntax = await problems(root, 'syntax.ts');
    assert.equal(syntax.message, 'syntax.ts:2:18: Unexpected "=".');
    const resolve = await problems(root, 'resolve.ts');
    assert.deepEqual(
      resolve.problems.map(({ file, line, column }) => [file, line, column]),
      [
        ['resolve.ts', 1, 15],
        ['resolve.ts', 2, 15],
      ],
    );
    assert.match(
      resolve.message,
      /^resolve\.ts:1:15: Could not resolve "not-there"\.\nresolve\.ts:2:15: Could not resolve "\.\/gone\.ts"\.$/,
    );
    assert.match(resolve.hint ?? '', /Install the package in the workspace/);
    assert.equal((await problems(root, 'missing.ts')).message, 'missing.ts: file not found.');
  });

  it('includes a working zod only where it is used', async () => {
    const root = await workspace('zod', {
      'with.ts':
        'import whole, { z, ZodError, string } from "zod";\nimport * as all from "zod";\nconst __zod = ' +
        '"mine";\nexport const a = [z.object({ n: z.number() }).safeParse({ n: "no" }).error instanceof ' +
        'ZodError, all.string().parse("x"), whole.int().parse(2), ' +
        'string().safeParse(3).error?.issues[0]?.message, __zod];\n',
      'without.ts': 'export const a = 1;\n',
    });
    const [using, plain] = await Promise.all(
      ['with.ts', 'without.ts'].map((file) => bundleModule(path.join(root, file), root)),
    );
    const file = path.join(root, 'with.mjs');
    await writeFile(file, using?.code ?? '');
    const loaded = (await import(pathToFileURL(file).href)) as { a: unknown };
    assert.deepEqual(loaded.a, [true, 'x', 2, 'Invalid input: expected string, received number', 'mine']);
    assert.ok((plain?.code.length ?? 0) < 1_000, `${plain?.code.length} bytes`);
  });

  it('refuses native add-ons', async () => {
    const root = await workspace('native', {
      'a.ts': 'import n from "./n.node";\nexport const a = n;\n',
      'n.node': 'ELF',
    });
    assert.match((await problems(root, 'a.ts')).message, /n\.node is a native add-on/);
  });

  it('uses the zod of a workspace that has one, and its packages', async () => {
    const root = await workspace('own', {
      'node_modules/zod/package.json': '{"name":"zod","version":"9.9.9","main":"index.js","type":"module"}',
      'node_modules/zod/index.js': 'export const z = { object: () => "own zod" };',
      'node_modules/words/package.json': '{"name":"words","main":"index.cjs"}',
      'node_modules/words/index.cjs':
        'const path = require("node:path"); module.exports = { word: path.basename("a/word") };',
      'a.ts':
        'import { z } from "zod"; import { word } from "words";\nimport text from "./t.sql";\nexport const a = ' +
        '[z.object({} as never), word, text];\n',
      't.sql': 'select 1',
    });
    const bundle = await bundleModule(path.join(root, 'a.ts'), root);
    const loaded = (await import(
      `data:text/javascript,${encodeURIComponent(
        Buffer.from(bundle.code).toString().replace('import.meta.url', '"file:///x.mjs"'),
      )}`
    )) as { a: unknown };
    assert.deepEqual(loaded.a, ['own zod', 'word', 'select 1']);
  });

  it("uses its own zod when the workspace's is too old for tools; packages keep theirs", async () => {
    const root = await workspace('old', {
      'node_modules/zod/package.json': '{"name":"zod","version":"3.25.76","main":"index.js","type":"module"}',
      'node_modules/zod/index.js': 'export const z = { object: () => "old zod" };',
      'node_modules/words/package.json': '{"name":"words","main":"index.js","type":"module"}',
      'node_modules/words/index.js': 'import { z } from "zod"; export const word = z.object();',
      'a.ts':
        'import { z } from "zod"; import { word } from "words";\n' +
        'export const a = [z.object({ n: z.int() }).safeParse({ n: 1.5 }).success, "jsonSchema" in ' +
        'z.object({})["~standard"], word];\n',
    });
    const bundle = await bundleModule(path.join(root, 'a.ts'), root);
    const file = path.join(root, 'a.mjs');
    await writeFile(file, bundle.code);
    assert.deepEqual(((await import(pathToFileURL(file).href)) as { a: unknown }).a, [false, true, 'old zod']);
  });
});
