/**
 * Where the server is. A local one that was restarted has another port, which its `server.json` tells; several servers
 * of one store have an address each.
 */
import { readFile } from 'node:fs/promises';
import { serverFile } from '../../protocol/serverFile.ts';

export class ServerAddress {
  readonly #discovery: string | undefined;
  readonly #origins: readonly string[];
  #at = 0;
  #origin: string;

  /** `origins`: at least one. */
  constructor(origins: readonly string[], discovery: string | undefined) {
    this.#origins = origins.map((origin) => origin.replace(/\/+$/, ''));
    this.#origin = this.#origins[0] ?? '';
    this.#discovery = discovery;
  }

  /** e.g. `http://127.0.0.1:4100` */
  get origin(): string {
    return this.#origin;
  }

  /**
   * The one there is gone: on to the next. While a new local server has not written its file yet, the last address
   * stands.
   */
  async refresh(): Promise<void> {
    if (this.#discovery === undefined) {
      this.#at = (this.#at + 1) % this.#origins.length;
      this.#origin = this.#origins[this.#at] ?? this.#origin;
      return;
    }
    const text = await readFile(this.#discovery, 'utf8').catch(() => undefined);
    if (text === undefined) return;
    const found = serverFile.safeParse(parse(text));
    if (!found.success) return;
    const { host, port } = found.data;
    this.#origin = `http://${loopbackOf(host)}:${port}`;
  }
}

/** A server that listens on all addresses is reached by loopback: the file is on this machine. */
function loopbackOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** undefined for half a file. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
