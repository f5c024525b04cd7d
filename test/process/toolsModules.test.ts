// Modules of tools in their threads: input, output, and cost.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { bundleModule } from '../../src/tools/bundle.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import type { ToolBench } from '../support/tools.ts';
import { callContext, callTool, toolBench } from '../support/tools.ts';

let bench: ToolBench;
let tools: ToolHost;

before(async () => {
  process.env['SECRET'] = 'do not tell';
  bench = await toolBench();
  tools = await openTools([{ kind: 'module', module: await bench.module('hostile.ts') }], bench.environment);
});
after(() => bench.close());

/** Opens a module with this source. Returns the error when that fails. */
async function openSource(source: string, file = 'tools.ts'): Promise<ToolHost> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'module-'));
  try {
    await writeFile(path.join(folder, file), source);
    const bundle = await bundleModule(path.join(folder, file), folder);
    const blobs = new Map([
      [bundle.bundleSha, bundle.code],
      [bundle.mapSha, bundle.map],
    ]);
    return await openTools(
      [{ kind: 'module', module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha } }],
      { ...bench.environment, readBlob: (sha) => Promise.resolve(blobs.get(sha) ?? new Uint8Array()) },
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('a module of tools', () => {
  it('reports name, schema, effect, and place of each', () => {
    const spec = tools.specs.find((candidate) => candidate.name === 'fine');
    assert.deepEqual(spec, {
      name: 'fine',
      description: 'Adds two numbers.',
      effect: 'pure',
      sessionBound: false,
      parameters: {
        type: 'object',
        properties: { a: { type: 'integer' }, b: { type: 'integer', default: 2 } },
        required: ['a'],
      },
      from: { kind: 'module', name: 'hostile.ts' },
      place: { file: 'hostile.ts', line: 7, column: 21 },
    });
    assert.equal(tools.specs.find((candidate) => candidate.name === 'throws')?.effect, 'irreversible');
  });

  it('gets seed, working directory, and the allowed environment, and its output is captured', async () => {
    const context = callContext();
    const outcome = await callTool(tools, 'talks', {}, context);
    assert.deepEqual(outcome.response, { seed: 7, cwd: bench.cwd, secret: null, path: true });
    assert.deepEqual(context.logs.join('').replaceAll(/(out|err): /g, ''), 'logged\nto stderr\nhalf way\n');
    assert.equal(context.progress, 1);
  });

  it('may return images', async () => {
    const outcome = await callTool(tools, 'picture');
    assert.deepEqual(outcome, {
      response: 'see',
      parts: [{ type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AQID' }],
    });
  });

  it('is refused for a missing name', async () => {
    await assert.rejects(
      callTool(tools, 'nothing'),
      (error) => error instanceof ClassedError && error.class === 'unknown_tool',
    );
  });

  for (const [how, exporting] of [
    ['module.exports', 'module.exports = { double };'],
    ['exports', 'exports.double = double;'],
    ['an interop header', 'Object.defineProperty(exports, "__esModule", { value: true }); exports.double = double;'],
  ] as const) {
    it(`may be CommonJS, with ${how}`, async () => {
      const opened = await openSource(
        `const { tool } = require('rollout-studio');\nconst { z } = require('zod');\n` +
          `const double = tool({ description: 'Doubles.', input: z.object({ n: z.number() }), run: ({ n }) => 2 * n ` +
          `});\n` +
          exporting,
        'tools.js',
      );
      assert.deepEqual(
        opened.specs.map(({ name, place }) => [name, place]),
        [['double', { file: 'tools.js', line: 3, column: 16 }]],
      );
      assert.equal((await callTool(opened, 'double', { n: 4 })).response, 8);
      await opened.close();
    });
  }

  it('runs calls in parallel', async () => {
    const before = performance.now();
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, i) => callTool(tools, 'fine', { a: i })));
    assert.deepEqual(
      outcomes.map((outcome) => outcome.response),
      Array.from({ length: 40 }, (_, i) => ({ sum: i + 2 })),
    );
    assert.ok(performance.now() - before < 2000);
  });

  it('runs calls that compute for long on several threads', async () => {
    const opened = await openSource(`
      import { threadId } from 'node:worker_threads';
      import { tool } from 'rollout-studio';
      import { z } from 'zod';
      export const compute = tool({ description: 'Computes.', input: z.object({}), run: () => {
        for (const end = performance.now() + 300; performance.now() < end; );
        return threadId;
      } });
    `);
    try {
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => callTool(opened, 'compute')));
      assert.ok(new Set(outcomes.map(({ response }) => response)).size > 1);
    } finally {
      await opened.close();
    }
  });

  it('with session: each rollout has its own thread and variables', async () => {
    const source = `
      import { tool } from 'rollout-studio';
      import { z } from 'zod';
      let count = 0;
      export const next = tool({ description: 'Counts.', input: z.object({}), session: true, run: () => ++count });
    `;
    const one = await openSource(source);
    const two = await openSource(source);
    assert.equal(one.specs[0]?.sessionBound, true);
    assert.equal((await callTool(one, 'next')).response, 1);
    assert.equal((await callTool(one, 'next')).response, 2);
    assert.equal((await callTool(two, 'next')).response, 1);
    await one.close();
    const three = await openSource(source);
    assert.equal((await callTool(three, 'next')).response, 1);
    await Promise.all([two.close(), three.close()]);
    await assert.rejects(
      callTool(three, 'next'),
      (error) => error instanceof ClassedError && error.class === 'cancelled',
    );
  });
});

