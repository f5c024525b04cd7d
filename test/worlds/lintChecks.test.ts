/** The lint where world files are used: `rollout check`, and before a batch is submitted. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkDisk } from '../../src/client/commands/checkDisk.ts';
import { lintWorldFile } from '../../src/client/published/lintWorlds.ts';
import { readBatch } from '../../src/client/submitFile.ts';
import { StudioError } from '../../src/common/errors.ts';
import { type Garden, garden, replaced, writeGardens } from './support/gardenFolder.ts';

describe('the lint of the scenarios that a batch names', () => {
  let folder = '';
  let env: NodeJS.ProcessEnv;
  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lint-'));
    env = { ...process.env, XDG_CACHE_HOME: path.join(folder, 'cache'), LOCALAPPDATA: folder };
    const broken: Garden = garden();
    broken.code = replaced(broken.code, '    crop: Optional[str] = None\n', '    crop: str = None\n');
    broken.endpoints.push(['GET', '/sheds', 'list_sheds']);
    broken.codeVerifiers[1] = broken.codeVerifiers[1]?.replace('harvests h', 'harvest h');
    writeGardens(path.join(folder, 'published'), { garden: garden(), meadow: broken });
    writeFileSync(
      path.join(folder, 'desk.agent.yaml'),
      'version: 1\nname: desk\nmodel: { endpoint: "demo:", name: demo }\nprompt: Work.\n',
    );
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function write(scenario: string, more = ''): void {
    writeFileSync(
      path.join(folder, 'green.world.yaml'),
      `version: 1\nname: green\nkind: code\nformat: awm\nfrom: published\n${more}`,
    );
    writeFileSync(
      path.join(folder, 'green.batch.yaml'),
      'version: 1\nagent: desk.agent.yaml\nworld: green.world.yaml\nscorer: { kind: world }\n' +
        `dataset: { file: published, format: awm, scenarios: [${scenario}] }\n`,
    );
  }

  const check = async (): Promise<string[]> => {
    const { problems } = await checkDisk(folder, ['green.batch.yaml'], () => Promise.resolve([]), env);
    return problems.map(({ file, line, severity, message }) => `${path.basename(file)}:${line} ${severity} ${message}`);
  };
  const submit = async (): Promise<string[]> =>
    (await readBatch('green.batch.yaml', { cwd: folder }, env)).warnings.map(({ message }) => message);

  const ERRORS = ['meadow: the verifier of task 1 reads the table harvest, which does not exist'];

  it('finds nothing where there is nothing', async () => {
    write('garden');
    assert.deepEqual(await check(), []);
    assert.deepEqual(await submit(), []);
  });

  it('lists all findings in a check, and refuses a batch with errors', async () => {
    write('meadow');
    assert.deepEqual(await check(), [
      'gen_envs.jsonl:2 warning meadow: `crop` of update_planting may be left out, but null is refused: ' +
        'its type is str',
      'gen_spec.jsonl:2 warning meadow: the code has no tool list_sheds (GET /sheds)',
      `gen_verifier.pure_code.jsonl:4 error ${ERRORS[0]}`,
    ]);
    await assert.rejects(submit, (error) => {
      assert.ok(StudioError.is(error, 'config'));
      assert.match(error.message, /^published\/gen_verifier\.pure_code\.jsonl:4:\d+: meadow: the verifier of task 1/);
      return true;
    });
  });

  it('warns, or says nothing, if the world file says so', async () => {
    write('meadow', 'lint: warn\n');
    assert.equal((await check()).filter((problem) => problem.includes('error')).length, 0);
    assert.deepEqual(await submit(), ERRORS);
    write('meadow', 'lint: off\n');
    assert.deepEqual(await check(), []);
    assert.deepEqual(await submit(), []);
  });

  it('lints the scenario that a world file names, for the editor', async () => {
    write('meadow', 'scenario: meadow\n');
    const found = await lintWorldFile(path.join(folder, 'green.world.yaml'), env, new AbortController().signal);
    assert.deepEqual(
      found.map(({ file, severity }) => `${severity} ${path.basename(file)}`),
      ['error gen_verifier.pure_code.jsonl', 'warning gen_envs.jsonl', 'warning gen_spec.jsonl'],
    );
  });

  it('says that scenarios are not linted if there is no Python', async () => {
    write('meadow');
    const before = process.env['PATH'];
    process.env['PATH'] = path.join(folder, 'nowhere');
    try {
      env['XDG_CACHE_HOME'] = path.join(folder, 'other');
      const [problem, ...more] = await check();
      assert.match(problem ?? '', /^green\.world\.yaml:5 warning the scenarios are not linted: There is no Python /);
      assert.deepEqual(more, []);
    } finally {
      process.env['PATH'] = before;
    }
  });
});
