/**
 * Renders an installation as a chart for Helm. It is made of the objects that `install` applies, built once with marks
 * in place of the options that values may change; the templates have an expression wherever a mark was. Pure.
 */
import { stringify } from 'yaml';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../../common/json.ts';
import { PRODUCT_VERSION } from '../../../common/product.ts';
import { APP } from '../../names.ts';
import { manifests } from '../manifests/all.ts';
import { serverVersion, versionHead } from '../manifests/server.ts';
import { type InstallOptions, installOptions } from '../options.ts';
import { parseStorage } from '../storage.ts';
import { comments, documents, MARK, partsOf, type Rendering, secretCommands } from './render.ts';

/** An option that values may change, with the same name. */
interface Value {
  /** Where it is, from the outside. */
  readonly path: readonly string[];
  readonly mark: string | number;
  readonly schema: Readonly<Record<string, unknown>>;
}

const NAMESPACE = 'namespace-of-the-release';
const TEXT = { type: 'string', minLength: 1 };
const COUNT = { type: 'integer', minimum: 1 };
const SEVERAL = { ...COUNT, minimum: 2 };
const PORT = { ...COUNT, maximum: 65_535 };

/** Marks are unlikely texts and numbers that builders of objects take for values. */
const TEXTS = [
  ...['image', 'pullPolicy', 'pullSecret', 'tokensSecret', 'authoritySecret', 'advertise', 'storageSize', 'memory'],
  'otlpSecret',
  ...['ingress.host', 'ingress.className', 'gateway.name', 'gateway.namespace', 'gateway.host', 'gateway.section'],
  ...['vllm.image', 'vllm.tokenSecret', 'vllm.apiKeySecret', 'vllm.s3Secret', 'vllm.cacheSize'],
  ...['pods.server.priority_class', 'pods.vllm.priority_class'],
  ...['admissionPolicies', 'identityBindings'],
];
/** Values with few choices. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  pullPolicy: installOptions.shape.pullPolicy.unwrap().options,
  admissionPolicies: installOptions.shape.admissionPolicies.unwrap().options,
  identityBindings: installOptions.shape.identityBindings.unwrap().options,
};
/** Templates that a value can leave out. */
const CONDITIONS: Readonly<Record<string, string>> = {
  'admission.yaml': 'if ne .Values.admissionPolicies "none"',
  'identities.yaml': 'if ne .Values.identityBindings "none"',
};
/** Objects and lists that become a field of a pod as they are. */
const WHOLES: Readonly<Record<string, Value['schema']>> = {
  'pods.server.node_selector': { type: 'object', additionalProperties: { type: 'string' } },
  'pods.server.tolerations': { type: 'array', items: { type: 'object' } },
  'pods.vllm.node_selector': { type: 'object', additionalProperties: { type: 'string' } },
};
const COUNTS = ['vllm.queue', 'replicas', 'vllm.replicas', 'vllm.maxReplicas'];
const PORTS = ['port', 'tlsPort'];
const FIRST_NUMBER = 61_741;

/** Returns the files of the chart, by name. */
export function renderHelm({ options, archive, namespace }: Rendering): Map<string, string> {
  const plain = JSON.parse(JSON.stringify(options)) as JsonObject;
  const values = valuesOf(options, plain);
  const marked = installOptions.parse(plain);
  for (const { path, mark } of values) put(marked as unknown as JsonObject, path, mark);
  const sha = options.programs === 'image' ? undefined : archive.sha;
  const expressions = new Expressions(values, {
    [canonicalJson(marked)]: `include "${APP}.options" . | toJson`,
    [serverVersion(marked, sha)]: `include "${APP}.version" . | toJson`,
  });
  const templates = [...partsOf(manifests(marked, archive, NAMESPACE))].map(([name, objects]) => {
    const template = expressions.expand(documents(objects.map((object) => expressions.replaced(object))));
    return [`templates/${name}`, `# ${MARK}\n${conditional(name, template)}`] as const;
  });
  const chosen: JsonObject = {};
  for (const { path } of values) put(chosen, path, at(plain, path) ?? null);
  return new Map([
    ['Chart.yaml', `# ${MARK}\n${stringify(CHART)}`],
    [
      'values.yaml',
      [
        `# ${MARK}`,
        '# To change other options, render the chart again.',
        ...comments(secretCommands(options, namespace)),
        stringify(chosen),
      ].join('\n'),
    ],
    ['values.schema.json', `${JSON.stringify({ $comment: MARK, ...schemaOf(values) }, undefined, 2)}\n`],
    [
      'templates/_parts.tpl',
      [
        `{{- /* ${MARK} */ -}}`,
        `{{- define "${APP}.options" -}}`,
        expressions.json(canonicalJson(marked)),
        '{{- end -}}',
        `{{- define "${APP}.version" -}}`,
        `{{- printf "%s%s" ${JSON.stringify(versionHead(sha))} (include "${APP}.options" .) | sha256sum | trunc 12 -}}`,
        '{{- end -}}',
        '',
      ].join('\n'),
    ],
    ...templates,
  ]);
}

/** Returns a template that a value may leave out. */
function conditional(name: string, template: string): string {
  const condition = CONDITIONS[name];
  return condition === undefined ? template : `{{ ${condition} }}\n${template}{{ end }}\n`;
}

const CHART = {
  apiVersion: 'v2',
  name: APP,
  description: 'The server of Rollout Studio, which runs batches as Jobs in its namespace',
  type: 'application',
  version: PRODUCT_VERSION,
  appVersion: PRODUCT_VERSION,
};