it('a tool that ends a shared thread ends no other call twice, and not the retry of a lost one', async () => {
  const module = await openSource(`
    import { existsSync } from 'node:fs';
    import { tool } from 'rollout-studio';
    import { z } from 'zod';
    const input = z.object({ file: z.string() });
    export const hold = tool({ description: 'Waits for a file.', input, run: async ({ file }) => {
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
      return 'done';
    } });
    export const leave = tool({ description: 'Exits.', input: z.object({}), run: () => process.exit(3) });
    export const quit = tool({ description: 'Exits.', input: z.object({}), run: () => process.exit(4) });
  `);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hold-'));
  /** Returns how a call of `hold` ends next to one of a tool that ends its thread, and that the file is there after. */
  const heldNextTo = async (name: string): Promise<unknown> => {
    const file = path.join(folder, `${name}.${Math.random()}`);
    const held = callTool(module, 'hold', { file }).then(
      ({ response }) => response,
      (error: unknown) => (error instanceof ClassedError ? error.class : error),
    );
    await assert.rejects(callTool(module, name), /process\.exit/);
    await writeFile(file, '');
    return await held;
  };
  try {
    assert.equal(await heldNextTo('leave'), 'infrastructure', 'they share a thread');
    assert.equal(await heldNextTo('quit'), 'done', 'the retry has a thread of its own');
    assert.equal(await heldNextTo('leave'), 'done', 'a tool that ended a thread has threads of its own');
  } finally {
    await module.close();
    await rm(folder, { recursive: true });
  }
});

describe("a tool's definition", () => {
  it('types its result: checked, completed, and reported', async () => {
    const host = await openSource(`import { reply, tool } from 'rollout-studio';
import { z } from 'zod';
const output = z.object({ sum: z.number(), unit: z.string().default('m') });
export const good = tool({ description: 'Adds.', input: z.object({}), effect: 'pure', output, run: () => ({ sum: 3 }) \
});
export const replied = tool({ description: 'Adds.', input: z.object({}), output, run: () => reply({ sum: 4 }, []) });
export const bad = tool({ description: 'Adds.', input: z.object({}), output, run: () => ({ sum: 'three' as unknown as \
number }) });
`);
    assert.deepEqual(host.specs[0]?.output, {
      type: 'object',
      properties: { sum: { type: 'number' }, unit: { type: 'string', default: 'm' } },
      required: ['sum', 'unit'],
      additionalProperties: false,
    });
    assert.deepEqual((await callTool(host, 'good')).response, { sum: 3, unit: 'm' });
    assert.deepEqual((await callTool(host, 'replied')).response, { sum: 4, unit: 'm' });
    await assert.rejects(callTool(host, 'bad'), (error) => {
      assert.ok(error instanceof ClassedError);
      assert.equal(error.class, 'tool_error');
      assert.match(error.message, /^The result does not match `output`: sum: .*string/);
      assert.deepEqual(error.place, { file: 'tools.ts', line: 6, column: 20 });
      return true;
    });
    await host.close();
  });

  it('allows retries if repeating is harmless', async () => {
    const host = await openSource(`import { tool } from 'rollout-studio';
import { z } from 'zod';
export const reads = tool({ description: 'Reads.', input: z.object({}), effect: 'pure', retry: { times: 3 }, run: () \
=> 1 });
export const sets = tool({ description: 'Sets.', input: z.object({}), idempotent: true, retry: { times: 2, \
wait_seconds: 0.5 }, timeout_seconds: 5, run: () => 1 });
`);
    assert.deepEqual(
      host.specs.map(({ retry, idempotent, timeoutSeconds }) => ({ retry, idempotent, timeoutSeconds })),
      [
        { retry: { times: 3, waitMs: 1000 }, idempotent: undefined, timeoutSeconds: undefined },
        { retry: { times: 2, waitMs: 500 }, idempotent: true, timeoutSeconds: 5 },
      ],
    );
    await host.close();
  });
});

