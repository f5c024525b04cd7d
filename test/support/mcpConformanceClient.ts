/**
 * Our MCP client as the protocol's conformance suite drives it: the scenario in the environment, the server's URL as
 * last argument. It goes through `openTools`, as a rollout does.
 */

import { openTools } from '../../src/tools/hosts.ts';
import { callTool, toolBench } from './tools.ts';

/** What a scenario has its client do besides connecting and listing. */
const CALLS: Readonly<Record<string, { readonly tool: string; readonly args: Record<string, number> }>> = {
  tools_call: { tool: 'add_numbers', args: { a: 5, b: 3 } },
  'elicitation-sep1034-client-defaults': { tool: 'test_client_elicitation_defaults', args: {} },
  'sse-retry': { tool: 'test_reconnection', args: {} },
};

const url = process.argv.at(-1) ?? '';
const bench = await toolBench();
try {
  const tools = await openTools(
    [{ kind: 'mcp', name: 'conformance', shared: false, server: { url, headers: {} } }],
    bench.environment,
  );
  const call = CALLS[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''];
  if (call !== undefined) console.log(JSON.stringify(await callTool(tools, call.tool, call.args)));
  await tools.close();
} finally {
  await bench.close();
}
