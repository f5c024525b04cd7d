import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveSubmission } from '../../../src/config/env.ts';
import { loadAgent, loadBatch } from '../../../src/config/load.ts';
import { needsOf } from '../../../src/config/needs.ts';
import { revisionDifferences } from '../../../src/config/revisions.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import {
  agentAt,
  agentsOf,
  codeSha,
  configSha,
  type Submission,
  submission as submissionSchema,
} from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const MODEL = 'model: { endpoint: "${env:VLLM_URL}", name: m }\n';
const worker = (name: string, more = ''): string =>
  `version: 1\nname: ${name}\n${MODEL}prompt: You are ${name}.\n${more}`;
const WORKERS = {
  'a.agent.yaml': worker('a', 'description: Finds.\n'),
  'b.agent.yaml': worker('b', 'tools: [{ module: t.ts }]\n'),
  'c.agent.yaml': worker('c'),
  't.ts': 'export const t = 1;',
};
const HEAD = 'version: 1\nname: desk\n';

async function problemsOf(desk: string, more: Record<string, string> = {}): Promise<string[]> {
  const { problems } = await loadAgent(
    memoryFiles({ ...WORKERS, ...more, 'desk.agent.yaml': desk }),
    'desk.agent.yaml',
  );
  return problems.map((problem) => formatProblem(problem, '/w'));
}

