import { readFileSync } from 'node:fs';

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;

/** Returns the names of the files in a zip archive, and its size. */
export function zipEntries(file: string): { entries: string[]; bytes: number } {
  const zip = readFileSync(file);
  // The record is at the end, before a comment of unknown length.
  let end = zip.length - 22;
  while (end >= 0 && zip.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1;
  if (end < 0) throw new Error(`${file} is not a zip archive.`);
  const count = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  const entries: string[] = [];
  for (let index = 0; index < count; index += 1) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error(`${file}: the directory of the archive is broken.`);
    const name = zip.readUInt16LE(at + 28);
    entries.push(zip.toString('utf8', at + 46, at + 46 + name));
    at += 46 + name + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return { entries: entries.filter((entry) => !entry.endsWith('/')), bytes: zip.length };
}
