/** Runs the language server: for VS Code over IPC, and for `rollout lsp` over stdin and stdout. */
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { diskFiles } from '../client/disk.ts';
import { allowedEnvironment } from '../common/environment.ts';
import type { JsonObject } from '../common/json.ts';
import { joinPath } from '../config/paths.ts';
import { BUILTINS } from '../config/schema/toolEntry.ts';
import { LiveFacts } from './facts/liveFacts.ts';
import { serve } from './serve.ts';
import type { LanguageSettings } from './settings.ts';

/** Timeout for starting an MCP server and listing its tools. `npx` and `uvx` may install it first. */
const LIST_MS = 60_000;

/**
 * Starts the server. Without `streams`, the process arguments select the transport (`--node-ipc`, `--stdio`). Exits
 * when the editor requests it.
 */
export function startLanguageServer(
  streams?: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
  settings?: Partial<LanguageSettings>,
): void {
  const facts = new LiveFacts({
    env: process.env,
    async request(url, options) {
      const { outboundRequest } = await import('../net/outboundRequest.ts');
      return await outboundRequest(url, options);
    },
    async listTools({ command, args = [], env = {}, cwd, url = '', headers = {} }, folder, signal) {
      const { listMcpTools } = await import('../tools/mcp/listTools.ts');
      const at = cwd === undefined ? folder : joinPath(folder, cwd);
      const tools = await listMcpTools(
        command === undefined ? { url, headers } : { command, args: [...args], env, cwd: at },
        folder,
        allowedEnvironment(process.env),
        AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]),
      );
      return tools.map(({ name, description, inputSchema }) => ({
        name,
        ...(description === undefined ? {} : { description }),
        input: inputSchema as JsonObject,
      })); // the protocol guarantees JSON
    },
    async worldProblems(file, signal) {
      const { lintWorldFile } = await import('../client/published/lintWorlds.ts');
      return await lintWorldFile(file, process.env, signal);
    },
    async builtinTools(set) {
      const name = BUILTINS.find((known) => known === set);
      if (name === undefined) return [];
      const { builtinSpecs } = await import('../tools/builtins/specs.ts');
      return (await builtinSpecs(name)).map(({ name: tool, description, parameters }) => ({
        name: tool,
        description,
        input: parameters,
      }));
    },
  });
  const connection =
    streams === undefined
      ? createConnection(ProposedFeatures.all)
      : createConnection(ProposedFeatures.all, streams.input, streams.output);
  serve(connection, { disk: diskFiles(), facts, ...(settings === undefined ? {} : { settings }) });
}

if (process.argv.includes('--node-ipc')) startLanguageServer();