describe('a team in a file', () => {
  const good: [string, string][] = [
    ['a pipeline', `${HEAD}team: { kind: workflow, members: [a.agent.yaml, b.agent.yaml] }\n`],
    [
      'a graph',
      `${HEAD}team:\n  kind: workflow\n  members:\n    - { agent: a.agent.yaml, after: [] }\n    - { agent: ` +
        'a.agent.yaml, name: second, after: [] }\n    - { agent: b.agent.yaml, after: [a, second], loop: { until: ' +
        `'OK', most: 3 } }\n`,
    ],
    ['a handoff that a member begins', `${HEAD}team: { kind: handoff, members: [a.agent.yaml, b.agent.yaml] }\n`],
    [
      'a handoff that this agent begins',
      `${HEAD}${MODEL}prompt: Sort.\nteam: { kind: handoff, members: [{ agent: a.agent.yaml, to: [desk] }, ` +
        'b.agent.yaml] }\n',
    ],
    ['a leader', `${HEAD}${MODEL}prompt: Lead.\nteam: { kind: leader, members: [a.agent.yaml, b.agent.yaml] }\n`],
    ['a team in a team', `${HEAD}${MODEL}prompt: Lead.\nteam: { kind: leader, members: [inner.agent.yaml] }\n`],
  ];
  for (const [name, text] of good) {
    it(`may be ${name}`, async () => {
      assert.deepEqual(
        await problemsOf(text, {
          'inner.agent.yaml':
            'version: 1\nname: inner\nteam: { kind: workflow, members: [a.agent.yaml, b.agent.yaml] }\n',
        }),
        [],
      );
    });
  }

  const bad: [string, string, string[]][] = [
    [
      'a missing member',
      'team: { kind: workflow, members: [x.agent.yaml] }\n',
      ['desk.agent.yaml:3:35: file x.agent.yaml not found — Did you mean `a.agent.yaml`?'],
    ],
    [
      'two members with one name',
      'team: { kind: workflow, members: [a.agent.yaml, a.agent.yaml] }\n',
      [
        'desk.agent.yaml:3:49: two agents of this team are named `a` — Add a unique `name:` to one of them, as in ' +
          '`{ agent: …, name: second }`.',
      ],
    ],
    [
      'a predecessor that is not a member',
      'team: { kind: workflow, members: [a.agent.yaml, { agent: b.agent.yaml, after: [aa] }] }\n',
      ['desk.agent.yaml:3:80: `aa` is not a member of this team — Did you mean `a`?'],
    ],
    [
      'a handoff to an unknown member',
      'team: { kind: handoff, members: [{ agent: a.agent.yaml, to: [zebra] }, b.agent.yaml] }\n',
      ['desk.agent.yaml:3:62: `zebra` is not a member of this team — The members are a, b.'],
    ],
    [
      'members that wait for each other',
      'team: { kind: workflow, members: [{ agent: a.agent.yaml, after: [b] }, b.agent.yaml] }\n',
      [
        'desk.agent.yaml:3:65: these members wait for each other: a → b → a — Remove one of them from `after`. To ' +
          'let a member work repeatedly, use `loop`.',
      ],
    ],
    [
      'a member without incoming handoffs',
      'team: { kind: handoff, members: [{ agent: a.agent.yaml, to: [b] }, { agent: b.agent.yaml, to: [] }, ' +
        'c.agent.yaml] }\n',
      ['desk.agent.yaml:3:101: no member ever hands off to `c` — Add it to `to` of another member, or remove it.'],
    ],
    [
      'a loop without a limit',
      'team: { kind: workflow, members: [{ agent: a.agent.yaml, loop: { until: "(" } }] }\n',
      ['desk.agent.yaml:3:58: `team.members[0].loop.most` is missing — Add `most: 3`.'],
    ],
    [
      'an invalid rule',
      'team: { kind: workflow, members: [{ agent: a.agent.yaml, loop: { until: "(", most: 2 } }] }\n',
      [
        'desk.agent.yaml:3:73: invalid regular expression: unterminated group — Escape special characters with a ' +
          'backslash, and put the pattern in single quotes so that YAML keeps the backslashes.',
      ],
    ],
    [
      'keys of another kind',
      'team: { kind: workflow, members: [{ agent: a.agent.yaml, to: [] }] }\n',
      ['desk.agent.yaml:3:58: `to` has no effect in a team of kind `workflow` — Remove it.'],
    ],
    [
      'a team of itself',
      'team: { kind: workflow, members: [desk.agent.yaml] }\n',
      [
        'desk.agent.yaml:3:35: a team cannot be a member of itself: desk.agent.yaml → desk.agent.yaml — Choose ' +
          'another agent, or use `loop` to let a member work repeatedly.',
      ],
    ],
    [
      'an unused prompt',
      `prompt: Work.\nteam: { kind: workflow, members: [a.agent.yaml] }\n`,
      [
        'desk.agent.yaml:3:1: `prompt` has no effect: the members of a workflow do all the work — Remove it, or ' +
          'move it to a member.',
      ],
    ],
    [
      'a leader without a prompt',
      'team: { kind: leader, members: [a.agent.yaml] }\n',
      [
        'desk.agent.yaml:1:1: `prompt` is missing — Add the prompt of the leader: `prompt: prompts/desk.md`, or ' +
          'write it inline.',
        'desk.agent.yaml:1:1: `model` is missing — Add `model:` with `endpoint` and `name`.',
      ],
    ],
    [
      'an invalid tool name',
      'team: { kind: handoff, members: [{ agent: a.agent.yaml, name: a.b }] }\n',
      [
        'desk.agent.yaml:3:34: `a.b` cannot be used in a tool name, which the other members need to reach it — Add ' +
          'a `name:` with only letters, digits, `-`, and `_`.',
      ],
    ],
    [
      'an unknown key',
      'team: { kind: workflow, members: [{ agent: a.agent.yaml, afer: [] }] }\n',
      ['desk.agent.yaml:3:58: unknown key `afer` in `team.members[0]` — Did you mean `after`?'],
    ],
  ];
  for (const [name, text, expected] of bad) {
    it(`reports ${name}`, async () => assert.deepEqual(await problemsOf(`${HEAD}${text}`), expected));
  }

  it('reports the problems of its members at their places', async () => {
    const problems = await problemsOf(`${HEAD}team: { kind: workflow, members: [a.agent.yaml, inner.agent.yaml] }\n`, {
      'a.agent.yaml': worker('a').replace('prompt', 'promt'),
      'inner.agent.yaml':
        'version: 1\nname: inner\nteam: { kind: handoff, members: [desk.agent.yaml, c.agent.yaml] }\n',
      'c.agent.yaml': worker('c', 'limits: { steps: 0 }\n'),
    });
    assert.deepEqual(
      problems.map((problem) => problem.split(' — ')[0]),
      [
        'a.agent.yaml:1:1: `prompt` is missing',
        'a.agent.yaml:4:1: unknown key `promt`',
        'c.agent.yaml:5:18: `limits.steps` must be a whole number, 1 or more, not the number 0',
        'inner.agent.yaml:3:34: a team cannot be a member of itself: desk.agent.yaml → inner.agent.yaml → ' +
          'desk.agent.yaml',
      ],
    );
  });
});

