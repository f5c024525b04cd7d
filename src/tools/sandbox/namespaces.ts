/**
 * The sandbox on Linux: user, mount, process, IPC, and host name namespaces, and a network namespace without the
 * network, or that of a filtered network (network/). Uses `unshare`, `mount`, and `nsenter` of util-linux, which all
 * distributions have; Bubblewrap would start a new sandbox for each program, while here, programs enter the rollout's
 * sandbox, which costs little more than starting them. Needs a kernel that lets users create user namespaces.
 *
 * Programs run in a nested user namespace with the user's own ID and without capabilities, so that they cannot change
 * the mounts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { marked } from '../processes/strays.ts';
import { LOOPBACK } from './loopback.ts';
import { type Program, programScript, type Sandbox, type View } from './sandbox.ts';

const OPEN_MS = 20_000;
/** Contents of the system, read-only. Links such as `/bin` are copied as links. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix'];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
/** Files that only root may read; a worker that runs as root must not share them. */
const PRIVATE = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/ssl/private', '/etc/sudoers'];
const READY = 'ready';
const PROGRAMS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/**
 * Sets up the file system in `$1` from triples (what, from, to), makes it the root, and waits until its standard input
 * ends. Ignoring CHLD makes the kernel reap orphans.
 */
const SETUP = `
set -eu
cd "$1"; shift
mount -t tmpfs -o mode=755,size=16m,nr_inodes=16k sandbox "$PWD"
cd "$PWD"
place() {
  if [ -d "$1" ]; then mkdir -p ".$2"; else mkdir -p ".\${2%/*}"; [ -e ".$2" ] || : > ".$2"; fi
}
readonly_below() {
  while read -r _ _ _ _ point _; do
    case $point in "$PWD$1"|"$PWD$1"/*) mount -o remount,bind,ro "$point" ;; esac
  done < /proc/self/mountinfo
}
while [ $# -gt 0 ]; do
  what=$1 from=$2 to=$3; shift 3
  case $what in
    link) mkdir -p ".\${to%/*}"; ln -s "$from" ".$to" ;;
    write) place "$from" "$to"; mount --rbind "$from" ".$to" ;;
    read) place "$from" "$to"; mount --rbind "$from" ".$to"; readonly_below "$to" ;;
    copy) mkdir -p ".$to" "$from.changes" "$from.work"
      mount -t overlay -o "userxattr,lowerdir=$to,upperdir=$from.changes,workdir=$from.work" sandbox ".$to" || : ;;
    hide) if [ -d ".$to" ]; then mount -t tmpfs -o mode=755,size=64k sandbox ".$to"
      elif [ -e ".$to" ]; then mount --bind /dev/null ".$to"; fi ;;
  esac
done
mkdir -p dev/shm dev/pts proc old
mount -t tmpfs -o mode=1777,size=256m sandbox dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 sandbox dev/pts
ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t proc proc proc
pivot_root . old
cd /
umount -l old
rmdir old
mount -o remount,bind,ro /
trap '' CHLD
echo ${READY}
exec cat > /dev/null
`;

type Step = readonly [what: 'link' | 'write' | 'read' | 'copy' | 'hide', from: string, to: string];

