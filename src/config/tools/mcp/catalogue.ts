/** MCP servers that an entry names in one word, `mcp: e2b`, and what they come to. */

interface Catalogued {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it needs of the machine, beyond Node.js. */
  readonly needs: readonly string[];
  readonly about: string;
}

export const CATALOGUE = {
  e2b: {
    command: 'uvx', args: ['e2b-mcp-server@0.1.1'], env: { E2B_API_KEY: '${env:E2B_API_KEY}' }, needs: ['uv'],
    about: '`run_code` in a sandbox of e2b, away from this machine: Python alone, with a key of theirs in E2B_API_KEY',
  },
  playwright: {
    command: 'npx', args: ['-y', '@playwright/mcp@latest', '--headless', '--isolated'], env: {}, needs: ['chromium'],
    about: 'the browser of Playwright, with more tools than the built-in `browser`',
  },
} as const satisfies Readonly<Record<string, Catalogued>>;

export type CatalogueName = keyof typeof CATALOGUE;
export const CATALOGUE_NAMES = ['e2b', 'playwright'] as const satisfies readonly CatalogueName[];