describe('a module that does not load is no fault of its own if', () => {
  const unavailable = (source: string, pattern: RegExp) =>
    assert.rejects(openSource(source), (error) => {
      assert.ok(StudioError.is(error, 'unavailable'), String(error));
      assert.match(error.message, pattern);
      return true;
    });

  it('the machine has too few open files', () =>
    unavailable(
      'throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });',
      /^tools\.ts: cannot load the module: EMFILE: too many open files$/,
    ));
  it("the worker's copy of it is gone", () =>
    unavailable(
      'import { rmSync } from "node:fs"; import { fileURLToPath } from "node:url";\n' +
        'rmSync(fileURLToPath(import.meta.url)); throw new Error("as if it had never been there");',
      /^tools\.ts: cannot load the module: as if/,
    ));
});

describe('an unusable module is a config error', () => {
  const refused = (source: string, pattern: RegExp) =>
    assert.rejects(openSource(source), (error) => {
      assert.ok(StudioError.is(error, 'config'), String(error));
      assert.match(error.message, pattern);
      return true;
    });

  it('throws while it loads', () =>
    refused(
      'export const x = 1;\nthrow new Error("not today");',
      /^tools\.ts:2:7: cannot load the module: not today$/,
    ));
  it('exits while it loads', () =>
    refused('process.exit(1);', /^tools\.ts:1:9: cannot load the module: called process\.exit\(1\)$/));
  it('repeats something that must not be repeated', () =>
    refused(
      `import { tool } from 'rollout-studio';\nimport { z } from 'zod';\n\nexport const pay = tool({ ` +
        `description: 'Pays.', input: z.object({}), retry: { times: 2 }, run: () => 1 });`,
      new RegExp(
        '^tools\\.ts:4:20: the tool "pay": `retry` is not allowed, ' +
          'because a retried call might take effect twice\\. .*add `idempotent: true`; .*otherwise remove `retry`$',
      ),
    ));
  it('asks for endless retries', () =>
    refused(
      `import { tool } from 'rollout-studio';\nimport { z } from 'zod';\nexport const read = tool({ description: ` +
        `'Reads.', input: z.object({}), effect: 'pure', retry: { times: 99 }, run: () => 1 });`,
      /^tools\.ts:3:21: the tool "read": `retry\.times` must be a whole number from 1 to 10$/,
    ));
  it('exports no tool', () => refused('export const x = 1;', /^tools\.ts: the module exports no tool/));
  it('has a tool without schema', () =>
    refused(
      'import { tool } from "rollout-studio";\nexport const t = tool({ description: "", input: {} as never, run: ' +
        '() => 1 });',
      /^tools\.ts:2:18: the tool "t": `input` must be a zod object/,
    ));
  for (const schema of ['{ _def: { typeName: "ZodObject" } }', '{ "~standard": { validate: () => ({ value: 1 }) } }'])
    it('has a tool whose schema is of an old zod', () =>
      refused(
        `import { tool } from "rollout-studio";\nexport const t = tool({ description: "", input: ${schema} as never, ` +
          'run: () => 1 });',
        /^tools\.ts:2:18: the tool "t": `input` was created with a zod version before 4\.2; .*install zod 4\.2 or/,
      ));
  it('has a CommonJS tool by default', () =>
    refused(
      'const { tool } = require("rollout-studio"); const { z } = require("zod");\nmodule.exports = tool({ ' +
        'description: "", input: z.object({}), run: () => 1 });',
      /"default" is not a valid tool name/,
    ));
  it('has a tool by default', () =>
    refused(
      'import { tool } from "rollout-studio"; import { z } from "zod";\nexport default tool({ description: "", ' +
        'input: z.object({}), run: () => 1 });',
      /"default" is not a valid tool name/,
    ));
  it('has a tool whose schema is not an object', () =>
    refused(
      'import { tool } from "rollout-studio"; import { z } from "zod";\nexport const t = tool({ description: "", ' +
        'input: z.string() as never, run: () => 1 });',
      /must be a zod object/,
    ));
});

it('two tools of one name are refused', async () => {
  const module = await bench.module('hostile.ts');
  await assert.rejects(
    openTools(
      [
        { kind: 'module', module },
        { kind: 'module', module: { ...module, file: 'other.ts' } },
      ],
      bench.environment,
    ),
    (error) =>
      StudioError.is(error, 'config') &&
      /^Two tools are named "cycle": one from hostile\.ts, one from other\.ts\.$/.test(error.message),
  );
});
