/**
 * The address of the server. A local server has another port after a restart, which its `server.json` contains; several
 * servers of one store have one address each.
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
   * Switches to the next address, because this server is gone. While a new local server has not written its file yet,
   * the last address is kept.
   */
  async refresh(): Promise<void> {
    if (this.#discovery === undefined) {
      this.#at = (this.#at + 1) % this.#origins.length;
      this.#origin = this.#origins[this.#at] ?? this.#origin;
      return;
    }
    const text = await readFile(this.#discovery, 'utf8').catch(() => undefined);
    if (text === undefined) return;
    const parsed = serverFile.safeParse(parse(text));
    if (!parsed.success) return;
    const { host, port } = parsed.data;
    this.#origin = `http://${loopbackOf(host)}:${port}`;
  }
}

/** A server that listens on all addresses is reached through loopback, because the file is on this machine. */
function loopbackOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Returns undefined for an incomplete file. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
