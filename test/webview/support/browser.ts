/** A real browser for tests, and a server for the files of a folder. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { findTestBrowser } from '../../../src/build/system/programs.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** For pages that compute a lot: garbage is collected rarely and without helper threads, which saves processor time. */
export const FOR_LONG_COMPUTATIONS: readonly string[] = ['--js-flags=--single-threaded-gc,--min-semi-space-size=32'];

/**
 * Starts the system's Chromium, without a user interface where there is such a program; one is enough for all tests of
 * a file. `more`: additional arguments.
 */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findTestBrowser();
  if (executablePath === undefined)
    throw new Error('There is no Chromium: npm run test:webview installs it on Debian; elsewhere set CHROMIUM to one.');
  return chromium.launch({ executablePath, args: [...ARGS, ...more], timeout: 60_000 });
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ttf': 'font/ttf',
  '.map': 'application/json',
};

export interface Served {
  /** Without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves folders on 127.0.0.1: the first folder that has the file answers. `headers` are part of every response. */
export async function serveFolders(
  folders: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const server = createServer((request, response) => {
    const pathname = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    const name = path.normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    find(folders, name).then(
      (file) => {
        if (file === undefined) {
          response.writeHead(404).end();
          return;
        }
        response.writeHead(200, {
          'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
          'cache-control': 'no-store',
          ...headers,
        });
        createReadStream(file)
          .on('error', () => response.destroy())
          .pipe(response);
      },
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function find(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) {
    const file = path.join(folder, name);
    if (!file.startsWith(path.resolve(folder) + path.sep)) continue;
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() === true) return file;
  }
  return undefined;
}
