import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { diskFiles } from '../../../src/client/disk.ts';
import { checkFiles, configFilesUnder } from '../../../src/config/checkFiles.ts';
import { importAworld, type AworldImport } from '../../../src/config/aworld/aworld.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { root } from '../../../src/build/bundles.ts';
import { StudioError } from '../../../src/common/errors.ts';

const none = (): string => assert.fail('no file is read');

function imported(text: string, name = 'desk.yaml'): AworldImport & { yaml(agent: string): Record<string, unknown>; prompt(agent: string): string } {
  const made = importAworld(name, text, '/work', none);
  const of = (file: string): string => made.files.find((one) => one.path === file)?.text ?? assert.fail(`${file} is not among ${made.files.map((one) => one.path).join(', ')}`);
  return { ...made, yaml: (agent) => parse(of(`agents/${agent}.agent.yaml`)) as Record<string, unknown>, prompt: (agent) => of(`prompts/${agent}.md`) };
}

/** Problems of what was made, as it would lie on a disk. */
async function problems({ files }: AworldImport): Promise<string[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aworld-'));
  try {
    for (const { path: file, text } of files) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    const disk = diskFiles(folder);
    return (await checkFiles(disk, await configFilesUnder(disk, folder))).map(({ message }) => message);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const TEAM = `
vars: { model: qwen3-32b, steps: 12 }
agents:
  planner:
    system_prompt: Plan the work.
    desc: Makes plans.
    config:
      llm_config: { llm_model_name: "\${vars.model}", llm_base_url: "\${LLM_URL}", llm_api_key: "\${KEY}", llm_temperature: 0.5, params: { top_p: 0.9, top_k: 20 } }
      max_steps: "\${vars.steps}"
      memory_config: { history_rounds: 20 }
    mcp_servers: [files]
    mcp_config: { mcpServers: { files: { command: npx, args: [-y, some-server], env: { TOKEN: "\${FILES_TOKEN}" } }, other: { url: "http://h/mcp" } } }
  web searcher:
    system_prompt: Search.
    llm_config: { llm_model_name: other, llm_api_key: sk-in-clear }
    mcp_servers: [gone]
  writer: { system_prompt: Write. }
`;

describe('agents of AWorld', () => {
  it('get their model, prompt, limits and servers; what has no place is told', async () => {
    const made = imported(TEAM);
    assert.deepEqual(made.files.map((file) => file.path), ['planner', 'web-searcher', 'writer'].flatMap((name) => [`agents/${name}.agent.yaml`, `prompts/${name}.md`]));
    assert.deepEqual(made.yaml('planner'), {
      version: 1, name: 'planner', description: 'Makes plans.',
      model: { endpoint: '${env:LLM_URL}', name: 'qwen3-32b', api_key: '${env:KEY}', sampling: { temperature: 0.5, top_p: 0.9, extra: { top_k: 20 } } },
      prompt: '../prompts/planner.md', tools: [{ mcp: { command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: '${env:FILES_TOKEN}' } }, name: 'files' }], limits: { steps: 12 },
    });
    assert.equal(made.prompt('planner'), 'Plan the work.\n');
    // Beside the prompt, where AWorld's own loader overlooks it.
    assert.deepEqual(made.yaml('web-searcher')['model'], { endpoint: '${env:LLM_BASE_URL}', name: 'other', api_key: '${env:LLM_API_KEY}' });
    assert.doesNotMatch(JSON.stringify(made), /sk-in-clear/);
    const notes = made.notes.join('\n');
    for (const told of [/planner: left out.*memory_config/, /web searcher: the key that stood in the file was left out/, /web searcher: no `mcp_config` says what its servers gone are/]) assert.match(notes, told);
    assert.deepEqual(await problems(made), []);
  });
  it('of a team lead it, hand on, or work one after another and beside each other', async () => {
    const led = imported(`${TEAM}swarm: { type: team, root: planner, members: [web searcher, writer] }\n`);
    assert.equal(led.main, 'agents/planner.agent.yaml');
    assert.deepEqual(led.yaml('planner')['team'], { kind: 'leader', members: ['web-searcher.agent.yaml', 'writer.agent.yaml'] });
    const flow = imported(`${TEAM}swarm: { type: workflow, order: [planner, [web searcher, writer]] }\n`);
    assert.equal(flow.main, 'agents/desk.agent.yaml');
    assert.deepEqual(flow.yaml('desk')['team'], { kind: 'workflow', members: ['planner.agent.yaml', ...['web-searcher', 'writer'].map((name) => ({ agent: `${name}.agent.yaml`, after: ['planner'] }))] });
    const edges = imported(`${TEAM}swarm: { type: workflow, edges: [[planner, writer], { from: web searcher, to: writer }] }\n`);
    assert.deepEqual(edges.yaml('desk')['team'], { kind: 'workflow', members: [{ agent: 'planner.agent.yaml', after: [] }, { agent: 'writer.agent.yaml', after: ['planner', 'web-searcher'] }, { agent: 'web-searcher.agent.yaml', after: [] }] });
    const handed = imported(`${TEAM}swarm: { type: handoff, edges: [[planner, writer], [writer, planner]] }\n`);
    assert.deepEqual(handed.yaml('desk')['team'], { kind: 'handoff', members: [{ agent: 'planner.agent.yaml', to: ['writer'] }, { agent: 'writer.agent.yaml', to: ['planner'] }] });
    const nested = imported(`${TEAM}swarm:\n  name: whole\n  type: workflow\n  agents: [planner, { id: inner, node_type: serial, agents: [web searcher, writer] }]\n`);
    assert.equal(nested.main, 'agents/whole.agent.yaml');
    assert.deepEqual([nested.yaml('whole')['team'], nested.yaml('inner')['team']], [
      { kind: 'workflow', members: ['planner.agent.yaml', 'inner.agent.yaml'] }, { kind: 'workflow', members: ['web-searcher.agent.yaml', 'writer.agent.yaml'] },
    ]);
    for (const made of [led, flow, edges, handed, nested]) assert.deepEqual(await problems(made), [], made.main);
  });
  it('are listed in task files, and Markdown says one', async () => {
    const task = imported('task_config: { max_steps: 7 }\nmcp_config: { mcpServers: { web: { url: "http://127.0.0.1:1/mcp" } } }\nagents:\n- { id: a, type: builtin, system_prompt: Go., mcp_servers: [web] }\n');
    assert.deepEqual([task.yaml('a')['limits'], task.yaml('a')['tools']], [{ steps: 7 }, [{ mcp: { url: 'http://127.0.0.1:1/mcp' }, name: 'web' }]]);
    const written = imported('---\nname: reader\ndescription: Reads.\n---\nRead {{task.question}}.\n', 'reader.md');
    assert.deepEqual([written.main, written.prompt('reader'), written.yaml('reader')['description']], ['agents/reader.agent.yaml', 'Read {{task.question}}.\n', 'Reads.']);
    assert.deepEqual([await problems(task), await problems(written)], [[], []]);
  });
  it('that cannot be read say why, and where', () => {
    for (const [text, like, name] of [
      ['agents: [\n', /desk\.yaml:\d+:\d+/, 'desk.yaml'], ['a: 1\n', /names no agents/, 'desk.yaml'], ['mcpServers: {}\n', /MCP servers and no agents/, 'mcp.json'],
      [`${TEAM}swarm: { type: ring, order: [planner] }\n`, /type `ring`/, 'desk.yaml'], [`${TEAM}swarm: { order: [planner, nobody] }\n`, /names `nobody`/, 'desk.yaml'],
      ['agents: { a: { system_prompt: "${vars.x}" } }\n', /vars\.x/, 'desk.yaml'], ['# A prompt\n', /front matter/, 'a.md'],
    ] as const) assert.throws(() => imported(text, name), (error) => error instanceof StudioError && error.code === 'config' && like.test(error.message), text);
  });
});

describe('the workspace for GAIA', () => {
  it('is right as it is, and its batch has the attachments and levels of its tasks', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'gaia-'));
    try {
      cpSync(path.join(root, 'media/gaia'), folder, { recursive: true });
      const disk = diskFiles(folder);
      assert.deepEqual((await checkFiles(disk, await configFilesUnder(disk, folder))).map(({ message }) => message), []);
      const { value } = await loadBatch(disk, path.join(folder, 'batches/gaia.batch.yaml'));
      assert.equal(value?.dataset.tasks, 3);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
