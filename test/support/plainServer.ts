import type { startServer } from '../../src/server/server.ts';

/** Options of a server in the process of a test: on a free port of loopback, silent, and without pages. */
export const PLAIN_SERVER = {
  listen: { host: '127.0.0.1', port: 0 },
  origins: { allowHosts: [], allowOrigins: [] },
  idleMs: 0,
  mounts: [],
  demoMetrics: undefined,
  pages: '',
  log: () => undefined,
  idle: () => undefined,
} as const satisfies Partial<Parameters<typeof startServer>[0]>;
