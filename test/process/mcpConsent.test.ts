// What a coding agent may not decide alone through `rollout mcp`: where values go, how much is spent, what is repeated
// or ended irreversibly, and which files are named.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../src/common/json.ts';
import { STRUCTURED } from '../../src/mcp/tool.ts';
import { connectMcp, textOf } from '../support/mcpClient.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

const KEY = 'canary-3f9a7c21d4';
type Person = 'allows' | 'declines' | 'closes the question';

let demo: WatchedDemo;
let workspace: Workspace;
/** A batch that a person launched, with an irreversible call in its second step. */
let launched: string;

before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
  workspace.write(
    'tools.ts',
    `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const send = tool({ description: 'Sends.', input: z.object({}), run: () => 'sent' });
`,
  );
  const file = workspace.batch('first', {
    endpoint: demo.url,
    agent: { tools: [{ module: 'tools.ts' }] },
    tasks: [{ id: 'one', question: 'call send {}\nanswer yes', answer: 'yes' }],
  });
  workspace.batch('keyed', {
    endpoint: demo.url,
    model: { api_key: '${env:CANARY}' },
    tasks: [{ id: 'one', question: 'answer yes', answer: 'yes' }],
  });
  workspace.batch('many', {
    endpoint: demo.url,
    batch: { attempts: 3 },
    tasks: ['a', 'b'].map((id) => ({ id, question: 'answer yes', answer: 'yes' })),
  });
  launched = (await workspace.json<{ batch: string }>('run', file)).batch;
});
after(async () => {
  await workspace.close();
  await demo.close();
});

/** What the person was asked. */
type Asked = string[];

interface Agent {
  readonly asked: Asked;
  call(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
}

interface AgentOptions {
  readonly person?: Person;
  readonly mode?: 'legacy' | 'auto';
  readonly options?: readonly string[];
}

/** Connects a client to its own `rollout mcp`. Without a person, the client supports no elicitation. */
async function connectAgent({
  person,
  mode = 'legacy',
  options = [],
}: AgentOptions): Promise<Agent & { close(): Promise<void> }> {
  const client = await connectMcp(workspace, {
    mode,
    options,
    env: { ...process.env, CANARY: KEY },
    capabilities: person === undefined ? {} : { elicitation: {} },
  });
  const asked: Asked = [];
  if (person !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      if (person === 'closes the question') return { action: 'cancel' };
      return { action: 'accept', content: { allow: person === 'allows' } };
    });
  return {
    asked,
    call: (name, args) => client.callTool({ name, arguments: args, _meta: { [STRUCTURED]: true } }),
    close: () => client.close(),
  };
}

/** Runs `act` with an agent of its own. */
async function withAgent(options: AgentOptions, act: (agent: Agent) => Promise<void>): Promise<void> {
  const agent = await connectAgent(options);
  try {
    await act(agent);
  } finally {
    await agent.close();
  }
}

function assertRefused(result: CallToolResult, ...patterns: readonly RegExp[]): void {
  assert.equal(result.isError, true, textOf(result));
  for (const pattern of patterns) assert.match(textOf(result), pattern);
}

function batchOf(result: CallToolResult): string {
  assert.notEqual(result.isError, true, textOf(result));
  return (result.structuredContent as { batch: string }).batch;
}

async function ended(agent: Agent, batch: string): Promise<void> {
  for (;;) {
    const result = await agent.call('wait_for_batch', { batch, seconds: 30 });
    assert.notEqual(result.isError, true, textOf(result));
    if ((result.structuredContent as { ended: boolean }).ended) return;
  }
}

async function batches(): Promise<string[]> {
  return (await (await workspace.api()).batches()).batches.map(({ batch }) => batch);
}

