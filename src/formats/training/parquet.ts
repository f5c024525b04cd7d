/** Writes lines as a Parquet file: row group by row group, so that memory does not grow with the file. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Json, JsonObject } from '../../common/json.ts';
import { PRODUCT } from '../../common/product.ts';
import { type Column, cellOf } from './groups.ts';

/** A row group ends after so many rows, or so many values in lists. */
const MAX_ROWS = 1_024;
const MAX_VALUES = 400_000;

type Columns = readonly (readonly [string, Column])[];
type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

/** Returns the file in parts. The same lines give the same bytes. */
export async function* parquetOf(lines: AsyncIterable<JsonObject>, columns: Columns): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({ writer: bytes, schema: schemaOf(columns), createdBy: PRODUCT });
  let rows: JsonObject[] = [];
  let values = 0;
  const writeRows = (): void => {
    if (rows.length === 0) return;
    const columnData = columns.map((column) => ({
      name: column[0],
      data: rows.map((row) => cellOf(row, column)) as unknown[],
      // Of lists, no reader uses them.
      ...(column[1].endsWith('[]') ? { statistics: false } : {}),
    }));
    void writer.write({ columnData, rowGroupSize: rows.length }); // a promise only if its writer flushes
    rows = [];
    values = 0;
  };
  for await (const line of lines) {
    rows.push(line);
    for (const [name, type] of columns) if (type.endsWith('[]')) values += lengthOf(line[name]);
    if (rows.length < MAX_ROWS && values < MAX_VALUES) continue;
    writeRows();
    yield taken(bytes);
  }
  writeRows();
  void writer.finish();
  yield taken(bytes);
}

function taken(writer: ByteWriter): Uint8Array {
  const written = writer.getBytes().slice();
  writer.index = 0; // `offset` stays: positions in the file
  return written;
}

function lengthOf(value: Json | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

function schemaOf(columns: Columns): Schema {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(([name, type]): Schema => {
      switch (type) {
        case 'int32[]':
          return listOf(name, 'INT32');
        case 'float32[]':
          return listOf(name, 'FLOAT');
        case 'int32':
          return [{ name, type: 'INT32', repetition_type: 'OPTIONAL' }];
        case 'float64':
          return [{ name, type: 'DOUBLE', repetition_type: 'OPTIONAL' }];
        case 'boolean':
          return [{ name, type: 'BOOLEAN', repetition_type: 'OPTIONAL' }];
        case 'text':
        case 'json':
          return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }];
      }
    }),
  ];
}

function listOf(name: string, type: 'INT32' | 'FLOAT'): Schema {
  return [
    { name, converted_type: 'LIST', num_children: 1, repetition_type: 'OPTIONAL' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', type, repetition_type: 'REQUIRED' },
  ];
}
