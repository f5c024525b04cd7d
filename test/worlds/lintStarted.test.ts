/** The parts of the lint that run code: the scenario is started, its reads are answered, its verifiers judge. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { diskFiles } from '../../src/client/disk.ts';
import { openPublished } from '../../src/client/published/open.ts';
import type { Finding, FindingKind, ScenarioHealth } from '../../src/common/worldHealth.ts';
import { loadWorld } from '../../src/config/load.ts';
import { lintFully } from '../../src/rerun/lintWorld.ts';
import { type Garden, garden, replaced, writeGardens } from './support/gardenFolder.ts';
import { testPython } from './support/python.ts';

const NEVER = new AbortController().signal;

/** A verifier with this body, of which `done` says whether the task is done. */
const JUDGE = (...body: readonly string[]): string =>
  [
    'import sqlite3',
    '',
    'def verify_task_completion(initial, final, answer):',
    '    done = sqlite3.connect(final).execute("SELECT crop FROM plantings WHERE id = 99").fetchone()',
    ...body.map((line) => `    ${line}`),
    '    return {"result": "complete" if done else "others"}',
  ].join('\n');

interface Defect {
  readonly kind: FindingKind;
  readonly about: RegExp;
  /** The line of the code or the verifier. */
  readonly line: string | undefined;
  readonly verifier: string;
}

const VERIFIERS: readonly Defect[] = [
  {
    kind: 'verifier_fails',
    about: /^the code verifier of task 2 fails: IndexError: list index out of range$/,
    line: '    first = [][0]',
    verifier: JUDGE('first = [][0]'),
  },
  {
    kind: 'verifier_fails',
    about: /^the code verifier of task 3 returns \{"complete":false\}, without a text named result$/,
    line: undefined,
    verifier: JUDGE('return {"complete": False}'),
  },
  {
    kind: 'complete_at_start',
    about: /^the code verifier of task 4 says complete before anything was done$/,
    line: undefined,
    verifier: JUDGE('done = True'),
  },
  {
    kind: 'verifier_time',
    about: /^the code verifier of task 5 does not end within 5 s$/,
    line: undefined,
    verifier: JUDGE('while True: pass'),
  },
  {
    kind: 'verifier_memory',
    about: /^the code verifier of task 6 takes more than 256 MB$/,
    line: undefined,
    verifier: JUDGE('rows = [0]', 'while True: rows = rows + rows'),
  },
  {
    kind: 'verifier_exits',
    about: /^the code verifier of task 7 exits instead of returning$/,
    line: '    raise SystemExit(0)',
    verifier: JUDGE('raise SystemExit(0)'),
  },
  {
    kind: 'verifier_prints',
    about: /^the code verifier of task 8 prints: looking$/,
    line: undefined,
    verifier: JUDGE('print("looking")'),
  },
  {
    kind: 'unreachable',
    about: /^the code verifier of task 9 can never say complete: no tool writes gardeners$/,
    line: undefined,
    verifier: JUDGE().replace('SELECT crop FROM plantings WHERE id = 99', 'SELECT id FROM gardeners WHERE id = 99'),
  },
];