/** Opens a sandbox. Throws StudioError `unavailable` with the system's reason. */
export async function openNamespaces(view: View, groups: ProcessGroups): Promise<Sandbox> {
  const { scratch } = view;
  const [root, temporary, home] = ['root', 'tmp', 'home'].map((name) => path.join(scratch, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [root, temporary, home]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const steps: Step[] = [
    ['write', temporary, '/tmp'],
    ...SYSTEM.flatMap(systemStep),
    ...DEVICES.map((name): Step => ['write', `/dev/${name}`, `/dev/${name}`]),
    ['write', home, homedir()],
    ...resolverStep(),
    ...byDepth([
      ...view.caches.filter(canOverlay).map((to): Step => ['copy', path.join(scratch, path.basename(to)), to]),
      ...view.read.map((to): Step => ['read', to, to]),
      ...view.write.map((to): Step => ['write', to, to]),
      ...[...PRIVATE, ...view.hide].map((to): Step => ['hide', '', to]),
    ]).filter(([, , to]) => existsSync(to)),
  ];
  const filtered = typeof view.network === 'function' ? await view.network() : undefined;
  const own = filtered !== undefined || view.network === false;
  // Namespaces inside of a filtered network belong to its user namespace.
  const [file, ...inside] =
    filtered?.pid === undefined
      ? ['unshare', '--user', '--map-root-user', ...(own ? ['--net'] : [])]
      : ['nsenter', ...users(filtered.pid), `--net=/proc/${filtered.pid}/ns/net`, '--', 'unshare'];
  const child = spawn(
    file,
    [
      ...[...inside, '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
      ...['/bin/sh', '-c', `${view.network === false ? `${LOOPBACK} || :` : ''}${SETUP}`, 'sh', root, ...steps.flat()],
    ],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: marked({ PATH: PROGRAMS.join(':') }, groups.owner),
    },
  );
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (): Promise<void> => {
    if (pid !== undefined) {
      killTree(pid);
      if (child.exitCode === null && child.signalCode === null) await exited;
      groups.remove(pid);
    }
    await rm(scratch, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await ready(child);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    ownProcesses: true,
    env: { TMPDIR: '/tmp', ...filtered?.env },
    command: (program) => enter(pid ?? 0, program, own),
    end,
  };
}

/** Returns the command that enters the namespaces of `pid`, and drops all privileges there. */
function enter(pid: number, { file, args, cwd, setup }: Program, net: boolean): ReturnType<Sandbox['command']> {
  const at = `/proc/${pid}/ns`;
  return {
    file: systemProgram('nsenter'),
    args: [
      ...users(pid),
      `--mount=${at}/mnt`,
      `--pid=${at}/pid_for_children`,
      `--ipc=${at}/ipc`,
      `--uts=${at}/uts`,
      ...(net ? [`--net=${at}/net`] : []),
      '--',
      ...[
        systemProgram('unshare'),
        '--user',
        `--map-user=${process.geteuid?.() ?? 0}`,
        `--map-group=${process.getegid?.() ?? 0}`,
        '--',
      ],
      ...['/bin/sh', '-c', programScript(setup), cwd, file, ...args],
    ],
  };
}

/** Enters the user namespace of `pid`. Users other than root must not change their groups there. */
function users(pid: number): string[] {
  return [`--user=/proc/${pid}/ns/user`, '--preserve-credentials'];
}

/** Returns the path of a program of the system, because the PATH is the user's, and may be empty. */
function systemProgram(name: string): string {
  const folder = PROGRAMS.find((each) => existsSync(`${each}/${name}`));
  return folder === undefined ? name : `${folder}/${name}`;
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    const fail = (reason: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(new StudioError('unavailable', `Cannot open a sandbox: ${reason}.`, { cause }));
    };
    const timer = setTimeout(() => fail(`it took longer than ${OPEN_MS / 1000} s`), OPEN_MS);
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (!output.includes(READY)) return;
      clearTimeout(timer);
      resolve();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.stdin?.on('error', () => undefined); // its exit is reported
    child.once('error', (error: NodeJS.ErrnoException) =>
      fail(error.code === 'ENOENT' ? 'unshare (util-linux) is not installed' : error.message, error),
    );
    child.once('close', () => fail(errors.trim().split('\n')[0]?.replace(/\.$/, '') ?? 'it ended'));
  });
}

function systemStep(folder: string): Step[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return [stats.isSymbolicLink() ? ['link', readlinkSync(folder), folder] : ['read', folder, folder]];
}

/** `/etc/resolv.conf` is often a link to a file in `/run`. */
function resolverStep(): Step[] {
  try {
    const file = realpathSync('/etc/resolv.conf');
    return file.startsWith('/etc/') ? [] : [['read', file, file]];
  } catch {
    return [];
  }
}

/** Parents come first, because a mount hides what was mounted below it. */
function byDepth(steps: readonly Step[]): Step[] {
  const depth = ([, , to]: Step): number => to.split('/').length;
  return [...steps].sort((a, b) => depth(a) - depth(b));
}

/** The options of an overlay are separated by commas and colons. */
function canOverlay(folder: string): boolean {
  return !/[,:\\]/.test(folder);
}
