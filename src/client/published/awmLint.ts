/** Reads a scenario of Agent World Model for the lint. */
import { hashOf } from '../../common/hash.ts';
import { jsonOffset, lineAndColumn, offsetOf } from '../../common/jsonOffset.ts';
import type { Finding, FindingPlace } from '../../common/worldHealth.ts';
import { type AwmRow, verifierOf } from '../../formats/awm.ts';
import { AWM_FILES, type AwmPart, isVerifier } from '../../formats/awmFiles.ts';
import type { Where } from '../../worlds/lint/analysis.ts';
import type { LintSource, PublishedVerifier } from '../../worlds/lint/source.ts';
import { type AwmFolder, parseRow } from './awmFolder.ts';

/** What judges tasks. */
export type VerifierMode = 'code' | 'sql';

const VERIFIERS = { code: 'codeVerifier', sql: 'sqlVerifier' } as const;
/** Parts without which nothing can run. */
const NEEDED = ['schema', 'code', 'tasks'] as const;

interface Row {
  readonly line: number;
  readonly text: string;
  /** A Python file that replaces its code. */
  readonly file?: string;
  readonly value: AwmRow<AwmPart>;
}

/** Reads a scenario. `modes`: verifiers that its tasks should have; by default, those of which there is a file. */
export async function awmLintSource(
  folder: AwmFolder,
  scenario: string,
  signal: AbortSignal,
  modes?: readonly VerifierMode[],
): Promise<LintSource> {
  const rows = new Map<string, Row>();
  const findings: Finding[] = [];
  const read = async <Name extends AwmPart>(name: Name, task?: number): Promise<AwmRow<Name> | undefined> => {
    const row = await folder.row(name, scenario, signal, task);
    if (row === undefined) return undefined;
    const parsed = parseRow(name, row.text);
    if ('problem' in parsed) {
      findings.push(unreadable(AWM_FILES[name], row.line, parsed.problem, task));
      return undefined;
    }
    rows.set(rowName(name, task), { ...row, value: parsed.row });
    return parsed.row;
  };
  const tasks = (await read('tasks'))?.tasks ?? [];
  const [schema, inserts, spec, code] = [
    await read('schema'),
    await read('rows'),
    await read('spec'),
    await read('code'),
  ];
  const wanted = modes ?? (['code', 'sql'] as const).filter((mode) => folder.has(VERIFIERS[mode]));
  const verifiers: PublishedVerifier[] = [];
  for (const mode of wanted)
    for (const task of tasks.keys()) {
      const row = await read(VERIFIERS[mode], task);
      if (row !== undefined)
        verifiers.push({ task, mode, python: row.verification.code, function: verifierOf(row).function });
    }
  findings.push(...problemsOf(folder, scenario));
  for (const part of NEEDED)
    if (!rows.has(part) && !findings.some(({ place }) => place.file === AWM_FILES[part]))
      findings.push(missing(part, scenario));
  const request = {
    format: 'awm',
    tables: schema?.db_schema.tables ?? [],
    rows: inserts?.sample_data.tables.map((table) => ({
      table: table.table_name,
      statements: table.insert_statements,
    })),
    spec: spec === undefined ? [] : endpointsOf(spec),
    code: code?.full_code ?? null,
    tasks,
    verifiers,
    // They are reported as such, not as missing.
    unreadable: wanted.flatMap((mode) =>
      findings.flatMap(({ place, task }) =>
        task !== undefined && place.file === AWM_FILES[VERIFIERS[mode]] ? [{ task, mode }] : [],
      ),
    ),
    modes: wanted,
  };
  return {
    scenario,
    request: { ...request, rows: request.rows ?? [] },
    hash: hashOf([request, ...findings.map(({ message }) => message)]),
    findings,
    verifiers,
    place: (where) => placeOf(rows, where),
    codePlace: (line = 1) => placeOf(rows, { part: 'code', path: ['full_code'], line, column: 1 }),
    verifierPlace: ({ task, mode }, line = 1) =>
      placeOf(rows, { part: VERIFIERS[mode], path: ['verification', 'code'], task, line, column: 1 }),
  };
}

function rowName(part: string, task: number | undefined): string {
  return task === undefined ? part : `${part}/${task}`;
}

function endpointsOf({ api_spec }: AwmRow<'spec'>): object[] {
  return api_spec.api_groups.flatMap(({ endpoints }, group) =>
    endpoints.map(({ path, method, operation_id, request_params }, endpoint) => ({
      ...{ path, method, operation_id },
      examples: Object.fromEntries(Object.entries(request_params).map(([name, { example }]) => [name, example])),
      at: ['api_spec', 'api_groups', group, 'endpoints', endpoint, 'operation_id'],
    })),
  );
}

function placeOf(rows: ReadonlyMap<string, Row>, where: Where): Pick<Finding, 'place' | 'source'> {
  const { part, path, task, line, column } = where;
  const row = rows.get(rowName(part, task));
  const file = AWM_FILES[part as AwmPart];
  if (row === undefined) return { place: { file, line: 1, column: 1 } };
  const text = textAt(row.value, path);
  const within = line === undefined || text === undefined ? undefined : offsetOf(text, line, column ?? 1);
  if (row.file !== undefined) {
    const inFile = { line: line ?? 1, column: column ?? 1 };
    return {
      place: { file: row.file, ...inFile },
      source: { part, ...(task === undefined ? {} : { task }), ...inFile },
    };
  }
  const place = { file, line: row.line, column: (jsonOffset(row.text, path, within) ?? 0) + 1 };
  const shown = part === 'code' || isVerifier(part as AwmPart) ? undefined : JSON.stringify(row.value, null, 2);
  const source = {
    part,
    ...(task === undefined ? {} : { task }),
    ...(shown === undefined
      ? { line: line ?? 1, column: column ?? 1 }
      : lineAndColumn(shown, jsonOffset(shown, path) ?? 0)),
  };
  return { place, source };
}

function textAt(value: unknown, path: Where['path']): string | undefined {
  let found = value;
  for (const step of path) found = (found as Record<string | number, unknown> | undefined)?.[step];
  return typeof found === 'string' ? found : undefined;
}

/** Returns what is wrong with lines of this scenario. */
function problemsOf({ problems }: AwmFolder, scenario: string): Finding[] {
  return problems
    .filter((problem) => problem.scenario === scenario)
    .map(({ file, line = 1, message, hint = 'Download the file again.', task, isDuplicate }) => ({
      kind: isDuplicate === true ? 'duplicate' : 'unreadable',
      severity: isDuplicate === true ? 'warning' : 'error',
      message,
      hint,
      place: startOf(file, line),
      ...(task === undefined ? {} : { task }),
    }));
}

function startOf(file: string, line: number): FindingPlace {
  return { file, line, column: 1 };
}

function unreadable(file: string, line: number, message: string, task: number | undefined): Finding {
  return {
    ...{ kind: 'unreadable', severity: 'error', message, hint: 'Download the file again, or remove this line.' },
    place: startOf(file, line),
    ...(task === undefined ? {} : { task }),
  };
}

function missing(part: (typeof NEEDED)[number], scenario: string): Finding {
  return {
    kind: 'missing_part',
    severity: 'error',
    message: `there is no line with the ${part} of ${scenario}`,
    hint: 'Download the file again, or leave this scenario out.',
    place: startOf(AWM_FILES[part], 1),
  };
}