describe('a team in a submission', () => {
  const FILES = {
    ...WORKERS,
    'inner.agent.yaml':
      'version: 1\nname: inner\nteam: { kind: workflow, members: [b.agent.yaml, { agent: c.agent.yaml, after: [] ' +
      '}] }\n',
    'desk.agent.yaml':
      `${HEAD}model: { endpoint: "demo:", name: d }\nprompt: Sort {{task.id}}.\nteam:\n  kind: handoff\n  ` +
      'members:\n    - a.agent.yaml\n    - { agent: inner.agent.yaml, name: pair, loop: { until: OK, most: 2 } }\n',
    'b.batch.yaml': 'version: 1\nagent: desk.agent.yaml\ndataset: { file: t.jsonl }\nscorer: { kind: exact }\n',
    't.jsonl': '{"id":"one","question":"q","answer":"x"}\n',
  };

  async function build(
    changes: Record<string, string> = {},
  ): Promise<{ submission: Submission; secrets: Readonly<Record<string, string>> }> {
    const files = memoryFiles({ ...FILES, ...changes });
    const { value, problems } = await loadBatch(files, 'b.batch.yaml');
    assert.deepEqual(problems, []);
    return buildSubmission(value!, {
      files,
      env: () => 'http://gpu:8000/v1',
      scenarios: () => Promise.reject(new Error('no code world')),
      simulation: NO_SIMULATION,
      git: () => Promise.resolve(undefined),
      product: 'test',
      bundle: (path) =>
        Promise.resolve({
          file: path,
          code: new Uint8Array(),
          map: new Uint8Array(),
          bundleSha: 'a'.repeat(64),
          mapSha: 'b'.repeat(64),
        }),
    });
  }

  it('is complete, with the places of its members and the values of their variables', async () => {
    const { submission, secrets } = await build();
    assert.deepEqual(submissionSchema.parse(JSON.parse(JSON.stringify(submission))), submission);
    assert.deepEqual(secrets, { VLLM_URL: 'http://gpu:8000/v1' });
    assert.deepEqual(submission.env.shown, ['VLLM_URL']);
    const team = submission.agent.team!;
    assert.deepEqual(
      [team.kind, team.itself, team.members.map(({ name, position, loop }) => [name, position?.line, loop?.most])],
      [
        'handoff',
        true,
        [
          ['a', 8, undefined],
          ['pair', 9, 2],
        ],
      ],
    );
    const inner = team.members[1]!.agent;
    assert.deepEqual(
      [inner.name, inner.model.name, inner.team?.itself, inner.team?.members.map(({ name, after }) => [name, after])],
      [
        'inner',
        'm',
        false,
        [
          ['b', []],
          ['c', []],
        ],
      ],
    );
    assert.deepEqual(
      agentsOf(submission).map(({ name }) => name),
      ['desk', 'a', 'inner', 'b', 'c'],
    );
    assert.deepEqual(
      agentsOf(resolveSubmission(submission, secrets)).map(({ model }) => model.endpoints[0]),
      ['demo:', ...Array.from({ length: 4 }, () => 'http://gpu:8000/v1')],
    );
    assert.deepEqual(
      ['desk', 'desk/desk#1', 'desk/a#3', 'desk/pair#1/b#2', 'desk/x#1', 'user'].map(
        (path) => agentAt(submission, path)?.name,
      ),
      ['desk', 'desk', 'a', 'b', undefined, undefined],
    );
  });

  it('changes when a member changes', async () => {
    const { submission: before } = await build();
    const { submission: after } = await build({
      'b.agent.yaml': WORKERS['b.agent.yaml']
        .replace('You are b.', 'You are somebody.')
        .replace('tools: [{ module: t.ts }]', 'tools: [{ builtin: [terminal], needs: [git] }]'),
    });
    assert.notEqual(configSha(before), configSha(after));
    assert.notEqual(codeSha(before), codeSha(after));
    assert.deepEqual(revisionDifferences(before, after), [
      'agent/pair/b.prompt: You are b. → You are somebody.',
      'agent/pair/b.tools: /w/t.ts removed',
      'agent/pair/b.tools: terminal added',
    ]);
    assert.deepEqual(
      needsOf(after).map(({ name, at }) => `${name} ${at}`),
      ['git b.agent.yaml:5:9'],
    );
    const moved = await build({ 'desk.agent.yaml': FILES['desk.agent.yaml'].replace('team:', '\nteam:') });
    assert.equal(configSha(moved.submission), configSha(before));
  });

  it('has a leader where the world has a user', async () => {
    const files = memoryFiles({
      ...FILES,
      'w.ts': '',
      'w.world.yaml':
        'version: 1\nname: w\nkind: module\nmodule: w.ts\nuser: { model: { endpoint: "demo:", name: m }, prompt: ' +
        'Ask. }\n',
      'b.batch.yaml': `${FILES['b.batch.yaml']}world: w.world.yaml\n`,
    });
    const { problems } = await loadBatch(files, 'b.batch.yaml');
    assert.deepEqual(
      problems.map((problem) => formatProblem(problem, '/w')),
      [
        'b.batch.yaml:2:8: the world has a user, but in a team of kind `handoff` no single agent can talk to the ' +
          'user — Use a single agent, or a team with a leader.',
      ],
    );
  });
});
