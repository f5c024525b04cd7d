/**
 * The sandbox on macOS: `sandbox-exec`, which every Mac has, with a profile that allows what programs need outside the
 * users' files. It cannot give programs their own file system, so their home folder and temporary folder are elsewhere.
 */
import { existsSync } from 'node:fs';
import { mkdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { Sandbox, View } from './sandbox.ts';
import { programCommand } from './sandbox.ts';

const PROGRAM = '/usr/bin/sandbox-exec';
/** Where files of people, other programs, and volumes are. */
const CLOSED = [
  '/Users',
  '/Volumes',
  '/private/tmp',
  '/private/var/folders',
  '/private/var/root',
  '/Library/Keychains',
];

/** Opens a sandbox. Throws StudioError `unavailable` if macOS no longer has the program. */
export async function openSeatbelt(view: View): Promise<Sandbox> {
  if (!existsSync(PROGRAM)) throw new StudioError('unavailable', `Cannot open a sandbox: ${PROGRAM} does not exist.`);
  const [home, temporary] = [path.join(view.scratch, 'home'), path.join(view.scratch, 'tmp')] as const;
  for (const folder of [home, temporary]) await mkdir(folder, { recursive: true, mode: 0o700 });
  // Rules are matched with real paths, and `/tmp` is a link.
  const real = (paths: readonly string[]): Promise<string[]> =>
    Promise.all(paths.map((file) => realpath(file).catch(() => file)));
  const filtered = typeof view.network === 'object' ? await view.network.open() : undefined;
  const profile = seatbeltProfile({
    read: await real(view.read),
    write: await real([...view.write, view.scratch]),
    hide: await real(view.hide),
    network: filtered?.ports ?? view.network !== false,
  });
  return {
    ownProcesses: false,
    env: { HOME: home, TMPDIR: temporary, ...filtered?.env },
    command: (program) => ({
      file: PROGRAM,
      args: ['-p', profile, ...programCommand(program)],
    }),
    end: () => rm(view.scratch, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Returns a profile in the language of `sandbox-exec`. The last matching rule wins. */
export function seatbeltProfile({
  read,
  write,
  hide,
  network,
}: Pick<View, 'read' | 'write' | 'hide'> & {
  /** All of it, nothing, or ports of this machine. */
  readonly network: boolean | readonly number[];
}): string {
  const paths = (files: readonly string[]): string =>
    files.map((file) => `(subpath "${file.replace(/["\\]/g, '\\$&')}")`).join(' ');
  const rule = (text: string, files: readonly string[]): string[] =>
    files.length === 0 ? [] : [`(${text} ${paths(files)})`];
  return [
    '(version 1)',
    '(allow default)',
    ...rule('deny file-write*', ['/']),
    '(allow file-write* (subpath "/dev"))',
    ...rule('deny file-read*', CLOSED),
    ...rule('allow file-read*', [...read, ...write]),
    ...rule('allow file-write*', write),
    ...rule('deny file-read* file-write*', hide),
    // The folders above those that are allowed can be passed through, but not listed.
    '(allow file-read-metadata)',
    '(deny process-info* (target others))',
    '(deny signal (target others))',
    '(deny mach-priv-task-port)',
    ...(network === true ? [] : ['(deny network*)']),
    ...(typeof network === 'boolean'
      ? []
      : [
          '(allow network-bind network-inbound (local ip "localhost:*"))',
          ...network.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
        ]),
  ].join('\n');
}
