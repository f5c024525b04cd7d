/** Rows and blobs as frames of an archive. */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { type BlobsHeader, damaged, frameBytes, MAX_PAYLOAD, type RowsHeader } from '../../protocol/archive.ts';
import { bytesOr } from '../sql/row.ts';
import type { Row, Table, Value } from '../sql/sql.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** Most bytes are compressed already. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Returns rows of a table as a frame. In its JSON, a binary value is its length. */
export async function rowsFrame(
  table: Table,
  columns: readonly string[],
  rows: readonly Row[],
  streams?: readonly (readonly [number, string])[],
): Promise<Uint8Array> {
  const binary: Uint8Array[] = [];
  const values = rows.map((row) =>
    columns.map((column) => {
      if (table.columns[column] !== 'bytes') return row[column] ?? null;
      const bytes = bytesOr(row, column, null);
      if (bytes === null) return null;
      binary.push(bytes);
      return bytes.byteLength;
    }),
  );
  const json = Buffer.from(JSON.stringify(values));
  const raw = Buffer.concat([json, ...binary]);
  const payload = await compress(raw, LEVEL);
  return frameBytes(
    {
      kind: 'rows',
      table: table.name,
      columns: [...columns],
      rows: rows.length,
      json: json.byteLength,
      raw: raw.byteLength,
      size: payload.byteLength,
      ...(streams === undefined ? {} : { streams: streams.map(([id, name]) => [id, name]) }),
    },
    payload,
  );
}

const cell = z.union([z.string(), z.number().int(), z.null()]);
const cells = z.array(z.array(cell));

/** Reads the rows of a frame, whose columns the table must have. Throws `usage` if the frame is damaged. */
export async function readRows(header: RowsHeader, payload: Uint8Array, table: Table): Promise<Value[][]> {
  const unknown = header.columns.find((column) => !Object.hasOwn(table.columns, column));
  if (unknown !== undefined) throw damaged(`${table.name} has no column ${unknown}`);
  const raw = await unpacked(payload, header.raw);
  const parsed = cells.safeParse(jsonOf(raw.subarray(0, header.json)));
  if (!parsed.success || parsed.data.length !== header.rows) throw damaged(`rows of ${table.name} are not readable`);
  let at = header.json;
  const rows = parsed.data.map((values) => {
    if (values.length !== header.columns.length) throw damaged(`a row of ${table.name} has another length`);
    return values.map((value, index): Value => {
      const kind = table.columns[header.columns[index] ?? ''];
      if (value === null) return null;
      if (kind === 'text' && typeof value === 'string') return value;
      if (typeof value !== 'number' || kind === 'text') throw damaged(`a value of ${table.name} has another type`);
      if (kind === 'int') return value;
      const end = at + value;
      if (value < 0 || end > raw.byteLength) throw damaged(`a value of ${table.name} is incomplete`);
      const bytes = raw.subarray(at, end);
      at = end;
      return bytes;
    });
  });
  if (at !== raw.byteLength) throw damaged(`bytes of ${table.name} belong to no row`);
  return rows;
}

/** Returns the contents of blobs as a frame. */
export async function blobsFrame(blobs: readonly { sha: string; content: Uint8Array }[]): Promise<Uint8Array> {
  const raw = Buffer.concat(blobs.map(({ content }) => content));
  const payload = await compress(raw, LEVEL);
  return frameBytes(
    {
      kind: 'blobs',
      blobs: blobs.map(({ sha, content }) => [sha, content.byteLength]),
      raw: raw.byteLength,
      size: payload.byteLength,
    },
    payload,
  );
}

/** Reads the blobs of a frame. Their hashes are not checked. */
export async function readBlobs(
  header: BlobsHeader,
  payload: Uint8Array,
): Promise<{ sha: string; content: Uint8Array }[]> {
  const raw = await unpacked(payload, header.raw);
  let at = 0;
  const blobs = header.blobs.map(([sha, size]) => {
    const content = raw.subarray(at, at + size);
    at += size;
    return { sha, content };
  });
  if (at !== raw.byteLength) throw damaged('blobs have another size');
  return blobs;
}

async function unpacked(payload: Uint8Array, size: number): Promise<Uint8Array> {
  if (size > MAX_PAYLOAD) throw damaged('a frame is too large');
  const raw = await decompress(payload, { maxOutputLength: size + 1 }).catch(() => undefined);
  if (raw?.byteLength !== size) throw damaged('a frame cannot be unpacked');
  return raw;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch {
    throw damaged('rows are not JSON');
  }
}
