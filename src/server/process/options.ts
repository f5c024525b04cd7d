/** The server's command line. */
import { parseArgs } from 'node:util';
import { RETENTION_VARIABLE, SHARES_VARIABLE } from '../../common/entries.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { type RetentionFile, retentionFile } from '../../config/schema/retentionFile.ts';
import { type SharesFile, sharesFile } from '../../config/schema/sharesFile.ts';
import { LOOPBACK } from '../access/origins.ts';
import { LOG_FORMATS, type LogFormat } from '../log.ts';
import type { ProxyIdentityFiles } from './proxyIdentity.ts';

export interface ServerOptions {
  /** A folder, or `postgres://…`. */
  readonly store: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** How long the server keeps running with no client and no work. 0: forever. */
  readonly idleSeconds: number;
  /** What starts workers. `none`: they connect on their own, with a token from `POST /v1/batches/<id>/worker_token`. */
  readonly executor: 'local' | 'kubernetes' | 'none';
  /**
   * Origins at which workers on other machines reach this server, or another server of the same store; tried in order.
   * If empty, the address it listens on.
   */
  readonly advertise: readonly string[];
  /** Folder with the authority (`ca.crt`, `ca.key`) that signs this server's certificate; it may be empty. */
  readonly authority: string | undefined;
  /** Port for TLS, if there is an authority. */
  readonly tlsPort: number;
  /** The oldest version of TLS on that port. Gateways may not support the newest one. */
  readonly tlsMin: '1.2' | '1.3';
  /** The proxy that says who users are. */
  readonly identity: ProxyIdentityFiles | undefined;
  /** Origins to advertise while there is no authority. */
  readonly advertisePlain: readonly string[];
  /** Folder with the client tokens in the files `full` and `read`. undefined: new tokens at each start. */
  readonly tokens: string | undefined;
  /** Additional host names and origins by which the server may be called. */
  readonly allowHosts: readonly string[];
  readonly allowOrigins: readonly string[];
  /** Folder of the pages for browsers; those of this installation by default. */
  readonly pages: string | undefined;
  readonly log: LogFormat;
  /** GB of large values that workers may store for each rollout. */
  readonly rolloutGb: number;
  /** Who may read `/metrics`: clients with a token, or anyone who reaches it. */
  readonly metrics: 'token' | 'open';
  /** Base URL of a collector that receives finished rollouts as traces. undefined: use the OTEL_… variables. */
  readonly otlp: string | undefined;
  /** How it divides what it has among users and queues. */
  readonly shares: SharesFile;
  /** What the server removes by itself. */
  readonly retention: RetentionFile | undefined;
}

/** More than any rollout needs: an image of 4 MB in each of 4,000 steps. */
const ROLLOUT_GB = 16;
const EXECUTORS = ['local', 'kubernetes', 'none'] as const satisfies readonly ServerOptions['executor'][];

/** Parses the command line. Throws StudioError `usage`. */
export function parseOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): ServerOptions {
  const values = read(argv);
  const store = values.store ?? env['ROLLOUT_STORE'] ?? '';
  if (store === '') throw wrong('Missing option --store, or ROLLOUT_STORE.');
  const executor = oneOf('executor', EXECUTORS, values.executor);
  return {
    store,
    host: values.host,
    port: whole('port', values.port, 65_535),
    idleSeconds: seconds(values['idle-seconds']),
    executor,
    advertise: origins(values.advertise),
    authority: values.authority,
    tlsPort: whole('tls-port', values['tls-port'], 65_535),
    tlsMin: oneOf('tls-min', ['1.2', '1.3'], values['tls-min']),
    identity: identity(values),
    advertisePlain: origins(values['advertise-plain']),
    tokens: values.tokens,
    allowHosts: values['allow-host'].map((name) => name.toLowerCase()),
    allowOrigins: values['allow-origin'].map((origin) => origin.toLowerCase()),
    pages: values.pages,
    log: oneOf('log', LOG_FORMATS, values.log),
    rolloutGb: gigabytes(values['rollout-gb'] ?? env['ROLLOUT_GB'] ?? ''),
    metrics: openWhere(oneOf('metrics', ['token', 'open'], values.metrics), values.host, executor),
    otlp: values.otlp === undefined ? undefined : collector(values.otlp),
    shares: sharesOf(env[SHARES_VARIABLE]),
    retention: retention(env[RETENTION_VARIABLE] ?? ''),
  };
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        store: { type: 'string' },
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '0' },
        'idle-seconds': { type: 'string', default: '60' },
        executor: { type: 'string', default: 'local' },
        advertise: { type: 'string', multiple: true, default: [] },
        authority: { type: 'string' },
        'tls-port': { type: 'string', default: '0' },
        'tls-min': { type: 'string', default: '1.3' },
        'identity-headers': { type: 'string' },
        'identity-ca': { type: 'string' },
        'identity-name': { type: 'string', multiple: true, default: [] },
        'identity-secret': { type: 'string' },
        'advertise-plain': { type: 'string', multiple: true, default: [] },
        tokens: { type: 'string' },
        'allow-host': { type: 'string', multiple: true, default: [] },
        'allow-origin': { type: 'string', multiple: true, default: [] },
        pages: { type: 'string' },
        log: { type: 'string', default: 'text' },
        'rollout-gb': { type: 'string' },
        metrics: { type: 'string', default: 'token' },
        otlp: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw wrong(errorText(error));
  }
}

