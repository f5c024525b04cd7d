/** A process that lists and searches a folder of published worlds: `publishedWorlds.ts FOLDER WORDS`. */
import { AwmFolder } from '../../../src/client/published/awmFolder.ts';

const [folder = '', words = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const times: number[] = [];
const timed = async <T>(work: () => Promise<T>): Promise<T> => {
  const began = performance.now();
  const value = await work();
  times.push(performance.now() - began);
  return value;
};
const worlds = await timed(() => AwmFolder.open(folder, signal));
const found = await timed(() => worlds.search(words, signal));
await timed(() => worlds.search(words, signal));
const last = worlds.scenarios.at(-1)?.key ?? '';
await timed(async () => {
  await worlds.details(last, signal);
});
await timed(() => worlds.read('code', worlds.scenarios[0]?.key ?? '', signal));
console.log(JSON.stringify({ times, found: found.length, mb: process.resourceUsage().maxRSS / 1024 }));
await worlds.close();
