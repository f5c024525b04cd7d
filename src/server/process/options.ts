/** The server's command line. */
import { parseArgs } from 'node:util';
import { errorText, StudioError } from '../../common/errors.ts';

export interface ServerOptions {
  /** A folder, or `postgres://…`. */
  readonly store: string;
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** How long the server stays with no client and no work. 0 = for ever. */
  readonly idleSeconds: number;
  /** Who brings workers. `none`: they come by themselves, with a token from `POST /v1/batches/<id>/worker_token`. */
  readonly executor: 'local' | 'none';
  /** Names and origins the server may be called by beside its own. */
  readonly allowHosts: readonly string[];
  readonly allowOrigins: readonly string[];
  /** Folder of the pages for browsers; without it those of this installation. */
  readonly pages: string | undefined;
}

/** Throws StudioError `usage`. */
export function parseOptions(argv: readonly string[]): ServerOptions {
  const values = read(argv);
  if (values.store === undefined || values.store === '') throw wrong('--store is missing.');
  if (values.executor !== 'local' && values.executor !== 'none') throw wrong(`--executor is local or none, not ${values.executor}.`);
  return {
    store: values.store,
    host: values.host,
    port: whole('port', values.port, 65_535),
    idleSeconds: seconds(values['idle-seconds']),
    executor: values.executor,
    allowHosts: values['allow-host'].map((name) => name.toLowerCase()),
    allowOrigins: values['allow-origin'].map((origin) => origin.toLowerCase()),
    pages: values.pages,
  };
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        'store': { type: 'string' },
        'host': { type: 'string', default: '127.0.0.1' },
        'port': { type: 'string', default: '0' },
        'idle-seconds': { type: 'string', default: '60' },
        'executor': { type: 'string', default: 'local' },
        'allow-host': { type: 'string', multiple: true, default: [] },
        'allow-origin': { type: 'string', multiple: true, default: [] },
        'pages': { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw wrong(errorText(error));
  }
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > most) throw wrong(`--${name} is a whole number from 0 to ${most}, not “${text}”.`);
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw wrong(`--idle-seconds is a number of seconds, not “${text}”.`);
  return value;
}

function wrong(message: string): StudioError {
  return new StudioError('usage', message, { mend: 'server --store DIR|postgres://… [--port N] [--host ADDRESS] [--idle-seconds N]' });
}
