/**
 * Defines how coding agents start the MCP server: the `rollout mcp` command of this extension. Does not depend on VS
 * Code.
 */
import path from 'node:path';

interface McpDefinition {
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface McpContext {
  /** Paths of the workspace folders. */
  readonly folders: readonly string[];
  readonly store: string;
  /** Name of the target, or `local`. */
  readonly target: string;
  readonly trusted: boolean;
  /** The program and the file of the CLI. */
  readonly program: string;
  readonly file: string;
}

/** Returns one server per folder, or none in Restricted Mode. */
export function mcpDefinitions({ folders, store, target, trusted, program, file }: McpContext): McpDefinition[] {
  if (!trusted) return [];
  return folders.map((folder) => ({
    label: folders.length === 1 ? 'Rollout Studio' : `Rollout Studio (${path.basename(folder)})`,
    command: program,
    args: ['--disable-warning=ExperimentalWarning', file, 'mcp', '--folder', folder],
    // Pass the store in the environment: its URL may contain a password, and arguments are visible to other users.
    env: { ROLLOUT_STORE: store, ROLLOUT_TARGET: target, ELECTRON_RUN_AS_NODE: '1' },
  }));
}
