/** MCP servers with a short name, as in `mcp: e2b`, and their commands. */

interface CatalogEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Programs that it needs beyond Node.js. */
  readonly needs: readonly string[];
  readonly description: string;
}

/** In `args`: path of Chromium on the machine that starts the command. */
export const CHROMIUM_PATH = '${chromium.path}';
/** In `args`: `--sandbox` or `--no-sandbox`, depending on whether the machine supports the sandbox. */
export const CHROMIUM_SANDBOX = '${chromium.sandbox}';

export const CATALOGUE = {
  e2b: {
    // The package has no executable for uvx to start.
    command: 'uvx',
    args: ['--from', 'e2b-mcp-server==0.1.1', 'python', '-c', 'import e2b_mcp_server; e2b_mcp_server.main()'],
    env: { E2B_API_KEY: '${env:E2B_API_KEY}' },
    needs: ['uv'],
    description:
      '`run_code` in a remote E2B sandbox: Python only, each call in its own sandbox; needs an E2B key in E2B_API_KEY',
  },
  playwright: {
    // By default it only uses Google Chrome in a fixed location, and with `chromium` no sandbox on Linux.
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
    description: 'Playwright with the local Chromium, Chrome, or Edge, and more tools than the built-in `browser`',
  },
} as const satisfies Readonly<Record<string, CatalogEntry>>;

export type CatalogueName = keyof typeof CATALOGUE;
export const CATALOGUE_NAMES = ['e2b', 'playwright'] as const satisfies readonly CatalogueName[];
