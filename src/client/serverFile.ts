/**
 * Reads `server.json`, which says where the server of a store is. A store may come with a workspace, so the file is
 * trusted only if this user wrote it on this machine: otherwise, whoever wrote it would receive submissions and their
 * secrets.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StudioError, systemCodeOf } from '../common/errors.ts';
import { type ServerFile, serverFile } from '../protocol/serverFile.ts';

/** Permissions of the group and of others. */
const OTHERS = 0o077;
const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;
/** Addresses of a server that listens on all addresses, and how it is reached from this machine. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Reads `server.json` in `folder`. Returns undefined if it is missing or invalid. Throws StudioError `forbidden` if it
 * cannot be trusted.
 */
export function readServerFile(folder: string): ServerFile | undefined {
  const found = read(folder);
  const file = found === undefined ? undefined : parse(found.text);
  if (found === undefined || file === undefined) return undefined;
  const own = { ...file, host: ALL_ADDRESSES[file.host] ?? file.host };
  const reason = distrust(found, own.host, process.getuid?.());
  if (reason === undefined) return own;
  throw new StudioError('forbidden', `The file server.json in ${folder} cannot be trusted: ${reason}.`, {
    hint: 'Nothing was sent. If you did not start a server there, delete the file, or use another store with --store.',
  });
}

/** Returns why a file is not trusted. `uid` is undefined on Windows, where files have no such owners and modes. */
export function distrust(
  { uid: owner, mode }: { readonly uid: number; readonly mode: number },
  host: string,
  uid: number | undefined,
): string | undefined {
  if (!LOOPBACK.test(host) && !isOwnAddress(host)) return `its server (${host}) is not on this machine`;
  if (uid === undefined) return undefined;
  if (owner !== uid) return 'it belongs to another user';
  if ((mode & OTHERS) !== 0) return 'other users can read it (a server writes it with mode 600)';
  return undefined;
}

/** Whether connections to an address stay on this machine, for a server with `--host`. */
function isOwnAddress(host: string): boolean {
  return Object.values(os.networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === host.toLowerCase()),
  );
}

function read(folder: string): { readonly text: string; readonly uid: number; readonly mode: number } | undefined {
  try {
    const file = openSync(path.join(folder, 'server.json'), 'r');
    try {
      const { uid, mode } = fstatSync(file);
      return { text: readFileSync(file, 'utf8'), uid, mode };
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    const code = systemCodeOf(cause);
    if (code === 'ENOENT') return undefined;
    throw code === 'ENOTDIR'
      ? new StudioError('storage', `Cannot use ${folder} as a store: a part of its path is a file.`, {
          hint: 'Choose another store with --store.',
          cause,
        })
      : new StudioError('storage', `Cannot read server.json in ${folder}.`, {
          hint: 'The server may have been started by another user. Use your own store with --store.',
          cause,
        });
  }
}

/** Returns undefined for a file that a dying server wrote only partly. */
function parse(text: string): ServerFile | undefined {
  try {
    return serverFile.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
