/** The browser of this machine, for the built-in one and for MCP servers that want to know where it is. */
import { existsSync, readdirSync } from 'node:fs';
import { chromiumPlaces } from '../config/tools/chromium.ts';

/** Its program: Chromium, Chrome or Edge. Undefined: there is none. */
export function findChromium(): string | undefined {
  return chromiumPlaces(process.platform, process.env, namesIn).find((place) => existsSync(place));
}

/** Nobody but root may not have its sandbox. */
export function mayHaveSandbox(): boolean {
  return process.getuid?.() !== 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is none
  }
}
