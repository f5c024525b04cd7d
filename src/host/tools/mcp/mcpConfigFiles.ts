/** Lists the MCP configuration files of other programs on this machine. */
import os from 'node:os';
import path from 'node:path';
import { diskFiles } from '../../../client/disk.ts';

interface ConfigFile {
  readonly file: string;
  readonly text: string;
}

/** Returns the files, those of the workspace first. */
export async function mcpConfigFiles(folder: string): Promise<ConfigFile[]> {
  const home = os.homedir();
  const claude =
    process.platform === 'win32'
      ? path.join(process.env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming'), 'Claude')
      : process.platform === 'darwin'
        ? path.join(home, 'Library', 'Application Support', 'Claude')
        : path.join(home, '.config', 'Claude');
  const files = [
    path.join(folder, '.vscode', 'mcp.json'),
    path.join(folder, '.mcp.json'),
    path.join(folder, 'mcp.json'),
    path.join(folder, '.cursor', 'mcp.json'),
    path.join(home, '.cursor', 'mcp.json'),
    path.join(claude, 'claude_desktop_config.json'),
  ];
  const read = await Promise.all(
    files.map(async (file): Promise<ConfigFile | undefined> => {
      const text = await diskFiles()
        .readText(file)
        .catch(() => undefined); // most do not exist
      return text === undefined ? undefined : { file, text };
    }),
  );
  return read.filter((one) => one !== undefined);
}
