/** Clients of `rollout mcp`, as coding agents have them. */
import path from 'node:path';
import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { root } from './cli.ts';
import type { Workspace } from './testWorkspace.ts';

interface McpClientOptions extends Pick<ClientOptions, 'capabilities'>, Pick<StdioServerParameters, 'env'> {
  /** `auto`: of the newest revision of the protocol. */
  readonly mode: 'legacy' | 'auto';
  /** Further options of the command. */
  readonly options?: readonly string[];
}

/** Connects a client to a `rollout mcp` of its own. */
export async function connectMcp(
  workspace: Workspace,
  { mode, options = [], env, capabilities = {} }: McpClientOptions,
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      cwd: workspace.bench.folder,
      stderr: 'inherit',
      ...(env === undefined ? {} : { env }),
      args: [
        '--disable-warning=ExperimentalWarning',
        path.join(root, 'dist', 'cli.mjs'),
        ...['mcp', '--stdio', '--store', workspace.bench.store, '--folder', workspace.path(), ...options],
      ],
    }),
  );
  return client;
}

/** Returns the text of an answer. */
export function textOf(result: CallToolResult): string {
  return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
