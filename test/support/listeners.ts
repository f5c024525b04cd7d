// What a process listens on, from /proc.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Returns the listening sockets of a process that others could connect to: TCP, and Unix with an abstract name. */
export function listeningSockets(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    ),
  );
  const tcp = ['tcp', 'tcp6']
    .flatMap((name) => textOf(`/proc/net/${name}`).split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && inodes.has(fields[9] ?? ''));
  const unix = textOf('/proc/net/unix')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    // Flag of listening sockets. Those with a path have the rights of their files.
    .filter((fields) => fields[3] === '00010000' && inodes.has(fields[6] ?? '') && fields[7]?.startsWith('@') === true);
  return [...tcp, ...unix].map((fields) => `${pid}: ${fields.join(' ')}`);
}

/** Returns the ports on which a process listens on 127.0.0.1. */
export function listeningPorts(pid: number): number[] {
  return listeningSockets(pid).flatMap((line) => {
    const port = / 0100007F:([0-9A-F]{4}) /.exec(line)?.[1];
    return port === undefined ? [] : [Number.parseInt(port, 16)];
  });
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return ''; // it has closed
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
