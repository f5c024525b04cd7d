/** Starts programs by their names on all platforms: Windows has scripts, which only its shell can start. */
import { access } from 'node:fs/promises';
import path from 'node:path';

interface ProgramFile {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: { readonly windowsVerbatimArguments?: boolean };
}

/** Returns how a program is spawned without a shell, or on Windows, if it is a script, with its shell. */
export async function programFile(
  command: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ProgramFile> {
  const plain = { file: command, args, options: {} };
  if (platform !== 'win32') return plain;
  const found = await findOnWindows(command, env);
  if (found === undefined || !/\.(cmd|bat)$/i.test(found))
    return found === undefined ? plain : { ...plain, file: found };
  const line = [found, ...args].map(quoted).join(' ');
  return {
    file: env['ComSpec'] ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${line}"`],
    options: { windowsVerbatimArguments: true },
  };
}

async function findOnWindows(command: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const extensions = (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((text) => text !== '');
  const names = path.win32.extname(command) === '' ? extensions.map((extension) => command + extension) : [command];
  const folders = /[\\/]/.test(command) ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(';');
  for (const folder of folders) {
    for (const name of names) {
      const file = folder === '' ? name : path.win32.join(folder, name);
      const exists = await access(file).then(
        () => true,
        () => false,
      );
      if (exists) return file;
    }
  }
  return undefined;
}

/** Quotes an argument for cmd.exe, which expands some characters even within quotes. */
function quoted(text: string): string {
  const inner = text.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1');
  return `"${inner}"`.replaceAll(/[()%!^"<>&|;, ]/g, '^$&');
}
