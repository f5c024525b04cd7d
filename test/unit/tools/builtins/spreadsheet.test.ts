import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import type { ToolHost } from '../../../../src/rollout/ports.ts';
import { openTools } from '../../../../src/tools/hosts.ts';
import { workbookFile, zipOf } from '../../../support/officeFiles.ts';
import { isClass } from '../../../support/stubServer.ts';
import { callTool, type ToolBench, toolBench } from '../../../support/tools.ts';

let bench: ToolBench;
let tools: ToolHost;
const call = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
  (await callTool(tools, name, args as never)).response;
const parts = async (file: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(unzipSync(await readFile(path.join(bench.cwd, file)))).map(([name, bytes]) => [
      name,
      strFromU8(bytes),
    ]),
  );

before(async () => {
  bench = await toolBench();
  tools = await openTools([{ kind: 'builtin', name: 'spreadsheet' }], bench.environment);
  await writeFile(path.join(bench.cwd, 'sales.xlsx'), workbookFile());
});
after(async () => {
  await tools.close();
  await bench.close();
});

describe('a workbook of another program', () => {
  it('is read with formulas computed, shared ones too, and dates as text', async () => {
    assert.deepEqual(
      await call('read_data_from_excel', { filepath: 'sales.xlsx', sheet_name: 'Sales', formulas: true }),
      {
        area: 'A1:D4',
        rows: [
          ['item', 'price', 'twice', 'day'],
          ['tea & milk', 2.5, 5, '2024-01-31'],
          [true, 4, 8, '2024-01-31 12:00:00'],
          [null, 6.5, 13, '#N/A'],
        ],
        formulas: { C2: '=B2*2', C3: '=B3*2', B4: '=SUM(B2:B3)', C4: '=B4*2' },
      },
    );
    assert.deepEqual(await call('read_data_from_excel', { filepath: 'sales.xlsx', sheet_name: 'By month' }), {
      area: 'A1:B1',
      rows: [[7.8, 0.2]],
    });
    assert.deepEqual(
      await call('read_data_from_excel', {
        filepath: 'sales.xlsx',
        sheet_name: 'Sales',
        start_cell: 'B2',
        end_cell: 'B3',
      }),
      { area: 'B2:B3', rows: [[2.5], [4]] },
    );
  });

  it('is returned whole as tables', async () => {
    const text = String(await call('extract_excel_content', { file_path: 'sales.xlsx' }));
    assert.match(text, /^## Sales \(4 rows, 4 columns\)\n\| \| A \| B \| C \| D \|\n/);
    assert.match(text, /\n\| 2 \| tea & milk \| 2\.5 \| 5 \| 2024-01-31 \|\n/);
    assert.match(text, /## By month \(1 row, 2 columns\)/);
    assert.doesNotMatch(
      String(await call('extract_excel_content', { file_path: 'sales.xlsx', sheet_names: ['Sales'] })),
      /By month/,
    );
  });

  it('is changed with everything that depends on it; the rest is unchanged', async () => {
    await writeFile(path.join(bench.cwd, 'changed.xlsx'), workbookFile());
    assert.deepEqual(
      await call('write_data_to_excel', {
        filepath: 'changed.xlsx',
        sheet_name: 'Sales',
        data: [
          [10, '=B2+1', null],
          ['<new>', true],
        ],
        start_cell: 'B2',
      }),
      { written: 5 },
    );
    assert.deepEqual(await call('read_data_from_excel', { filepath: 'changed.xlsx', sheet_name: 'Sales' }), {
      area: 'A1:D4',
      rows: [
        ['item', 'price', 'twice', 'day'],
        ['tea & milk', 10, 11, null],
        [true, '<new>', true, '2024-01-31 12:00:00'],
        [null, 10, 20, '#N/A'],
      ],
    });
    assert.deepEqual(await call('read_data_from_excel', { filepath: 'changed.xlsx', sheet_name: 'By month' }), {
      area: 'A1:B1',
      rows: [[12, 0.2]],
    });
    const files = await parts('changed.xlsx');
    assert.equal(files['xl/charts/chart1.xml']?.includes('<chart/>'), true);
    assert.match(files['xl/worksheets/sheet1.xml'] ?? '', /<extra keep="yes"\/>/);
    assert.match(
      files['xl/worksheets/sheet1.xml'] ?? '',
      /<c r="C4"><f>B4\*2<\/f><v>20<\/v><\/c>/,
      'its formula is its own now',
    );
    assert.match(files['xl/worksheets/sheet2.xml'] ?? '', /<x:f>Sales!B4\*\(1\+Tax\)<\/x:f><x:v>12<\/x:v>/);
    assert.equal(files['xl/calcChain.xml'], undefined);
    assert.doesNotMatch(
      `${files['[Content_Types].xml'] ?? ''}${files['xl/_rels/workbook.xml.rels'] ?? ''}`,
      /calcChain/,
    );
  });
});

describe('a new workbook', () => {
  it('is created with its folders and sheets, and can be read again', async () => {
    await call('write_data_to_excel', {
      filepath: 'out/new.xlsx',
      sheet_name: 'Data',
      data: [
        ['n', 'v'],
        ['a', 2],
        ['b', 3.5],
        ['sum', '=SUM(B2:B3)'],
      ],
    });
    await call('write_data_to_excel', {
      filepath: 'out/new.xlsx',
      sheet_name: 'Two & more',
      data: [['=Data!B4&"!"']],
      start_cell: 'C3',
    });
    assert.deepEqual(
      await call('apply_formula', { filepath: 'out/new.xlsx', sheet_name: 'Data', cell: 'C4', formula: 'B4*2' }),
      { cell: 'C4', value: 11 },
    );
    assert.deepEqual(
      await call('read_data_from_excel', { filepath: 'out/new.xlsx', sheet_name: 'Data', start_cell: 'A4' }),
      { area: 'A4:C4', rows: [['sum', 5.5, 11]] },
    );
    assert.deepEqual(
      await call('read_data_from_excel', { filepath: 'out/new.xlsx', sheet_name: 'Two & more', start_cell: 'C3' }),
      { area: 'C3:C3', rows: [['5.5!']] },
    );
  });

  it('reports formulas that it cannot compute, and keeps them for a program that can', async () => {
    assert.deepEqual(
      await call('write_data_to_excel', { filepath: 'odd.xlsx', sheet_name: 'S', data: [['=LAMBDA(1)'], ['=A2']] }),
      { written: 2, not_computed: ['S!A1: The function LAMBDA is not supported.', 'S!A2: S!A2 refers to itself.'] },
    );
    assert.deepEqual(
      await call('read_data_from_excel', { filepath: 'odd.xlsx', sheet_name: 'S', end_cell: 'A1', formulas: true }),
      {
        area: 'A1:A1',
        rows: [['[not computed: The function LAMBDA is not supported.]']],
        formulas: { A1: '=LAMBDA(1)' },
      },
    );
  });
});

it('errors are reported', async () => {
  await writeFile(path.join(bench.cwd, 'text.xlsx'), 'no workbook');
  await writeFile(path.join(bench.cwd, 'zip.xlsx'), zipOf({ 'a.txt': 'x' }));
  for (const [name, args, errorClass, said] of [
    [
      'read_data_from_excel',
      { filepath: 'text.xlsx', sheet_name: 'S' },
      'tool_error',
      /not an \.xlsx workbook: cannot unpack it/,
    ],
    ['read_data_from_excel', { filepath: 'zip.xlsx', sheet_name: 'S' }, 'tool_error', /it contains no workbook/],
    ['read_data_from_excel', { filepath: 'none.xlsx', sheet_name: 'S' }, 'tool_error', /none\.xlsx: no such file/],
    ['read_data_from_excel', { filepath: '../x.xlsx', sheet_name: 'S' }, 'tool_error', /outside the working directory/],
    [
      'write_data_to_excel',
      { filepath: '../x.xlsx', sheet_name: 'S', data: [[1]] },
      'tool_error',
      /outside the working directory/,
    ],
    [
      'read_data_from_excel',
      { filepath: 'sales.xlsx', sheet_name: 'None' },
      'tool_error',
      /Unknown sheet "None"\. Sheets: Sales, By month/,
    ],
    [
      'read_data_from_excel',
      { filepath: 'sales.xlsx', sheet_name: 'Sales', end_cell: 'ZZ9999' },
      'tool_error',
      /maximum per call is 20000/,
    ],
    [
      'read_data_from_excel',
      { filepath: 'sales.xlsx', sheet_name: 'Sales', start_cell: 'C', end_cell: 'A1' },
      'invalid_arguments',
      /start_cell/,
    ],
    [
      'apply_formula',
      { filepath: 'sales.xlsx', sheet_name: 'Sales', cell: 'A9', formula: '=SUM(' },
      'tool_error',
      /ends too early/,
    ],
    [
      'write_data_to_excel',
      { filepath: 'sales.xlsx', sheet_name: 'a/b', data: [[1]] },
      'invalid_arguments',
      /is not a valid sheet name/,
    ],
  ] as const)
    await assert.rejects(call(name, args), isClass(errorClass, said), JSON.stringify(args));
});
