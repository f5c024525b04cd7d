import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { root } from '../../../src/build/bundles.ts';
import { diskFiles } from '../../../src/client/disk.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { type AworldImport, importAworld } from '../../../src/config/aworld/aworld.ts';
import { checkFiles, configFilesUnder } from '../../../src/config/checkFiles.ts';
import { loadBatch } from '../../../src/config/load.ts';

const none = (): string => assert.fail('no file is read');

function imported(
  text: string,
  name = 'desk.yaml',
): AworldImport & { yaml(agent: string): Record<string, unknown>; prompt(agent: string): string } {
  const result = importAworld(name, text, '/work', none);
  const of = (file: string): string =>
    result.files.find((one) => one.path === file)?.text ??
    assert.fail(`${file} is not among ${result.files.map((one) => one.path).join(', ')}`);
  return {
    ...result,
    yaml: (agent) => parse(of(`agents/${agent}.agent.yaml`)) as Record<string, unknown>,
    prompt: (agent) => of(`prompts/${agent}.md`),
  };
}

/** Problems of the conversion, as if its files were on a disk. */
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
      llm_config: { llm_model_name: "\${vars.model}", llm_base_url: "\${LLM_URL}", llm_api_key: "\${KEY}", \
llm_temperature: 0.5, params: { top_p: 0.9, top_k: 20 } }
      max_steps: "\${vars.steps}"
      memory_config: { history_rounds: 20 }
    mcp_servers: [files]
    mcp_config: { mcpServers: { files: { command: npx, args: [-y, some-server], env: { TOKEN: "\${FILES_TOKEN}" } }, \
other: { url: "http://h/mcp" } } }
  web searcher:
    system_prompt: Search.
    llm_config: { llm_model_name: other, llm_api_key: sk-in-clear }
    mcp_servers: [gone]
  writer: { system_prompt: Write. }