/** Returns the options that values may change: those that are set, and that decide about no other part of an object. */
function valuesOf(options: InstallOptions, plain: JsonObject): Value[] {
  const severalServers = parseStorage(options.storage).kind === 'postgres';
  const sharedCache = options.vllm !== undefined && parseStorage(options.vllm.cache).kind === 'pvc';
  // A single server divides the GPU time of the model; with several, none does.
  const dividesGpus = options.vllm !== undefined && options.replicas === 1;
  const fixed = [...(severalServers && !dividesGpus ? [] : ['replicas']), ...(sharedCache ? ['vllm.replicas'] : [])];
  const value = (name: string, mark: string | number, schema: Value['schema']): Value[] => {
    const path = name.split('.');
    return fixed.includes(name) || at(plain, path) === undefined ? [] : [{ path, mark, schema }];
  };
  return [
    ...TEXTS.flatMap((name) => value(name, markOf(name), CHOICES[name] === undefined ? TEXT : { enum: CHOICES[name] })),
    ...Object.entries(WHOLES).flatMap(([name, schema]) => value(name, markOf(name), schema)),
    ...[...PORTS, ...COUNTS].flatMap((name, index) =>
      value(
        name,
        FIRST_NUMBER + index,
        PORTS.includes(name) ? PORT : name === 'replicas' && options.vllm !== undefined ? SEVERAL : COUNT,
      ),
    ),
  ];
}

function markOf(name: string): string {
  return `mark-of-${name.replaceAll(/[._]/g, '-').toLowerCase()}`;
}

/** Replaces marks by expressions. While objects become YAML, a placeholder stands for each scalar with a mark. */
class Expressions {
  readonly #values: readonly Value[];
  readonly #whole: Readonly<Record<string, string>>;
  readonly #marks: RegExp;
  readonly #texts: string[] = [];

  /** `whole`: expressions for texts as a whole. */
  constructor(values: readonly Value[], whole: Readonly<Record<string, string>>) {
    this.#values = values;
    this.#whole = whole;
    this.#marks = new RegExp([NAMESPACE, ...values.map(({ mark }) => String(mark))].join('|'), 'g');
  }

  /** Returns a copy with placeholders. */
  replaced<T>(value: T): T {
    return this.#replaced(value) as T;
  }

  #replaced(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#replaced(item));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.#replaced(member)]));
    if (typeof value === 'number') {
      const found = this.#values.find(({ mark }) => mark === value);
      return found === undefined ? value : this.#placeholder(`{{ int ${variable(found)} }}`);
    }
    if (typeof value !== 'string') return value;
    const whole = Object.hasOwn(this.#whole, value) ? this.#whole[value] : undefined;
    if (whole !== undefined) return this.#placeholder(`{{ ${whole} }}`);
    const text = this.#values.find(({ mark }) => mark === value);
    if (text !== undefined) return this.#placeholder(`{{ ${variable(text)} | toJson }}`);
    // Within a text there are only names of namespaces and numbers, which need no escapes.
    const inside = escaped(JSON.stringify(value)).replaceAll(this.#marks, (mark) => `{{ ${this.#inside(mark)} }}`);
    return inside === escaped(JSON.stringify(value)) ? value : this.#placeholder(inside);
  }

  #inside(mark: string): string {
    const found = this.#values.find((value) => String(value.mark) === mark);
    if (found === undefined) return '.Release.Namespace';
    return typeof found.mark === 'number' ? `int ${variable(found)}` : variable(found);
  }

  #placeholder(text: string): string {
    return `placeholder-${this.#texts.push(text) - 1}-`;
  }

  /** Returns a text with the expressions in place of placeholders. */
  expand(text: string): string {
    return escaped(text).replaceAll(/placeholder-(\d+)-/g, (_, index: string) => this.#texts[Number(index)] ?? '');
  }

  /** Returns JSON text as a template of it. */
  json(text: string): string {
    return this.#values.reduce(
      (left, value) =>
        left.replaceAll(
          typeof value.mark === 'string' ? JSON.stringify(value.mark) : new RegExp(`\\b${value.mark}\\b`, 'g'),
          typeof value.mark === 'string' ? `{{ ${variable(value)} | toRawJson }}` : `{{ int ${variable(value)} }}`,
        ),
      escaped(text),
    );
  }
}

function variable({ path }: Value): string {
  return `.Values.${path.join('.')}`;
}

/** Returns a text with what would start an expression as a text of its own. */
function escaped(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}');
}

function at(root: JsonObject, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((value, name) => (isJsonObject(value) ? value[name] : undefined), root);
}

/** Sets a value, and creates the objects around it. */
function put(root: JsonObject, path: readonly string[], value: Json): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    root[name] = value;
    return;
  }
  const next = root[name];
  const inner = isJsonObject(next) ? next : {};
  root[name] = inner;
  put(inner, rest, value);
}

/** Returns the JSON Schema of the values, by which Helm refuses others. */
function schemaOf(values: readonly Value[]): JsonObject {
  const root: JsonObject = {};
  for (const { path, schema } of values) put(root, path, { ...schema } as JsonObject);
  const closed = (properties: JsonObject): JsonObject => ({
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [
        name,
        isJsonObject(inner) && inner['type'] === undefined && inner['enum'] === undefined ? closed(inner) : inner,
      ]),
    ),
  });
  const schema = closed(root);
  // Helm adds it.
  (schema['properties'] as JsonObject)['global'] = { type: 'object' };
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...schema };
}
