/** `server.json`: written once the server listens, removed at its end unless another server replaced it. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type ServerFile, serverFile } from '../../protocol/serverFile.ts';

export function serverFilePath(folder: string): string {
  return path.join(folder, 'server.json');
}

/** Returns undefined when there is no such file, or it is not readable. */
export function readServerFile(folder: string): ServerFile | undefined {
  try {
    const parsed = serverFile.safeParse(JSON.parse(readFileSync(serverFilePath(folder), 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** How often a server checks that its file still exists. */
const LOOK_EVERY_MS = 2_000;

/** Writes the file, and rewrites it if it is removed or damaged. Returns the function that removes it at the end. */
export function keepServerFile(folder: string, content: ServerFile, failed: (error: unknown) => void): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  write(folder, content);
  const timer = setInterval(() => {
    // A readable file may belong to another server of the same database.
    if (readServerFile(folder) !== undefined || !existsSync(folder)) return;
    try {
      write(folder, content);
    } catch (error) {
      failed(error);
    }
  }, LOOK_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    if (readServerFile(folder)?.token === content.token) rmSync(serverFilePath(folder), { force: true });
  };
}

function write(folder: string, content: ServerFile): void {
  const draft = path.join(folder, `server.json.${process.pid}`);
  writeFileSync(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  renameSync(draft, serverFilePath(folder));
}
