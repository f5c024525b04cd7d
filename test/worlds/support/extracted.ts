/** A scenario of published files, extracted as the World page does it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AwmFolder } from '../../../src/client/published/awmFolder.ts';
import { extractedFiles } from '../../../src/client/published/extract.ts';

/** Writes the files of a scenario, and a world file that uses them next to their folder. Returns that file. */
export async function extractScenario(published: string, key: string, target: string): Promise<string> {
  const { signal } = new AbortController();
  const worlds = await AwmFolder.open(published, signal);
  try {
    const { files, format } = await extractedFiles(worlds, key, signal);
    for (const [name, text] of files) {
      const file = path.join(target, ...name.split('/'));
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    const from = path.basename(target);
    const world = path.join(path.dirname(target), `${from}.world.yaml`);
    writeFileSync(world, `version: 1\nname: ${from}\nkind: code\nformat: ${format}\nfrom: ${from}\nscenario: ${key}\n`);
    return world;
  } finally {
    await worlds.close();
  }
}