`;

describe('agents of AWorld', () => {
  it('get their model, prompt, limits, and servers; the rest is reported', async () => {
    const result = imported(TEAM);
    assert.deepEqual(
      result.files.map((file) => file.path),
      ['planner', 'web-searcher', 'writer'].flatMap((name) => [`agents/${name}.agent.yaml`, `prompts/${name}.md`]),
    );
    assert.deepEqual(result.yaml('planner'), {
      version: 1,
      name: 'planner',
      description: 'Makes plans.',
      model: {
        endpoint: '${env:LLM_URL}',
        name: 'qwen3-32b',
        api_key: '${env:KEY}',
        sampling: { temperature: 0.5, top_p: 0.9, extra: { top_k: 20 } },
      },
      prompt: '../prompts/planner.md',
      tools: [
        { mcp: { command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: '${env:FILES_TOKEN}' } }, name: 'files' },
      ],
      limits: { steps: 12 },
    });
    assert.equal(result.prompt('planner'), 'Plan the work.\n');
    // Next to the prompt, where AWorld's own loader ignores it.
    assert.deepEqual(result.yaml('web-searcher')['model'], {
      endpoint: '${env:LLM_BASE_URL}',
      name: 'other',
      api_key: '${env:LLM_API_KEY}',
    });
    assert.doesNotMatch(JSON.stringify(result), /sk-in-clear/);
    const notes = result.notes.join('\n');
    for (const note of [
      /desk\.yaml:10:7: planner: `memory_config` was left out/,
      /web searcher: the API key in the file was not imported/,
      /web searcher: the file has no `mcp_config` for gone/,
    ])
      assert.match(notes, note);
    assert.deepEqual(await problems(result), []);
  });
  it('of a team lead it, hand off, or work in sequence and in parallel', async () => {
    const led = imported(`${TEAM}swarm: { type: team, root: planner, members: [web searcher, writer] }\n`);
    assert.equal(led.main, 'agents/planner.agent.yaml');
    assert.deepEqual(led.yaml('planner')['team'], {
      kind: 'leader',
      members: ['web-searcher.agent.yaml', 'writer.agent.yaml'],
    });
    const flow = imported(`${TEAM}swarm: { type: workflow, order: [planner, [web searcher, writer]] }\n`);
    assert.equal(flow.main, 'agents/desk.agent.yaml');
    assert.deepEqual(flow.yaml('desk')['team'], {
      kind: 'workflow',
      members: [
        'planner.agent.yaml',
        ...['web-searcher', 'writer'].map((name) => ({ agent: `${name}.agent.yaml`, after: ['planner'] })),
      ],
    });
    const edges = imported(
      `${TEAM}swarm: { type: workflow, edges: [[planner, writer], { from: web searcher, to: writer }] }\n`,
    );
    assert.deepEqual(edges.yaml('desk')['team'], {
      kind: 'workflow',
      members: [
        { agent: 'planner.agent.yaml', after: [] },
        { agent: 'writer.agent.yaml', after: ['planner', 'web-searcher'] },
        { agent: 'web-searcher.agent.yaml', after: [] },
      ],
    });
    const handed = imported(`${TEAM}swarm: { type: handoff, edges: [[planner, writer], [writer, planner]] }\n`);
    assert.deepEqual(handed.yaml('desk')['team'], {
      kind: 'handoff',
      members: [
        { agent: 'planner.agent.yaml', to: ['writer'] },
        { agent: 'writer.agent.yaml', to: ['planner'] },
      ],
    });
    const nested = imported(
      `${TEAM}swarm:\n  name: whole\n  type: workflow\n  agents: [planner, { id: inner, node_type: serial, ` +
        'agents: [web searcher, writer] }]\n',
    );
    assert.equal(nested.main, 'agents/whole.agent.yaml');
    assert.deepEqual(
      [nested.yaml('whole')['team'], nested.yaml('inner')['team']],
      [
        { kind: 'workflow', members: ['planner.agent.yaml', 'inner.agent.yaml'] },
        { kind: 'workflow', members: ['web-searcher.agent.yaml', 'writer.agent.yaml'] },
      ],
    );
    for (const result of [led, flow, edges, handed, nested]) assert.deepEqual(await problems(result), [], result.main);
  });
  it('are listed in task files, and Markdown holds one', async () => {
    const task = imported(
      'task_config: { max_steps: 7 }\nmcp_config: { mcpServers: { web: { url: "http://127.0.0.1:1/mcp" } } ' +
        '}\nagents:\n- { id: a, type: builtin, system_prompt: Go., mcp_servers: [web] }\n',
    );
    assert.deepEqual(
      [task.yaml('a')['limits'], task.yaml('a')['tools']],
      [{ steps: 7 }, [{ mcp: { url: 'http://127.0.0.1:1/mcp' }, name: 'web' }]],
    );
    const written = imported('---\nname: reader\ndescription: Reads.\n---\nRead {{task.question}}.\n', 'reader.md');
    assert.deepEqual(
      [written.main, written.prompt('reader'), written.yaml('reader')['description']],
      ['agents/reader.agent.yaml', 'Read {{task.question}}.\n', 'Reads.'],
    );
    assert.deepEqual([await problems(task), await problems(written)], [[], []]);
  });
  it('of a swarm are only those it names; groups become separate teams, however they are named', async () => {
    const whole = imported(
      `swarm:
  name: whole
  type: workflow
  max_steps: 20
  agents:
    - { id: start, next: both }
    - { id: both, node_type: parallel, agents: [quick, steps], next: inner }
    - id: quick
    - { id: steps, node_type: serial, agents: [one, two] }
    - id: one
    - id: two
    - id: inner
      node_type: swarm
      swarm_type: team
      root_agent: lead
      agents: [{ id: lead, next: [a, b] }, a, { id: b, next: a }]
      next: [end]
    - id: end
`,
      'swarm.yaml',
    );
    assert.deepEqual(
      whole.files
        .map(({ path: file }) => file)
        .filter((file) => file.startsWith('agents/'))
        .sort(),
      ['a', 'b', 'both', 'end', 'lead', 'one', 'quick', 'start', 'steps', 'two', 'whole'].map(
        (name) => `agents/${name}.agent.yaml`,
      ),
    );
    assert.deepEqual(
      [
        whole.yaml('whole')['team'],
        whole.yaml('both')['team'],
        whole.yaml('steps')['team'],
        whole.yaml('lead')['team'],
      ],
      [
        {
          kind: 'workflow',
          members: [
            { agent: 'start.agent.yaml', after: [] },
            { agent: 'both.agent.yaml', after: ['start'] },
            { agent: 'lead.agent.yaml', after: ['both'] },
            { agent: 'end.agent.yaml', after: ['lead'] },
          ],
        },
        {
          kind: 'workflow',
          members: [
            { agent: 'quick.agent.yaml', after: [] },
            { agent: 'steps.agent.yaml', after: [] },
          ],
        },
        { kind: 'workflow', members: ['one.agent.yaml', 'two.agent.yaml'] },
        { kind: 'leader', members: ['a.agent.yaml', 'b.agent.yaml'] },
      ],
    );
    assert.deepEqual(
      whole.notes.filter((note) => !note.includes('no prompt')),
      [
        'swarm.yaml:4:3: whole: `max_steps` of the swarm was left out: it has no equivalent.',
        'swarm.yaml:12:7: inner: b → a: left out, because members of a team talk only to the leader.',
      ],
    );
    assert.deepEqual(await problems(whole), []);
  });
  it('have their servers from mcp_config in any form, and the rest is reported with its line', () => {
    const config = {
      files: { type: 'stdio', command: 'npx', args: ['-y', 'some-server'], client_session_timeout_seconds: 600 },
      web: { type: 'streamable-http', url: 'http://h/mcp' },
      plain: { type: 'api', url: 'http://h/api' },
      own: { type: 'function_tool' },
    };
    const names = (result: AworldImport, agent: string): unknown =>
      (
        parse(result.files.find(({ path: file }) => file === `agents/${agent}.agent.yaml`)?.text ?? '') as {
          tools?: { name?: string; tools?: string[] }[];
        }
      ).tools?.map((one) => [one.name ?? '', ...(one.tools ?? [])]);
    for (const written of [
      JSON.stringify({ mcpServers: config }),
      JSON.stringify(config),
      `'${JSON.stringify({ mcpServers: config })}'`,
      'servers.json',
    ]) {
      const result = importAworld(
        'desk.yaml',
        `agents:\n  a:\n    system_prompt: Go.\n    mcp_config: ${written}\n`,
        '/work',
        (file) => (file === 'servers.json' ? JSON.stringify({ mcpServers: config }) : assert.fail(file)),
      );
      assert.deepEqual(names(result, 'a'), [['files'], ['web']], written);
      assert.deepEqual(result.notes, [
        'desk.yaml:4:5: a: cannot use the server plain: it is a plain HTTP API; if it has an OpenAPI description, ' +
          'rollout tool openapi turns it into tools.',
        'desk.yaml:4:5: a: cannot use the server own: it is a set of Python functions.',
        'desk.yaml:4:5: a, files: `client_session_timeout_seconds`: set `limits.tool_seconds` of the agent instead; ' +
          'it limits the time of a call.',
      ]);
    }
    const markdown = imported(
      '---\nname: reader\nmcp_servers: files, web\ntool_list: { files: [read] }\nmcp_config: ' +
        `'${JSON.stringify(config)}'\nptc_tools: [x]\n---\nRead.\n`,
      'reader.md',
    );
    assert.deepEqual(
      [names(markdown, 'reader'), markdown.notes.at(0)],
      [[['files', 'read'], ['web']], 'reader.md:6:1: reader: `ptc_tools` was left out: it has no equivalent.'],
    );
    const task = imported(
      'task: { query: Who? }\ntask_config: { max_steps: 3, stream: true }\nagents:\n- { id: a, type: skill, ' +
        'skill_name: s }\n',
      'task.yaml',
    );
    assert.deepEqual(task.notes, [
      'task.yaml:1:1: `task` was left out: tasks belong in a dataset.',
      'task.yaml:2:30: `task_config.stream` was left out: it has no equivalent.',
      'task.yaml:4:25: a: `skill_name` was left out: it has no equivalent.',
      'task.yaml:4:3: a: no prompt found; added a placeholder prompt.',
      'task.yaml:4:12: a: agents of type skill are created by a program; only the settings in this file were imported.',
    ]);
    assert.throws(() => imported('agents: { a: { mcp_config: "{]" } }\n'), /mcp_config.* does not contain a mapping/);
  });
  it('that cannot be read report why, and where', () => {
    for (const [text, like, name] of [
      ['agents: [\n', /desk\.yaml:\d+:\d+/, 'desk.yaml'],
      ['a: 1\n', /contains no agents/, 'desk.yaml'],
      ['mcpServers: {}\n', /MCP servers but no agents/, 'mcp.json'],
      [`${TEAM}swarm: { type: ring, order: [planner] }\n`, /type `ring`/, 'desk.yaml'],
      [`${TEAM}swarm: { order: [planner, nobody] }\n`, /names `nobody`/, 'desk.yaml'],
      ['agents: { a: { system_prompt: "${vars.x}" } }\n', /vars\.x/, 'desk.yaml'],
      ['# A prompt\n', /front matter/, 'a.md'],
    ] as const)
      assert.throws(
        () => imported(text, name),
        (error) => error instanceof StudioError && error.code === 'config' && like.test(error.message),
        text,
      );
  });
});

describe('the workspace for GAIA', () => {
  it('is valid as created, and its batch has the attachments and levels of its tasks', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'gaia-'));
    try {
      cpSync(path.join(root, 'media/gaia'), folder, { recursive: true });
      const disk = diskFiles(folder);
      assert.deepEqual(
        (await checkFiles(disk, await configFilesUnder(disk, folder))).map(({ message }) => message),
        [],
      );
      const { value } = await loadBatch(disk, path.join(folder, 'batches/gaia.batch.yaml'));
      assert.equal(value?.dataset.tasks, 3);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
