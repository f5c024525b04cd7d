import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { moduleTools, type ReadText } from '../../../../src/config/tools/toolModules.ts';
import { toolsIn } from '../../../../src/config/tools/toolSource.ts';
import { type AgentNode, agentNode } from '../../../../src/host/views/agents/agentNodes.ts';

const reader =
  (files: Readonly<Record<string, string>>): ReadText =>
  (file) =>
    Promise.resolve(files[file]);
/** `label (line): children`. */
const drawn = (node: AgentNode): string =>
  `${node.item.label} ` +
  `${node.location.path.split('/').at(-1) ?? ''}:${node.location.line}${
    node.children.length === 0 ? '' : ` ` + `[${node.children.map(drawn).join(', ')}]`
  }`;

describe('the tools of a module', () => {
  it('are its exports, with place and description', () => {
    const source = [
      "import { tool } from 'rollout-studio';",
      '',
      'export const renew_loan = tool({',
      "  description: 'It\\'s renewed.',",
      '});',
      'const hidden = tool({ description: "no" });',
      'const helper = tool<Input, State>({ description: "Helps." });',
      'export const not_a_tool = 4;',
      'export { helper as help, renew_loan2 };',
      'const renew_loan2 = tool({ description: `Again, by ${days}` });',
    ].join('\n');
    assert.deepEqual(toolsIn(source), [
      { name: 'renew_loan', line: 3, column: 14, description: "It's renewed." },
      { name: 'help', line: 7, column: 7, description: 'Helps.' },
      { name: 'renew_loan2', line: 10, column: 7, description: undefined },
    ]);
  });
  it('are not those in comments', () => {
    assert.deepEqual(
      toolsIn(
        '// export const a = tool({})\n/* \nexport const b = tool({})\n*/\nexport const c = tool({ description: ' +
          "'see http://x.org // no comment' });",
      ),
      [{ name: 'c', line: 5, column: 14, description: 'see http://x.org // no comment' }],
    );
  });
  it('include re-exported modules, not those it only uses', async () => {
    const files = {
      '/w/tools/all.ts':
        "export * from './a.ts';\nexport { b } from './b.js';\nimport { c } from './c';\nimport type { D } from " +
        "'./d.ts';\nexport type { D } from './d.ts';",
      '/w/tools/a.ts': "export const a = tool({});\nexport * from './all.ts';",
      '/w/tools/b.ts': 'export const b = tool({});',
      '/w/tools/c.ts': 'export const c = tool({});',
      '/w/tools/d.ts': 'export const d = tool({});',
    };
    assert.deepEqual(
      (await moduleTools('/w/tools/all.ts', 'exported', reader(files)))?.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.deepEqual(
      (await moduleTools('/w/tools/all.ts', 'reached', reader(files)))?.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
    assert.equal(await moduleTools('/w/none.ts', 'exported', reader(files)), undefined);
  });
});

describe('an agent’s item', () => {
  it('leads to every tool’s line', async () => {
    const file = [
      'version: 1',
      'name: clerk',
      'model: { name: Qwen/Qwen3-32B }',
      'tools:',
      '  - module: ../tools/loans.ts',
      '  - builtin: [calculator, code]',
      '  - mcp: { command: uvx, args: [fetch-server] }',
      '    name: web',
      '    tools: [fetch]',
      '  - module: ../tools/gone.ts',
    ].join('\n');
    const node = await agentNode(
      '/w/agents/clerk.agent.yaml',
      file,
      [],
      reader({ '/w/tools/loans.ts': "\nexport const renew = tool({ description: 'Renews.' });" }),
    );
    assert.equal(node.item.description, 'Qwen/Qwen3-32B · 4 tools');
    assert.deepEqual(node.children.map(drawn), [
      'loans.ts loans.ts:1 [renew loans.ts:2]',
      'built in clerk.agent.yaml:6 [calculator clerk.agent.yaml:6, code clerk.agent.yaml:6]',
      'web clerk.agent.yaml:7 [fetch clerk.agent.yaml:7]',
      'gone.ts clerk.agent.yaml:10',
    ]);
    assert.equal(node.children[2]?.item.description, 'uvx fetch-server');
    assert.equal(node.children[3]?.item.description, 'not found');
  });
  it('has the members of its team', async () => {
    const file =
      'version: 1\nname: office\nteam:\n  kind: workflow\n  members:\n    - a.agent.yaml\n    - { agent: ' +
      'b.agent.yaml, name: second }\n    - 3\n';
    const node = await agentNode('/w/office.agent.yaml', file, [], reader({}));
    assert.equal(node.item.description, 'workflow of 3');
    assert.deepEqual(node.children.map(drawn), ['a office.agent.yaml:6', 'second office.agent.yaml:7']);
  });
  it('exists for a half-written file', async () => {
    const node = await agentNode(
      '/w/agents/new.agent.yaml',
      'name: [\ntools: 3\n',
      ['/w/worlds/gone.world.yaml'],
      reader({}),
    );
    assert.equal(node.item.label, 'new');
    assert.equal(node.item.icon?.id, 'warning');
    assert.deepEqual(
      node.children.map(({ item }) => [item.label, item.description]),
      [['gone', 'not found']],
    );
  });
  it('has the tools that come with the sample’s worlds, of which an attempt is in one', async () => {
    const sample = path.resolve(import.meta.dirname, '../../../../media/sample');
    const readText: ReadText = (file) => {
      try {
        return Promise.resolve(readFileSync(path.join(sample, path.posix.relative('/w', file)), 'utf8'));
      } catch {
        return Promise.resolve(undefined);
      }
    };
    const node = await agentNode(
      '/w/agents/desk.agent.yaml',
      (await readText('/w/agents/desk.agent.yaml')) ?? '',
      ['library', 'library-faults', 'rooms', 'library-sim', 'library-overlay'].map(
        (world) => `/w/worlds/${world}.world.yaml`,
      ),
      readText,
    );
    const [world] = node.children;
    assert.match(node.item.description ?? '', / · 9 tools$/);
    assert.deepEqual(
      node.children.map(({ item }) => item.description),
      ['world · 9 tools', 'world · 9 tools', 'world', 'simulated · mcp · 9 tools', 'simulated · mcp · 9 tools'],
    );
    const [prompt, tool] = node.children[3]?.children ?? [];
    assert.equal(tool?.location.path, '/w/worlds/simulation/tools.json', 'its definition');
    assert.deepEqual(
      prompt?.children.map(({ item, preview, location }) => [item.label, item.description, preview ?? location.path]),
      [
        ['Task', 'of the domain mcp', 'Task'],
        ['Actions', 'of the domain mcp', 'Actions'],
        ['Initial State', 'simulation/state.md', '/w/worlds/simulation/state.md'],
      ],
    );
    assert.ok(world !== undefined);
    assert.ok(
      world.children.every(
        ({ item, location }) =>
          item.description !== undefined && location.path.startsWith('/w/tools/') && location.line > 3,
      ),
    );
  });
});
