/**
 * Entry of the rollout server: `node server.mjs --store DIR|postgres://… [--port N] [--host ADDRESS] …` (see
 * process/options.ts).
 * Prints one line of JSON on stdout once it listens (see protocol/serverFile.ts). Exit codes: 0 success, 2 invalid
 * command line, 3 the store is not available, or was deleted.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { serverFolder } from '../client/connect.ts';
import { workBases } from '../client/folders.ts';
import { isReadOnlyStore } from '../client/readOnlyStore.ts';
import { deferred } from '../common/abort.ts';
import { entryUrl, HEAP_GROWTH, LONG_RUNNING, packageUrl } from '../common/entries.ts';
import { errorText, exitCodeOf, StudioError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import { isPostgresUrl } from '../common/postgres.ts';
import { PRODUCT } from '../common/product.ts';
import { createDemoModel } from '../demo/demoModel.ts';
import { LocalExecutor } from '../executor/local/localExecutor.ts';
import { isAlive } from '../executor/local/workerProcess.ts';
import { WorkFolders } from '../executor/local/workFolders.ts';
import type { ReadyLine, ServerFile } from '../protocol/serverFile.ts';
import { databaseFile, deletedText } from '../protocol/storeFolder.ts';
import { PROTOCOL } from '../protocol/version.ts';
import { openStore } from '../store/open.ts';
import { sandboxSupport } from '../tools/sandbox/open.ts';
import type { SecurePort } from './listener.ts';
import { stderrLog } from './log.ts';
import { parseOptions, type ServerOptions } from './process/options.ts';
import { requirePrivate } from './process/privateStore.ts';
import { openProxyIdentity } from './process/proxyIdentity.ts';
import { keepServerFile, serverFilePath } from './process/serverFile.ts';
import { watchStoreFile } from './process/storeFile.ts';
import { lockStore } from './process/storeLock.ts';
import { tokensIn } from './process/tokenFolder.ts';
import { startServer } from './server.ts';
import { collectorOf } from './telemetry/otlp/collector.ts';

const DEMO = '/demo';

setFlagsFromString(HEAP_GROWTH.server);
// Other users of the machine cannot read what this process writes.
process.umask(0o077);

async function main(options: ServerOptions, log: Log): Promise<number> {
  const collector = collectorOf(options.otlp, process.env, log);
  const folder = serverFolder(options.store);
  const readOnly = isReadOnlyStore(options.store);
  // In a pod, the volume belongs to its group, and nobody else is there.
  if (options.executor !== 'kubernetes') requirePrivate(readOnly ? path.resolve(options.store) : folder);
  // Several servers may share a PostgreSQL database; a folder has one server.
  const lock = isPostgresUrl(options.store) ? undefined : await lockStore(folder, isAlive);
  if (lock?.isTaken === true) {
    print({ type: 'taken', message: takenText(options.store, lock.by) });
    return 3;
  }
  const store = await openStore(options.store, { readOnly });
  const stopping = deferred<0 | 3>();
  const unwatch = isPostgresUrl(options.store)
    ? undefined
    : watchStoreFile(databaseFile(path.resolve(options.store)), () => {
        log(deletedText(options.store), { level: 'error' });
        stopping.resolve(3);
      });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stopping.resolve(0));
  const authority = await openAuthority(options, log);
  const advertise =
    options.authority !== undefined && authority === undefined ? options.advertisePlain : options.advertise;
  // Loaded only when needed.
  const kubernetes =
    options.executor === 'kubernetes'
      ? await (await import('../executor/kubernetes/open.ts')).openKubernetes(process.env, authority?.cert)
      : undefined;
  const proxy = options.identity === undefined ? undefined : await openProxyIdentity(options.identity, log);
  const demo = createDemoModel({ prefix: DEMO });
  const server = await startServer({
    store,
    log,
    listen: { host: options.host, port: options.port },
    origins: {
      allowHosts: [...options.allowHosts, ...hostsOf(options)],
      allowOrigins: options.allowOrigins,
    },
    ...(options.tokens === undefined ? {} : { tokens: await tokensIn(options.tokens) }),
    advertise,
    secure: authority?.secure,
    secretsFolder: path.join(folder, 'secrets'),
    rolloutBytes: options.rolloutGb * 1e9,
    metrics: options.metrics,
    shares: options.shares,
    retention: options.retention,
    ...(collector === undefined
      ? {}
      : { traces: { collector, service: process.env['OTEL_SERVICE_NAME'] ?? 'rollout-studio' } }),
    idleMs: options.idleSeconds * 1000,
    idle: () => stopping.resolve(0),
    mounts: [{ prefix: DEMO, handle: (request, response) => demo.handle(request, response) }],
    demoMetrics: `${DEMO}/metrics`,
    pages: options.pages ?? fileURLToPath(packageUrl('dist/webview')),
    // Without TLS, nobody can log in.
    ...(kubernetes === undefined || authority === undefined ? {} : { reviewer: kubernetes.reviewer(log) }),
    proxy,
    ...(kubernetes === undefined ? {} : { programs: kubernetes.programs }),
    ...(kubernetes === undefined ? {} : { models: kubernetes.models }),
    ...(kubernetes === undefined ? {} : { replicas: kubernetes.replicas(log) }),
    readOnly,
    executor:
      kubernetes !== undefined
        ? kubernetes.executor
        : options.executor === 'none' || readOnly
          ? undefined
          : (host) =>
              new LocalExecutor({
                host,
                work: new WorkFolders({ record: path.join(folder, 'work.json'), bases: workBases() }),
                logFile: path.join(folder, 'log', 'worker.log'),
                discovery: serverFilePath(folder),
                noSandbox: async () => {
                  const support = await sandboxSupport();
                  return support.works ? undefined : support.reason;
                },
                command: { file: process.execPath, args: [...LONG_RUNNING, fileURLToPath(entryUrl('worker'))] },
              }),
  });
  const remove = keepServerFile(
    folder,
    {
      pid: process.pid,
      host: server.host,
      port: server.port,
      token: server.token,
      read_token: server.readToken,
      protocol: PROTOCOL,
      product: PRODUCT,
      started_at: server.startedAt,
    },
    (error) => log(`Cannot write server.json: ${errorText(error)}`, { level: 'error' }),
  );
  print({ type: 'ready', host: server.host, port: server.port, pid: process.pid });
  const code = await stopping.promise;
  unwatch?.();
  remove();
  await server.stop();
  lock?.release();
  return code;
}

/** Returns the host names by which workers reach the server. */
function hostsOf({ advertise, advertisePlain }: ServerOptions): string[] {
  return [...advertise, ...advertisePlain].map((origin) => new URL(origin).hostname);
}

