import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeAgentWorld } from '../support/agentWorldFolder.ts';
import { scenarioRows, writeAwmFolder, writePart } from '../support/awmFolder.ts';
import { Bench } from '../support/cli.ts';

describe('rollout world', () => {
  const bench = new Bench({ where: [] });
  const folder = bench.path('worlds');
  before(() => {
    writeAwmFolder(
      folder,
      ['Library', 'harbor', 'market'].map((name) => scenarioRows(name)),
    );
  });
  after(() => bench.close());

  it('lists scenarios, all or those with all words', async () => {
    const all = await bench.run(['world', 'list', folder]);
    assert.equal(all.code, 0, all.stderr);
    assert.match(all.stdout, /^scenario +tasks +description\nlibrary +2 +A shelf for Library[^\n]*\nharbor/);
    assert.match(all.stderr, /3 of 3 scenarios\. Show one with rollout world show /);
    const some = await bench.run(['world', 'list', path.join(folder, 'gen_tasks.jsonl'), 'rename_box', 'HARBOR']);
    assert.match(some.stdout, /\nharbor +2[^\n]*\n$/);
    assert.doesNotMatch(some.stdout, /library|market/);
    const none = await bench.run(['world', 'list', folder, 'nothing', '--json']);
    assert.deepEqual((JSON.parse(none.stdout) as { scenarios: unknown }).scenarios, []);
  });

  it('shows tasks, tables, tools, and verifiers of a scenario, and its parts as published', async () => {
    const shown = await bench.run(['world', 'show', folder, 'Library']);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /^ *0 +code, SQL +Rename the red box to crimson box\.$/m);
    assert.match(shown.stdout, /^boxes +1$/m);
    assert.match(shown.stdout, /^rename_box +PATCH \/boxes\/\{id\} +rename box$/m);
    assert.match(shown.stderr, /2 lines of code\. Print them with --part code\./);
    const code = await bench.run(['world', 'show', folder, 'library', '--part', 'code']);
    assert.match(code.stdout, /^from fastapi import FastAPI\n/);
    const verifier = await bench.run(['world', 'show', folder, 'library', '--part', 'sqlVerifier', '--task', '1']);
    assert.match(verifier.stdout, /^def verify_task\(initial, final\):\n/);
    const none = await bench.run(['world', 'show', folder, 'library', '--part', 'sqlVerifier', '--task', '9']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /The files have no sqlVerifier of library for task 9\./);
  });

  it('reads the format of Agent-World, too', async () => {
    const gardens = bench.path('gardens');
    writeAgentWorld(gardens, 'env_1');
    const listed = await bench.run(['world', 'list', gardens, 'water']);
    assert.match(listed.stdout, /\nenv_1 +1 +A garden with plants\./);
    const shown = await bench.run(['world', 'show', gardens, 'env_1']);
    assert.match(shown.stdout, /^water_plant +Waters a plant\.$/m);
    const code = await bench.run(['world', 'show', gardens, 'env_1', '--part', 'code', '--json']);
    assert.match((JSON.parse(code.stdout) as { text: string }).text, /^def water_plant/);
  });

  it('finds no tasks to set aside in a batch of which tasks passed, and writes the others', async () => {
    const batch = bench.path('plain.batch.yaml');
    writeFileSync(bench.path('tasks.jsonl'), '{"id": "a", "question": "Say 4.", "answer": "4"}\n');
    writeFileSync(
      bench.path('plain.agent.yaml'),
      'version: 1\nname: plain\nmodel: { endpoint: "demo:", name: demo }\nprompt: Answer.\n',
    );
    writeFileSync(
      batch,
      'version: 1\nagent: plain.agent.yaml\ndataset: { file: tasks.jsonl }\nscorer: { kind: contains }\n',
    );
    const ran = await bench.run(['run', batch, '--json']);
    assert.equal(ran.code, 0, ran.stderr);
    const kept = bench.path('kept.txt');
    const filtered = await bench.run(['world', 'lint', '--runs', 'last', '--out', kept, '--json']);
    assert.equal(filtered.code, 0, filtered.stderr);
    assert.deepEqual(JSON.parse(filtered.stdout), { set_aside: [], kept: ['a'] });
    assert.equal(readFileSync(kept, 'utf8'), 'a\n');
  });

  it('says that the lint needs Python, and what is no world', async () => {
    const failed = await bench.run(['world', 'lint', folder, 'library', '--python', bench.path('nowhere')]);
    assert.equal(failed.code, 3);
    assert.match(failed.stderr, /There is no Python interpreter .*nowhere.*Install Python 3\.10 or later\./s);
    assert.match((await bench.run(['world', 'lint', folder, 'lib'])).stderr, /Similar: library\./);
    writeFileSync(bench.path('desk.world.yaml'), 'version: 1\nname: desk\nkind: code\nformat: awm\nfrom: nowhere\n');
    assert.match((await bench.run(['world', 'lint', bench.path('desk.world.yaml')])).stderr, /desk\.world\.yaml:5:7: /);
  });

  it('reports what is wrong with the files, and what to do about a name or a folder that does not exist', async () => {
    const broken = bench.path('broken');
    writeAwmFolder(broken, [scenarioRows('a'), scenarioRows('b')]);
    writePart(broken, 'tasks', [JSON.stringify(scenarioRows('a').tasks[0]), '{"scenario": "b", "tas']);
    const listed = await bench.run(['world', 'list', broken]);
    assert.equal(listed.code, 0);
    assert.match(listed.stderr, /✗ gen_tasks\.jsonl:2: the row is cut off — Download the file again\./);
    const part = await bench.run(['world', 'show', folder, 'library', '--part', 'rubric']);
    assert.match(part.stderr, /There is no part “rubric” in the format of Agent World Model.*Parts: scenario, tasks/s);
    const unknown = await bench.run(['world', 'show', folder, 'lib']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /There is no scenario lib in .*Similar: library\./s);
    const empty = bench.path('empty');
    mkdirSync(empty);
    for (const place of [empty, path.join(empty, 'nowhere')]) {
      const failed = await bench.run(['world', 'list', place]);
      assert.equal(failed.code, 2);
      assert.match(failed.stderr, /There are no published worlds in .*gen_scenario\.jsonl/s);
    }
    for (const words of [['list'], ['show', folder], ['fly', folder]])
      assert.match((await bench.run(['world', ...words])).stderr, /usage: rollout world list FOLDER/);
  });
});
