/** Joins screenshots into one animated PNG (https://www.w3.org/TR/png-3/#apngFrameBasedAnimation). */
import { crc32 } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

/** Returns an endless animation. `frames`: PNG files of one size and color type. `ms`: duration of each frame. */
export function animatedPng(frames: readonly Buffer[], ms: number): Buffer {
  const pictures = frames.map(chunksOf);
  const header = pictures[0]?.find(({ type }) => type === 'IHDR');
  if (header === undefined) throw new Error('an animation needs at least one picture');
  const parts = [SIGNATURE, chunk('IHDR', header.data), chunk('acTL', numbers(pictures.length, 0))];
  let sequence = 0;
  for (const [index, picture] of pictures.entries()) {
    if (picture.find(({ type }) => type === 'IHDR')?.data.equals(header.data) !== true)
      throw new Error(`picture ${index + 1} has another size or color type than the first`);
    parts.push(chunk('fcTL', Buffer.concat([numbers(sequence++), frameOf(header.data, ms)])));
    for (const { data } of picture.filter(({ type }) => type === 'IDAT'))
      parts.push(index === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([numbers(sequence++), data])));
  }
  return Buffer.concat([...parts, chunk('IEND', Buffer.alloc(0))]);
}

/** Width, height, no offset, delay in milliseconds; the frame replaces what was there. */
function frameOf(header: Buffer, ms: number): Buffer {
  const delay = Buffer.alloc(6);
  delay.writeUInt16BE(ms, 0);
  delay.writeUInt16BE(1000, 2);
  return Buffer.concat([header.subarray(0, 8), numbers(0, 0), delay]);
}

function chunksOf(png: Buffer): Chunk[] {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw new Error('not a PNG file');
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    chunks.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([numbers(data.length), named, numbers(crc32(named))]);
}

function numbers(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) buffer.writeUInt32BE(value, index * 4);
  return buffer;
}
