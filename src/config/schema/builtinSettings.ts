/** What built-in sets of tools must be told. Each is a key beside `builtin:` that is named after its set. */
import { z } from 'zod';
import { choice, expects, fault, flag, group, listOf, text, whole } from './values.ts';

export const SEARCH_PROVIDERS = ['google', 'brave', 'searxng'] as const;

const key = text('"${env:SEARCH_KEY}"', 'a key').optional();
const privateAddresses = (who: string): z.ZodOptional<typeof flag> =>
  flag
    .optional()
    .describe(
      `Whether ${who} may go to addresses of this machine and of its network (127.0.0.1, 10.0.0.0/8, ` +
        '192.168.0.0/16 …). Absent: no, so that a page cannot send the agent there.',
    );
const proxy = text('http://proxy.example.org:3128', 'a URL')
  .optional()
  .describe(
    'The proxy that leads out of the network. Absent: as HTTP_PROXY, HTTPS_PROXY, ALL_PROXY tell; hosts in ' +
      'NO_PROXY and this machine are reached without. A password by `${env:NAME}`.',
  );
const endpoint = (what: string): z.ZodString =>
  text('http://localhost:8000/v1', 'a URL').describe(`An OpenAI-compatible endpoint, with its \`/v1\`: ${what}.`);

export const searchSettings = group(
  {
    provider: choice(SEARCH_PROVIDERS).describe(
      'Who searches: `google` (Programmable Search Engine), `brave` (Brave Search API), `searxng` (a SearXNG of ' +
        'your own, whose settings allow the format `json`).',
    ),
    api_key: key.describe('The key for `google` and `brave`, as `${env:NAME}`.'),
    engine: text('a1b2c3', 'the ID of a search engine')
      .optional()
      .describe('With `google`: the ID of the search engine (cx).'),
    url: text('http://localhost:8888', 'a URL')
      .optional()
      .describe('Where SearXNG is. With the others: another address of their API, as of a proxy.'),
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
    endpoint: endpoint('it is asked at `/chat/completions`'),
    model: text('Qwen/Qwen3-VL-8B-Instruct').describe('A model that sees images.'),
    api_key: key.describe('Sent as a bearer token, as `${env:NAME}`.'),
    max_tokens: whole(1, 1024).optional().describe('The longest answer.'),
    private_addresses: privateAddresses('it'),
    proxy,
  },
  'a group of keys with `endpoint` and `model`',
  '{ endpoint: "http://localhost:8000/v1", model: Qwen/Qwen3-VL-8B-Instruct }',
);
export type VisionSettings = z.output<typeof visionSettings>;

export const audioSettings = group(
  {
    endpoint: endpoint('it is asked at `/audio/transcriptions`'),
    model: text('openai/whisper-large-v3').describe('A model that transcribes speech.'),
    api_key: key.describe('Sent as a bearer token, as `${env:NAME}`.'),
    language: text('en').optional().describe('The language that is spoken, e.g. `en`. Absent: the model finds out.'),
    private_addresses: privateAddresses('it'),
    proxy,
  },
  'a group of keys with `endpoint` and `model`',
  '{ endpoint: "http://localhost:8000/v1", model: openai/whisper-large-v3 }',
);
export type AudioSettings = z.output<typeof audioSettings>;

export const browserSettings = group(
  {
    private_addresses: privateAddresses('the browser'),
    proxy,
  },
  'a group of keys',
  '{ private_addresses: true }',
);
export type BrowserSettings = z.output<typeof browserSettings>;

export const LANGUAGES = ['javascript', 'python'] as const;
export const codeSettings = group(
  {
    languages: listOf(choice(LANGUAGES), `a list out of ${LANGUAGES.join(', ')}`, '[python]')
      .min(1, expects(`a list out of ${LANGUAGES.join(', ')}`, '[python]'))
      .optional()
      .describe(
        'The languages that `run_code` runs; a call that names none means the first. Absent: javascript and ' +
          'python. Python is a program of the machine, so a batch is refused where there is none.',
      ),
  },
  'a group of keys',
  '{ languages: [python] }',
);
export type CodeSettings = z.output<typeof codeSettings>;

/** The languages that a file lets `run_code` run. */
export function languagesOf(settings: CodeSettings | undefined): readonly (typeof LANGUAGES)[number][] {
  return settings?.languages ?? LANGUAGES;
}

/** By their sets. */
export const builtinSettings = z.object({
  search: searchSettings.optional(),
  vision: visionSettings.optional(),
  audio: audioSettings.optional(),
  browser: browserSettings.optional(),
  code: codeSettings.optional(),
});
export type BuiltinSettings = z.output<typeof builtinSettings>;
/** Sets that do not work without. */
export const NEEDS_SETTINGS = ['search', 'vision', 'audio'] as const;
export const SETTINGS = [...NEEDS_SETTINGS, 'browser', 'code'] as const;