describe('the lint of a scenario that is started', () => {
  let folder = '';
  let python = '';
  before(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lint-'));
    python = await testPython();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function lint(name: string, planted: Garden, with_ = python): Promise<ScenarioHealth> {
    writeGardens(path.join(folder, name), { garden: planted });
    const file = path.join(folder, `${name}.world.yaml`);
    writeFileSync(
      file,
      `version: 1\nname: garden\nkind: code\nformat: awm\nfrom: ${name}\npython: ${with_}\n` +
        'session: { memory_mb: 256 }\n',
    );
    const { value } = await loadWorld(diskFiles(folder), file);
    assert.ok(value?.kind === 'code');
    const worlds = await openPublished(path.join(folder, name), NEVER);
    const healths: ScenarioHealth[] = [];
    try {
      const options = { cache: path.join(folder, 'cache'), templates: path.join(folder, 'templates'), signal: NEVER };
      await lintFully(worlds, ['garden'], { ...options, modes: ['code'], world: value }, (health) =>
        healths.push(health),
      );
    } finally {
      await worlds.close();
    }
    const [health] = healths;
    assert.ok(health !== undefined);
    return health;
  }

  const kept = (): number => readdirSync(path.join(folder, 'cache')).length;
  const lineOf = (text: string, { source }: Finding): string => text.split('\n')[(source?.line ?? 0) - 1] ?? '';

  it('finds nothing in a world without defects', async () => {
    const { findings, ran, stopped, pure } = await lint('clean', garden());
    assert.deepEqual({ findings, stopped }, { findings: [], stopped: undefined });
    assert.deepEqual(ran, ['static', 'started', 'verifier']);
    assert.equal(pure?.length, 6);
  });

  it('finds reads that fail, with the line, and tools that write although they should not', async () => {
    const planted = garden();
    planted.code = replaced(planted.code, '            name=gardener.name,\n', '            name=gardener.nickname,\n');
    planted.code = replaced(
      planted.code,
      '        query = select(Plot).where(Plot.square_meters >= minimum)',
      '        note(db)\n        query = select(Plot).where(Plot.square_meters >= minimum)',
    );
    planted.code = replaced(
      planted.code,
      'app = FastAPI(',
      'def note(db):\n    getattr(db.connection().connection, "execute")("UPDATE plots SET code = code || 1")\n' +
        '    getattr(db, "com" + "mit")()\n\n\napp = FastAPI(',
    );
    const { findings, pure } = await lint('reads', planted);
    assert.equal(findings.length, 1, JSON.stringify(findings));
    const [finding] = findings;
    assert.ok(finding !== undefined);
    assert.equal(finding.kind, 'read_fails');
    assert.equal(finding.severity, 'error');
    assert.match(finding.message, /^get_gardener\("gardener_id":\d\) fails: AttributeError: .*nickname/);
    assert.match(lineOf(planted.code, finding), /^ +name=gardener\.nickname,|GardenerOut\($/);
    assert.ok(pure?.includes('list_plots') === false);
  });

  it('finds code that cannot be loaded, and packages that are missing', async () => {
    for (const [name, added, kind, about] of [
      ['load', 'print(undefined_name)', 'load_fails', /^the code cannot be loaded: NameError: /],
      ['package', 'import no_such_package', 'missing_package', /^the code needs the Python package no_such_package, /],
    ] as const) {
      const planted = garden();
      planted.code = replaced(planted.code, 'app = FastAPI(', `${added}\napp = FastAPI(`);
      const before = kept();
      const { findings, ran } = await lint(name, planted);
      // The package may be installed before the next lint.
      assert.equal(kept() - before, kind === 'missing_package' ? 0 : 1);
      assert.deepEqual(
        findings.map((finding) => finding.kind),
        [kind],
      );
      const [finding] = findings;
      assert.ok(finding !== undefined);
      assert.match(finding.message, about);
      assert.equal(lineOf(planted.code, finding), added);
      assert.deepEqual(ran, ['static', 'started']);
    }
  });

  it('finds every defect of verifiers, each bounded, and no other', async () => {
    const planted = garden();
    for (const [number, { verifier }] of VERIFIERS.entries()) {
      planted.tasks.push(`Do what is asked in number ${number}.`);
      planted.codeVerifiers.push(verifier);
    }
    const { findings } = await lint('verifiers', planted);
    const left = [...findings];
    for (const { kind, about, line, verifier } of VERIFIERS) {
      const at = left.findIndex((finding) => finding.kind === kind && about.test(finding.message));
      assert.notEqual(at, -1, `${about.source} is not in\n${findings.map(({ message }) => message).join('\n')}`);
      const [finding] = left.splice(at, 1);
      assert.ok(finding !== undefined);
      if (line !== undefined) assert.equal(lineOf(verifier, finding), line);
      assert.equal(finding.severity, kind === 'verifier_prints' ? 'warning' : 'error');
    }
    assert.deepEqual(left, []);
  });

  it('says why a scenario was not started', async () => {
    const { ran, stopped } = await lint('python', garden(), path.join(folder, 'nowhere'));
    assert.deepEqual(ran, ['static']);
    assert.match(stopped ?? '', /^It was not started\. Worlds of kind code need .*nowhere/);
  });
});
