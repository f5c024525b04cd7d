/**
 * An extension that is installed once for all VS Code servers: each has a link to its folder. That saves unpacking, and
 * Node finds the modules that it compiled for another server in its cache.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { madeOnce } from '../../../webview/support/madeOnce.ts';

const INSTALL_MS = 120_000;

/**
 * Links the extension of `vsix` into the folder `extensions`, before a server reads that. `main`: the server's program.
 */
export async function linkExtension(main: string, vsix: string, extensions: string): Promise<void> {
  const { size, mtimeMs } = statSync(vsix);
  const folder = await madeOnce('vscode-extensions', `${size}-${Math.round(mtimeMs)}`, (made) =>
    install(main, vsix, made),
  );
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory()))
    symlinkSync(path.join(folder, name), path.join(extensions, name));
}

function install(main: string, vsix: string, folder: string): void {
  const data = path.join(folder, '.data');
  const done = spawnSync(
    process.execPath,
    [
      main,
      '--accept-server-license-terms',
      '--disable-telemetry',
      ...['--server-data-dir', data, '--user-data-dir', data],
      ...['--extensions-dir', folder, '--install-extension', vsix],
    ],
    { encoding: 'utf8', timeout: INSTALL_MS, env: { ...process.env, EXTENSIONS_GALLERY: '{}' } },
  );
  if (done.status !== 0) throw new Error(`${vsix} was not installed: ${done.stdout}${done.stderr}`);
  rmSync(data, { recursive: true, force: true });
}
