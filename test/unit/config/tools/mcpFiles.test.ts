// MCP servers in other programs' files, and their import into an agent file.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { addEntry, type NewEntry } from '../../../../src/config/tools/mcp/addEntry.ts';
import { clientServers } from '../../../../src/config/tools/mcp/clientFile.ts';

const only = (text: string) => {
  const { found, unusable } = clientServers('mcp.json', text, '/w');
  assert.deepEqual(unusable, []);
  assert.equal(found.length, 1);
  return found[0]!;
};

describe('a file of MCP servers', () => {
  it('of VS Code has comments, inputs, and its variables', () => {
    const { name, server, notes } = only(`{
      // a comment with "quotes"
      "inputs": [{ "type": "promptString", "id": "github-token", "password": true }],
      "servers": { "git-hub": { "type": "stdio", "command": "npx", "args": ["-y", "server", \
"\${workspaceFolder}/data", 8],
        "env": { "GITHUB_TOKEN": "\${input:github-token}", "MODE": "read", "KEY": "\${env:MY_KEY}", "HTTP": \
"http://x//y" }, }, },
    }`);
    assert.equal(name, 'git-hub');
    assert.deepEqual(server, {
      command: 'npx',
      args: ['-y', 'server', '/w/data', '8'],
      env: { GITHUB_TOKEN: '${env:GITHUB_TOKEN}', MODE: 'read', KEY: '${env:MY_KEY}', HTTP: 'http://x//y' },
    });
    assert.deepEqual(notes, [
      'It contains the path of the workspace folder on this machine.',
      'VS Code prompts for “github-token”; set the environment variable GITHUB_TOKEN instead.',
    ]);
  });

  it('of Claude and Cursor leaves out plain-text secrets', () => {
    const { server, notes } = only(
      '{"mcpServers": {"search": {"command": "uvx", "args": ["some-server", "--key=sk-abcdefghijklmnopqrstu"], ' +
        '"env": {"API_KEY": "very secret", "HOME_DIR": "${HOME}", "PORT": "${PORT:-80}"}}}}',
    );
    assert.deepEqual(server, {
      command: 'uvx',
      args: ['some-server', '${env:SEARCH_ARGUMENT}'],
      env: { API_KEY: '${env:API_KEY}', HOME_DIR: '${env:HOME}', PORT: '${env:PORT}' },
    });
    assert.equal(JSON.stringify({ server, notes }).includes('secret"'), false);
    assert.equal(notes.length, 3);
    const remote = only(
      '{"mcpServers": {"my api": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": ' +
        '"Bearer abc", "X-Mode": "fast"}}}}',
    );
    assert.deepEqual(remote.server, {
      url: 'https://example.com/mcp',
      headers: { Authorization: 'Bearer ${env:MY_API_TOKEN}', 'X-Mode': 'fast' },
    });
  });

  it('reports what cannot be used', () => {
    assert.deepEqual(clientServers('mcp.json', '{"servers": {"x": {}}}', '/w').unusable, [
      { name: 'x', why: 'it has neither `command` nor `url`' },
    ]);
    assert.throws(() => clientServers('a.json', '{"tools": []}', '/w'), /a\.json contains no MCP servers/);
    assert.throws(() => clientServers('a.json', '{"servers": ', '/w'), /^StudioError: a\.json: /);
  });
});

const ENTRY: NewEntry = {
  mcp: { command: 'npx', args: ['-y', '@scope/server', 'a, b', '#x'], env: { TOKEN: '${env:TOKEN}' } },
  name: 'search',
  tools: ['find', 'read'],
};
const AS_VALUE = {
  mcp: { command: 'npx', args: ['-y', '@scope/server', 'a, b', '#x'], env: { TOKEN: '${env:TOKEN}' } },
  name: 'search',
  tools: ['find', 'read'],
};

describe('an entry of an agent file', () => {
  const added = (text: string): string => {
    const result = addEntry('a.agent.yaml', text, ENTRY);
    const { tools } = parse(result) as { tools: unknown[] };
    assert.deepEqual(tools.at(-1), AS_VALUE, result);
    assert.deepEqual(tools.slice(0, -1), (parse(text) as { tools?: unknown[] } | null)?.tools ?? []);
    return result;
  };

  it('is added after the others; the rest keeps every blank', () => {
    const text =
      '# an agent\nname:   desk   # mine\ntools:\n    # the first\n    - module: a.ts\n    - builtin: [code,  ' +
      'terminal]   # two\n\n# limits follow\nlimits: {steps:  3}\n';
    assert.equal(
      added(text),
      text.replace(
        '# two\n',
        `# two
    - mcp:
        command: npx
        args: [-y, "@scope/server", "a, b", "#x"]
        env:
          TOKEN: \${env:TOKEN}
      name: search
      tools: [find, read]
`,
      ),
    );
  });

  it('has the indentation of the others', () => {
    assert.match(
      added('tools:\n- module: a.ts\n- mcp:\n    command: x\n    args:\n      - y\nname: z\n'),
      / {6}- y\n- mcp:\n {4}command: npx\n/,
    );
  });

  it('may be the first, in any form of an empty list', () => {
    for (const text of [
      'name: a',
      'name: a\n',
      'name: a\r\nprompt: b\r\n',
      'name: a\ntools:\nprompt: x\n',
      'name: a\ntools: [] # none yet\nprompt: x\n',
      'tools:\n',
      '',
      'name: a\ntools: ~\n',
    ])
      added(text);
    assert.ok(!/[^\r]\n/.test(added('name: a\r\n')), 'lines end as they do');
    assert.match(added('name: a\ntools: [] # none yet\nprompt: x\n'), /^name: a\ntools: # none yet\n {2}- mcp:/);
  });

  it('is added in brackets and JSON as well', () => {
    assert.match(
      added('tools: [{ module: a.ts }] # short\nname: x\n'),
      /^tools: \[\{ module: a\.ts \}, \{"mcp":.*\}\] # short\n/,
    );
    for (const text of [
      '{"name": "x", "tools": [{"module": "a.ts"}]}',
      '{"name": "x", "tools": []}',
      '{"name": "x"}',
      '{\n  "name": "x"\n}\n',
    ])
      JSON.parse(added(text));
  });

  it('is refused where it does not fit', () => {
    assert.throws(() => addEntry('a.agent.yaml', 'tools: none\n', ENTRY), /`tools` in a\.agent\.yaml is not a list/);
    assert.throws(() => addEntry('a.agent.yaml', 'a: [\n', ENTRY), /^StudioError: a\.agent\.yaml: /);
    assert.throws(() => addEntry('a.agent.yaml', '- a\n', ENTRY), /not an agent file/);
  });
});
