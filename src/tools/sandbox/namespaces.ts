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
import { existsSync, lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import { removeTree } from '../../disk/removeTree.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { marked } from '../processes/strays.ts';
import { LOOPBACK } from './loopback.ts';
import { type Mount, MountPlan } from './mounts.ts';
import type { FilteredNetwork } from './network/networks.ts';
import { type Program, programCommand, type Sandbox, type View } from './sandbox.ts';

const OPEN_MS = 20_000;
/** Contents of the system, read-only. Links such as `/bin` are copied as links. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix'];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const DEVICE_LINKS = [
  ['ptmx', 'pts/ptmx'],
  ['fd', '/proc/self/fd'],
  ['stdin', 'fd/0'],
  ['stdout', 'fd/1'],
  ['stderr', 'fd/2'],
] as const;
/** Files that only root may read; a worker that runs as root must not share them. */
const PRIVATE = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/ssl/private', '/etc/sudoers'];
/** Settings of the kernel, which programs of root could change even without capabilities. */
const SETTINGS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'];
const MOUNTED = 'mounted';
const READY = 'ready';
const PROGRAMS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/**
 * Fills the root `$1` with the tree `$2` of a plan and mounts its tables and overlays, makes read-only what it is told,
 * changes to the root, and waits until its standard input ends. The root is in memory, because programs elsewhere could
 * change one on disk. Ignoring CHLD makes the kernel reap orphans. `/tmp` is where the old root is for a moment.
 */
const SETUP = `
set -eu
root=$1
mount -t tmpfs -o mode=755,size=16m,nr_inodes=16k sandbox "$root"
cp -a "$2/." "$root"
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    table) mount -a -T "$2" ;;
    overlay) mount -t overlay -o "$2" sandbox "$3" || : ;;
  esac
  shift 3
done
echo ${MOUNTED}
while IFS= read -r point && [ -n "$point" ]; do mount -o remount,bind,ro "$point"; done
cd "$root"
pivot_root . tmp
cd /
umount -l tmp
trap '' CHLD
echo ${READY}
exec cat > /dev/null
`;

/** Opens a sandbox. Throws StudioError `unavailable` with the system's reason. */
export async function openNamespaces(view: View, groups: ProcessGroups): Promise<Sandbox> {
  await mkdir(view.scratch, { recursive: true, mode: 0o700 });
  const scratch = realpathSync(view.scratch);
  const remove = (): Promise<void> => removeTree(scratch);
  const open = async (): Promise<{ plan: MountPlan; commands: string[]; filtered: FilteredNetwork | undefined }> => {
    const plan = await planOf(view, scratch);
    const filtered = typeof view.network === 'object' ? await view.network.open() : undefined;
    return { plan, commands: await plan.write(), filtered };
  };
  const { plan, commands, filtered } = await open().catch(async (error: unknown) => {
    await remove();
    throw error;
  });
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
      ...[
        '/bin/sh',
        '-c',
        `${view.network === false ? `${LOOPBACK} || :` : ''}${SETUP}`,
        'sh',
        plan.root,
        plan.tree,
        ...commands,
      ],
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
    await remove();
  };
  try {
    await ready(child, plan, view.own ?? []);
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
function enter(pid: number, program: Program, net: boolean): ReturnType<Sandbox['command']> {
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
      ...[systemProgram('unshare'), '--user', ...ownIds(), '--'],
      ...programCommand(program),
    ],
  };
}

/** Maps the user's own ID. With an ID, `unshare` looks for a user of that name, which takes as long as all it does. */
function ownIds(): string[] {
  const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  return user === 0 && group === 0 ? ['--map-root-user'] : [`--map-user=${user}`, `--map-group=${group}`];
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

function ready(child: ChildProcess, plan: MountPlan, own: readonly string[]): Promise<void> {
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
      if (!output.includes('\n')) return;
      const line = output.trim();
      output = '';
      if (line === MOUNTED) {
        protect(child, plan, own).catch((error: unknown) => fail(errorText(error), error));
        return;
      }
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

/** Makes the mounts read-only that programs must not change, if the folders `own` are what was mounted. */
async function protect(child: ChildProcess, plan: MountPlan, own: readonly string[]): Promise<void> {
  for (const folder of own) {
    const mounted = statSync(path.join(`/proc/${child.pid ?? 0}/root`, plan.root, folder));
    if (!isSame(mounted, folder)) throw new Error(`${folder} was replaced`);
  }
  const points = plan.writable(await readFile(`/proc/${child.pid ?? 0}/mountinfo`, 'utf8'));
  const unreadable = points.find((point) => point.includes('\n'));
  if (unreadable !== undefined) throw new Error(`a folder has a line break in its name: ${JSON.stringify(unreadable)}`);
  child.stdin?.write(`${points.map((point) => `${point}\n`).join('')}\n`);
}

/** Whether a folder is this one itself, not through a link. */
function isSame({ dev, ino }: Stats, folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.dev === dev && stats.ino === ino;
}

async function planOf(view: View, scratch: string): Promise<MountPlan> {
  const [temporary, home] = [path.join(scratch, 'tmp'), path.join(scratch, 'home')];
  for (const folder of [temporary, home]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const plan = await MountPlan.create(scratch);
  const mounts: Mount[] = [
    { what: 'write', from: temporary, to: '/tmp' },
    ...SYSTEM.flatMap(systemMount),
    ...DEVICES.map((name): Mount => ({ what: 'write', from: `/dev/${name}`, to: `/dev/${name}` })),
    ...DEVICE_LINKS.map(([to, from]): Mount => ({ what: 'link', from, to: `/dev/${to}` })),
    { what: 'write', from: home, to: homedir() },
    ...resolverMount(),
    ...byDepth([
      ...view.caches
        .filter(canOverlay)
        .map((to): Mount => ({ what: 'copy', from: path.join(scratch, path.basename(to)), to })),
      ...view.read.map((to): Mount => ({ what: 'read', from: to, to })),
      ...view.write.map((to): Mount => ({ what: 'write', from: to, to })),
      ...[...PRIVATE, ...view.hide].map((to): Mount => ({ what: 'hide', from: '', to })),
    ]).filter(({ to }) => existsSync(to)),
  ];
  for (const mount of mounts) await plan.add(mount);
  await plan.addKernel('/dev/shm', 'tmpfs', 'mode=1777,size=256m');
  await plan.addKernel('/dev/pts', 'devpts', 'newinstance,ptmxmode=0666,mode=620');
  await plan.addKernel('/proc', 'proc', 'defaults');
  if (process.geteuid?.() === 0)
    for (const name of SETTINGS) if (existsSync(`/proc/${name}`)) plan.protect(`/proc/${name}`);
  return plan;
}

function systemMount(folder: string): Mount[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return [
    stats.isSymbolicLink()
      ? { what: 'link', from: readlinkSync(folder), to: folder }
      : { what: 'read', from: folder, to: folder },
  ];
}

/** `/etc/resolv.conf` is often a link to a file in `/run`. */
function resolverMount(): Mount[] {
  try {
    const file = realpathSync('/etc/resolv.conf');
    return file.startsWith('/etc/') ? [] : [{ what: 'read', from: file, to: file }];
  } catch {
    return [];
  }
}

/** Parents come first, because a mount hides what was mounted below it. */
function byDepth(mounts: readonly Mount[]): Mount[] {
  const depth = ({ to }: Mount): number => to.split('/').length;
  return [...mounts].sort((a, b) => depth(a) - depth(b));
}

/** The options of an overlay are separated by commas and colons. */
function canOverlay(folder: string): boolean {
  return !/[,:\\]/.test(folder);
}
