/** MCP servers that an entry names in one word, `mcp: e2b`, and what they come to. */

interface CatalogEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it needs of the machine, beyond Node.js. */
  readonly needs: readonly string[];
  readonly about: string;
}

/** Among `args`, what only the machine that starts the command knows: where its Chromium is … */
export const CHROMIUM_PATH = '${chromium.path}';
/** … and whether that may have its sandbox: `--sandbox` or `--no-sandbox`. */
export const CHROMIUM_SANDBOX = '${chromium.sandbox}';

export const CATALOGUE = {
  e2b: {
    // The package has no program of its own for uvx to start.
    command: 'uvx',
    args: ['--from', 'e2b-mcp-server==0.1.1', 'python', '-c', 'import e2b_mcp_server; e2b_mcp_server.main()'],
    env: { E2B_API_KEY: '${env:E2B_API_KEY}' },
    needs: ['uv'],
    about:
      '`run_code` in a sandbox of e2b, away from this machine: Python alone, each call in a sandbox of its own, ' +
      'with a key of theirs in E2B_API_KEY',
  },
  playwright: {
    // Left to itself it wants Google Chrome, at one place, and with `chromium` it has no sandbox on Linux.
    command: 'npx',
    args: [
      '-y',
      '@playwright/mcp@0.0.83',
      '--headless',
      '--isolated',
      '--browser',
      'chromium',
      '--executable-path',
      CHROMIUM_PATH,
      CHROMIUM_SANDBOX,
    ],
    env: {},
    needs: ['chromium'],
    about: 'Playwright with the Chromium, Chrome or Edge of the machine, and more tools than the built-in `browser`',
  },
} as const satisfies Readonly<Record<string, CatalogEntry>>;

export type CatalogueName = keyof typeof CATALOGUE;
export const CATALOGUE_NAMES = ['e2b', 'playwright'] as const satisfies readonly CatalogueName[];
