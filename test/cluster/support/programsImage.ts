/** What `rollout cluster image` writes, as an image of the kit: there is no program that builds images. */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Kit } from './kit.ts';
import { copy, librariesOf } from './worldsImage.ts';

/** Makes the image `name` from the folder with the Dockerfile, whose steps it follows. */
export function makeProgramsImage(kit: Kit, name: string, folder: string): void {
  const root = mkdtempSync(path.join(os.tmpdir(), 'programs-image-'));
  const inRoot = (file: string): string => path.join(root, file);
  try {
    for (const each of ['tmp', 'proc', 'sys', 'dev', 'etc', 'bin', 'usr/local/bin'])
      mkdirSync(inRoot(each), { recursive: true });
    copyFileSync('/bin/busybox', inRoot('bin/busybox'));
    symlinkSync('busybox', inRoot('bin/sh'));
    copy(process.execPath, inRoot('usr/local/bin/node'));
    for (const file of librariesOf([process.execPath])) copy(file, inRoot(file));
    const recipe = readFileSync(path.join(folder, 'Dockerfile'), 'utf8');
    for (const [, from = '', to = ''] of recipe.matchAll(/^COPY (\S+) (\S+)$/gm))
      cpSync(path.join(folder, from), inRoot(to), { recursive: true });
    kit.makeImage(name, root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