/** Opens the port for TLS, if the installation has an authority. */
async function openAuthority(options: ServerOptions, log: Log): Promise<OpenedAuthority | undefined> {
  if (options.authority === undefined) return undefined;
  const { readAuthority, RENEW_MS, serverCertificate } = await import('../kubernetes/tls/authority.ts');
  const authority = await readAuthority(options.authority);
  if (authority === undefined) {
    log('Workers connect without TLS: the installation has no authority. Run rollout cluster upgrade.', {
      level: 'warning',
    });
    return undefined;
  }
  const hosts = [...new Set([...hostsOf(options), ...options.allowHosts, 'localhost', '127.0.0.1'])];
  return {
    cert: authority.cert,
    secure: {
      port: options.tlsPort,
      renewMs: RENEW_MS,
      ...(options.tlsMin === '1.2' ? { minVersion: 'TLSv1.2' as const } : {}),
      certificate: () =>
        serverCertificate(
          authority,
          hosts.map((host) => host.replace(/^\[|\]$/g, '')),
        ),
    },
  };
}

interface OpenedAuthority {
  readonly cert: string;
  readonly secure: SecurePort;
}

function takenText(store: string, by: ServerFile | undefined): string {
  return by === undefined
    ? `Another server is using the store ${store}.`
    : `Another server is using the store ${store}: process ${by.pid} at ${by.host}, port ${by.port} (${by.product}).`;
}

function print(line: ReadyLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

// The client closes its end after it has read the ready line.
process.stdout.on('error', () => undefined);

let log = stderrLog('text');
try {
  const options = parseOptions(process.argv.slice(2));
  log = stderrLog(options.log);
  process.exitCode = await main(options, log);
} catch (error) {
  log(error instanceof Error && !StudioError.is(error) ? (error.stack ?? error.message) : errorText(error), {
    level: 'error',
  });
  print({
    type: 'failed',
    code: StudioError.is(error) ? error.code : 'internal',
    message: error instanceof Error ? error.message : String(error),
    ...(StudioError.is(error) && error.hint !== undefined ? { hint: error.hint } : {}),
  });
  process.exitCode = exitCodeOf(error);
}
process.exit();
