/** Finds the browser of this machine, for the built-in browser and for MCP servers that need its path. */
import { existsSync, readdirSync } from 'node:fs';
import { chromiumPlaces } from '../config/tools/chromium.ts';

/** Returns the path of Chromium, Chrome, or Edge, if installed. */
export function findChromium(): string | undefined {
  return chromiumPlaces(process.platform, process.env, namesIn).find((place) => existsSync(place));
}

/** Returns whether Chromium can use its sandbox, which does not work for root. */
export function mayHaveSandbox(): boolean {
  return process.getuid?.() !== 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the folder does not exist
  }
}