describe('a value of the environment', () => {
  it('goes nowhere by the arguments of a call', async () => {
    const before = await batches();
    await withAgent({ person: 'allows' }, async (agent) => {
      const from = `${launched}/one/1:1`;
      assertRefused(await agent.call('fork_rollout', { from, endpoint: `${demo.url}?\${env:CANARY}` }), /endpoint/);
      for (const model of ['${env:CANARY}', 'another']) {
        assertRefused(await agent.call('fork_rollout', { from, model }), /No agent file .* has the model/, /demo/);
      }
      assertRefused(
        await agent.call('fork_rollout', {
          from,
          edit: [{ of: { m: 1 }, path: '/x', value: { a: ['${env:CANARY}'] } }],
        }),
        /\$\{env:/,
      );
      assert.deepEqual(agent.asked, []);
    });
    assert.deepEqual(await batches(), before);
    assert.doesNotMatch(JSON.stringify(demo.receivedRequests), new RegExp(KEY));
  });

  it('is sent to a new place only if a person allows it', async () => {
    const before = await batches();
    const launch = { file: 'keyed.batch.yaml' };
    const forks = [
      { from: `${launched}/one/1:1`, agent_file: 'keyed.agent.yaml', accept_irreversible: true },
      { from: `${launched}/one/1:1`, batch_file: 'keyed.batch.yaml', accept_irreversible: true },
    ];
    await withAgent({}, async (agent) => {
      assertRefused(await agent.call('launch_batch', launch), /CANARY to http:\/\/127/, /rollout run keyed/);
      for (const fork of forks) assertRefused(await agent.call('fork_rollout', fork), /CANARY to http/, /rollout fork/);
    });
    for (const [person, mode] of [
      ['declines', 'legacy'],
      ['closes the question', 'auto'],
    ] as const)
      await withAgent({ person, mode }, async (agent) => {
        assertRefused(await agent.call('launch_batch', launch), /A person did not allow this/);
        assert.equal(agent.asked.length, 1);
        assert.match(agent.asked[0] ?? '', /sends the value of CANARY to http:\/\/127\.0\.0\.1/);
        assert.doesNotMatch(agent.asked[0] ?? '', new RegExp(KEY));
      });
    assert.deepEqual(await batches(), before);
  });

  for (const mode of ['legacy', 'auto'] as const)
    it(`is sent there from then on without asking (${mode})`, async () => {
      workspace.batch(mode, {
        endpoint: `${demo.url}?${mode}`,
        model: { api_key: '${env:CANARY}' },
        tasks: [{ id: 'one', question: 'answer yes', answer: 'yes' }],
      });
      await withAgent({ person: 'allows', mode }, async (agent) => {
        const first = batchOf(await agent.call('launch_batch', { file: `${mode}.batch.yaml` }));
        await ended(agent, first);
        assert.equal(agent.asked.length, 1);
        await ended(agent, batchOf(await agent.call('launch_batch', { file: `${mode}.batch.yaml` })));
        await ended(agent, batchOf(await agent.call('fork_rollout', { from: `${first}/one/1:1` })));
        assert.equal(agent.asked.length, 1);
      });
    });
});

describe('something new that a batch starts or sends to', () => {
  const task = { id: 'one', question: 'answer yes', answer: 'yes' };
  const programs = {
    tools: [{ name: 's', mcp: { command: 'rollout-no-such-server', env: { A: 'b' }, args: ['--x'] } }],
  };
  const cases: Readonly<Record<string, readonly [Omit<Parameters<Workspace['batch']>[1], 'tasks'>, RegExp]>> = {
    endpoint: [
      { endpoint: 'http://127.0.0.1:9/unseen/v1' },
      /It sends requests to http:\/\/127\.0\.0\.1:9\/unseen\/v1\./,
    ],
    command: [{ endpoint: 'demo:', agent: programs }, /It starts the MCP server A=b rollout-no-such-server --x\./],
    server: [
      { endpoint: 'demo:', agent: { tools: [{ name: 's', mcp: { url: 'http://127.0.0.1:9/mcp' } }] } },
      /It sends requests to http:\/\/127\.0\.0\.1:9\/mcp\./,
    ],
    vision: [
      {
        endpoint: 'demo:',
        agent: { tools: [{ builtin: ['vision'], vision: { endpoint: 'http://127.0.0.1:9/v1', model: 'eyes' } }] },
      },
      /It sends requests to http:\/\/127\.0\.0\.1:9\/v1\./,
    ],
    judge: [
      {
        endpoint: 'demo:',
        batch: { scorer: { kind: 'judge', rubric: 'Good?', model: { endpoint: 'http://127.0.0.1:9/v2', name: 'j' } } },
      },
      /It sends requests to http:\/\/127\.0\.0\.1:9\/v2\./,
    ],
    notify: [
      { endpoint: 'demo:', batch: { notify: { url: 'http://127.0.0.1:9/hook' } } },
      /It sends requests to http:\/\/127\.0\.0\.1:9\/hook\./,
    ],
    open: [{ endpoint: 'demo:', batch: { sandbox: 'off' } }, /It runs the programs of its tools without a sandbox\./],
    network: [{ endpoint: 'demo:', batch: { sandbox: { network: true } } }, /Its programs reach everything on your/],
    address: [
      { endpoint: 'demo:', batch: { sandbox: { allow: ['localhost:5432'] } } },
      /Its programs reach localhost:5432\./,
    ],
    image: [
      { endpoint: 'demo:', batch: { pods: { image: 'example.org/x:1' } } },
      /the image example\.org\/x:1 in its pods/,
    ],
  };
  // Nothing is ever allowed to these two, and what one case asks for is no answer for the next.
  let alone: Awaited<ReturnType<typeof connectAgent>>;
  let declined: Awaited<ReturnType<typeof connectAgent>>;
  before(async () => {
    [alone, declined] = await Promise.all([connectAgent({}), connectAgent({ person: 'declines' })]);
  });
  after(() => Promise.all([alone.close(), declined.close()]));
  for (const [name, [files, question]] of Object.entries(cases))
    it(`needs a person: ${name}`, async () => {
      const file = workspace.batch(`new-${name}`, { ...files, tasks: [task] });
      const before = await batches();
      assertRefused(await alone.call('launch_batch', { file }), /A person must allow this/, question);
      const fork = { from: `${launched}/one/1:1`, batch_file: file, accept_irreversible: true };
      assertRefused(await alone.call('fork_rollout', fork), /A person must allow this/, question);
      const asked = declined.asked.length;
      assertRefused(await declined.call('launch_batch', { file }), /A person did not allow this/);
      assert.match(declined.asked.slice(asked).join(), question);
      assert.deepEqual(await batches(), before);
    });

  it('is allowed once for the same content; the demo model needs nobody', async () => {
    const tools = (...args: string[]): JsonObject => ({
      tools: [{ name: 's', mcp: { command: process.execPath, args: ['-e', 'process.exit()', ...args] } }],
    });
    const launch = { file: workspace.batch('program', { endpoint: 'demo:', agent: tools(), tasks: [task] }) };
    await withAgent({ person: 'allows' }, async (agent) => {
      batchOf(await agent.call('launch_batch', launch));
      assert.equal(agent.asked.length, 1);
      batchOf(await agent.call('launch_batch', launch));
      assert.equal(agent.asked.length, 1);
      workspace.batch('program', { endpoint: 'demo:', agent: tools('--changed'), tasks: [task] });
      batchOf(await agent.call('launch_batch', launch));
      assert.equal(agent.asked.length, 2);
    });
    await withAgent({}, async (agent) => {
      const file = workspace.batch('embedded', { endpoint: 'demo:', tasks: [task] });
      await ended(agent, batchOf(await agent.call('launch_batch', { file })));
    });
  });
});

it('more attempts than allowed are launched only if a person allows it', async () => {
  const options = ['--max-attempts', '7'];
  const many = { file: 'many.batch.yaml' };
  await withAgent({ options }, async (agent) => {
    assertRefused(await agent.call('launch_batch', { ...many, attempts: 4 }), /8 attempts.*may launch 7/s);
    await ended(agent, batchOf(await agent.call('launch_batch', many)));
    assertRefused(await agent.call('fork_rollout', { from: `${launched}/one/1:2`, attempts: 2 }), /has launched 6/);
    await ended(agent, batchOf(await agent.call('fork_rollout', { from: `${launched}/one/1:2` })));
    assertRefused(await agent.call('launch_batch', { ...many, limit: 1, attempts: 1 }), /has launched 7/);
  });
  await withAgent({ options }, async (agent) => {
    const both = await Promise.all([agent.call('launch_batch', many), agent.call('launch_batch', many)]);
    const [refused, ...others] = both.toSorted((a, b) => Number(b.isError ?? false) - Number(a.isError ?? false));
    assertRefused(refused ?? assert.fail(), /has launched 6/);
    for (const result of others) await ended(agent, batchOf(result));
  });
  await withAgent({ person: 'allows', options }, async (agent) => {
    await ended(agent, batchOf(await agent.call('launch_batch', { ...many, attempts: 4 })));
    assert.match(agent.asked.join(), /^A coding agent requests this\. It launches 8 attempts/);
  });
});

it('a scorer asks a model at a new place, or more often than allowed, only if a person allows it', async () => {
  const judge = { kind: 'judge', model: { endpoint: `${demo.url}?strict=1`, name: 'demo' }, rubric: 'Say yes.' };
  workspace.write('judge.yaml', JSON.stringify({ scorer: judge }));
  workspace.write('plain.yaml', JSON.stringify({ scorer: { kind: 'contains' } }));
  const scoring = { batch: launched, scorer: 'judge.yaml' };
  const before = await batches();
  const options = ['--max-attempts', '0'];
  await withAgent({ options }, async (agent) => {
    assertRefused(await agent.call('rescore_batch', scoring), /sends requests to http/, /rollout rescore b/);
    assertRefused(await agent.call('rescore_batch', scoring), /scores 1 attempt again with a scorer that asks a model/);
    assert.deepEqual(await batches(), before);
    // Without a model, it costs nothing.
    await ended(agent, batchOf(await agent.call('rescore_batch', { ...scoring, scorer: 'plain.yaml' })));
  });
  await withAgent({ person: 'allows', options }, async (agent) => {
    await ended(agent, batchOf(await agent.call('rescore_batch', scoring)));
    assert.equal(agent.asked.length, 1);
  });
});

it('irreversible calls are repeated only if a person allows it', async () => {
  const from = `${launched}/one/1:1`;
  await withAgent({}, async (agent) => {
    assertRefused(await agent.call('fork_rollout', { from }), /cannot be undone and may be repeated: send/);
    assertRefused(
      await agent.call('fork_rollout', { from, accept_irreversible: true }),
      /A person must allow this/,
      /rollout fork .* --accept-irreversible/,
    );
  });
  await withAgent({ person: 'allows' }, async (agent) => {
    await ended(agent, batchOf(await agent.call('fork_rollout', { from, accept_irreversible: true })));
    assert.match(agent.asked.join(), /repeat calls whose effects cannot be undone/);
  });
});

it('work of others is ended and continued only if a person allows it; its own, always', async () => {
  demo.shut('slow');
  const files = {
    endpoint: demo.url,
    gate: 'slow',
    tasks: [{ id: 'a', question: 'answer yes', answer: 'yes' }],
  } as const;
  const another = await workspace.launch('slow', files);
  await withAgent({}, async (agent) => {
    for (const target of [another, `${another}/a/1`]) {
      assertRefused(await agent.call('stop_batch', { target }), /ends the running attempts/, /rollout cancel/);
      assertRefused(await agent.call('resume_batch', { target }), /rollout resume/);
    }
    const own = batchOf(await agent.call('launch_batch', { file: 'slow.batch.yaml' }));
    const stopped = await agent.call('stop_batch', { target: own });
    assert.notEqual(stopped.isError, true, textOf(stopped));
  });
  await withAgent({ person: 'allows' }, async (agent) => {
    const stopped = await agent.call('stop_batch', { target: another });
    assert.notEqual(stopped.isError, true, textOf(stopped));
    await ended(agent, another);
    assert.equal(agent.asked.length, 1);
  });
  demo.open('slow');
});

it('files outside --folder are not read, through links, paths in files, or imports', async () => {
  const outside = workspace.bench.path('outside');
  mkdirSync(outside);
  const secret = path.join(outside, 'secret.jsonl');
  writeFileSync(secret, `{"id": "one", "question": "${KEY}", "answer": "yes"}`);
  writeFileSync(path.join(outside, 'secret.ts'), `export const secret = '${KEY}';`);
  writeFileSync(path.join(outside, 'prompt.md'), KEY);
  writeFileSync(path.join(outside, 'other.agent.yaml'), 'version: 1\nname: other\nprompt: hm\n');
  symlinkSync(secret, workspace.path('link.jsonl'));
  symlinkSync(outside, workspace.path('linked'), 'junction');
  const task = { id: 'one', question: 'answer yes', answer: 'yes' };
  const tools = { tools: [{ module: 'imports.ts' }] };
  workspace.write('imports.ts', "import { secret } from './linked/secret.ts';\nexport const leak = secret;\n");
  const cases: Record<string, Parameters<Workspace['batch']>[1]> = {
    dataset: { endpoint: demo.url, tasks: [task], batch: { dataset: { file: 'link.jsonl' } } },
    above: { endpoint: demo.url, tasks: [task], batch: { dataset: { file: '../outside/secret.jsonl' } } },
    prompt: { endpoint: demo.url, tasks: [task], agent: { prompt: 'linked/prompt.md' } },
    module: { endpoint: demo.url, tasks: [task], agent: { tools: [{ module: 'linked/secret.ts' }] } },
    imported: { endpoint: demo.url, tasks: [task], agent: tools },
    attached: { endpoint: demo.url, tasks: [{ ...task, files: ['linked/prompt.md'] }] },
    folder: { endpoint: demo.url, tasks: [task], batch: { sandbox: { read: ['linked'] } } },
    server: {
      endpoint: demo.url,
      tasks: [task],
      agent: { tools: [{ name: 's', mcp: { command: 'x', cwd: 'linked' } }] },
    },
    ...Object.fromEntries(
      [
        { command: 'x', args: ['linked/prompt.md'] },
        { command: 'x', args: ['--file=linked/prompt.md'] },
        { command: 'x', args: ['-C../outside'] },
        { command: 'x', args: ['--', secret] },
        { command: 'x', args: [pathToFileURL(secret).href] },
        { command: 'linked/x' },
      ].map((mcp, index) => [
        `program-${index}`,
        { endpoint: demo.url, tasks: [task], agent: { tools: [{ name: 's', mcp }] } },
      ]),
    ),
  };
  const before = await batches();
  await withAgent({ person: 'allows' }, async (agent) => {
    for (const [name, files] of Object.entries(cases)) {
      const file = workspace.batch(name, files);
      assertRefused(await agent.call('launch_batch', { file }), /outside the workspace/);
      assertRefused(
        await agent.call('fork_rollout', { from: `${launched}/one/1:2`, batch_file: file }),
        /outside the workspace/,
      );
    }
    for (const name of ['prompt', 'module', 'imported', 'server'])
      assertRefused(
        await agent.call('fork_rollout', { from: `${launched}/one/1:2`, agent_file: `${name}.agent.yaml` }),
        /outside the workspace/,
      );
    assertRefused(
      await agent.call('fork_rollout', { from: `${launched}/one/1:2`, agent_file: 'linked/other.agent.yaml' }),
      /outside the workspace/,
    );
    assertRefused(await agent.call('check_files', { files: ['linked/other.agent.yaml'] }), /outside the workspace/);
    const checked = await agent.call('check_files', { files: ['dataset.batch.yaml', 'prompt.agent.yaml'] });
    assert.match(textOf(checked), /outside the workspace[^]*outside the workspace/);
    assert.doesNotMatch(textOf(checked), new RegExp(KEY));
    assert.deepEqual(agent.asked, []);
  });
  assert.deepEqual(await batches(), before);
});