/** Reads which headers name users, and what proves that a proxy sent them. */
function identity(values: ReturnType<typeof read>): ProxyIdentityFiles | undefined {
  const { 'identity-ca': ca, 'identity-name': names, 'identity-secret': secret } = values;
  const text = values['identity-headers'];
  if (text === undefined) {
    if (ca === undefined && secret === undefined) return undefined;
    throw wrong('--identity-ca and --identity-secret require --identity-headers.');
  }
  const fields = new Map(
    text.split(',').map((part) => [part.split('=', 1)[0] ?? '', part.slice(part.indexOf('=') + 1)]),
  );
  const [user, groups] = [fields.get('user'), fields.get('groups')];
  const known = ['user', 'groups', 'user-prefix', 'groups-prefix'];
  if (user === undefined || ![user, groups ?? user].every((name) => /^[A-Za-z0-9-]+$/.test(name)))
    throw wrong(`--identity-headers must be user=HEADER[,groups=HEADER], not “${text}”.`);
  const unknown = [...fields.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw wrong(`--identity-headers has no field “${unknown}”.`);
  if (values.executor !== 'kubernetes')
    throw wrong('--identity-headers is only for a server in a cluster, which says what users may do.');
  const headers = {
    user,
    ...(groups === undefined ? {} : { groups }),
    userPrefix: fields.get('user-prefix') ?? '',
    groupsPrefix: fields.get('groups-prefix') ?? '',
  };
  if (ca !== undefined && secret === undefined && names.length > 0)
    return { headers, proof: { kind: 'certificate', file: ca, names } };
  if (secret !== undefined && ca === undefined && names.length === 0)
    return { headers, proof: { kind: 'secret', file: secret } };
  throw wrong(
    '--identity-headers requires --identity-secret, or --identity-ca with --identity-name: anybody can send headers.',
  );
}

function oneOf<T extends string>(name: string, choices: readonly T[], text: string): T {
  const found = choices.find((value) => value === text);
  if (found === undefined) throw wrong(`--${name} must be one of ${choices.join(', ')}, not ${text}.`);
  return found;
}

/** Allows metrics without a token only if the server can be reached only from this machine or its cluster. */
function openWhere(
  metrics: ServerOptions['metrics'],
  host: string,
  executor: ServerOptions['executor'],
): ServerOptions['metrics'] {
  if (metrics === 'open' && executor !== 'kubernetes' && !LOOPBACK.has(host))
    throw wrong(
      `--metrics open is allowed only for a server on loopback or in a cluster, not on ${host}. Configure the ` +
        'scraper with the read token instead.',
    );
  return metrics;
}

/** Parses the shares, which `rollout serve` and the installation have checked. */
function sharesOf(json: string | undefined): SharesFile {
  if (json === undefined || json === '') return {};
  try {
    return sharesFile.parse(JSON.parse(json));
  } catch (error) {
    throw wrong(`The variable ${SHARES_VARIABLE} has no valid shares: ${errorText(error)}`);
  }
}

/** Parses the base URL of a collector. */
function collector(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw wrong(`--otlp must be the address of a collector, such as http://name:4318, not “${text}”.`);
  return url.href;
}

/** Parses the rules that `rollout serve` or the installation has read from a file. */
function retention(json: string): RetentionFile | undefined {
  if (json === '') return undefined;
  try {
    return retentionFile.parse(JSON.parse(json));
  } catch (cause) {
    throw new StudioError('usage', `${RETENTION_VARIABLE} is not valid: ${errorText(cause)}`, { cause });
  }
}

function origins(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => text.split(',')).map((text) => origin(text.trim())))];
}

/** Parses the origin of an address; workers add the paths. */
function origin(text: string): string {
  const url = URL.parse(text);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.username !== ''
  )
    throw wrong(`--advertise must be an address such as http://name:8080, not “${text}”.`);
  return url.origin;
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > most)
    throw wrong(`--${name} must be a whole number from 0 to ${most}, not “${text}”.`);
  return value;
}

function gigabytes(text: string): number {
  if (text === '') return ROLLOUT_GB;
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw wrong(`--rollout-gb must be a number of GB, not “${text}”.`);
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw wrong(`--idle-seconds must be a number of seconds, not “${text}”.`);
  return value;
}

function wrong(message: string): StudioError {
  return new StudioError('usage', message, {
    hint: 'server --store DIR|postgres://… [--port N] [--host ADDRESS] [--idle-seconds N]',
  });
}
