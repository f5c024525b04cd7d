/**
 * The chart: with any values, its objects are those that `install` applies with these options. The templates use so
 * little of Helm's language that the test evaluates it itself; where Helm is installed, Helm does too.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { canonicalJson, type Json } from '../../../../src/common/json.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { type InstallInput, resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { renderHelm } from '../../../../src/kubernetes/install/render/helm.ts';
import { MARK } from '../../../../src/kubernetes/install/render/render.ts';
import { INSTALLATIONS } from '../../../support/installations.ts';

const HELM = process.env['ROLLOUT_HELM'] ?? 'helm';
const withoutHelm =
  spawnSync(HELM, ['version'], { encoding: 'utf8' }).status === 0
    ? false
    : 'Helm is not on the PATH, and ROLLOUT_HELM does not name it: the test above evaluates the templates itself';

type Values = Record<string, Json>;

const archive = { sha: 'a'.repeat(64), packed: randomBytes(200_000) };

function chart(input: InstallInput): Map<string, string> {
  return renderHelm({ options: resolveOptions(input), archive, namespace: 'rendered' });
}

/** Returns the objects of `helm template --namespace`, by kind and name. */
function objectsOf(files: ReadonlyMap<string, string>, namespace: string, more: Values = {}): Record<string, unknown> {
  const values = merged(parse(files.get('values.yaml') ?? '') as Values, more);
  const parts = new Map(
    Array.from(
      (files.get('templates/_parts.tpl') ?? '').matchAll(/\{\{- define "([^"]+)" -\}\}([^]*?)\{\{- end -\}\}/g),
      ([, name = '', text = '']) => [name, text.trim()],
    ),
  );
  const found = [...files].flatMap(([name, text]) =>
    name.startsWith('templates/') && name.endsWith('.yaml')
      ? parseAllDocuments(expand(text, { values, namespace, parts })).map((document) => document.toJS() as KubeObject)
      : [],
  );
  return byName(found);
}

interface Scope {
  readonly values: Values;
  readonly namespace: string;
  readonly parts: ReadonlyMap<string, string>;
}

/** Expands a template, whose conditions are not nested. */
function expand(text: string, scope: Scope): string {
  const kept = text.replaceAll(/\{\{ if (.*?) \}\}([^]*?)\{\{ end \}\}/g, (_, pipeline: string, inner: string) =>
    evaluate(pipeline, scope) === true ? inner : '',
  );
  return kept.replaceAll(/\{\{-? (.*?) -?\}\}/g, (_, pipeline: string) => String(evaluate(pipeline, scope)));
}

/** Evaluates functions joined by `|`. */
function evaluate(pipeline: string, scope: Scope): unknown {
  return pipeline.split(' | ').reduce<unknown[]>((last, call) => [apply(words(call), last, scope)], [])[0];
}

function words(call: string): string[] {
  return call.match(/\((?:[^()]*)\)|"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
}

function apply([name = '', ...rest]: string[], last: unknown[], scope: Scope): unknown {
  const given = [
    ...rest.map((word) => apply(word.startsWith('(') ? words(word.slice(1, -1)) : [word], [], scope)),
    ...last,
  ];
  const [first] = given;
  switch (name) {
    case 'toJson':
    case 'toRawJson':
      return canonicalJson(first);
    case 'int':
      return Number(first);
    case 'include':
      return expand(scope.parts.get(String(first)) ?? assert.fail(String(first)), scope);
    case 'ne':
      return first !== given[1];
    case 'printf':
      return given.slice(1).join('');
    case 'sha256sum':
      return createHash('sha256').update(String(first)).digest('hex');
    case 'trunc':
      return String(given[1]).slice(0, Number(first));
    case '.Release.Namespace':
      return scope.namespace;
    case '.':
      return scope;
    default:
      if (/^(".*"|\d+)$/s.test(name)) return JSON.parse(name);
      assert.match(name, /^\.Values\./);
      return name
        .slice('.Values.'.length)
        .split('.')
        .reduce<unknown>((value, key) => (value as Values)[key], scope.values);
  }
}

function merged(values: Values, more: Values): Values {
  const result = { ...values };
  for (const [name, value] of Object.entries(more)) {
    const before = result[name];
    result[name] = isMap(before) && isMap(value) ? merged(before, value) : value;
  }
  return result;
}

function isMap(value: Json | undefined): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function byName(objects: readonly KubeObject[]): Record<string, unknown> {
  return Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

function installed(input: InstallInput, namespace: string): Record<string, unknown> {
  return byName(manifests(resolveOptions(input), archive, namespace));
}

const everything: InstallInput = {
  pullSecret: 'registry',
  tokensSecret: 'tokens',
  authoritySecret: 'issuer',
  advertise: 'https://rollouts.example.org,https://other.example.org',
  allowHosts: ['rollouts.example.org', 'a {{ b }} c'],
  storage: 'postgres:db/dsn',
  replicas: 2,
  otlp: 'http://collector.observability:4318',
  otlpSecret: 'otel',
  allowEgress: ['0.0.0.0/0:443', 'namespace:models:8000'],
  pods: {
    server: {
      node_selector: { pool: 'system' },
      tolerations: [{ key: 'system', operator: 'Exists' }],
      priority_class: 'high',
      labels: { team: 'research' },
      requests: { cpu: '2' },
    },
    workers: { node_selector: { pool: 'spot' }, annotations: { 'example.org/a': '{{ x }}' }, grace_seconds: 120 },
    vllm: { node_selector: { pool: 'gpus' }, tolerations: [{ key: 'gpus' }], spread: 'required' },
  },
  vllm: { model: 'org/model', gpus: 2, tokenSecret: 'hub', toolParser: 'hermes', arguments: ['--max-model-len', '9'] },
};

describe('a chart', () => {
  for (const [name, input] of Object.entries<InstallInput>({ ...INSTALLATIONS, 'all options': everything })) {
    test(`of ${name} has the objects of install`, () => {
      assert.deepEqual(objectsOf(chart(input), 'team'), installed(input, 'team'));
    });
  }

  test('has the objects of install for Helm itself, and passes its linter', { skip: withoutHelm }, () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-chart-'));
    try {
      for (const [name, input] of Object.entries<InstallInput>({ ...INSTALLATIONS, 'all options': everything })) {
        const place = path.join(folder, name.replaceAll(/\W+/g, '-'));
        for (const [file, text] of chart(input)) {
          mkdirSync(path.dirname(path.join(place, file)), { recursive: true });
          writeFileSync(path.join(place, file), text);
        }
        const helm = (...args: string[]): string => {
          const done = spawnSync(HELM, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
          assert.equal(done.status, 0, `${name}: helm ${args.join(' ')}: ${done.stdout}${done.stderr}`);
          return done.stdout;
        };
        helm('lint', '--strict', place);
        const documents = parseAllDocuments(helm('template', 'rollout-studio', place, '--namespace', 'team'));
        const objects = documents.map((document) => document.toJS() as KubeObject | null);
        assert.deepEqual(byName(objects.filter((object) => object !== null)), installed(input, 'team'), name);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('with other values has the objects of install with these options', () => {
    const values = {
      image: 'registry.example.org/node:24 "quoted" <&>',
      memory: '3Gi',
      port: 9000,
      tlsPort: 9443,
      replicas: 5,
      tokensSecret: 'others',
      vllm: { image: 'vllm:2', replicas: 3, queue: 64 },
      pods: {
        server: { node_selector: { pool: 'b "x"' }, tolerations: [], priority_class: 'low' },
        vllm: { node_selector: { pool: 'h100' } },
      },
    };
    const { server, vllm } = everything.pods ?? {};
    const options = {
      ...everything,
      ...values,
      vllm: { ...everything.vllm, ...values.vllm },
      pods: {
        ...everything.pods,
        server: { ...server, ...values.pods.server },
        vllm: { ...vllm, ...values.pods.vllm },
      },
    } as InstallInput;
    assert.deepEqual(objectsOf(chart(everything), 'other', values), installed(options, 'other'));
    assert.notDeepEqual(objectsOf(chart(everything), 'other'), installed(options, 'other'));
  });

  for (const [key, kind] of [
    ['admissionPolicies', /Admission/],
    ['identityBindings', /ClusterRoleBinding/],
  ] as const)
    test(`leaves ${key} to others where its values say so, however it was rendered`, () => {
      const none: InstallInput = { [key]: 'none' };
      assert.deepEqual(objectsOf(chart({}), 'team', { [key]: 'none' }), installed(none, 'team'));
      assert.deepEqual(objectsOf(chart(none), 'team'), installed(none, 'team'));
      assert.deepEqual(objectsOf(chart(none), 'team', { [key]: 'install' }), installed({}, 'team'));
      assert.match(Object.keys(installed({}, 'team')).join(), kind);
      assert.doesNotMatch(Object.keys(installed(none, 'team')).join(), kind);
    });

  test('refuses values that would have no effect', () => {
    const files = chart({});
    const schema = JSON.parse(files.get('values.schema.json') ?? '') as {
      additionalProperties: boolean;
      properties: Record<string, unknown>;
    };
    assert.equal(schema.additionalProperties, false);
    assert.deepEqual(
      [...Object.keys(schema.properties)].sort(),
      ['global', ...Object.keys(parse(files.get('values.yaml') ?? '') as object)].sort(),
    );
    // Several servers need PostgreSQL, which decides about other parts of the objects.
    assert.ok(!('replicas' in schema.properties));
    assert.ok('replicas' in (parse(chart(everything).get('values.yaml') ?? '') as object));
  });

  test('has only files that a later run replaces', () => {
    for (const [name, text] of chart(everything)) assert.ok(text.slice(0, 100).includes(MARK), name);
  });
});
