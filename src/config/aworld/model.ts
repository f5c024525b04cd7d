/** Converts the model settings and limits of an AWorld agent. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';
import type { SourceAgent } from './source.ts';
import { type Report, textOf } from './texts.ts';

/** Keys of AWorld's `ModelConfig` and `AgentConfig` that are converted. */
const USED = new Set([
  'llm_config',
  'config',
  'conf',
  'model_config',
  'llm_model_name',
  'llm_base_url',
  'llm_api_key',
  'llm_temperature',
  'llm_provider',
  'params',
  'max_steps',
  'tool_list',
  'black_tool_actions',
]);
/** Keys that can be ignored: they restate our defaults, or concern only AWorld's Python code. */
const MEANINGLESS = new Set([
  'id',
  'name',
  'type',
  'desc',
  'description',
  'system_prompt',
  'mcp_servers',
  'mcp_config',
  'node_type',
  'next',
  'agents',
  'swarm_type',
  'llm_client_type',
  'llm_sync_enabled',
  'llm_async_enabled',
  'llm_stream_call',
  'ext_config',
  'ext',
  'model_type',
  'max_retries',
]);
const OPENAI_LIKE = /^(openai|azure_openai|vllm|local)$/i;
const ENVIRONMENT = /^\$\{env:[^}]+\}$/;
const SAMPLING = { top_p: 'top_p', max_tokens: 'max_tokens', stop: 'stop' } as const;

interface AgentSettings {
  readonly model: JsonObject;
  readonly steps: number | undefined;
}

/** Reads model fields from all places AWorld allows: `config` or `conf`, `llm_config` inside or next to it, or flat. */
export function settingsOf(
  { name, fields, at }: SourceAgent,
  fileSteps: Json | undefined,
  report: Report,
): AgentSettings {
  const whole = { at, value: fields };
  const own = ['config', 'conf'].flatMap((key) => inside(whole, key));
  const places = [
    ...own,
    ...[whole, ...own].flatMap((place) => ['llm_config', 'model_config'].flatMap((key) => inside(place, key))),
    whole,
  ];
  const holder = (key: string): Place | undefined =>
    places.find(({ value }) => value[key] !== undefined && value[key] !== null);
  const get = (key: string): Json | undefined => holder(key)?.value[key];
  const reportKey = (key: string, text: string): void => {
    report([...(holder(key)?.at ?? at), key], `${name}: ${text}`);
  };
  const url = textOf(get('llm_base_url'));
  const key = textOf(get('llm_api_key'));
  const provider = textOf(get('llm_provider'));
  if (key !== undefined && !ENVIRONMENT.test(key))
    reportKey('llm_api_key', 'the API key in the file was not imported; set LLM_API_KEY.');
  if (provider !== undefined && !OPENAI_LIKE.test(provider))
    reportKey('llm_provider', `set \`model.endpoint\` to an OpenAI-compatible endpoint of ${provider}.`);
  const sampling = samplingOf(get('llm_temperature'), get('params'));
  for (const place of places) {
    for (const key of Object.keys(place.value))
      if (!USED.has(key) && !MEANINGLESS.has(key))
        report([...place.at, key], `${name}: \`${key}\` was left out: it has no equivalent.`);
  }
  const steps = get('max_steps') ?? fileSteps;
  return {
    model: {
      endpoint: url ?? '${env:LLM_BASE_URL}',
      name: textOf(get('llm_model_name')) ?? '${env:LLM_MODEL_NAME}',
      ...(key === undefined && url !== undefined
        ? {}
        : { api_key: key !== undefined && ENVIRONMENT.test(key) ? key : '${env:LLM_API_KEY}' }),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
    },
    steps: typeof steps === 'number' && Number.isInteger(steps) && steps > 0 ? steps : undefined,
  };
}

interface Place {
  readonly at: Path;
  readonly value: JsonObject;
}

function inside({ at, value }: Place, key: string): Place[] {
  const found = value[key];
  return isJsonObject(found) ? [{ at: [...at, key], value: found }] : [];
}

function samplingOf(temperature: Json | undefined, params: Json | undefined): JsonObject {
  const sampling: JsonObject = typeof temperature === 'number' ? { temperature } : {};
  const extra: JsonObject = {};
  for (const [key, value] of Object.entries(isJsonObject(params) ? params : {})) {
    if (Object.hasOwn(SAMPLING, key)) sampling[key] = value;
    else extra[key] = value;
  }
  return { ...sampling, ...(Object.keys(extra).length === 0 ? {} : { extra }) };
}
