/** `server.json`: written whole once the server listens, removed at its end unless another server took its place. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { serverFile, type ServerFile } from '../../protocol/serverFile.ts';

export function serverFilePath(folder: string): string {
  return path.join(folder, 'server.json');
}

/** undefined when there is none, or none that can be read. */
export function readServerFile(folder: string): ServerFile | undefined {
  try {
    const parsed = serverFile.safeParse(JSON.parse(readFileSync(serverFilePath(folder), 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** Gives the function that removes it again. */
export function writeServerFile(folder: string, content: ServerFile): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = path.join(folder, `server.json.${process.pid}`);
  writeFileSync(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  renameSync(draft, serverFilePath(folder));
  return () => {
    if (readServerFile(folder)?.token === content.token) rmSync(serverFilePath(folder), { force: true });
  };
}
