/**
 * How coding agents of this editor start our MCP server: `rollout mcp` of this very extension. Knows nothing of VS
 * Code.
 */
import path from 'node:path';

export interface McpDefinition {
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface McpPlace {
  /** Of the workspace, as file paths. */
  readonly folders: readonly string[];
  readonly store: string;
  /** Name of the target, or `local`. */
  readonly target: string;
  readonly trusted: boolean;
  /** The program that runs the command's file, and that file. */
  readonly program: string;
  readonly file: string;
}

/** One server for each folder; none in Restricted Mode, where nothing of ours is run. */
export function mcpDefinitions({ folders, store, target, trusted, program, file }: McpPlace): McpDefinition[] {
  if (!trusted) return [];
  return folders.map((folder) => ({
    label: folders.length === 1 ? 'Rollout Studio' : `Rollout Studio (${path.basename(folder)})`,
    command: program,
    args: ['--disable-warning=ExperimentalWarning', file, 'mcp', '--folder', folder],
    // The store goes by the environment: an address may hold a password, and arguments can be seen by everybody.
    env: { ROLLOUT_STORE: store, ROLLOUT_TARGET: target, ELECTRON_RUN_AS_NODE: '1' },
  }));
}
