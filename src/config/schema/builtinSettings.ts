/** Settings of built-in tool sets. Each is a key next to `builtin:`, named after its set. */
import { z } from 'zod';
import { choice, expects, fault, flag, group, listOf, text, whole } from './values.ts';

const SEARCH_PROVIDERS = ['google', 'brave', 'searxng'] as const;

const key = text('"${env:SEARCH_KEY}"', 'a key').optional();
const privateAddresses = (who: string): z.ZodOptional<typeof flag> =>
  flag
    .optional()
    .describe(
      `Whether ${who} may access this machine and its network (127.0.0.1, 10.0.0.0/8, 192.168.0.0/16, …). ` +
        'Default: no, so that a page cannot send the agent there.',
    );
const proxy = text('http://proxy.example.org:3128', 'a URL')
  .optional()
  .describe(
    'The proxy for outgoing requests. Default: HTTP_PROXY, HTTPS_PROXY, or ALL_PROXY. Hosts in NO_PROXY and this ' +
      'machine are accessed directly. Write the password as `${env:NAME}`.',
  );
const endpoint = (path: string): z.ZodString =>
  text('http://localhost:8000/v1', 'a URL').describe(
    `An OpenAI-compatible endpoint, including \`/v1\`. Requests go to \`${path}\`.`,
  );

export const searchSettings = group(
  {
    provider: choice(SEARCH_PROVIDERS).describe(
      'The search provider: `google` (Programmable Search Engine), `brave` (Brave Search API), or `searxng` (your ' +
        'own SearXNG with the format `json` enabled).',
    ),
    api_key: key.describe('The API key for `google` and `brave`, as `${env:NAME}`.'),
    engine: text('a1b2c3', 'the ID of a search engine')
      .optional()
      .describe('With `google`: the ID of the search engine (cx).'),
    url: text('http://localhost:8888', 'a URL')
      .optional()
      .describe('URL of SearXNG. For the other providers, replaces the URL of their API.'),
    private_addresses: privateAddresses('`read_webpage` and `download_file`'),
    proxy,
  },
  'a group of keys with `provider`',
  '{ provider: searxng, url: "http://localhost:8888" }',
).superRefine(({ provider, api_key, engine, url }, context) => {
  const missing = (name: string, hint: string): void =>
    fault(context, `\`${provider}\` needs \`${name}\``, hint, { code: 'missing' });
  if (provider !== 'searxng' && api_key === undefined) missing('api_key', 'Add `api_key: ${env:SEARCH_KEY}`.');
  if (provider === 'google' && engine === undefined)
    missing('engine', 'Add `engine:` with the ID of your Programmable Search Engine.');
  if (provider === 'searxng' && url === undefined) missing('url', 'Add `url: http://localhost:8888`.');
  if (provider !== 'google' && engine !== undefined)
    fault(context, '`engine` belongs to `provider: google`', 'Remove it.', { path: ['engine'], code: 'conflict' });
});
export type SearchSettings = z.output<typeof searchSettings>;

export const visionSettings = group(
  {
    endpoint: endpoint('/chat/completions'),
    model: text('Qwen/Qwen3-VL-8B-Instruct').describe('A model that accepts images.'),
    api_key: key.describe('Sent as a bearer token, as `${env:NAME}`.'),
    max_tokens: whole(1, 1024).optional().describe('Maximum number of tokens per answer.'),
    private_addresses: privateAddresses('`image_recognition`'),
    proxy,
  },
  'a group of keys with `endpoint` and `model`',
  '{ endpoint: "http://localhost:8000/v1", model: Qwen/Qwen3-VL-8B-Instruct }',
);
export type VisionSettings = z.output<typeof visionSettings>;

export const audioSettings = group(
  {
    endpoint: endpoint('/audio/transcriptions'),
    model: text('openai/whisper-large-v3').describe('A model that transcribes speech.'),
    api_key: key.describe('Sent as a bearer token, as `${env:NAME}`.'),
    language: text('en').optional().describe('The spoken language, e.g. `en`. Default: detected by the model.'),
    private_addresses: privateAddresses('`transcribe_audio`'),
    proxy,
  },
  'a group of keys with `endpoint` and `model`',
  '{ endpoint: "http://localhost:8000/v1", model: openai/whisper-large-v3 }',
);
export type AudioSettings = z.output<typeof audioSettings>;

export const browserSettings = group(
  {
    private_addresses: flag
      .optional()
      .describe(
        'Whether the browser may access this machine and its network (127.0.0.1, 10.0.0.0/8, 192.168.0.0/16, …), not ' +
          'only what `sandbox.allow` names. Default: no, so that a page cannot send the agent there. With ' +
          '`sandbox: { network: false }` it accesses nothing.',
      ),
    proxy,
  },
  'a group of keys',
  '{ private_addresses: true }',
);
export type BrowserSettings = z.output<typeof browserSettings>;

const LANGUAGES = ['javascript', 'python'] as const;
export const codeSettings = group(
  {
    languages: listOf(choice(LANGUAGES), `a list of ${LANGUAGES.join(', ')}`, '[python]')
      .min(1, expects(`a list of ${LANGUAGES.join(', ')}`, '[python]'))
      .optional()
      .describe(
        'The languages that `run_code` supports; the first one is the default. Default: javascript and python. ' +
          'Python must be installed on the machine, otherwise a batch is rejected.',
      ),
  },
  'a group of keys',
  '{ languages: [python] }',
);
export type CodeSettings = z.output<typeof codeSettings>;

/** Returns the languages that `run_code` supports. */
export function languagesOf(settings: CodeSettings | undefined): readonly (typeof LANGUAGES)[number][] {
  return settings?.languages ?? LANGUAGES;
}

/** Settings by tool set. */
export const builtinSettings = z.object({
  search: searchSettings.optional(),
  vision: visionSettings.optional(),
  audio: audioSettings.optional(),
  browser: browserSettings.optional(),
  code: codeSettings.optional(),
});
export type BuiltinSettings = z.output<typeof builtinSettings>;
/** Sets that require settings. */
export const NEEDS_SETTINGS = ['search', 'vision', 'audio'] as const;
export const SETTINGS = [...NEEDS_SETTINGS, 'browser', 'code'] as const;
